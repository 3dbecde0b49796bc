//! `show`: one task with its notes, dependents and newest events, or one hold; and the graph around a task.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use tenure_core::event::Topic;
use tenure_core::task::Status;
use tenure_core::{Result, id};
use tenure_store::table::{dep, hold, note, task};
use tenure_store::{Tx, Within};

use super::list::views;
use super::thing::{self, Checkout, TaskNote};
use super::{Scene, ids};
use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape::{Event, Hold, Message, Note, Place, Shown, Task};

/// How many notes and dependents are shown.
const MANY: usize = 100;
/// How many events are shown.
const EVENTS: usize = 20;
/// How many edges a picture has at the most.
const EDGES: usize = 500;

/// A task and everything it is connected with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Graph {
    /// The task in the middle.
    pub root: String,
    /// All tasks of the picture.
    pub tasks: Vec<Task>,
    /// (task, what it comes after).
    pub edges: Vec<(String, String)>,
    /// Whether the picture was cut.
    pub more: bool,
}

/// What an id was of.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// A task.
    Task(Box<Shown>),
    /// A hold.
    Hold(Box<Hold>),
    /// A place in the waiting line.
    Place(Box<Place>),
    /// A note.
    Note(Box<TaskNote>),
    /// A message from the asker or to it.
    Message(Box<Message>),
    /// A checkout.
    Checkout(Box<Checkout>),
}

impl Kernel {
    /// The thing whose id begins with a text, over one snapshot.
    pub fn look_up(&self, call: &Call, typed: &str) -> Result<Found> {
        self.ask(call, |tx, scene| {
            let sort = ids::sort(typed);
            let id = ids::expand(tx, scene, typed, sort)?;
            match sort {
                id::Sort::Hold => show_hold(tx, scene, &id).map(|hold| Found::Hold(Box::new(hold))),
                id::Sort::Place => thing::show_place(tx, scene, &id).map(|place| Found::Place(Box::new(place))),
                id::Sort::Note => thing::show_note(tx, scene, &id).map(|note| Found::Note(Box::new(note))),
                id::Sort::Message => {
                    thing::show_message(tx, scene, &id).map(|message| Found::Message(Box::new(message)))
                }
                id::Sort::Checkout => {
                    thing::show_checkout(tx, scene, &id).map(|checkout| Found::Checkout(Box::new(checkout)))
                }
                _ => show(tx, scene, &id).map(|task| Found::Task(Box::new(task))),
            }
        })
    }

    /// One task.
    pub fn show(&self, call: &Call, task: &str) -> Result<Shown> {
        id::named(task, id::Sort::Task)?;
        self.ask(call, |tx, scene| show(tx, scene, task))
    }

    /// One hold, ended or not.
    pub fn show_hold(&self, call: &Call, hold: &str) -> Result<Hold> {
        id::named(hold, id::Sort::Hold)?;
        self.ask(call, |tx, scene| show_hold(tx, scene, hold))
    }

    /// The graph around a task.
    pub fn graph(&self, call: &Call, task: &str) -> Result<Graph> {
        id::named(task, id::Sort::Task)?;
        self.ask(call, |tx, scene| graph(tx, scene, task))
    }
}

fn show_hold(tx: &mut dyn Tx, scene: &Scene<'_>, named: &str) -> Result<Hold> {
    let row = hold::get(tx, scene.project_id(), named)?.ok_or_else(|| id::unknown(named, id::Sort::Hold))?;
    let seen = super::holds::views(tx, scene, &[row])?.pop();
    seen.ok_or_else(|| id::unknown(named, id::Sort::Hold))
}

fn show(tx: &mut dyn Tx, scene: &Scene<'_>, named: &str) -> Result<Shown> {
    let project = scene.project_id();
    let full = tx.fetch(task::get(project, named))?.ok_or_else(|| id::unknown(named, id::Sort::Task))?;
    let blocker_gone = match full.task.blocked_on.as_str() {
        "" => false,
        on => task::existing(tx, project, &[on.to_owned()])?.iter().all(|(_, status)| *status == Status::Done),
    };
    let notes = note::newest_within(tx, project, named, (MANY, super::PAGE_BYTES))?;
    let notes = notes.rows.into_iter().map(Note::of).collect::<Result<_>>()?;
    let dependents = dep::dependents(tx, project, named, MANY)?.into_iter().map(|edge| edge.after).collect();
    let (mut events, _) = super::why::newest(tx, project, named, Topic::Other, EVENTS)?;
    events.reverse();
    let mut views = views(tx, scene, std::slice::from_ref(&full))?;
    let task = views.pop().ok_or_else(|| id::unknown(named, id::Sort::Task))?;
    let events = events.into_iter().map(Event::of).collect::<Result<_>>()?;
    Ok(Shown { task, blocker_gone, notes, dependents, events })
}

/// The edges nearest to a task, both ways, ring by ring: where the picture is cut, what is far away goes first.
fn around(tx: &mut dyn Tx, project: &str, root: &str) -> Result<(Vec<(String, String)>, bool)> {
    let mut edges: Vec<(String, String)> = Vec::new();
    let mut known: HashSet<(String, String)> = HashSet::new();
    let (mut up, mut down) = (vec![root.to_owned()], vec![root.to_owned()]);
    let mut seen: [HashSet<String>; 2] = [HashSet::from([root.to_owned()]), HashSet::from([root.to_owned()])];
    while !up.is_empty() || !down.is_empty() {
        let before = if up.is_empty() { Vec::new() } else { tx.fetch(dep::of(project, &up))? };
        let after = if down.is_empty() { Vec::new() } else { dep::after_these(tx, project, &down)? };
        up = before.iter().map(|edge| edge.after.clone()).filter(|id| seen[0].insert(id.clone())).collect();
        down = after.iter().map(|(task, _)| task.clone()).filter(|id| seen[1].insert(id.clone())).collect();
        for edge in before.into_iter().map(|edge| (edge.task, edge.after)).chain(after) {
            if edges.len() == EDGES {
                return Ok((edges, true));
            }
            if known.insert(edge.clone()) {
                edges.push(edge);
            }
        }
    }
    Ok((edges, false))
}

fn graph(tx: &mut dyn Tx, scene: &Scene<'_>, root: &str) -> Result<Graph> {
    let project = scene.project_id();
    let middle = tx.fetch(task::get(project, root))?.ok_or_else(|| id::unknown(root, id::Sort::Task))?;
    let (mut edges, more) = around(tx, project, root)?;
    let mut named = HashSet::from([root.to_owned()]);
    let both = edges.iter().flat_map(|(task, after)| [task, after]);
    let ids: Vec<String> = both.filter(|id| named.insert((*id).clone())).cloned().collect();
    let Within { rows: mut found, cut } = task::get_many_within(tx, project, &ids, super::PAGE_BYTES)?;
    found.push(middle);
    found.sort_by_cached_key(|full| full.task.rank());
    if cut {
        let shown: HashSet<&String> = found.iter().map(|full| &full.task.id).collect();
        edges.retain(|(task, after)| shown.contains(task) && shown.contains(after));
    }
    edges.sort();
    Ok(Graph { root: root.to_owned(), tasks: views(tx, scene, &found)?, edges, more: more || cut })
}
