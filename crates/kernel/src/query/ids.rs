//! What a text typed for an id means: any unique beginning, resolved before a request is built.

use tenure_core::id::AnyId;
use tenure_core::{Result, id};
use tenure_store::Tx;
use tenure_store::table::{hold, task};

use super::{Scene, thing};
use crate::call::Call;
use crate::kernel::Kernel;

impl Kernel {
    /// The id of a task that begins with a text; its kind letter may be left out.
    pub fn task_id(&self, call: &Call, typed: &str) -> Result<String> {
        self.expand(call, typed, id::Sort::Task)
    }

    /// The id of a task, a hold, a place in the line, a note, a message or a checkout that begins with a text.
    pub fn any_id(&self, call: &Call, typed: &str) -> Result<String> {
        self.expand(call, typed, sort(typed))
    }

    fn expand(&self, call: &Call, typed: &str, sort: id::Sort) -> Result<String> {
        self.ask(call, |tx, scene| expand(tx, scene, typed, sort).map(String::from))
    }
}

/// Of which sort a text typed for an id is.
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

/// The id that begins with a text.
pub(crate) fn expand(tx: &mut dyn Tx, scene: &Scene<'_>, typed: &str, sort: id::Sort) -> Result<AnyId> {
    let letter = format!("{}-", sort.letter());
    if typed.is_empty() || !id::is_prefix(typed) {
        return Err(id::unknown(typed, sort));
    }
    let prefix = if typed.starts_with(&letter) { typed.to_owned() } else { format!("{letter}{typed}") };
    let project = scene.project_id();
    let found = match sort {
        id::Sort::Hold => thing::any(hold::beginning(tx, project, &prefix, 11)?),
        id::Sort::Task => thing::any(task::beginning(tx, project, &prefix, 11)?),
        other => thing::beginning(tx, scene, &prefix, other)?,
    };
    id::resolve(&prefix, sort, found)
}
