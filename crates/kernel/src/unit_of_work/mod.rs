//! The atomic unit of an op: its transaction, its time, its actor, and the ways it may change state.

mod loaded_task;

use serde_json::json;
use tenure_core::action::{Action, Phrasing};
use tenure_core::agent::Process;
use tenure_core::event::Event;
use tenure_core::event::project::{AgentOwned, AgentRegistered, ProjectCreated};
use tenure_core::hold::Ending;
use tenure_core::id::{CheckoutId, Drawn, HoldId, Id, TaskId, or_empty};
use tenure_core::name::{AgentName, resemble};
use tenure_core::number::EventNumber;
use tenure_core::{Code, Error, Result, Span, Time, id};
use tenure_store::table::{
    agent, checkout, delivery, event as log, hold, memory, message, note, place, project, task, token,
};
use tenure_store::{Entropy, Statement, Tx};

pub(crate) use self::loaded_task::{Grant, LoadedTask, held_by};
use crate::access::{self, owner_of};
use crate::call::{Call, Door, Sighting, Words};
use crate::checkouts::Checkouts;
use crate::mail::EndedHold;
use crate::waiting::LineView;

/// The subject of an event.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    subject: &'a str,
    hold: &'a str,
    cause: Option<EventNumber>,
}

impl<'a> About<'a> {
    /// A task, a path, an agent or anything else with a name; empty for the project as a whole.
    pub(crate) fn of(subject: &'a str) -> About<'a> {
        About { subject, hold: "", cause: None }
    }

    /// Adds the hold that it is about; empty for none.
    pub(crate) fn hold(self, hold: &'a str) -> About<'a> {
        About { hold, ..self }
    }

    /// Adds the event that caused it.
    pub(crate) fn cause(self, cause: impl Into<Option<EventNumber>>) -> About<'a> {
        About { cause: cause.into(), ..self }
    }
}

/// A new agent's name is compared with those of at most this many agents, seen within this time.
const KNOWN_MAX: usize = 200;
const KNOWN_FOR: Span = Span::days(30);

/// One op in progress. It has no access to the store itself, so a nested transaction cannot be written.
pub struct UnitOfWork<'a> {
    pub(crate) tx: &'a mut dyn Tx,
    pub(crate) call: &'a Call,
    pub(crate) now: Time,
    /// The clock as it was read.
    pub(crate) clock: Time,
    /// The project's row as it will be saved.
    pub(crate) project: project::Row,
    /// The newest event before this op.
    pub(crate) first_event: EventNumber,
    /// Whether lapsed holds remain that this op did not settle.
    pub(crate) more_due: bool,
    /// Holds with messages that this op has ended.
    pub(crate) over: Vec<EndedHold>,
    /// Whether anything ended or changed that a place in the waiting line may wait for.
    pub(crate) freed: bool,
    /// How many places got an offer.
    pub(crate) offers: usize,
    /// Agents that were just proven dead and have not come back in another process.
    pub(crate) dead: Vec<AgentName>,
    /// The id of the working tree of the call.
    pub(crate) checkout: Option<CheckoutId>,
    /// All checkouts of the project, once they were needed.
    pub(crate) checkouts: Option<Checkouts>,
    /// What the answer says besides what was asked.
    remarks: Vec<String>,
    agent: Option<agent::Row>,
    entropy: &'a dyn Entropy,
    words: Words,
    op: &'static str,
    /// The row at the savepoint: numbers drawn since are returned with everything else on a rollback.
    mark: Option<(project::Row, usize)>,
}

impl<'a> UnitOfWork<'a> {
    pub(crate) fn new(
        tx: &'a mut dyn Tx,
        (entropy, words): (&'a dyn Entropy, Words),
        call: &'a Call,
        op: &'static str,
        (now, clock): (Time, Time),
        mut project: project::Row,
        agent: Option<agent::Row>,
    ) -> UnitOfWork<'a> {
        project.last_time = now;
        let first_event = project.last_event;
        UnitOfWork {
            tx,
            call,
            now,
            clock,
            project,
            first_event,
            more_due: false,
            over: Vec::new(),
            freed: false,
            offers: 0,
            dead: Vec::new(),
            checkout: None,
            checkouts: None,
            remarks: Vec::new(),
            agent,
            entropy,
            words,
            op,
            mark: None,
        }
    }

