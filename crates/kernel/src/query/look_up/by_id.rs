//! Lookup by id of things other than tasks, holds and memories: places in the waiting line, notes, messages and
//! checkouts.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use tenure_core::event::hold::HoldExpired;
use tenure_core::event::place::{LockOffered, OfferTaken, PathOffered};
use tenure_core::event::{Event, Topic};
use tenure_core::hold::lapsed;
use tenure_core::id::{AnyId, CheckoutId, Id, IdKind, TaskId};
use tenure_core::number::EventNumber;
use tenure_core::text::cut;
use tenure_core::{Result, id};
use tenure_store::Tx;
use tenure_store::table::{event, mail, message, note, place};

use crate::answer::{Message, NoteView, Place, Sentence, Story, merged};
use crate::fact;
use crate::query::Snapshot;
use crate::query::why::{LONGEST, newest, sentence};
use crate::waiting;

/// A note with the task it is on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TaskNote {
    /// The note.
    #[serde(flatten)]
    pub note: NoteView,
    /// The task.
    pub task: TaskId,
}

impl<'de> Deserialize<'de> for TaskNote {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<TaskNote, D::Error> {
        #[derive(Deserialize)]
        struct Rest {
            task: TaskId,
        }
        let (note, Rest { task }) = merged::both(deserializer)?;
        Ok(TaskNote { note, task })
    }
}

/// A checkout of the project.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Checkout")]
pub struct ProjectCheckout {
    /// Its id.
    pub id: CheckoutId,
    /// The name.
    pub name: String,
    /// The machine.
    pub host: String,
    /// The top of the working tree.
    pub path: String,
}

/// Ids of such things with a prefix.
pub(in crate::query) fn beginning(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    prefix: &str,
    sort: id::Sort,
) -> Result<Vec<AnyId>> {
    let project = snapshot.project_id();
    match sort {
        id::Sort::Place => place::beginning(tx, project, prefix, 11).map(any),
        id::Sort::Note => note::beginning(tx, project, prefix, 11).map(any),
        // Only messages that the caller sent or received are found.
        id::Sort::Message => message::beginning(tx, project, prefix, &snapshot.call.actor.name, 11).map(any),
        id::Sort::Checkout => {
            let all = snapshot.checkouts(tx)?;
            Ok(any(all.ids().filter(|id| id.starts_with(prefix)).take(11).cloned().collect()))
        }
        _ => Ok(Vec::new()),
    }
}

/// Ids whose sort is given by their letter.
pub(in crate::query) fn any<K: IdKind>(ids: Vec<Id<K>>) -> Vec<AnyId> {
    ids.into_iter().map(|id| String::from(id).into()).collect()
}

pub(in crate::query) fn show_place(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, named: &str) -> Result<Place> {
    if let Some(live) = waiting::shown(tx, snapshot)?.into_iter().find(|place| place.id == named) {
        return Ok(live);
    }
    let row = place::get(tx, snapshot.project_id(), named)?.ok_or_else(|| id::unknown(named, id::Sort::Place))?;
    let mut shown = Place::of(&row, None, snapshot.now);
    // A write would not find it in the waiting line, whatever its row says.
    shown.state = place::PlaceState::Ended.as_str().to_owned();
    snapshot.checkouts(tx)?.show_place(&mut shown);
    Ok(shown)
}

pub(in crate::query) fn show_note(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, named: &str) -> Result<TaskNote> {
    let row = get_note(tx, snapshot, named)?;
    Ok(TaskNote { task: row.task.clone(), note: NoteView::of(row)? })
}

fn get_note(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, named: &str) -> Result<note::Row> {
    let found = note::get_many(tx, snapshot.project_id(), &[named.into()])?.pop();
    found.ok_or_else(|| id::unknown(named, id::Sort::Note))
}

/// A message as its author or a recipient sees it.
pub(in crate::query) fn show_message(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, named: &str) -> Result<Message> {
    let me = &snapshot.call.actor.name;
    let unknown = || id::unknown(named, id::Sort::Message);
    let row = message::get(tx, snapshot.project_id(), named)?.ok_or_else(unknown)?;
    if let Some(got) = mail::of_message(tx, snapshot.project_id(), me, named)?.into_iter().next() {
        return Ok(Message::of(&got, EventNumber::START));
    }
    if row.author != *me {
        return Err(unknown());
    }
    let own = mail::Row { number: row.number, what: mail::What::Message, acked_at: None, message: row };
    Ok(Message::of(&own, EventNumber::START))
}

