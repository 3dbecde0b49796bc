//! The atomic unit an op works in: its transaction, its time, its actor, and the ways it may change state.

use serde_json::{Value, json};
use tenure_core::choice::Rank;
use tenure_core::hold::{Claim, Ending, Right, Standing};
use tenure_core::task::Status;
use tenure_core::{Error, Kind, Result, Span, Time, event, hold as rule, id};
use tenure_store::table::{
    agent, checkout, delivery, dep, event as log, hold, label, memory, message, note, path, place, project, shown, task,
};
use tenure_store::{Entropy, Sql, Tx};

use crate::call::{Call, Door, Sighting};
use crate::mail::Over;
use crate::settle;
use crate::shape;

/// One op under way. It has no way to the store itself, so a transaction inside a transaction cannot be written down.
pub(crate) struct Unit<'a> {
    pub(crate) tx: &'a mut dyn Tx,
    pub(crate) call: &'a Call,
    pub(crate) now: Time,
    /// The project's row as it will be saved.
    pub(crate) project: project::Row,
    /// The newest event before this op.
    pub(crate) first_event: i64,
    /// Whether lapsed holds remain that this op did not settle.
    pub(crate) more_due: bool,
    /// Holds that this op has ended and that messages are about.
    pub(crate) over: Vec<Over>,
    /// Whether something ended, or changed, that somebody in the waiting line may have waited for.
    pub(crate) freed: bool,
    /// How many places got an offer.
    pub(crate) offers: usize,
    /// Agents that were proven dead just before, and have not come back in another process.
    pub(crate) dead: Vec<String>,
    /// The id of the working tree that the op comes from, empty for none.
    pub(crate) checkout: String,
    agent: Option<agent::Row>,
    entropy: &'a dyn Entropy,
    op: &'static str,
    /// The row as it was at the savepoint: numbers that were drawn since are given back with everything else.
    mark: Option<(project::Row, usize)>,
}

/// A task as an op finds it, with what its actor was last shown.
pub(crate) struct Loaded {
    pub(crate) full: task::Full,
    pub(crate) edges: Vec<dep::Edge>,
    pub(crate) shown: Option<i64>,
    /// The paths that are held for it.
    pub(crate) bound: Vec<hold::Row>,
}

