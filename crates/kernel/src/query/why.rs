//! `why`: the history of a task, a hold or a memory, in sentences. Those of locks and paths are in [`super::why_lock`]
//! and [`super::why_path`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::event::{Topic, kind};
use tenure_core::hold::lapsed;
use tenure_core::number::EventNumber;
use tenure_core::text::cut;
use tenure_core::{Result, id};
use tenure_store::Tx;
use tenure_store::table::{event, hold, memory, project, task};

use super::Snapshot;
use super::look_up::by_id;
use super::query::{Access, Query, Role};
use crate::answer::{LoggedEvent, Sentence, Story};
use crate::call::Call;
use crate::fact;
use crate::kernel::Kernel;
use crate::paths;

/// The maximum number of sentences in a history.
pub(super) const LONGEST: usize = 200;
/// How many pages of events are searched for those of one thing when other things have the same spelling.
const PAGES: usize = 20;

/// The first event of a task's history, if all of it is kept.
const OF_TASK: [&str; 1] = [kind::TASK_ADDED];
/// The possible first events of a hold's history.
const OF_HOLD: [&str; 6] = [
    kind::TASK_CLAIMED,
    kind::HOLD_TRANSFERRED,
    kind::PATH_RESERVED,
    kind::PATH_OFFERED,
    kind::LOCK_TAKEN,
    kind::LOCK_OFFERED,
];
/// The first event of a memory's history.
const OF_MEMORY: [&str; 1] = [kind::MEMORY_ADDED];

/// Tell the story of a task, a hold or a memory.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// The whole id.
    pub id: String,
}

impl Query for Why {
    const NAME: &'static str = "why";
    const ABOUT: &'static str = "Tell the story of a task, a hold or a memory";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access { project: Some(Role::Viewer), store: Some(Role::Admin) };
    type Answer = Story;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Story> {
        let subject = self.id.as_str();
        id::named(subject, id::Sort::Task)?;
        kernel.in_snapshot(call, |tx, snapshot| {
            let project = snapshot.project_id();
            if subject.starts_with("h-") {
                let row = hold::get(tx, project, subject)?.ok_or_else(|| id::unknown(subject, id::Sort::Hold))?;
                let mut row = [row];
                paths::as_found(tx, project, &mut row)?;
                let filter = event::EventFilter { hold: Some(subject.into()), ..event::EventFilter::default() };
                let mut events = tx.fetch(event::page(project, &filter, event::ALL, true, LONGEST + 1))?;
                let more = events.len() > LONGEST;
                events.truncate(LONGEST);
                let mut story = tell(snapshot, subject, (events, more), &OF_HOLD)?;
                story.story.extend(over(snapshot, &row[0]));
                return Ok(story);
            }
            if ["w-", "n-", "g-", "c-"].iter().any(|letter| subject.starts_with(letter)) {
                return by_id::why(tx, snapshot, subject);
            }
            if subject.starts_with("m-") {
                let found = of_memory(tx, snapshot, subject)?;
                return tell(snapshot, subject, found, &OF_MEMORY);
            }
            tx.fetch(task::get(project, subject))?.ok_or_else(|| id::unknown(subject, id::Sort::Task))?;
            let found = newest(tx, project, subject, Topic::Other, LONGEST)?;
            tell(snapshot, subject, found, &OF_TASK)
        })
    }
}

/// The newest events about one thing, newest first, and whether there are more. Events about another thing with the
/// same spelling are left out.
pub(super) fn newest(
    tx: &mut dyn Tx,
    project: &str,
    subject: &str,
    what: Topic,
    limit: usize,
) -> Result<(Vec<event::Row>, bool)> {
    let filter = event::EventFilter { subject: Some(subject.to_owned()), ..event::EventFilter::default() };
    let mut found = Vec::new();
    let mut below = EventNumber::MAX;
    for _ in 0..PAGES {
        let page = tx.fetch(event::page(project, &filter, (EventNumber::START, below), true, limit + 1))?;
        let last = page.last().filter(|_| page.len() > limit).map(|row| row.number);
        found.extend(page.into_iter().filter(|row| fact::seen(&row.kind, &row.data).topic() == what));
        match last {
            Some(last) if found.len() <= limit => below = last,
            _ => break,
        }
    }
    let more = found.len() > limit;
    found.truncate(limit);
    Ok((found, more))
}

/// The events of a memory, which may belong to the whole store. A forgotten memory is known only by its events.
fn of_memory(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, id: &str) -> Result<(Vec<event::Row>, bool)> {
    let own = snapshot.project_id().to_owned();
    let (events, more) = newest(tx, &own, id, Topic::Other, LONGEST)?;
    if !events.is_empty() {
        return Ok((events, more));
    }
    let whole = project::enter(tx, project::WHOLE_STORE, project::LockMode::Read)?.1;
    let Some(whole) = whole.filter(|_| memory::get(tx, &own, id).is_ok_and(|row| row.is_none())) else {
        return Ok((events, more));
    };
    let (events, more) = newest(tx, &whole.id, id, Topic::Other, LONGEST)?;
    if events.is_empty() { Err(id::unknown(id, id::Sort::Memory)) } else { Ok((events, more)) }
}

/// Turns events, given newest first, into a history.
pub(super) fn tell(
    snapshot: &Snapshot<'_>,
    subject: &str,
    (mut events, more): (Vec<event::Row>, bool),
    beginnings: &[&str],
) -> Result<Story> {
    events.reverse();
    let began = matches!(events.first(), Some(row) if beginnings.contains(&row.kind.as_str()));
    let forgotten = !more && !began && snapshot.project.is_some_and(|row| row.first_event > EventNumber::FIRST);
    let story = events.into_iter().map(|row| sentence(snapshot, row)).collect::<Result<_>>()?;
    Ok(Story { subject: subject.to_owned(), story, more, forgotten })
}

/// Reports that a hold has lapsed if there is no event for it yet: a write would find it over.
pub(super) fn over(snapshot: &Snapshot<'_>, row: &hold::Row) -> Option<Sentence> {
    let is_over = row.ended.is_none() && (lapsed(snapshot.now, row.expires_at) || snapshot.died(row));
    is_over.then(|| {
        let at = row.expires_at.min(snapshot.now).to_string();
        Sentence {
            number: EventNumber::START,
            text: format!("the hold of {} on {} expired", row.holder, cut(&row.subject, 200)),
            at,
        }
    })
}

pub(super) fn sentence(snapshot: &Snapshot<'_>, row: event::Row) -> Result<Sentence> {
    let event = LoggedEvent::read_by(&snapshot.call.actor.name, row)?;
    Ok(Sentence { number: event.number, text: event.sentence(), at: event.at })
}
