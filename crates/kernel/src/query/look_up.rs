//! `look_up`: the things whose id starts with a text.

pub(super) mod by_id;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Result, id};

use self::by_id::{ProjectCheckout, TaskNote};
use super::any_id;
use super::query::{Access, Query, Role};
use super::show::show;
use super::show_hold::show_hold;
use crate::answer::{Hold, Message, Place, Shown};
use crate::call::Call;
use crate::kernel::Kernel;

/// The thing whose id begins with a text, over one snapshot.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LookUp {
    /// Any unique beginning of the id.
    pub typed: String,
}

/// What an id was of.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
    Checkout(Box<ProjectCheckout>),
}

impl Query for LookUp {
    const NAME: &'static str = "look_up";
    const ABOUT: &'static str = "Find a task or a hold by the beginning of its id";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Viewer);
    type Answer = Found;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<Found> {
        kernel.in_snapshot(call, |tx, snapshot| {
            let sort = any_id::sort(&self.typed);
            let id = any_id::expand(tx, snapshot, &self.typed, sort)?;
            match sort {
                id::Sort::Hold => show_hold(tx, snapshot, &id).map(|hold| Found::Hold(Box::new(hold))),
                id::Sort::Place => by_id::show_place(tx, snapshot, &id).map(|place| Found::Place(Box::new(place))),
                id::Sort::Note => by_id::show_note(tx, snapshot, &id).map(|note| Found::Note(Box::new(note))),
                id::Sort::Message => {
                    by_id::show_message(tx, snapshot, &id).map(|message| Found::Message(Box::new(message)))
                }
                id::Sort::Checkout => {
                    by_id::show_checkout(tx, snapshot, &id).map(|checkout| Found::Checkout(Box::new(checkout)))
                }
                _ => show(tx, snapshot, &id.as_str().into()).map(|task| Found::Task(Box::new(task))),
            }
        })
    }
}
