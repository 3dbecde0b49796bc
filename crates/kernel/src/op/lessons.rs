//! Draws lessons from what happened: one atomic unit, each with the events it comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::lesson::{self, Fact, Touch};
use tenure_core::memory::{self, Kind};
use tenure_core::{Error, Result};
use tenure_store::table::{event as log, touched};

use super::remember::{Item, Reach, write_from};
use crate::shape::{self, Outcome};
use crate::unit::Unit;

/// How many of the newest events of each kind are looked at, and how many of the newest changes to files.
const EVENTS: usize = 500;
const TOUCHES: usize = 2_000;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {}

pub(crate) fn apply(unit: &mut Unit<'_>, _: &Request) -> Result<shape::Remembered> {
    let items = learn(unit)?;
    Ok(shape::Remembered { count: items.len(), items })
}

/// Writes down what is new. A lesson that is known already is no event and is not counted.
pub(crate) fn learn(unit: &mut Unit<'_>) -> Result<Vec<shape::RememberedItem>> {
    let project = unit.project.id.clone();
    let mut facts = Vec::new();
    for kind in lesson::KINDS {
        let filter = log::Filter { kind: kind.to_owned(), ..log::Filter::default() };
        for row in log::page(unit.tx, &project, &filter, (0, i64::MAX), true, EVENTS)? {
            let data = serde_json::from_str(&row.data)
                .map_err(|error| tenure_store::error::corrupt("an event is not JSON").cause(error))?;
            let (number, at) = (row.number, row.at);
            facts.push(Fact { number, at, kind: row.kind, actor: row.actor, subject: row.subject, data });
        }
    }
    facts.sort_by_key(|fact| fact.number);
    let touches: Vec<Touch> = touched::newest(unit.tx, &project, TOUCHES)?
        .into_iter()
        .map(|row| Touch { path: row.path, agent: row.agent, task: row.task, at: row.last_at })
        .collect();
    let mut learnt = Vec::new();
    for lesson in lesson::draw(&facts, &touches) {
        // A name that makes no key, such as that of a file with odd characters, is no reason to learn nothing.
        let key = memory::key(&lesson.key).unwrap_or_else(|_| memory::key_of(&lesson.key));
        let item = Item {
            text: lesson.text,
            key: Some(key),
            kind: Kind::Lesson,
            scope: Some(Reach::Project),
            ..Item::default()
        };
        if unit.project.key == tenure_store::table::project::WHOLE_STORE {
            return Err(Error::bug("the whole store has no events to learn from"));
        }
        let said = write_from(unit, &item, &lesson.from)?;
        if said.outcome != Outcome::Unchanged {
            learnt.push(said);
        }
    }
    Ok(learnt)
}
