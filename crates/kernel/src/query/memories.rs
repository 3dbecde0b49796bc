//! `memories`: memories as a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::id::TaskId;
use tenure_core::memory::{self as rule, MemoryScope};
use tenure_core::{Result, Time, id};
use tenure_store::table::memory;

use super::memory::visible;
use super::query::{Access, Query, Role};
use super::{bad_cursor, limit};
use crate::answer::{Memory, Page};
use crate::call::Call;
use crate::kernel::Kernel;

/// A page of memories, nearest scope first and newest first in each.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memories {
    /// Of this task, in place of the one in focus.
    pub task: Option<TaskId>,
    /// Only of this kind.
    pub kind: Option<rule::MemoryKind>,
    /// Only of this scope, by its word.
    pub scope: Option<String>,
    /// Only pinned ones.
    #[serde(default)]
    pub pinned: bool,
    /// Page size.
    #[serde(default = "super::usual")]
    pub limit: usize,
    /// Where the page begins.
    pub cursor: Option<String>,
}

impl Query for Memories {
    const NAME: &'static str = "memories";
    const ABOUT: &'static str = "List memories, newest first";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access { project: Some(Role::Viewer), store: Some(Role::Admin) };
    type Answer = Page<Memory>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Page<Memory>> {
        limit(self.limit)?;
        let start = self.cursor.as_deref().map(parse).transpose()?;
        kernel.in_snapshot(call, |tx, snapshot| {
            let places = visible(tx, snapshot, self.task.as_ref())?;
            let mut found: Vec<(usize, memory::Row)> = Vec::new();
            let (first, mut before) = start.clone().unwrap_or((0, (Time(i64::MAX), String::new())));
            for (at, (project, scope)) in places.iter().enumerate().skip(first) {
                if !self.takes_scope(scope) {
                    continue;
                }
                while found.len() <= self.limit {
                    let rows = memory::newest(tx, project, scope, snapshot.now, (before.0, &before.1), self.limit + 1)?;
                    let Some(last) = rows.last() else { break };
                    before = (last.updated_at, last.id.to_string());
                    let kept = rows.into_iter().filter(|row| self.takes(row.kind, row.pinned));
                    found.extend(kept.map(|row| (at, row)));
                }
                before = (Time(i64::MAX), String::new());
            }
            let more = found.len() > self.limit;
            found.truncate(self.limit);
            let next =
                more.then(|| found.last().map(|(at, row)| format!("{at}.{}.{}", row.updated_at.0, row.id))).flatten();
            let total = (!more && start.is_none()).then_some(i64::try_from(found.len()).unwrap_or(i64::MAX));
            Ok(Page::of(found.iter().map(|(_, row)| Memory::of(row)).collect(), total, next))
        })
    }
}

impl Memories {
    pub(super) fn takes_scope(&self, scope: &MemoryScope) -> bool {
        self.scope.as_deref().is_none_or(|word| word == scope.word())
    }

    pub(super) fn takes(&self, kind: rule::MemoryKind, pinned: bool) -> bool {
        self.kind.is_none_or(|wanted| wanted == kind) && (!self.pinned || pinned)
    }
}

fn parse(cursor: &str) -> Result<(usize, (Time, String))> {
    let mut parts = cursor.splitn(3, '.');
    let mut next = || parts.next().ok_or_else(|| bad_cursor(cursor));
    let at = next()?.parse().map_err(|_| bad_cursor(cursor))?;
    let time = Time(next()?.parse().map_err(|_| bad_cursor(cursor))?);
    let id = next()?;
    if !id::is_prefix(id) {
        return Err(bad_cursor(cursor));
    }
    Ok((at, (time, id.to_owned())))
}