pub(in crate::query) fn show_checkout(
    tx: &mut dyn Tx,
    snapshot: &Snapshot<'_>,
    named: &str,
) -> Result<ProjectCheckout> {
    let all = snapshot.checkouts(tx)?;
    let known = all.get(named).ok_or_else(|| id::unknown(named, id::Sort::Checkout))?;
    Ok(ProjectCheckout {
        id: known.id.clone(),
        name: all.name(named),
        host: known.host.clone(),
        path: known.path.clone(),
    })
}

/// The history of such a thing.
pub(in crate::query) fn why(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, named: &str) -> Result<Story> {
    let project = snapshot.project_id();
    let told = |row: event::Row| sentence(snapshot, row);
    let (story, more) = match named.split_once('-').map_or("", |(letter, _)| letter) {
        "w" => {
            let row = place::get(tx, project, named)?.ok_or_else(|| id::unknown(named, id::Sort::Place))?;
            let (mut events, more) = newest(tx, project, named, Topic::Other, LONGEST)?;
            events.reverse();
            let mut story = events.into_iter().map(told).collect::<Result<Vec<_>>>()?;
            story.extend(offered(tx, snapshot, &row)?);
            story.sort_by_key(|sentence| sentence.number);
            let is_over = row.state != place::PlaceState::Ended && lapsed(snapshot.now, row.expires_at);
            story.extend(is_over.then(|| Sentence {
                number: EventNumber::START,
                at: row.expires_at.to_string(),
                text: format!("the place of {} in the waiting line expired", row.agent),
            }));
            (story, more)
        }
        "n" => {
            let row = get_note(tx, snapshot, named)?;
            let events = tx.fetch(event::page(
                project,
                &event::EventFilter::default(),
                (row.number.previous(), EventNumber::MAX),
                false,
                1,
            ))?;
            let its = events.into_iter().filter(|event| event.number == row.number);
            (its.map(told).collect::<Result<Vec<_>>>()?, false)
        }
        "g" => {
            show_message(tx, snapshot, named)?;
            let (mut events, more) = newest(tx, project, named, Topic::Other, LONGEST)?;
            events.reverse();
            (events.into_iter().map(told).collect::<Result<Vec<_>>>()?, more)
        }
        _ => {
            let known = show_checkout(tx, snapshot, named)?;
            let text = format!("the checkout {} is {} on {}", cut(&known.name, 120), cut(&known.path, 300), known.host);
            (vec![Sentence { number: EventNumber::START, at: snapshot.now.to_string(), text }], false)
        }
    };
    let forgotten = story.is_empty() && snapshot.project.is_some_and(|row| row.first_event > EventNumber::FIRST);
    Ok(Story { subject: named.to_owned(), story, more, forgotten })
}

/// What was offered to a place, and what happened to the offer.
fn offered(tx: &mut dyn Tx, snapshot: &Snapshot<'_>, row: &place::Row) -> Result<Vec<Sentence>> {
    let mut told = Vec::new();
    for wanted in row.wanted.iter().take(LONGEST) {
        let filter = event::EventFilter { subject: Some(wanted.clone()), ..event::EventFilter::default() };
        for event in
            tx.fetch(event::page(snapshot.project_id(), &filter, (row.ticket, EventNumber::MAX), false, LONGEST))?
        {
            let place = match fact::seen(&event.kind, &event.data) {
                Event::PathOffered(PathOffered { place, .. })
                | Event::LockOffered(LockOffered { place, .. })
                | Event::OfferTaken(OfferTaken { place, .. }) => Some(place),
                Event::HoldExpired(HoldExpired { place, .. }) => place,
                _ => None,
            };
            if place.as_deref() == Some(row.id.as_str()) {
                told.push(sentence(snapshot, event)?);
            }
        }
    }
    Ok(told)
}
