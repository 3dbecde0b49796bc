//! `unread`: the number of new messages, for callers that only mention them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;

use super::mail::unread;
use super::query::{Access, Query, Role};
use crate::answer::Message;
use crate::call::Call;
use crate::kernel::Kernel;

/// How many messages are new to the caller (at most 1,001), and the first of them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unread {
    /// Most messages.
    pub limit: usize,
}

impl Query for Unread {
    const NAME: &'static str = "unread";
    const ABOUT: &'static str = "Count new messages and get the first";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = (Vec<Message>, usize);

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<(Vec<Message>, usize)> {
        kernel.in_snapshot(call, |tx, snapshot| unread(tx, snapshot.project_id(), &call.actor.name, self.limit))
    }
}
