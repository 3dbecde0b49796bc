//! Derives lessons from events, atomically. Each lesson names the events it comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::memory::MemoryForgotten;
use tenure_core::event::{self, Event};
use tenure_core::id::or_empty;
use tenure_core::lesson::{self, Fact, Touch};
use tenure_core::memory::{self, MemoryKind, MemoryScope};
use tenure_core::{Result, Time};
use tenure_store::table::{edited_file, event as log, memory as table};

use super::operation::{Access, Door, Operation, Role};
use super::remember::{MemoryReach, NewMemory, write_from};
use crate::answer::{self, MemoryOutcome};
use crate::fact;
use crate::unit_of_work::UnitOfWork;

/// How many of the newest events of each kind are read, and how many of the newest file changes.
const EVENTS: usize = 500;
const TOUCHES: usize = 2_000;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lessons {}

impl Operation for Lessons {
    const NAME: &'static str = "lessons";
    const ABOUT: &'static str = "Derive lessons from the log; also runs when a session ends";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = answer::Remembered;

    fn apply(&self, work: &mut UnitOfWork<'_>) -> Result<answer::Remembered> {
        let items = learn(work)?;
        Ok(answer::Remembered { count: items.len(), items })
    }
}

/// Writes the new lessons. A known lesson causes no event and is not counted.
pub(crate) fn learn(work: &mut UnitOfWork<'_>) -> Result<Vec<answer::RememberedItem>> {
    let project = work.project.id.clone();
    let first = newest(work, &lesson::KINDS.map(|(first, _)| first))?;
    let happened = lesson::KINDS.iter().zip(&first).filter(|(_, facts)| !facts.is_empty());
    let following: Vec<&str> = happened.flat_map(|((_, then), _)| then.iter().copied()).collect();
    let following = newest(work, &following)?;
    let mut facts: Vec<Fact> = first.into_iter().chain(following).flatten().collect();
    facts.sort_by_key(|fact| fact.number);
    let touches: Vec<Touch> = edited_file::newest(work.tx, &project, TOUCHES)?
        .into_iter()
        .map(|row| Touch {
            path: row.path,
            agent: row.agent.into(),
            task: or_empty(row.task.as_ref()).to_owned(),
            at: row.last_at,
        })
        .collect();
    let drawn = lesson::draw(&facts, &touches);
    let forgotten = if drawn.is_empty() { Vec::new() } else { forgotten(work)? };
    let mut learnt = Vec::new();
    for lesson in drawn {
        if learnt.len() == lesson::MOST {
            break;
        }
        // A name that does not make a valid key, such as that of a file with unusual characters, must not prevent the
        // lesson.
        let key = memory::key(&lesson.key).unwrap_or_else(|_| memory::key_of(&lesson.key));
        let item = NewMemory {
            text: lesson.text,
            key: Some(key),
            kind: MemoryKind::Lesson,
            scope: Some(MemoryReach::Project),
            ..NewMemory::default()
        };
        // A lesson that was forgotten or reworded since is not learnt again from the same causes.
        let known = table::under(work.tx, &project, &MemoryScope::Project, item.key.as_deref().unwrap_or_default())?;
        let changed = known.is_some_and(|row| row.pinned || (row.updated_at >= lesson.at && row.text != item.text));
        if changed || forgotten.iter().any(|(key, at)| item.key.as_ref() == Some(key) && *at >= lesson.at) {
            continue;
        }
        let said = write_from(work, &item, &lesson.from)?;
        if said.outcome != MemoryOutcome::Unchanged {
            learnt.push(said);
        }
    }
    Ok(learnt)
}

/// The newest events of some kinds.
fn newest(work: &mut UnitOfWork<'_>, kinds: &[&str]) -> Result<Vec<Vec<Fact>>> {
    let page = |kind: &&str| {
        let filter = log::EventFilter { kind: Some((*kind).to_owned()), ..log::EventFilter::default() };
        log::page(&work.project.id, &filter, log::ALL, true, EVENTS)
    };
    let pages: Vec<_> = kinds.iter().map(page).collect();
    let fact = |row: log::Row| {
        let event = fact::read(&row)?;
        Ok(Fact { number: row.number, at: row.at, actor: row.actor.into(), subject: row.subject, event })
    };
    work.tx.fetch(pages)?.into_iter().map(|page| page.into_iter().map(fact).collect()).collect()
}

/// The keys that were recently forgotten in the project, and when.
fn forgotten(work: &mut UnitOfWork<'_>) -> Result<Vec<(String, Time)>> {
    let filter =
        log::EventFilter { kind: Some(event::kind::MEMORY_FORGOTTEN.to_owned()), ..log::EventFilter::default() };
    let rows = work.tx.fetch(log::page(&work.project.id, &filter, log::ALL, true, EVENTS))?;
    rows.into_iter()
        .map(|row| {
            let key = match fact::read(&row)? {
                Event::MemoryForgotten(MemoryForgotten { key, .. }) => key,
                _ => String::new(),
            };
            Ok((key, row.at))
        })
        .collect()
}
