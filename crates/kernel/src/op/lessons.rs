//! Draws lessons from what happened: one atomic unit, each with the events it comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::memory::Forgotten;
use tenure_core::event::{self, Event};
use tenure_core::id::or_empty;
use tenure_core::lesson::{self, Fact, Touch};
use tenure_core::memory::{self, Kind, Scope};
use tenure_core::{Result, Time};
use tenure_store::table::{event as log, memory as table, touched};

use super::operation::{Access, Door, Operation, Role};
use super::remember::{Item, Reach, write_from};
use crate::fact;
use crate::shape::{self, Outcome};
use crate::unit::Unit;

/// How many of the newest events of each kind are looked at, and how many of the newest changes to files.
const EVENTS: usize = 500;
const TOUCHES: usize = 2_000;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lessons {}

impl Operation for Lessons {
    const NAME: &'static str = "lessons";
    const ABOUT: &'static str = "Draws lessons from what happened, as the end of a session does";
    const DOORS: &'static [Door] = &[Door::Cli, Door::Http];
    const ACCESS: Access = Access::project(Role::Worker);
    type Answer = shape::Remembered;

    fn apply(&self, unit: &mut Unit<'_>) -> Result<shape::Remembered> {
        let items = learn(unit)?;
        Ok(shape::Remembered { count: items.len(), items })
    }
}

/// Writes down what is new. A lesson that is known already is no event and is not counted.
pub(crate) fn learn(unit: &mut Unit<'_>) -> Result<Vec<shape::RememberedItem>> {
    let project = unit.project.id.clone();
    let first = newest(unit, &lesson::KINDS.map(|(first, _)| first))?;
    let happened = lesson::KINDS.iter().zip(&first).filter(|(_, facts)| !facts.is_empty());
    let following: Vec<&str> = happened.flat_map(|((_, then), _)| then.iter().copied()).collect();
    let following = newest(unit, &following)?;
    let mut facts: Vec<Fact> = first.into_iter().chain(following).flatten().collect();
    facts.sort_by_key(|fact| fact.number);
    let touches: Vec<Touch> = touched::newest(unit.tx, &project, TOUCHES)?
        .into_iter()
        .map(|row| Touch {
            path: row.path,
            agent: row.agent.into(),
            task: or_empty(row.task.as_ref()).to_owned(),
            at: row.last_at,
        })
        .collect();
    let drawn = lesson::draw(&facts, &touches);
    let forgotten = if drawn.is_empty() { Vec::new() } else { forgotten(unit)? };
    let mut learnt = Vec::new();
    for lesson in drawn {
        if learnt.len() == lesson::MOST {
            break;
        }
        // A name that makes no key, such as that of a file with odd characters, is no reason to learn nothing.
        let key = memory::key(&lesson.key).unwrap_or_else(|_| memory::key_of(&lesson.key));
        let item = Item {
            text: lesson.text,
            key: Some(key),
            kind: Kind::Lesson,
            scope: Some(Reach::Project),
            ..Item::default()
        };
        // What somebody has forgotten or put in other words since is not learnt again from the same causes.
        let known = table::under(unit.tx, &project, &Scope::Project, item.key.as_deref().unwrap_or_default())?;
        let changed = known.is_some_and(|row| row.pinned || (row.updated_at >= lesson.at && row.text != item.text));
        if changed || forgotten.iter().any(|(key, at)| item.key.as_ref() == Some(key) && *at >= lesson.at) {
            continue;
        }
        let said = write_from(unit, &item, &lesson.from)?;
        if said.outcome != Outcome::Unchanged {
            learnt.push(said);
        }
    }
    Ok(learnt)
}

/// The newest events of each of some kinds.
fn newest(unit: &mut Unit<'_>, kinds: &[&str]) -> Result<Vec<Vec<Fact>>> {
    let page = |kind: &&str| {
        let filter = log::Filter { kind: Some((*kind).to_owned()), ..log::Filter::default() };
        log::page(&unit.project.id, &filter, (0, i64::MAX), true, EVENTS)
    };
    let pages: Vec<_> = kinds.iter().map(page).collect();
    let fact = |row: log::Row| {
        let event = fact::read(&row)?;
        Ok(Fact { number: row.number, at: row.at, actor: row.actor.into(), subject: row.subject, event })
    };
    unit.tx.fetch(pages)?.into_iter().map(|page| page.into_iter().map(fact).collect()).collect()
}

/// The keys that were forgotten for the project lately, and when.
fn forgotten(unit: &mut Unit<'_>) -> Result<Vec<(String, Time)>> {
    let filter = log::Filter { kind: Some(event::kind::MEMORY_FORGOTTEN.to_owned()), ..log::Filter::default() };
    let rows = unit.tx.fetch(log::page(&unit.project.id, &filter, (0, i64::MAX), true, EVENTS))?;
    rows.into_iter()
        .map(|row| {
            let key = match fact::read(&row)? {
                Event::MemoryForgotten(Forgotten { key, .. }) => key,
                _ => String::new(),
            };
            Ok((key, row.at))
        })
        .collect()
}