impl<'a> Unit<'a> {
    pub(crate) fn new(
        tx: &'a mut dyn Tx,
        entropy: &'a dyn Entropy,
        call: &'a Call,
        op: &'static str,
        now: Time,
        mut project: project::Row,
        agent: Option<agent::Row>,
    ) -> Unit<'a> {
        project.last_time = now;
        let first_event = project.last_event;
        Unit {
            tx,
            call,
            now,
            project,
            first_event,
            more_due: false,
            over: Vec::new(),
            freed: false,
            offers: 0,
            dead: Vec::new(),
            checkout: String::new(),
            agent,
            entropy,
            op,
            mark: None,
        }
    }

    /// The actor's name.
    pub(crate) fn me(&self) -> &'a str {
        &self.call.actor.name
    }

    /// The start of the order of choice.
    pub(crate) fn first_rank(&self) -> Rank {
        Rank { priority: -1, number: -1, id: String::new() }
    }

    /// Presence: the actor was here, and its session holds that run low are renewed. No event.
    pub(crate) fn be_present(&mut self) -> Result<()> {
        if let Some(agent) = &self.agent {
            let me = self.me();
            agent::seen(self.tx, &self.project.id, me, self.now)?;
            // A door that does not know the process says nothing about it.
            if let Some(process) = self.call.actor.process.as_ref().filter(|process| **process != agent.process) {
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

    /// Takes the op's own part back.
    pub(crate) fn take_back(&mut self) -> Result<()> {
        self.tx.undo()?;
        self.over.clear();
        if let Some(mark) = self.mark.take() {
            (self.project, self.offers) = mark;
        }
        Ok(())
    }

    /// Registers what is seen for the first time: project, agent, checkout.
    pub(crate) fn register(&mut self, sighting: Sighting) -> Result<()> {
        let project = self.project.id.clone();
        if !self.project.is_switched_on() {
            let data = json!({ "key": self.project.key, "label": self.project.label });
            self.append(event::kind::PROJECT_CREATED, &project, "", None, &data)?;
        }
        if self.agent.is_none() {
            let actor = &self.call.actor;
            let process = actor.process.clone();
            let row = agent::Row {
                name: actor.name.clone(),
                tool: actor.tool.clone(),
                registered_at: self.now,
                last_seen: self.now,
                ended_at: Time(0),
                focus: String::new(),
                mcp: actor.door == Door::Mcp,
                process: process.unwrap_or_default(),
            };
            agent::insert(self.tx, &project, &row)?;
            let number =
                self.append(event::kind::AGENT_REGISTERED, &actor.name, "", None, &json!({ "tool": actor.tool }))?;
            // From here on there is something to tell it.
            let begins = delivery::Row { offered: number, confirmed: number, ..delivery::Row::default() };
            delivery::put(self.tx, &project, &actor.name, &begins)?;
            self.agent = Some(row);
        }
        if let (Sighting::New(gone), Some(here)) = (sighting, &self.call.checkout) {
            for common in &gone {
                checkout::forget(self.tx, &project, &here.host, common)?;
            }
            if !gone.is_empty() {
                self.checkout.clear();
            }
            let (common_path, common_device, common_inode) = here.common.clone().unwrap_or_default();
            // One that is only seen in another repository than before keeps its id.
            if self.checkout.is_empty() {
                self.checkout = self.draw(id::Sort::Checkout, 8);
            }
            let row = checkout::Row {
                host: here.host.clone(),
                path: here.path.clone(),
                id: self.checkout.clone(),
                common_path,
                common_device,
                common_inode,
            };
            checkout::put(self.tx, &project, &row, self.now)?;
        }
        Ok(())
    }

    /// Appends an event and returns its number.
    pub(crate) fn append(
        &mut self,
        kind: &str,
        subject: &str,
        hold: &str,
        cause: Option<i64>,
        data: &Value,
    ) -> Result<i64> {
        let row = self.event(kind, subject, hold, cause, data);
        log::insert(self.tx, &self.project.id, &row)?;
        Ok(row.number)
    }

    /// Appends many events by one statement.
    pub(crate) fn append_all(&mut self, events: &[log::Row]) -> Result<()> {
        log::insert_many(self.tx, &self.project.id, events)
    }

    /// Makes the next event without storing it.
    pub(crate) fn event(
        &mut self,
        kind: &str,
        subject: &str,
        hold: &str,
        cause: Option<i64>,
        data: &Value,
    ) -> log::Row {
        self.project.last_event += 1;
        self.project.events += 1;
        log::Row {
            number: self.project.last_event,
            at: self.now,
            kind: kind.to_owned(),
            actor: self.me().to_owned(),
            subject: subject.to_owned(),
            hold: hold.to_owned(),
            op: self.op.to_owned(),
            request_id: self.call.request_id.as_str().to_owned(),
            cause,
            data: data.to_string(),
        }
    }

    pub(crate) fn draw(&self, sort: id::Sort, length: usize) -> String {
        id::draw(sort, length, &mut |bytes| self.entropy.fill(bytes))
    }

    /// Draws an id of a sort; the caller checks that it is free.
    pub(crate) fn draw_next(&self, sort: id::Sort) -> String {
        let issued = match sort {
            id::Sort::Task => self.project.last_task,
            id::Sort::Hold => self.project.holds_issued,
            // A restore lets numbers jump by 2³², and no ids are issued for those in between.
            _ => self.project.last_event % crate::restore::GAP,
        };
        self.draw(sort, id::length(u64::try_from(issued).unwrap_or(0)))
    }

    /// Whether the actor calls tools and does not type commands.
    pub(crate) fn uses_tools(&self) -> bool {
        self.call.actor.door == Door::Mcp || self.agent.as_ref().is_some_and(|agent| agent.mcp)
    }

    /// The actor's task in focus, empty for none.
    pub(crate) fn focus(&self) -> &str {
        self.agent.as_ref().map_or("", |agent| agent.focus.as_str())
    }

    /// The task an op means: the one named, else the actor's focus.
    pub(crate) fn meant(&self, named: Option<&str>) -> Result<String> {
        if let Some(named) = named {
            return Ok(named.to_owned());
        }
        let focus = self.focus();
        if focus.is_empty() {
            return Err(Error::refused(Kind::Usage, "no_focus", "no task is named and you have none in focus")
                .attempt("tenure claim")
                .attempt("tenure list"));
        }
        Ok(focus.to_owned())
    }

    /// Loads a task with everything an op decides on, and ends its hold first if that is over.
    pub(crate) fn load(&mut self, task: &str) -> Result<Loaded> {
        id::named(task, id::Sort::Task)?;
        let calls = self.load_calls(task);
        let answers = self.tx.query_all(calls)?;
        self.loaded(task, answers)
    }

    /// The same, with an id that is free, drawn for what the op is about to make.
    pub(crate) fn load_and_draw(&mut self, task: &str, making: id::Sort) -> Result<(Loaded, String)> {
        id::named(task, id::Sort::Task)?;
        let fresh = self.draw_next(making);
        let mut calls = self.load_calls(task);
        calls.push(exists_call(&self.project.id, making, &fresh));
        let mut answers = self.tx.query_all(calls)?;
        let taken = answers.pop().is_some_and(|rows| !rows.is_empty());
        let loaded = self.loaded(task, answers)?;
        Ok((loaded, if taken { self.redraw(making)? } else { fresh }))
    }

    fn load_calls(&self, task: &str) -> Vec<(Sql, Vec<tenure_store::Value>)> {
        let project = &self.project.id;
        vec![
            task::get_call(project, task),
            shown::get_call(project, self.me(), task),
            dep::of_one_call(project, task),
            path::of_tasks_call(project, &[task.to_owned()]),
        ]
    }

    fn loaded(&mut self, task: &str, answers: Vec<Vec<tenure_store::Row>>) -> Result<Loaded> {
        let [full, shown, edges, bound]: [_; 4] =
            answers.try_into().map_err(|_| Error::bug("four questions have four answers"))?;
        let mut full = task::one(full)?.ok_or_else(|| id::unknown(task, id::Sort::Task))?;
        let mut bound = hold::many(bound)?;
        if full.held.as_ref().is_some_and(|held| self.is_over(held)) {
            settle::expire(self, &mut full, &std::mem::take(&mut bound))?;
        }
        Ok(Loaded { full, edges: dep::edges(edges)?, shown: shown::decode(shown)?, bound })
    }

    /// Which of some tasks that a request names exist, with their status, in no order.
    pub(crate) fn existing(&mut self, ids: &[String]) -> Result<Vec<(String, Status)>> {
        ids.iter().try_for_each(|id| id::named(id, id::Sort::Task))?;
        task::existing(self.tx, &self.project.id, ids)
    }

    /// Draws ids until one is free: the rare second try of a collision.
    pub(crate) fn redraw(&mut self, sort: id::Sort) -> Result<String> {
        loop {
            let drawn = self.draw_next(sort);
            let (sql, args) = exists_call(&self.project.id, sort, &drawn);
            if self.tx.query(sql, &args)?.is_empty() {
                return Ok(drawn);
            }
        }
    }

    /// Whether a hold is over for this op: its time has passed, or its holder was proven dead just before.
    pub(crate) fn is_over(&self, held: &task::Held) -> bool {
        rule::lapsed(self.now, held.expires_at) || self.dead.contains(&held.holder)
    }

    /// Stores a task and keeps counters and label rows in step.
    pub(crate) fn store_task(&mut self, before: project::Class, row: &task::Row) -> Result<()> {
        self.project.counts[before as usize] -= 1;
        self.project.counts[row.class() as usize] += 1;
        task::update(self.tx, &self.project.id, row)?;
        if !row.labels.is_empty() {
            label::put(self.tx, &self.project.id, row)?;
        }
        Ok(())
    }

    /// With what right the actor acts on a task, or the refusal with everything it should say.
    pub(crate) fn right(&self, loaded: &Loaded, given: Option<i64>) -> Result<Right> {
        let Loaded { full, shown, .. } = loaded;
        let claim = Claim {
            task: &full.task.id,
            live: full.held.as_ref().map(|held| Standing { holder: &held.holder, fence: held.fence }),
            last_fence: full.task.last_fence,
            last_holder: &full.task.last_holder,
            lapsed: full.task.lapsed,
            shown: given.or(*shown),
        };
        rule::right(self.me(), &claim).map_err(|error| match (&full.held, error.kind()) {
            (Some(held), Kind::Conflict) => held_by(self.now, &full.task.id, held),
            _ => error,
        })
    }

    /// The right to act, where a person may override the holder. Returns whom they overrode.
    pub(crate) fn right_or_force(
        &self,
        loaded: &Loaded,
        given: Option<i64>,
        force: bool,
    ) -> Result<(Right, Option<String>)> {
        if force && !self.call.actor.is_person() {
            return Err(people_only("--force"));
        }
        match self.right(loaded, given) {
            Ok(right) => Ok((right, None)),
            Err(_) if force => {
                let holder = loaded.full.held.as_ref().map(|held| held.holder.clone());
                Ok((if holder.is_some() { Right::Holder } else { Right::Free }, holder))
            }
            Err(error) => Err(error),
        }
    }

    /// Ends the hold on a task by the op that `number` is the event of.
    pub(crate) fn end_hold(
        &mut self,
        full: &mut task::Full,
        how: Ending,
        number: i64,
        overrode: Option<&str>,
    ) -> Result<()> {
        let project = self.project.id.clone();
        let task = full.task.id.clone();
        if let Some(held) = full.held.take() {
            self.ended(&held.id, held.asked, how, number);
            let how = if overrode.is_some() { Ending::Forced } else { how };
            hold::end(self.tx, &project, &held.id, self.now, how)?;
            agent::clear_focus(self.tx, &project, &held.holder, &task)?;
            if overrode.is_some() {
                // An override is newer than the fence it ends: the former holder is stale from here on.
                full.task.last_fence = number;
                full.task.last_holder = String::new();
            }
            full.task.lapsed = false;
        }
        // What the actor was shown stays: it is how a later call of a former holder is told from a stranger's.
        if overrode.is_none() {
            let me = self.me();
            agent::clear_focus(self.tx, &project, me, &task)?;
        }
        Ok(())
    }

    /// Notes that this op has ended a hold, for those who wrote messages about it. `number` is the event that says so.
    pub(crate) fn ended(&mut self, hold: &str, asked: i64, how: Ending, number: i64) {
        if asked > 0 {
            let (hold, by) = (hold.to_owned(), self.me().to_owned());
            self.over.push(Over { hold, how: told(self.op, how), by, cause: number });
        }
    }

    /// Grants the hold on a task: the fence is the number of the event that says so.
    pub(crate) fn grant(
        &mut self,
        full: &mut task::Full,
        fresh: String,
        holder: &str,
        (ttl, expires_at): (Span, Time),
        grant: &Grant<'_>,
    ) -> Result<hold::Row> {
        let attempt = full.task.attempt + 1;
        let mut data = grant.data.clone();
        if let Value::Object(map) = &mut data {
            map.insert("holder".into(), json!(holder));
            map.insert("attempt".into(), json!(attempt));
            map.insert("ttl_s".into(), json!(ttl.as_seconds()));
            map.insert("expires_at".into(), json!(expires_at));
        }
        let fence = self.append(grant.kind, &full.task.id, &fresh, None, &data)?;
        let row = hold::Row {
            granted_at: self.now,
            expires_at,
            ttl,
            reason: full.task.title.clone(),
            ..hold::Row::of_task(fresh, &full.task.id, holder, fence)
        };
        hold::insert(self.tx, &self.project.id, &row)?;
        self.project.holds_issued += 1;
        full.task.attempt = attempt;
        full.task.last_fence = fence;
        full.task.last_holder = holder.to_owned();
        full.task.lapsed = false;
        if holder == self.me() {
            agent::set_focus(self.tx, &self.project.id, holder, &full.task.id)?;
        } else {
            // Who is handed a task while working on another goes on with that one: a plain `done` must never finish
            // what its sender has not looked at.
            agent::offer_focus(self.tx, &self.project.id, holder, &full.task.id)?;
        }
        full.held = Some(task::Held {
            id: row.id.clone(),
            holder: holder.to_owned(),
            fence,
            granted_at: self.now,
            expires_at,
            ttl,
            reason: row.reason.clone(),
            sign: tenure_core::agent::Sign { last_seen: self.now, ended: false, proven_dead: false, ttl },
            asked: 0,
        });
        Ok(row)
    }

    /// Tells everything that depends on a task that it is done, cancelled or open again. Returns what became ready.
    pub(crate) fn shift(&mut self, task: &str, unmet: i64, cancelled: i64, cause: i64) -> Result<Vec<String>> {
        let project = self.project.id.clone();
        let shifted = dep::shift(self.tx, &project, task, unmet, cancelled)?;
        let (mut ready, mut waiting, mut events) = (Vec::new(), Vec::new(), Vec::new());
        let (mut labelled_ready, mut labelled_waiting) = (Vec::new(), Vec::new());
        for row in shifted {
            let before = task::class(row.status, row.unmet - unmet, row.cancelled_deps - cancelled);
            let after = task::class(row.status, row.unmet, row.cancelled_deps);
            self.project.counts[before as usize] -= 1;
            self.project.counts[after as usize] += 1;
            let is_ready = row.status == Status::Open && row.unmet == 0;
            let was_ready = row.status == Status::Open && row.unmet - unmet == 0;
            if is_ready && !was_ready {
                let data = json!({ "unlocked_by": task });
                events.push(self.event(event::kind::TASK_READY, &row.id, "", Some(cause), &data));
                if row.labelled {
                    labelled_ready.push(row.id.clone());
                }
                ready.push(row.id);
            } else if was_ready && !is_ready {
                let data = json!({ "waits_for": task });
                events.push(self.event(event::kind::TASK_WAITING, &row.id, "", Some(cause), &data));
                if row.labelled {
                    labelled_waiting.push(row.id.clone());
                }
                waiting.push(row.id);
            }
        }
        match events.as_slice() {
            [] => {}
            [only] => log::insert(self.tx, &project, only)?,
            many => self.append_all(many)?,
        }
        if !labelled_ready.is_empty() {
            label::set_ready(self.tx, &project, &labelled_ready, true)?;
        }
        if !labelled_waiting.is_empty() {
            label::set_ready(self.tx, &project, &labelled_waiting, false)?;
        }
        Ok(ready)
    }

    /// The task as the response shows it.
    pub(crate) fn view(&self, full: &task::Full, edges: &[dep::Edge]) -> shape::Task {
        shape::Task::of(full, edges, self.now)
    }

    /// Something is reserved for an agent from now on. One that was marked as gone is looked at anew by the next write,
    /// which takes back what is reserved for it: otherwise nobody would ever choose the task.
    pub(crate) fn reserve_for(&mut self, agent: &str) -> Result<()> {
        if agent.is_empty() || tenure_core::name::is_person(agent) {
            return Ok(());
        }
        agent::look_again(self.tx, &self.project.id, agent)
    }

    /// Refuses an agent that nobody has seen.
    pub(crate) fn known_agent(&mut self, name: &str) -> Result<agent::Row> {
        tenure_core::name::check(name)?;
        if let Some(agent) = self.agent.as_ref().filter(|agent| agent.name == name) {
            return Ok(agent.clone());
        }
        match agent::get(self.tx, &self.project.id, name)? {
            Some(agent) => Ok(agent),
            None => Err(self.unknown_agent(name)?),
        }
    }

    /// The refusal of an agent that nobody has seen, with the one that may be meant.
    pub(crate) fn unknown_agent(&mut self, name: &str) -> Result<Error> {
        let known = agent::list(self.tx, &self.project.id, "", 1_000)?;
        let nearest = tenure_core::name::nearest(name, known.iter().map(|agent| agent.name.as_str()));
        let meant = nearest.map_or(String::new(), |nearest| format!("Did you mean `{nearest}`? "));
        Ok(Error::refused(Kind::NotFound, "unknown_agent", format!("no agent `{name}` has been seen in this project"))
            .entity(name)
            .attempt("tenure agent list")
            .hint(format!("{meant}An agent is known from its first call on.")))
    }
}

/// The event that grants a hold.
pub(crate) struct Grant<'a> {
    pub(crate) kind: &'a str,
    pub(crate) data: Value,
}

fn exists_call(project: &str, sort: id::Sort, drawn: &str) -> (Sql, Vec<tenure_store::Value>) {
    match sort {
        id::Sort::Hold => hold::exists_call(project, drawn),
        id::Sort::Note => note::exists_call(project, drawn),
        id::Sort::Memory => memory::exists_call(project, drawn),
        id::Sort::Message => message::exists_call(project, drawn),
        id::Sort::Place => place::exists_call(project, drawn),
        _ => task::exists_call(project, drawn),
    }
}

/// How a hold ended, as those are told who wrote about it: a task that is blocked or cancelled is not done, and whoever
/// overrode the holder, it was this that they did.
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
    Error::refused(Kind::Denied, "people_only", format!("{what} is for people"))
        .hint("Ask a person, or work on another task.")
        .attempt("tenure next")
}

/// The four-part refusal of a task that another holds.
pub(crate) fn held_by(now: Time, task: &str, held: &task::Held) -> Error {
    let blocker = shape::Blocker::of(held, now);
    Error::refused(Kind::Conflict, "task_held", format!("{task} is held by {}", held.holder))
        .entity(task)
        .who(format!(
            "{} is {} (last seen {} ago), has held it for {} and keeps it for {} unless renewed, for “{}”",
            held.holder,
            blocker.liveness.as_str(),
            held.sign.last_seen.age(now),
            held.granted_at.age(now),
            held.expires_at - now,
            tenure_core::text::cut(&held.reason, 60)
        ))
        .attempt("tenure claim")
        .attempt(format!("tenure why {task}"))
        .attempt("tenure list --state ready")
        .person("A person can end the hold: `release` with the id and --force.")
        .detail("blockers", json!([blocker]))
        .detail("total", 1)
}
