//! `log`: the events of a project, by number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::id::{HoldId, TaskId};
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::{Code, Error, Result, Stage, Time, event as words, id, name};
use tenure_store::table::{event, task};
use tenure_store::{RowsWithin, Tx};

use super::query::{Access, Query, Role};
use super::{PAGE_BYTES, Snapshot, bad_cursor, limit};
use crate::answer::{LoggedEvent, Page};
use crate::call::Call;
use crate::kernel::Kernel;

/// From where events are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// After a number.
    Number(EventNumber),
    /// At or after an instant.
    Time(Time),
    /// After a cursor that an earlier page gave.
    Cursor(String),
}

/// A page of events, oldest first inside it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// About this subject or hold.
    pub subject: Option<String>,
    /// By this agent.
    pub agent: Option<AgentName>,
    /// Of this kind.
    pub kind: Option<String>,
    /// From here forward; without it the newest page.
    pub since: Option<Since>,
    /// Page size.
    #[serde(default = "super::usual")]
    pub limit: usize,
    /// Whether events about tasks name their titles.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub titles: bool,
}

impl Query for Log {
    const NAME: &'static str = "log";
    const ABOUT: &'static str = "List events by number";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access { project: Some(Role::Viewer), store: Some(Role::Admin) };
    type Answer = Page<LoggedEvent>;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Page<LoggedEvent>> {
        limit(self.limit)?;
        self.agent.as_deref().map(name::check).transpose()?;
        // A subject may be anything that events are about, but no event is about a text with NUL.
        if let Some(subject) = self.subject.as_deref().filter(|subject| subject.contains('\0')) {
            return Err(id::unknown(subject, id::Sort::Task));
        }
        if let Some(kind) = self.kind.as_deref().filter(|kind| !words::kind::ALL.contains(kind)) {
            return Err(Error::usage(
                Code::UnknownKind,
                format!("`{}` is not a kind of event", tenure_core::text::excerpt(kind)),
            )
            .hint(format!("The kinds are {}.", words::kind::ALL.join(", "))));
        }
        kernel.in_snapshot(call, |tx, snapshot| page(tx, snapshot, self))
    }
}

fn page(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, filter: &Log) -> Result<Page<LoggedEvent>> {
    let (project, me) = (snapshot.project_id(), snapshot.call.actor.name.as_str());
    let (first, last) = snapshot
        .project
        .map_or((EventNumber::FIRST, EventNumber::START), |project| (project.first_event, project.last_event));
    let subject = filter.subject.as_deref().filter(|subject| !subject.is_empty());
    let is_hold = subject.is_some_and(|subject| subject.starts_with("h-"));
    let stored = event::EventFilter {
        hold: subject.filter(|_| is_hold).map(HoldId::from),
        subject: subject.filter(|_| !is_hold).map(str::to_owned),
        actor: filter.agent.clone().filter(|agent| !agent.is_empty()),
        kind: filter.kind.clone().filter(|kind| !kind.is_empty()),
    };
    let plain = filter.subject.is_none() && filter.agent.is_none() && filter.kind.is_none();
    let incarnation = &snapshot.identity.incarnation;
    // The following pages need the same bound: if the clock was set back, older events may have newer numbers.
    let mut bound = None;
    let page = match &filter.since {
        None => backward(tx, project, &stored, EventNumber::MAX, filter.limit)?,
        Some(since) => match resolve(tx, snapshot, since, (first, last))? {
            PageStart::Below(number) => backward(tx, project, &stored, number, filter.limit)?,
            PageStart::Above(number, at_least) => {
                bound = at_least;
                forward(tx, project, &stored, number, at_least, filter.limit)?
            }
        },
    };
    let (mut found, more, newest_first) = page;
    if newest_first {
        found.reverse();
    }
    let next = match (more, newest_first) {
        (false, _) => None,
        (true, true) => found.first().map(|row| format!("{incarnation}.b{}", row.number)),
        (true, false) => {
            let bound = bound.map_or(String::new(), |time: Time| format!("t{}", time.0));
            found.last().map(|row| format!("{incarnation}.{}{bound}", row.number))
        }
    };
    let end = match (&filter.since, found.last()) {
        (Some(_), Some(row)) if more || newest_first => row.number,
        _ => last,
    };
    let total = match snapshot.project {
        Some(project) if plain => Some(project.events),
        _ if !more && filter.since.is_none() => Some(i64::try_from(found.len()).unwrap_or(i64::MAX)),
        _ => None,
    };
    let cursor = Some(format!("{incarnation}.{end}"));
    let mut items = found.into_iter().map(|row| LoggedEvent::read_by(me, row)).collect::<Result<Vec<_>>>()?;
    if filter.titles {
        add_titles(tx, project, &mut items)?;
    }
    // Reported where a reader would look for earlier events.
    let older = match &filter.since {
        None => newest_first && !more,
        Some(Since::Time(time)) => event::time_at(tx, project, first)?.is_some_and(|oldest| *time < oldest),
        Some(_) => false,
    };
    let kept_from = (first > EventNumber::FIRST && older).then_some(first);
    Ok(Page { items, total, more, next, cursor, kept_from, waiting: Vec::new(), globs: Vec::new() })
}

/// Names the title of the task that an event is about.
fn add_titles(tx: &mut dyn Tx, project: &str, events: &mut [LoggedEvent]) -> Result<()> {
    let tasks = events.iter().map(|event| event.subject.as_str()).filter(|subject| subject.starts_with("t-"));
    let mut ids: Vec<TaskId> = tasks.map(TaskId::from).collect();
    ids.sort();
    ids.dedup();
    let titles = task::titles(tx, project, &ids)?;
    for event in events {
        event.title = titles.get(event.subject.as_str()).cloned();
    }
    Ok(())
}

