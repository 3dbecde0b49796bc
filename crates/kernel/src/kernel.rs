//! The pipeline that every op runs through:
//! lock → time → idempotency → settle → presence → [savepoint: decide → write → append → store response] → commit.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tenure_core::action::{Action, Advice};
use tenure_core::error::detail::OtherStore;
use tenure_core::{Code, Error, Result, Span, Stage, Time};
use tenure_store::table::{agent, checkout, hold, place, project, request, task};
use tenure_store::{CommitDecision, Continued, Entered, Entropy, GroupWrite, Options, Store, Tx};

use crate::access::{self, AccessFor};
use crate::call::{self, Actor, Call, Words, sight};
use crate::copied_file::Unchanged;
use crate::op::session_start::{SessionStart, not_switched_on};
use crate::op::{Decision, ErasedOp, Op, Operation};
use crate::reply::{Answered, Reply};
use crate::unit_of_work::UnitOfWork;
use crate::{mail, retention, settle, waiting};

/// How long the answer to a random request id is kept.
const KEEP_DRAWN: Span = Span::hours(1);
/// How long the answer to a given request id is kept.
pub(crate) const KEEP_GIVEN: Span = Span::days(7);
/// The largest clock step since the last op at which old events are still dropped.
const RETENTION_STEP: Span = Span::days(1);
/// How many projects are settled at once.
const DUE_PROJECTS: usize = 64;
/// The actor that settles idle projects.
pub(crate) const SETTLER: &str = tenure_core::access::OURS;
/// How many events pass between two prunings of expired answers.
const PRUNE_EVERY: i64 = 64;

/// The kernel on a store. It has no state of its own, so two kernels in one process do not interact.
pub struct Kernel {
    store: Store,
    entropy: Arc<dyn Entropy>,
    words: Words,
    continued: Option<Arc<dyn Continued>>,
}

/// An op that was checked and prepared: the remaining work needs the store.
pub struct ReadyOp {
    op: Op,
    checked: CheckedOp,
}

/// The results of checking an op, before the store is touched.
struct CheckedOp {
    fingerprint: String,
    /// Runs in place of the op's `apply`, if the op prepared it.
    decision: Option<Decision<String>>,
}

impl ReadyOp {
    /// Checks an op and does all of its work that needs no store.
    pub fn new(call: &Call, op: Op) -> Result<ReadyOp> {
        let checked = CheckedOp::new(call, op.erased())?;
        Ok(ReadyOp { op, checked })
    }

    pub fn op(&self) -> &Op {
        &self.op
    }
}

/// An op with a waiting client.
pub struct PendingOp<'a> {
    pub call: &'a Call,
    pub ready: &'a ReadyOp,
    /// Whether the client is still there. It is called under the write lock, so it must not block.
    pub is_wanted: &'a dyn Fn() -> bool,
}

/// A pending op inside the store's transaction.
struct RunningOp<'a> {
    kernel: &'a Kernel,
    order: &'a PendingOp<'a>,
    offers: Cell<usize>,
}

impl GroupWrite<Result<Reply>> for RunningOp<'_> {
    fn project(&self) -> &project::NamedProject {
        &self.order.call.project
    }

    fn is_wanted(&self) -> bool {
        (self.order.is_wanted)()
    }

    fn write(&self, tx: &mut dyn Tx, entered: Entered) -> Result<CommitDecision<Result<Reply>>> {
        let ReadyOp { op, checked } = self.order.ready;
        self.kernel.once(tx, entered, self.order.call, (op.erased(), checked), &self.offers)
    }
}

impl Kernel {
    /// A kernel on a store. `words` has the phrasing of each door: a brief names commands or tools, and is part of an
    /// answer.
    pub fn new(location: tenure_store::Location, options: Options, words: Words) -> Result<Kernel> {
        let (entropy, continued) = (options.entropy.clone(), options.continued.clone());
        Ok(Kernel { store: Store::new(location, options)?, entropy, words, continued })
    }

    /// The store, for everything that is not an op: its identity and its health.
    pub fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn words(&self) -> Words {
        self.words
    }

