//! Remembers: one live memory for each scope and key; saying it again changes it, and the log has old and new.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::Event;
use tenure_core::event::memory::{Added, Old};
use tenure_core::id::TaskId;
use tenure_core::memory::{self, Kind, Scope};
use tenure_core::{Code, Error, Result, Span, id, words};
use tenure_store::table::{memory as table, project, task};

use super::operation::{Access, Door, Operation, Role};
use crate::shape::{self, Outcome};
use crate::unit::{About, Unit, people_only};

/// The request: all or none.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remember {
    /// At most 50.
    pub items: Vec<Item>,
}

/// Something to remember.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// What it says, in a few sentences.
    pub text: String,
    /// What it is about, such as `db/schema`; made from its first words if left out.
    #[serde(default)]
    pub key: Option<String>,
    /// What it is.
    #[serde(default)]
    pub kind: Kind,
    /// For whom it is; without it for the task in focus, or for the project where there is none.
    #[serde(default)]
    pub scope: Option<Reach>,
    /// The task it is for, in place of the one in focus.
    #[serde(default)]
    pub task: Option<TaskId>,
    /// How long it lives; for good without it.
    #[serde(default)]
    pub ttl_s: Option<i64>,
}

/// For whom a memory is, as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Whoever works on the task.
    Task,
    /// The agent that remembers.
    Agent,
    /// Everybody in the project.
    Project,
    /// Everybody in the store.
    Global,
}

/// Checks what can be checked without the store.
pub(crate) fn check(items: &[Item]) -> Result<()> {
    if items.len() > memory::BATCH_MAX {
        let message = format!("{} memories in one request, at most {} fit", items.len(), memory::BATCH_MAX);
        return Err(Error::usage(Code::TooManyMemories, message));
    }
    for item in items {
        memory::text(&item.text)?;
        item.key.as_deref().map(memory::key).transpose()?;
        item.ttl_s.map(|seconds| memory::ttl(Span::seconds(seconds))).transpose()?;
        if item.task.is_some() && item.scope.is_some_and(|scope| scope != Reach::Task) {
            return Err(Error::usage(Code::TaskAndScope, "a task is named, and the scope is not that of a task"));
        }
    }
    Ok(())
}

impl Operation for Remember {
    const NAME: &'static str = "remember";
    const ABOUT: &'static str = "Remembers facts, directives and lessons, all or none";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Mcp, Door::Http];
    // A memory that every agent is shown needs an operator, which `apply` checks.
    const ACCESS: Access = Access { project: Some(Role::Worker), store: Some(Role::Admin) };
    type Answer = shape::Remembered;

    fn check(&self) -> Result<()> {
        check(&self.items)?;
        if self.items.is_empty() {
            return Err(Error::usage(Code::NothingToRemember, "there is nothing to remember"));
        }
        Ok(())
    }

    fn apply(&self, unit: &mut Unit<'_>) -> Result<shape::Remembered> {
        let items = write(unit, &self.items, None)?;
        Ok(shape::Remembered { count: items.len(), items })
    }
}

/// Writes memories down, in their order: a later one under the same key changes an earlier one.
/// `about` is the task they are for where an item says nothing else.
pub(crate) fn write(unit: &mut Unit<'_>, items: &[Item], about: Option<&TaskId>) -> Result<Vec<shape::RememberedItem>> {
    items.iter().map(|item| write_one(unit, item, about, &[])).collect()
}

/// Writes one down that comes from events: they are named with it, and the last of them is its cause.
pub(crate) fn write_from(unit: &mut Unit<'_>, item: &Item, from: &[i64]) -> Result<shape::RememberedItem> {
    write_one(unit, item, None, from)
}

fn write_one(unit: &mut Unit<'_>, item: &Item, about: Option<&TaskId>, from: &[i64]) -> Result<shape::RememberedItem> {
    let scope = scope(unit, item, about)?;
    let text = memory::text(&item.text)?;
    let key = item.key.as_deref().map_or_else(|| Ok(memory::key_of(&text)), memory::key)?;
    let expires_at = item.ttl_s.map(|seconds| unit.now + Span::seconds(seconds));
    let found = table::under(unit.tx, &unit.project.id, &scope, &key)?;
    // One whose time is over is as good as none: nothing of it is carried over but the place it takes.
    let live = found.as_ref().filter(|row| !row.is_over(unit.now));
    if let Some(same) = live.filter(|row| row.text == text && row.kind == item.kind && row.expires_at == expires_at) {
        return Ok(shape::RememberedItem::of(same, Outcome::Unchanged));
    }
    // What everybody is always shown is put there by people, and changed by them.
    if live.is_some_and(|row| row.pinned && row.scope.is_shared()) && !unit.call.actor.is_person() {
        return Err(people_only("changing what is pinned for everybody").entity(key));
    }
    let id = match &found {
        Some(row) => row.id.clone(),
        None => unit.redraw()?,
    };
    let added = Added {
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
    let number = unit.append(About::of(&id).cause(from.last().copied()), event)?;
    let terms = words::words(&format!("{key} {text}"));
    let row = table::Row {
        id,
        scope,
        key,
        kind: item.kind,
        text,
        pinned: live.is_some_and(|row| row.pinned),
        author: unit.me().clone(),
        task: about.or_else(|| unit.focus()).cloned(),
        number,
        version: live.map_or(0, |row| row.version) + 1,
        words: terms.iter().map(|(_, count)| i64::from(*count)).sum(),
        created_at: live.map_or(unit.now, |row| row.created_at),
        updated_at: unit.now,
        expires_at,
    };
    table::put(unit.tx, &unit.project.id, &row, &terms, found.as_ref())?;
    Ok(shape::RememberedItem::of(&row, if live.is_some() { Outcome::Changed } else { Outcome::Added }))
}

fn scope(unit: &mut Unit<'_>, item: &Item, about: Option<&TaskId>) -> Result<Scope> {
    let whole_store = unit.project.key == project::WHOLE_STORE;
    let reach = match (item.scope, &item.task) {
        (Some(reach), _) => reach,
        (None, Some(_)) => Reach::Task,
        (None, None) if whole_store => Reach::Global,
        (None, None) if about.is_some() || unit.focus().is_some() => Reach::Task,
        (None, None) => Reach::Project,
    };
    if (reach == Reach::Global) != whole_store {
        return Err(Error::usage(Code::GlobalApart, "what is remembered for the whole store is remembered on its own")
            .hint("Send it in a request without memories of other scopes."));
    }
    match reach {
        Reach::Global => Ok(Scope::Global),
        Reach::Project => Ok(Scope::Project),
        Reach::Agent => Ok(Scope::Agent(unit.me().clone())),
        Reach::Task => {
            let named = unit.meant(item.task.as_ref().or(about))?;
            unit.tx.fetch(task::get(&unit.project.id, &named))?.ok_or_else(|| id::unknown(&named, id::Sort::Task))?;
            Ok(Scope::Task(named))
        }
    }
}
