//! Remembers: there is one live memory per scope and key. Remembering it again changes it, and the log has the old and
//! the new text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::memory::{MemoryAdded, Old};
use tenure_core::id::TaskId;
use tenure_core::memory::{self, MemoryKind, MemoryScope};
use tenure_core::number::EventNumber;
use tenure_core::{Code, Error, Result, Span, id, words};
use tenure_store::table::{memory as table, project, task};

use super::operation::{Access, Door, Operation, Role};
use crate::answer::{self, MemoryOutcome};
use crate::unit_of_work::{About, UnitOfWork, people_only};

/// The request: all or none.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// At most 50.
    pub items: Vec<NewMemory>,
}

/// A memory to store.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Item")]
#[serde(expecting = "struct Item")]
pub struct NewMemory {
    /// The text, a few sentences.
    pub text: String,
    /// The subject, such as `db/schema`; by default made from the first words.
    #[serde(default)]
    pub key: Option<String>,
    /// What it is.
    #[serde(default)]
    pub kind: MemoryKind,
    /// The scope; by default the task in focus, or the project without a focus.
    #[serde(default)]
    pub scope: Option<MemoryReach>,
    /// The task; by default the one in focus.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// The lifetime; by default unlimited.
    #[serde(default)]
    pub ttl_s: Option<i64>,
}

/// The requested scope of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Reach")]
pub enum MemoryReach {
    /// All agents that work on the task.
    Task,
    /// The agent that remembers.
    Agent,
    /// All callers in the project.
    Project,
    /// All callers in the store.
    Global,
}

/// Checks everything that needs no store.
pub(crate) fn check(items: &[NewMemory]) -> Result<()> {
    if items.len() > memory::BATCH_MAX {
        let message = format!("the request has {} memories; the limit is {}", items.len(), memory::BATCH_MAX);
        return Err(Error::usage(Code::TooManyMemories, message));
    }
    for item in items {
        memory::text(&item.text)?;
        item.key.as_deref().map(memory::key).transpose()?;
        item.ttl_s.map(|seconds| memory::ttl(Span::seconds(seconds))).transpose()?;
        if item.task.is_some() && item.scope.is_some_and(|scope| scope != MemoryReach::Task) {
            return Err(Error::usage(Code::TaskAndScope, "the memory names a task, but its scope is not a task"));
        }
    }
    Ok(())
}

impl Operation for Remember {
    const NAME: &'static str = "remember";
    const ABOUT: &'static str = "Store facts, directives and lessons, all or none";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    // A memory that is shown to every agent needs an operator, which `apply` checks.
    const ACCESS: Access = Access { project: Some(Role::Worker), store: Some(Role::Admin) };
    type Answer = answer::Remembered;

    fn check(&self) -> Result<()> {
        check(&self.items)?;
        if self.items.is_empty() {
            return Err(Error::usage(Code::NothingToRemember, "the request names no memory"));
        }
        Ok(())
    }

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Remembered> {
        let items = write(work, &self.items, None)?;
        Ok(answer::Remembered { count: items.len(), items })
    }
}

/// Writes memories in order: a later one under the same key changes an earlier one. `about` is the task that an item
/// without a scope belongs to.
pub(crate) fn write(
    work: &mut UnitOfWork<'_>,
    items: &[NewMemory],
    about: Option<&TaskId>,
) -> Result<Vec<answer::RememberedItem>> {
    items.iter().map(|item| write_one(work, item, about, &[])).collect()
}

/// Writes a memory that comes from events. It names them, and the last of them is its cause.
pub(crate) fn write_from(
    work: &mut UnitOfWork<'_>,
    item: &NewMemory,
    from: &[EventNumber],
) -> Result<answer::RememberedItem> {
    write_one(work, item, None, from)
}

fn write_one(
    work: &mut UnitOfWork<'_>,
    item: &NewMemory,
    about: Option<&TaskId>,
    from: &[EventNumber],
) -> Result<answer::RememberedItem> {
    let scope = scope(work, item, about)?;
    let text = memory::text(&item.text)?;
    let key = item.key.as_deref().map_or_else(|| Ok(memory::key_of(&text)), memory::key)?;
    let expires_at = item.ttl_s.map(|seconds| work.now + Span::seconds(seconds));
    let found = table::under(work.tx, &work.project.id, &scope, &key)?;
    // An expired memory counts as absent. Only its id is reused.
    let live = found.as_ref().filter(|row| !row.is_over(work.now));
    if let Some(same) = live.filter(|row| row.text == text && row.kind == item.kind && row.expires_at == expires_at) {
        return Ok(answer::RememberedItem::of(same, MemoryOutcome::Unchanged));
    }
    // Only people pin a memory for everyone, and only they change it.
    if live.is_some_and(|row| row.pinned && row.scope.is_shared()) && !work.call.actor.is_person() {
        return Err(people_only("changing a memory that is pinned for all").entity(key));
    }
    let id = match &found {
        Some(row) => row.id.clone(),
        None => work.redraw()?,
    };
    let added = MemoryAdded {
        key: key.clone(),
        scope: Some(scope.word().to_owned()),
        of: scope.subject().to_owned(),
        kind: item.kind,
        text: text.clone(),
        from: from.to_vec(),
    };
    let event = match live {
        Some(old) => {
            let old = Old { text: old.text.clone(), kind: old.kind, author: old.author.to_string() };
            Event::MemoryChanged(added.over(old))
        }
        None => Event::MemoryAdded(added),
    };
    let number = work.append(About::of(&id).cause(from.last().copied()), event)?;
    let terms = words::words(&format!("{key} {text}"));
    let row = table::Row {
        id,
        scope,
        key,
        kind: item.kind,
        text,
        pinned: live.is_some_and(|row| row.pinned),
        author: work.me().clone(),
        task: about.or_else(|| work.focus()).cloned(),
        number,
        version: live.map_or(0, |row| row.version) + 1,
        words: terms.iter().map(|(_, count)| i64::from(*count)).sum(),
        created_at: live.map_or(work.now, |row| row.created_at),
        updated_at: work.now,
        expires_at,
    };
    table::put(work.tx, &work.project.id, &row, &terms, found.as_ref())?;
    Ok(answer::RememberedItem::of(&row, if live.is_some() { MemoryOutcome::Changed } else { MemoryOutcome::Added }))
}

fn scope(work: &mut UnitOfWork<'_>, item: &NewMemory, about: Option<&TaskId>) -> Result<MemoryScope> {
    let whole_store = work.project.key == project::WHOLE_STORE;
    let reach = match (item.scope, &item.task) {
        (Some(reach), _) => reach,
        (None, Some(_)) => MemoryReach::Task,
        (None, None) if whole_store => MemoryReach::Global,
        (None, None) if about.is_some() || work.focus().is_some() => MemoryReach::Task,
        (None, None) => MemoryReach::Project,
    };
    if (reach == MemoryReach::Global) != whole_store {
        return Err(Error::usage(Code::GlobalApart, "memories for the whole store need a request of their own")
            .hint("Send them in a request without memories of other scopes."));
    }
    match reach {
        MemoryReach::Global => Ok(MemoryScope::Global),
        MemoryReach::Project => Ok(MemoryScope::Project),
        MemoryReach::Agent => Ok(MemoryScope::Agent(work.me().clone())),
        MemoryReach::Task => {
            let named = work.meant(item.task.as_ref().or(about))?;
            work.tx.fetch(task::get(&work.project.id, &named))?.ok_or_else(|| id::unknown(&named, id::Sort::Task))?;
            Ok(MemoryScope::Task(named))
        }
    }
}