    pub(crate) fn entropy(&self) -> &dyn Entropy {
        self.entropy.as_ref()
    }

    pub(crate) fn continued(&self) -> Option<&dyn Continued> {
        self.continued.as_deref()
    }

    /// Runs an op: all or nothing, once per request id.
    pub fn run(&self, call: &Call, op: &Op) -> Result<Reply> {
        self.carry_out(call, op.erased())
    }

    /// Runs an op of a known type and returns its typed answer.
    pub fn execute<O: Operation>(&self, call: &Call, op: &O) -> Result<Answered<O::Answer>> {
        self.carry_out(call, op).map(Answered::from)
    }

    fn carry_out(&self, call: &Call, op: &dyn ErasedOp) -> Result<Reply> {
        let checked = CheckedOp::new(call, op)?;
        // The outer result is the engine's: an error rolls back everything. The inner result is the op's own: a refusal
        // rolls back the op's rows, while settling and presence are committed.
        let offers = Cell::new(0);
        let unchanged = |tx: &mut dyn Tx, entered: Entered| unchanged(tx, &entered, call, (op, &checked));
        let answer =
            self.write(call, &unchanged, |tx, entered| self.once(tx, entered, call, (op, &checked), &offers))?;
        // Only a hint, and only after the commit: waiters also poll.
        if offers.get() > 0 {
            self.store.ring();
        }
        answer
    }

    /// The stored answer to a request, if it has run. This does not wait for writers and changes nothing.
    pub fn kept(&self, call: &Call, op: &Op) -> Result<Option<Reply>> {
        let op = op.erased();
        let CheckedOp { fingerprint, .. } = CheckedOp::new(call, op)?;
        self.store.read(&call.project.key, |tx, entered| {
            check_store(call, &entered)?;
            let (now, _) = entered.reading();
            let Some(project) = entered.project else { return Ok(None) };
            let key = request::Key { project: &project.id, ..key_of(call, op) };
            let (kept, agent) = tx.fetch((request::get(&key), agent::get(&project.id, key.actor)))?;
            let kept = kept.filter(|kept| kept.expires_at > now && access::may_replay(call, agent.as_ref()));
            let kept = kept.filter(|kept| kept.fingerprint == fingerprint);
            Ok(kept.map(|kept| Reply { body: kept.response, replayed: true }))
        })
    }

