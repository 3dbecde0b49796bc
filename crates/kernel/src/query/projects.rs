//! The projects of a store.

use tenure_core::access::unknown_project;
use tenure_core::error::detail::Candidates;
use tenure_core::text::excerpt;
use tenure_core::{Code, Error, Result};
use tenure_store::Tx;
use tenure_store::table::project;

use super::limit;
use crate::access;
use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape::{Page, Project};

/// How many projects of one name are named when a name is not enough.
const CANDIDATES: usize = 10;
/// How many projects of one name are looked at.
const CALLED_MAX: usize = 1_000;

impl Kernel {
    /// A page of the projects in this store, by key.
    pub fn projects(&self, call: &Call, rows: usize, cursor: Option<&str>) -> Result<Page<Project>> {
        limit(rows)?;
        self.ask_anywhere(call, |tx, _| {
            let mut found = visible(tx, call, cursor.unwrap_or_default(), rows + 1)?;
            let more = found.len() > rows;
            found.truncate(rows);
            let next = more.then(|| found.last().map(|row| row.key.clone())).flatten();
            let total = (!more && cursor.is_none()).then_some(i64::try_from(found.len()).unwrap_or(i64::MAX));
            Ok(Page::of(found.iter().map(|row| Project::of(row, &call.project.key)).collect(), total, next))
        })
    }

    /// The one project that has this key or is called this; one that was forgotten only where it is asked for, by whoever
    /// makes the call again that forgot it.
    pub fn project_called(&self, call: &Call, name: &str, also_forgotten: bool) -> Result<project::Name> {
        let mut found = self.ask_anywhere(call, |tx, _| project::called(tx, name, CALLED_MAX))?;
        found.retain(|row| access::sees(call, &row.key));
        if !also_forgotten || found.iter().any(|row| row.events > 0) {
            found.retain(|row| row.events > 0);
        }
        let exact = found.iter().position(|row| row.key == name);
        let named = |row: project::Summary| project::Name { key: row.key, label: row.label };
        match (exact, found.len()) {
            (Some(at), _) => Ok(named(found.swap_remove(at))),
            (None, 1) => Ok(named(found.swap_remove(0))),
            (None, 0) => Err(unknown_project(name)),
            (None, _) => {
                let keys: Vec<String> = found.into_iter().take(CANDIDATES).map(|row| row.key).collect();
                Err(Error::usage(Code::AmbiguousProject, format!("several projects are called `{}`", excerpt(name)))
                    .entity(excerpt(name))
                    .hint("Give the key instead.")
                    .with(&Candidates(keys)))
            }
        }
    }
}

/// Projects that the caller may see, by key: the others are as if they did not exist.
fn visible(tx: &mut dyn Tx, call: &Call, after: &str, limit: usize) -> Result<Vec<project::Summary>> {
    let mut seen = Vec::new();
    let mut after = after.to_owned();
    loop {
        let page = project::list(tx, &after, limit)?;
        let last = page.last().map(|row| row.key.clone());
        let whole = page.len() == limit;
        seen.extend(page.into_iter().filter(|row| access::sees(call, &row.key)));
        match last {
            Some(last) if whole && seen.len() < limit => after = last,
            _ => break,
        }
    }
    seen.truncate(limit);
    Ok(seen)
}
