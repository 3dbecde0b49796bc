//! `tenure add --stdin`: one JSON object a line, all or none.

use std::io::Read;

use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::answer::Added;
use tenure_kernel::op::add_many::{AddMany, BYTES_MAX};

use crate::output::Printer;
use crate::output::progress::Progress;
use crate::session::{RunOptions, Session, StoreUse};
use crate::settings::Settings;

pub(super) fn add(settings: &Settings<'_>, out: &Printer) -> Result<u8> {
    let mut input = Vec::new();
    std::io::stdin().lock().take(BYTES_MAX as u64 + 1).read_to_end(&mut input).map_err(|error| {
        Error::new(Code::UnreadableInput, "standard input cannot be read").at(Stage::Arguments).cause(error)
    })?;
    let request = AddMany::parse(&input)?;
    drop(input);
    let count = request.items.len();
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

fn summary(added: &Added) -> String {
    let mut text = format!("Added {} tasks", added.count);
    let shown = added.ids.iter().take(10).cloned().collect::<Vec<_>>().join(" ");
    text.push_str(&format!(": {shown}{}\n", if added.count > 10 { " …" } else { "" }));
    text
}
