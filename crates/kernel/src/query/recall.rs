//! `recall`: searches memories by words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::Result;
use tenure_store::table::memory;

use super::memories::Memories;
use super::memory::{Effort, ScopeKey, SearchRequest, search, visible};
use super::query::{Access, Query, Role};
use super::{bad_cursor, limit};
use crate::answer::{Memory, Page};
use crate::call::Call;
use crate::kernel::Kernel;

/// Memories that answer a question, best first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recall {
    /// The words.
    pub question: String,
    /// Which memories.
    pub filter: Memories,
}

impl Query for Recall {
    const NAME: &'static str = "recall";
    const ABOUT: &'static str = "Search memories by words";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Page<Memory>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Page<Memory>> {
        limit(self.filter.limit)?;
        let skip = self.filter.cursor.as_deref().map_or(Ok(0), skipped)?;
        kernel.in_snapshot(call, |tx, snapshot| {
            let places = visible(tx, snapshot, self.filter.task.as_ref())?;
            let places: Vec<ScopeKey> =
                places.into_iter().filter(|(_, scope)| self.filter.takes_scope(scope)).collect();
            let takes = |weight: &memory::Weight| self.filter.takes(weight.kind, weight.pinned);
            let wanted = SearchRequest { takes: &takes, most: skip + self.filter.limit, effort: Effort::ASKED };
            let found = search(tx, snapshot.now, &places, &self.question, &wanted)?;
            let total = i64::try_from(found.total).ok();
            let next = (found.total > skip + self.filter.limit).then(|| (skip + self.filter.limit).to_string());
            Ok(Page::of(found.rows.iter().skip(skip).map(Memory::of).collect(), total, next))
        })
    }
}

/// How many matches precede the page of a cursor.
fn skipped(cursor: &str) -> Result<usize> {
    cursor.parse().ok().filter(|skip| *skip <= 1_000_000).ok_or_else(|| bad_cursor(cursor))
}