    /// Runs several ops in order and returns the answers of the first ones, at least one. On SQLite they share one
    /// transaction, which starts no further op after `longest`; each op has its own savepoint. An op whose client has
    /// left by its turn does not run.
    pub fn run_many(&self, orders: &[PendingOp<'_>], longest: Duration) -> Vec<Result<Reply>> {
        if orders.is_empty() {
            return Vec::new();
        }
        let jobs: Vec<_> = orders.iter().map(|order| RunningOp { kernel: self, order, offers: Cell::new(0) }).collect();
        let answers: Vec<_> = orders
            .iter()
            .map(|PendingOp { call, ready: ReadyOp { op, checked }, .. }| {
                |tx: &mut dyn Tx, entered: Entered| unchanged(tx, &entered, call, (op.erased(), checked))
            })
            .collect();
        let calls: Vec<(&Call, Unchanged<'_, _>)> =
            orders.iter().zip(&answers).map(|(order, unchanged)| (order.call, unchanged as _)).collect();
        let parts: Vec<&dyn GroupWrite<Result<Reply>>> = jobs.iter().map(|job| job as _).collect();
        let done = self.write_many(&calls, &parts, longest);
        // Only a hint, and only after the commit.
        if jobs.iter().take(done.len()).any(|job| job.offers.get() > 0) {
            self.store.ring();
        }
        done.into_iter().map(|answer| answer.and_then(|reply| reply)).collect()
    }

    fn once(
        &self,
        tx: &mut dyn Tx,
        entered: Entered,
        call: &Call,
        (op, checked): (&dyn ErasedOp, &CheckedOp),
        offers: &Cell<usize>,
    ) -> Result<CommitDecision<Result<Reply>>> {
        offers.set(0);
        let CheckedOp { fingerprint, decision } = checked;
        check_store(call, &entered)?;
        let (now, stepped) = entered.reading();
        let project = entered.project.ok_or_else(|| Error::bug("a write without a project"))?;
        let key = request::Key {
            project: &project.id,
            actor: &call.actor.name,
            op: op.entry().name,
            request_id: call.request_id.as_str(),
        };
        let host = call.checkout.as_ref().map_or("", |here| here.host.as_str());
        let (kept, due, quiet, agent, places, (in_line, snoozed)) = tx.fetch((
            request::get(&key),
            hold::due(&project.id, now, settle::AT_MOST),
            agent::due(&project.id, now - tenure_core::hold::TASK_TTL, now),
            agent::get(&project.id, &call.actor.name),
            checkout::of_host(&project.id, host),
            ((project.waiting > 0).then(|| place::due(&project.id, now)), task::due(&project.id, now)),
        ))?;
        let record = CallRecord { kept, agent: agent.as_ref(), is_switched_on: project.is_switched_on(), now };
        if let Some(answer) = record.answer(tx, call, (op, checked)) {
            return Ok(CommitDecision::Undo(answer));
        }
        let sighting = sight(call, &places)?;
        call.condition.check(tx, call, (Some(&project), entered.clock), &places)?;

        let (project_id, last_time) = (project.id.clone(), project.last_time);
        let dead = call::dead(tx, &project_id, call)?;
        let mut work = UnitOfWork::new(
            tx,
            (self.entropy.as_ref(), self.words),
            call,
            op.entry().name,
            (now, entered.clock),
            project,
            agent,
        );
        work.dead = dead;
        work.checkout = call::checkout_id(call, &places);
        if let Some(back) = stepped {
            settle::stepped_back(&mut work, back)?;
        }
        settle::snoozed(&mut work, &snoozed)?;
        settle::holds(&mut work, due)?;
        settle::agents(&mut work, quiet)?;
        waiting::settle(&mut work, in_line.unwrap_or_default())?;
        waiting::serve(&mut work)?;
        mail::end_with_holds(&mut work)?;
        // The agent of a session becomes known only inside the op, so there is no presence to record before.
        if !op.as_any().is::<SessionStart>() {
            work.be_present()?;
        }
        work.begin()?;
        work.register(sighting)?;
        let decided = match decision {
            Some(decide) => decide(&mut work),
            None => op.apply(&mut work),
        };
        let answer = decided.and_then(|body| {
            waiting::serve(&mut work)?;
            mail::end_with_holds(&mut work).map(|()| body)
        });
        let answer = match answer {
            Ok(body) => {
                let keep = if call.request_id.is_given() { KEEP_GIVEN } else { KEEP_DRAWN };
                let row = request::Row {
                    fingerprint: fingerprint.to_owned(),
                    response: body.clone(),
                    expires_at: now + keep,
                };
                let key = request::Key { project: &project_id, ..key_of(call, op) };
                request::insert(work.tx, &key, &row)?;
                Ok(Reply { body, replayed: false })
            }
            Err(refusal) if refusal.is_refusal() => {
                work.take_back()?;
                Err(refusal)
            }
            Err(failure) => return Err(failure),
        };
        offers.set(work.offers);
        let UnitOfWork { tx, mut project, first_event, .. } = work;
        if project.last_event.get() / PRUNE_EVERY != first_event.get() / PRUNE_EVERY {
            request::prune(tx, &project.id, now)?;
            // A clock that just jumped must not cause an irreversible deletion. The next write is soon enough.
            let steady = now - last_time < RETENTION_STEP;
            if let Some(keep) = call.keep_events.filter(|_| steady) {
                retention::events(tx, &mut project, now - keep)?;
            }
        }
        project::save(tx, &project)?;
        Ok(CommitDecision::Commit(answer))
    }

    /// Settles lapsed holds in idle projects, at most 64 of them, and returns how many. Every op settles its own
    /// project, so this only does it sooner.
    pub fn settle_due(&self) -> Result<usize> {
        let due = self.store.read("", |tx, entered| project::due(tx, entered.clock, DUE_PROJECTS))?;
        let offers = Cell::new(0);
        for name in &due {
            let call = Call::new(name.clone(), Actor::named(SETTLER), self.entropy.as_ref());
            self.write(&call, &|_, _| Ok(None), |tx, entered| self.settle_one(tx, entered, &call, &offers))?;
        }
        if offers.get() > 0 {
            self.store.ring();
        }
        Ok(due.len())
    }

    fn settle_one(
        &self,
        tx: &mut dyn Tx,
        entered: Entered,
        call: &Call,
        offers: &Cell<usize>,
    ) -> Result<CommitDecision<()>> {
        let (now, stepped) = entered.reading();
        let project = entered.project.ok_or_else(|| Error::bug("a write without a project"))?;
        let id = project.id.clone();
        let (due, quiet, in_line, snoozed) = tx.fetch((
            hold::due(&id, now, settle::AT_MOST),
            agent::due(&id, now - tenure_core::hold::TASK_TTL, now),
            place::due(&id, now),
            task::due(&project.id, now),
        ))?;
        let mut work = UnitOfWork::new(
            tx,
            (self.entropy.as_ref(), self.words),
            call,
            "settle",
            (now, entered.clock),
            project,
            None,
        );
        if let Some(back) = stepped {
            settle::stepped_back(&mut work, back)?;
        }
        settle::snoozed(&mut work, &snoozed)?;
        settle::holds(&mut work, due)?;
        settle::agents(&mut work, quiet)?;
        waiting::settle(&mut work, in_line)?;
        waiting::serve(&mut work)?;
        mail::end_with_holds(&mut work)?;
        offers.set(offers.get() + work.offers);
        let UnitOfWork { tx, project, .. } = work;
        project::save(tx, &project)?;
        Ok(CommitDecision::Commit(()))
    }

    /// Reads one snapshot for a query, as an actor that the caller may act as; see [`crate::query`].
    pub(crate) fn in_snapshot<T>(
        &self,
        call: &Call,
        body: impl Fn(&mut dyn Tx, &crate::query::Snapshot<'_>) -> Result<T>,
    ) -> Result<T> {
        access::admit_reader(call)?;
        self.in_snapshot_anywhere(call, |tx, snapshot| {
            if access::owner_of(call).is_some() {
                let known = tx.fetch(agent::get(snapshot.project_id(), &call.actor.name))?;
                access::own(tx, call, known.as_ref(), AccessFor::Query)?;
            }
            body(tx, snapshot)
        })
    }

    /// The same for a query that is not about a particular project. The query itself shows only what its principal may
    /// see.
    pub(crate) fn in_snapshot_anywhere<T>(
        &self,
        call: &Call,
        body: impl Fn(&mut dyn Tx, &crate::query::Snapshot<'_>) -> Result<T>,
    ) -> Result<T> {
        self.store.read(&call.project.key, |tx, entered| {
            check_store(call, &entered)?;
            let (now, _) = entered.reading();
            let mut places = Vec::new();
            if let (Some(here), Some(project)) = (&call.checkout, &entered.project) {
                places = tx.fetch(checkout::of_host(&project.id, &here.host))?;
                sight(call, &places)?;
            }
            call.condition.check(tx, call, (entered.project.as_ref(), entered.clock), &places)?;
            let dead = match &entered.project {
                Some(project) => call::dead(tx, &project.id, call)?,
                None => Vec::new(),
            };
            let snapshot = crate::query::Snapshot {
                call,
                identity: &entered.identity,
                project: entered.project.as_ref(),
                now,
                clock: entered.clock,
                places,
                dead,
                words: self.words,
            };
            body(tx, &snapshot)
        })
    }
}

/// What the store knows of a call before anything is settled for it.
struct CallRecord<'a> {
    kept: Option<request::Row>,
    agent: Option<&'a agent::Row>,
    is_switched_on: bool,
    now: Time,
}

impl CallRecord<'_> {
    /// The answer to a call that changes nothing: a replay, or a refusal that depends on no hold.
    fn answer(self, tx: &mut dyn Tx, call: &Call, (op, checked): (&dyn ErasedOp, &CheckedOp)) -> Option<Result<Reply>> {
        // Checked before anything that is kept for this actor is read.
        if let Err(refusal) = access::own(tx, call, self.agent, AccessFor::Op) {
            return Some(Err(refusal));
        }
        if let Some(kept) = self.kept.filter(|kept| kept.expires_at > self.now) {
            let is_same = kept.fingerprint == checked.fingerprint && access::may_replay(call, self.agent);
            return Some(match is_same {
                true => Ok(Reply { body: kept.response, replayed: true }),
                false => Err(mismatch(call.request_id.as_str())),
            });
        }
        // A hook never switches a project on. Its door has checked; this is for a project that was forgotten since.
        (op.entry().is_of_hooks() && !self.is_switched_on).then(|| Err(not_switched_on()))
    }
}

/// The same for a file that is a copy and was not continued yet.
fn unchanged(
    tx: &mut dyn Tx,
    entered: &Entered,
    call: &Call,
    (op, checked): (&dyn ErasedOp, &CheckedOp),
) -> Result<Option<Result<Reply>>> {
    let (now, _) = entered.reading();
    let Some(project) = &entered.project else {
        let record = CallRecord { kept: None, agent: None, is_switched_on: false, now };
        return Ok(record.answer(tx, call, (op, checked)));
    };
    let key = request::Key { project: &project.id, ..key_of(call, op) };
    let (kept, agent) = tx.fetch((request::get(&key), agent::get(&project.id, key.actor)))?;
    let record = CallRecord { kept, agent: agent.as_ref(), is_switched_on: project.is_switched_on(), now };
    Ok(record.answer(tx, call, (op, checked)))
}

impl CheckedOp {
    fn new(call: &Call, op: &dyn ErasedOp) -> Result<CheckedOp> {
        tenure_core::name::check(&call.actor.name)?;
        // First: a caller without access must not cause the work of preparing a large batch, nor learn about its request.
        access::admit(call, op)?;
        let decision = op.prepare()?;
        Ok(CheckedOp { fingerprint: fingerprint(op)?, decision })
    }
}

fn key_of<'a>(call: &'a Call, op: &dyn ErasedOp) -> request::Key<'a> {
    let (actor, name) = (&call.actor.name, op.entry().name);
    request::Key { project: "", actor, op: name, request_id: call.request_id.as_str() }
}