/// Rows, whether there are more, and whether the newest comes first.
type LogRows = (Vec<event::Row>, bool, bool);

/// The newest events below a number.
fn backward(
    tx: &mut dyn Tx,
    project: &str,
    filter: &event::EventFilter,
    below: EventNumber,
    limit: usize,
) -> Result<LogRows> {
    let RowsWithin { rows: mut found, cut } =
        tx.fetch_within(event::page(project, filter, (EventNumber::START, below), true, limit + 1), PAGE_BYTES)?;
    let more = cut || found.len() > limit;
    found.truncate(limit);
    Ok((found, more, true))
}

/// The oldest events after a number and at or after an instant.
fn forward(
    tx: &mut dyn Tx,
    project: &str,
    filter: &event::EventFilter,
    after: EventNumber,
    at_least: Option<Time>,
    limit: usize,
) -> Result<LogRows> {
    let mut found = Vec::new();
    let mut above = after;
    loop {
        let RowsWithin { rows, cut } =
            tx.fetch_within(event::page(project, filter, (above, EventNumber::MAX), false, limit + 1), PAGE_BYTES)?;
        let exhausted = rows.len() <= limit && !cut;
        above = rows.last().map_or(above, |row| row.number);
        let before = found.len();
        found.extend(rows.into_iter().filter(|row| at_least.is_none_or(|time| row.at >= time)));
        // A cut ends the page, unless all of its rows were skipped.
        let full = found.len() > limit || cut && found.len() > before;
        if full || exhausted {
            let more = full;
            found.truncate(limit);
            return Ok((found, more, false));
        }
    }
}

/// Where a page begins.
enum PageStart {
    /// Before a number, towards older events.
    Below(EventNumber),
    /// After a number, towards newer events, skipping those before an instant.
    Above(EventNumber, Option<Time>),
}

/// Resolves the position to read from. A position that cannot be answered correctly is `stale`, with the oldest valid
/// cursor.
fn resolve(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    since: &Since,
    (first, last): (EventNumber, EventNumber),
) -> Result<PageStart> {
    let oldest = first.previous();
    let stale = |message: String| {
        Err(Error::new(Code::StaleCursor, message)
            .at(Stage::Read)
            .hint("Read again from the oldest cursor and discard the earlier state.")
            .detail("oldest", oldest)
            .detail("oldest_cursor", format!("{}.{oldest}", snapshot.identity.incarnation))
            .detail("newest", last))
    };
    let mut at_least = None;
    let (number, back) = match since {
        Since::Time(time) => {
            let number = first_at(tx, snapshot, *time, (first, last))?;
            return Ok(PageStart::Above(number.previous(), Some(*time)));
        }
        Since::Number(number) => (*number, false),
        Since::Cursor(text) => {
            let (incarnation, number) = text.rsplit_once('.').ok_or_else(|| bad_cursor(text))?;
            let back = number.starts_with('b');
            let (number, bound) = match number[usize::from(back)..].split_once('t') {
                Some((number, time)) => (number, Some(Time(time.parse().map_err(|_| bad_cursor(text))?))),
                None => (&number[usize::from(back)..], None),
            };
            let number: EventNumber = number.parse().map_err(|_| bad_cursor(text))?;
            // A reader that began before the store existed has seen nothing of any incarnation.
            let nothing_seen = incarnation.is_empty() && number == EventNumber::START;
            if incarnation != snapshot.identity.incarnation && !nothing_seen {
                return stale("the cursor belongs to another incarnation of this store".to_owned());
            }
            at_least = bound;
            (number, back)
        }
    };
    // A backward cursor asks for the event before it. Such a cursor is given only if there was one, so if that event is
    // below the oldest, it has been dropped since.
    let wanted = if back { number.previous() } else { number };
    if wanted > last {
        return stale(format!("event {wanted} is beyond the end: the newest is {last}"));
    }
    if wanted < oldest || (back && wanted < first) {
        return stale(format!("events up to {oldest} are no longer kept"));
    }
    // A restore leaves a gap in the numbers. A number inside the gap is one that a reader saw before, of an event that
    // no longer exists.
    let gap = snapshot.project.is_some_and(|project| project.events != last.get() - first.get() + 1);
    if gap && wanted > oldest && event::time_at(tx, snapshot.project_id(), wanted)?.is_some() {
        let at = tx.fetch(event::page(
            snapshot.project_id(),
            &event::EventFilter::default(),
            (wanted.previous(), wanted.next()),
            false,
            1,
        ))?;
        if at.is_empty() {
            return stale(format!("there is no event {wanted}: the store was restored from a backup"));
        }
    }
    Ok(if back { PageStart::Below(number) } else { PageStart::Above(number, at_least) })
}

/// The first number at or after an instant. Times rise with numbers, so it is found by bisection. Only if the clock was
/// ever set back are all events examined.
fn first_at(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    time: Time,
    (first, last): (EventNumber, EventNumber),
) -> Result<EventNumber> {
    let project = snapshot.project_id();
    let stepped =
        event::EventFilter { kind: Some(words::kind::CLOCK_STEPPED.to_owned()), ..event::EventFilter::default() };
    if !tx.fetch(event::page(project, &stepped, event::ALL, false, 1))?.is_empty() {
        return Ok(first);
    }
    let (mut low, mut high) = (first.get(), last.next().get());
    while low < high {
        let middle = low + (high - low) / 2;
        match event::time_at(tx, project, EventNumber::new(middle))? {
            Some(at) if at < time => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(EventNumber::new(low))
}