    /// The transaction, and the context for reading holds and the waiting line.
    pub(crate) fn look(&mut self) -> (&mut dyn Tx, LineView<'_>) {
        let sight = LineView {
            project: &self.project,
            now: self.now,
            clock: self.clock,
            dead: &self.dead,
            call: self.call,
            is_write: true,
        };
        (&mut *self.tx, sight)
    }

    /// The actor's name.
    pub(crate) fn me(&self) -> &'a AgentName {
        &self.call.actor.name
    }

    /// Presence: records that the actor was here, and renews its session holds that run low. There is no event.
    pub(crate) fn be_present(&mut self) -> Result<()> {
        if let Some(agent) = &self.agent {
            let me = self.me();
            agent::seen(self.tx, &self.project.id, me, self.now)?;
            // A door that does not know the process leaves it unchanged, unless that process has ended: then the agent
            // acts from another one, and proof about the old one must not count.
            let is_elsewhere = agent.ended_at.is_some() || self.dead.contains(me);
            let unknown = Process::default();
            let process = self.call.actor.process.as_ref().or_else(|| is_elsewhere.then_some(&unknown));
            if let Some(process) = process.filter(|process| **process != agent.process) {
                agent::moved(self.tx, &self.project.id, me, process)?;
            }
            if self.call.actor.door == Door::Mcp && !agent.mcp {
                agent::calls_tools(self.tx, &self.project.id, me)?;
            }
            hold::renew_session(self.tx, &self.project.id, me, self.now)?;
        }
        Ok(())
    }

    /// Begins the op's own part.
    pub(crate) fn begin(&mut self) -> Result<()> {
        self.mark = Some((self.project.clone(), self.offers));
        self.tx.savepoint()
    }

    /// Rolls back the op's own part.
    pub(crate) fn take_back(&mut self) -> Result<()> {
        self.tx.undo()?;
        self.over.clear();
        if let Some(mark) = self.mark.take() {
            (self.project, self.offers) = mark;
        }
        Ok(())
    }

    /// Remarks on a new name that resembles a known one: it may be a slip of the pen. Names that are made from the id of a
    /// session are not typed.
    fn remark_likeness(&mut self) -> Result<()> {
        let actor = &self.call.actor;
        let tool = if actor.tool.is_empty() { "mcp" } else { actor.tool.as_str() };
        if actor.name.strip_prefix(tool).is_some_and(|id| id.starts_with('-')) {
            return Ok(());
        }
        let known = agent::recent(self.tx, &self.project.id, self.now - KNOWN_FOR, KNOWN_MAX)?;
        if let Some(row) = known.iter().find(|row| resemble(&row.name, &actor.name)) {
            let (new, known) = (&actor.name, &row.name);
            self.remarks.push(format!("{new} is a new agent and resembles {known}: if they are one, use one name"));
        }
        Ok(())
    }

    /// The answer of the op with the remarks in it.
    pub(crate) fn with_remarks(&self, body: String) -> String {
        match body.strip_suffix('}') {
            Some(start) if !self.remarks.is_empty() => {
                let comma = if start == "{" { "" } else { "," };
                format!("{start}{comma}\"remarks\":{}}}", json!(self.remarks))
            }
            _ => body,
        }
    }

    /// Registers what is seen for the first time: project, agent, checkout.
    pub(crate) fn register(&mut self, sighting: Sighting) -> Result<()> {
        let project = self.project.id.clone();
        if !self.project.is_switched_on() {
            let created = ProjectCreated { key: self.project.key.to_string(), label: self.project.label.clone() };
            self.append(About::of(&project), Event::ProjectCreated(created))?;
        }
        if self.agent.is_none() {
            self.remark_likeness()?;
            let actor = &self.call.actor;
            let process = actor.process.clone();
            let row = agent::Row {
                name: actor.name.clone(),
                tool: actor.tool.clone(),
                registered_at: self.now,
                last_seen: self.now,
                ended_at: None,
                focus: None,
                mcp: actor.door == Door::Mcp,
                process: process.unwrap_or_default(),
                owner: owner_of(self.call).cloned(),
            };
            agent::insert(self.tx, &project, &row)?;
            let registered = AgentRegistered { tool: Some(actor.tool.clone()), imported: false };
            let number = self.append(About::of(&actor.name), Event::AgentRegistered(registered))?;
            // The agent's news begin here.
            let begins = delivery::Row { offered: number, confirmed: number, ..delivery::Row::default() };
            delivery::put(self.tx, &project, &actor.name, &begins)?;
            self.agent = Some(row);
        } else if let Some(row) = self.agent.as_mut()
            && let Some(owner) = access::new_owner(self.call, row.owner.as_ref())
        {
            let was = std::mem::replace(&mut row.owner, owner.cloned());
            agent::own(self.tx, &project, &self.call.actor.name, owner)?;
            let owned = AgentOwned { owner: or_empty(owner).to_owned(), was: or_empty(was.as_ref()).to_owned() };
            self.append(About::of(&self.call.actor.name), Event::AgentOwned(owned))?;
        }
        if let (Sighting::New(moved), Some(here)) = (sighting, &self.call.checkout) {
            for one in &moved {
                match &one.now {
                    Some(row) => checkout::follow(self.tx, &project, &one.old_path, row)?,
                    None => checkout::forget(self.tx, &project, &here.host, &one.old_path)?,
                }
            }
            let (common_path, common_device, common_inode) = here.common.clone().unwrap_or_default();
            // A checkout that is only seen in another repository than before keeps its id.
            let id = self.checkout.take().unwrap_or_else(|| self.draw(8));
            self.checkout = Some(id.clone());
            let row = checkout::Row {
                host: here.host.clone(),
                path: here.path.clone(),
                id,
                common_path,
                common_device,
                common_inode,
            };
            checkout::put(self.tx, &project, &row, self.now)?;
        }
        Ok(())
    }

    /// Appends an event and returns its number.
    pub(crate) fn append(&mut self, about: About<'_>, event: Event) -> Result<EventNumber> {
        let row = self.event(about, event);
        log::insert(self.tx, &self.project.id, &row)?;
        Ok(row.number)
    }

    /// Appends many events with one statement.
    pub(crate) fn append_all(&mut self, events: &[log::Row]) -> Result<()> {
        log::insert_many(self.tx, &self.project.id, events)
    }

    /// Creates the next event without storing it.
    #[allow(clippy::needless_pass_by_value, reason = "an event is made for its row and is over with it")]
    pub(crate) fn event(&mut self, about: About<'_>, event: Event) -> log::Row {
        self.project.last_event = self.project.last_event.next();
        self.project.events += 1;
        // The principal behind an agent is part of the record, above all where force was used.
        let (kind, data) = event.stored(owner_of(self.call).map(AgentName::as_str));
        log::Row {
            number: self.project.last_event,
            at: self.now,
            kind,
            actor: self.me().clone(),
            subject: about.subject.to_owned(),
            hold: HoldId::non_empty(about.hold.to_owned()),
            op: self.op.to_owned(),
            request_id: self.call.request_id.as_str().to_owned(),
            cause: about.cause,
            data,
        }
    }

    pub(crate) fn draw<K: Drawn>(&self, length: usize) -> Id<K> {
        Id::draw(length, &mut |bytes| self.entropy.fill(bytes))
    }

    /// The number of the next task.
    pub(crate) fn next_task(&mut self) -> i64 {
        self.project.last_task += 1;
        self.project.last_task
    }

    /// Draws many ids with one call to the source of randomness. Some may be equal.
    pub(crate) fn draw_many<K: Drawn>(&self, length: usize, count: usize) -> Vec<Id<K>> {
        let mut bytes = vec![0; length * count];
        self.entropy.fill(&mut bytes);
        let mut rest = bytes.as_slice();
        let mut fill = |wanted: &mut [u8]| {
            let (taken, left) = rest.split_at(wanted.len());
            wanted.copy_from_slice(taken);
            rest = left;
        };
        (0..count).map(|_| Id::draw(length, &mut fill)).collect()
    }

    /// Draws an id. The caller checks that it is unused.
    pub(crate) fn draw_next<K: Drawn>(&self) -> Id<K> {
        let issued = match K::SORT {
            id::Sort::Task => self.project.last_task,
            id::Sort::Hold => self.project.holds_issued,
            // The newest event number is not used: a restore makes it jump, and no ids are issued for the numbers in
            // between. If old events were dropped, this count is too low, and an id in use is drawn again slightly more
            // often.
            _ => self.project.events.max(self.project.last_task).max(self.project.holds_issued),
        };
        self.draw(id::length(u64::try_from(issued).unwrap_or(0)))
    }

    /// Whether the actor calls tools instead of commands.
    pub(crate) fn uses_tools(&self) -> bool {
        self.call.actor.door == Door::Mcp || self.agent.as_ref().is_some_and(|agent| agent.mcp)
    }

    /// The phrasing for the actor.
    pub(crate) fn phrasing(&self) -> &'static dyn Phrasing {
        (self.words)(if self.uses_tools() { Door::Mcp } else { Door::Cli })
    }

    /// The actor's task in focus.
    pub(crate) fn focus(&self) -> Option<&TaskId> {
        self.agent.as_ref()?.focus.as_ref()
    }

    /// Draws ids until one is unused: the rare second attempt after a collision.
    pub(crate) fn redraw<K: Drawn>(&mut self) -> Result<Id<K>> {
        loop {
            let drawn = self.draw_next();
            if !self.tx.fetch(exists(&self.project.id, &drawn))? {
                return Ok(drawn);
            }
        }
    }

    /// Records that this op has ended a hold, for the authors of messages about it. `number` is its event.
    pub(crate) fn ended(&mut self, hold: &HoldId, asked: i64, how: Ending, number: EventNumber) {
        if asked > 0 {
            let (hold, by) = (hold.clone(), self.me().clone());
            self.over.push(EndedHold { hold, how: told(self.op, how), by, cause: number });
        }
    }

    /// Prepares an agent for a new assignment. If it was marked as gone, the next write examines it again and unassigns
    /// its tasks. Otherwise no agent would ever choose the task.
    pub(crate) fn reserve_for(&mut self, agent: Option<&AgentName>) -> Result<()> {
        match agent {
            Some(agent) if !tenure_core::name::is_person(agent) => agent::look_again(self.tx, &self.project.id, agent),
            _ => Ok(()),
        }
    }

    /// Refuses an unknown agent.
    pub(crate) fn known_agent(&mut self, name: &str) -> Result<agent::Row> {
        tenure_core::name::check(name)?;
        if let Some(agent) = self.agent.as_ref().filter(|agent| agent.name == name) {
            return Ok(agent.clone());
        }
        match self.tx.fetch(agent::get(&self.project.id, name))? {
            Some(agent) => Ok(agent),
            None => Err(self.unknown_agent(name)?),
        }
    }

    /// The refusal of an unknown agent, with the nearest known name.
    pub(crate) fn unknown_agent(&mut self, name: &str) -> Result<Error> {
        let known = agent::list(self.tx, &self.project.id, "", 1_000)?;
        let nearest = tenure_core::name::nearest(name, known.iter().map(|agent| agent.name.as_str()));
        let meant = nearest.map_or(String::new(), |nearest| format!("Did you mean `{nearest}`? "));
        Ok(Error::new(Code::UnknownAgent, format!("no agent `{name}` has been seen in this project"))
            .entity(name)
            .attempt(Action::ListAgents)
            .hint(format!("{meant}An agent is known after its first call.")))
    }
}