/// A process that resolved another store than the one its project is pinned to must not read or write it. An empty
/// identity means that the store does not exist: an empty store must not answer for a pinned project.
pub(crate) fn check_store(call: &Call, entered: &Entered) -> Result<()> {
    match &call.pinned_store {
        Some(_) if entered.identity.id.is_empty() => {
            Err(Error::new(Code::NoStore, "the store that this project is pinned to is not here")
                .at(Stage::Open)
                .hint("Put it back, or name the right place for the store."))
        }
        Some(pinned) if *pinned != entered.identity.id => {
            Err(Error::new(Code::OtherStore, "this project is pinned to another store")
                .at(Stage::Resolve)
                .hint(
                    Advice::from("Use the store it is pinned to; a person changes the pin with ")
                        .action(Action::PinProject)
                        .text("."),
                )
                .with(&OtherStore(entered.identity.id.to_string()))
                .detail("pinned", pinned.clone()))
        }
        _ => Ok(()),
    }
}

fn mismatch(request_id: &str) -> Error {
    Error::new(Code::RequestMismatch, "this request id was used before with another request")
        .at(Stage::Idempotency)
        .entity(request_id)
        .hint("Nothing was changed. Use a new request id for a new request.")
}

/// The SHA-256 of the request as sent, with the op's name.
fn fingerprint(op: &dyn ErasedOp) -> Result<String> {
    let mut hasher = Sha256::new();
    hasher.update(op.entry().name.as_bytes());
    hasher.update([0]);
    hasher.update(op.canonical()?.as_bytes());
    let mut text = String::with_capacity(64);
    for byte in hasher.finalize() {
        text.push_str(&format!("{byte:02x}"));
    }
    Ok(text)
}
