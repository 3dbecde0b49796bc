//! `message_id`: the message with a typed id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Kind, Result, id};
use tenure_store::table::mail;

use super::query::{Access, Query, Role};
use crate::call::Call;
use crate::kernel::Kernel;

/// The message in the caller's own mail whose id begins with a text.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveMessage {
    /// Any unique beginning of the id.
    pub typed: String,
}

impl Query for ResolveMessage {
    const NAME: &'static str = "message_id";
    const ABOUT: &'static str = "Find a message of the caller by the beginning of its id";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = String;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<String> {
        let typed = self.typed.as_str();
        let letter = format!("{}-", id::Sort::Message.letter());
        if typed.is_empty() || !id::is_prefix(typed) {
            return Err(id::unknown(typed, id::Sort::Message));
        }
        let prefix = if typed.starts_with(&letter) { typed.to_owned() } else { format!("{letter}{typed}") };
        kernel.in_snapshot(call, |tx, snapshot| {
            let found = mail::beginning(tx, snapshot.project_id(), &call.actor.name, &prefix, 11)?;
            id::resolve(&prefix, id::Sort::Message, found).map(String::from).map_err(|error| match error.kind() {
                Kind::NotFound => id::unknown(typed, id::Sort::Message),
                _ => error,
            })
        })
    }
}
