//! Adding many tasks at once, all or none.

use tenure_core::Result;
use tenure_kernel::answer::Added;
use tenure_kernel::op::Operation as _;
use tenure_kernel::op::add_many::AddMany;

use crate::output::Printer;
use crate::output::progress::Progress;
use crate::session::{RunOptions, Session, StoreUse};
use crate::settings::Settings;

/// Adds the tasks of a request, or only checks it.
pub(super) fn add(settings: &Settings<'_>, out: &Printer, request: AddMany, dry_run: bool) -> Result<u8> {
    let count = request.items.len();
    if dry_run {
        request.check()?;
        if out.is_json() {
            out.data(&serde_json::json!({ "count": count, "dry_run": true }));
        } else {
            out.text(&format!("Would add {}", tasks(count)));
        }
        return Ok(0);
    }
    let progress = Progress::begin(out, &format!("Adding {count} tasks"));
    let session = Session::open(settings, out, StoreUse::Write)?;
    let reply = session.run(request, RunOptions::default())?;
    drop(progress);
    let added = reply.read()?;
    if out.is_json() {
        out.body(&reply.body);
    } else {
        out.text(&summary(&added));
    }
    Ok(0)
}

fn tasks(count: usize) -> String {
    format!("{count} task{}", if count == 1 { "" } else { "s" })
}

fn summary(added: &Added) -> String {
    let mut text = format!("Added {}", tasks(added.count));
    let shown = added.ids.iter().take(10).cloned().collect::<Vec<_>>().join(" ");
    text.push_str(&format!(": {shown}{}\n", if added.count > 10 { " …" } else { "" }));
    text
}