fn exists<K: Drawn>(project: &str, drawn: &Id<K>) -> Statement<bool> {
    match K::SORT {
        id::Sort::Hold => hold::exists(project, drawn),
        id::Sort::Note => note::exists(project, drawn),
        id::Sort::Memory => memory::exists(project, drawn),
        id::Sort::Message => message::exists(project, drawn),
        id::Sort::Place => place::exists(project, drawn),
        id::Sort::Token => token::exists(drawn),
        _ => task::exists(project, drawn),
    }
}

/// How a hold ended, in words for the authors of messages about it. A blocked or cancelled task is not done. After an
/// override the words name what the op did.
fn told(op: &str, how: Ending) -> &'static str {
    match (how, op) {
        (Ending::Finished | Ending::Forced, "block") => "blocked",
        (Ending::Finished | Ending::Forced, "cancel") => "cancelled",
        (Ending::Forced, "release" | "reserve" | "lock") => Ending::Released.as_str(),
        (Ending::Forced, "transfer") => Ending::Transferred.as_str(),
        (Ending::Finished | Ending::Forced, _) => "done",
        (how, _) => how.as_str(),
    }
}

/// The refusal of an op that only people may run.
pub(crate) fn people_only(what: &str) -> Error {
    Error::new(Code::PeopleOnly, format!("{what} is reserved for people"))
        .hint("Ask a person, or work on another task.")
        .attempt(Action::NextTask)
}
