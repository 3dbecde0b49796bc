//! `any_id`: resolves a typed id. Any unique prefix is resolved before a request is built.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, id};
use tenure_store::Tx;
use tenure_store::table::{hold, task};

use super::Snapshot;
use super::look_up::by_id;
use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;

/// The id of a task, a hold, a place in the line, a note, a message or a checkout that begins with a text.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveAny {
    /// Any unique beginning of the id.
    pub typed: String,
}

impl Query for ResolveAny {
    const NAME: &'static str = "any_id";
    const ABOUT: &'static str = "Find the task or hold whose id begins with a text";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = String;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<String> {
        kernel.in_snapshot(call, |tx, snapshot| expand(tx, snapshot, &self.typed, sort(&self.typed)).map(String::from))
    }
}

/// The sort of a typed id.
pub(crate) fn sort(typed: &str) -> id::Sort {
    match typed.as_bytes() {
        [b'h', b'-', ..] => id::Sort::Hold,
        [b'w', b'-', ..] => id::Sort::Place,
        [b'n', b'-', ..] => id::Sort::Note,
        [b'g', b'-', ..] => id::Sort::Message,
        [b'c', b'-', ..] => id::Sort::Checkout,
        _ => id::Sort::Task,
    }
}

/// The id with a prefix.
pub(crate) fn expand(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, typed: &str, sort: id::Sort) -> Result<id::AnyId> {
    let letter = format!("{}-", sort.letter());
    if typed.is_empty() || !id::is_prefix(typed) {
        return Err(id::unknown(typed, sort));
    }
    let prefix = if typed.starts_with(&letter) { typed.to_owned() } else { format!("{letter}{typed}") };
    let project = snapshot.project_id();
    let found = match sort {
        id::Sort::Hold => by_id::any(hold::beginning(tx, project, &prefix, 11)?),
        id::Sort::Task => by_id::any(task::beginning(tx, project, &prefix, 11)?),
        other => by_id::beginning(tx, snapshot, &prefix, other)?,
    };
    id::resolve(&prefix, sort, found)
}
