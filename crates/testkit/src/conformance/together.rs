//! Group commit: several ops in one transaction, as a server runs them. Each behaves as if alone, and nothing runs for
//! callers that have left.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use tenure_core::Result;
use tenure_kernel::op::{add, claim};
use tenure_kernel::{Call, Op, PendingOp, ReadyOp, Reply};
use tenure_store::table::project;
use tenure_store::{CommitDecision, Entered, GroupWrite, Sql, Tx};

use super::Case;
use crate::fixture::{Engine, World};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_s11_each_of_many_ops_is_as_if_alone", as_if_alone),
    Case::everywhere("inv_s11_nothing_is_done_for_those_who_left_before", left_before),
    Case::everywhere("inv_s11_nothing_is_done_for_those_who_left_before_the_commit", left_before_commit),
    Case::only(&[Engine::File], "inv_s11_others_can_tell_that_a_commit_is_being_decided", told_while_deciding),
    Case::everywhere("inv_s11_a_panic_among_many_harms_no_other", panic_among_many),
    Case::everywhere("inv_t6_one_request_twice_among_many_is_carried_out_once", once_among_many),
    Case::everywhere("inv_t2_many_ops_over_several_projects_number_without_a_gap", several_projects),
    Case::everywhere("many_ops_take_no_longer_than_they_may", no_longer),
];

/// Longer than any case.
const LONG: Duration = Duration::from_secs(60);

fn stays() -> bool {
    true
}

fn add(title: &str) -> Op {
    Op::new(add::Add::titled(title))
}

fn claim(task: &str) -> Op {
    Op::new(claim::Claim { task: Some(task.into()), ..claim::Claim::default() })
}

fn ready(call: &Call, op: &Op) -> ReadyOp {
    ReadyOp::new(call, op.clone()).unwrap()
}

/// A malformed op never reaches the store; the others share a transaction.
fn run(world: &World, work: &[(Call, Op)]) -> Vec<Result<Reply>> {
    let checked: Vec<_> = work.iter().map(|(call, op)| (call, ReadyOp::new(call, op.clone()))).collect();
    let fitting = checked.iter().filter_map(|(call, ready)| Some((*call, ready.as_ref().ok()?)));
    let orders: Vec<_> = fitting.map(|(call, ready)| PendingOp { call, ready, is_wanted: &stays }).collect();
    let answers = world.kernel.run_many(&orders, LONG);
    assert_eq!(answers.len(), orders.len());
    let mut answers = answers.into_iter();
    checked
        .iter()
        .map(|(_, ready)| ready.as_ref().map_or_else(|error| Err(error.repeated()), |_| answers.next().unwrap()))
        .collect()
}

fn titles(world: &World) -> Vec<String> {
    let mut titles: Vec<_> = world
        .events()
        .iter()
        .filter(|event| event.kind == "task.added")
        .map(|event| event.data["title"].as_str().unwrap_or_default().to_owned())
        .collect();
    titles.sort();
    titles
}

/// Two ops want one task, one is malformed, one names a missing task. Each gets its own answer, and the log contains
/// only the committed ops.
fn as_if_alone(world: &World) {
    let task = world.add("wanted by two");
    let work = [
        (world.call("a"), claim(&task)),
        (world.call("b"), claim(&task)),
        (world.call("b"), add("")),
        (world.call("b"), claim("t-00000000")),
        (world.call("b"), add("after them all")),
    ];
    let answers = run(world, &work);
    assert!(answers[0].is_ok() && answers[4].is_ok(), "{answers:?}");
    let kinds: Vec<_> = answers[1..4].iter().map(|answer| answer.as_ref().unwrap_err().kind().as_str()).collect();
    assert_eq!(kinds, ["conflict", "usage", "not_found"]);
    assert_eq!(world.show(&task)["holder"]["agent"], "a");
    assert_eq!(titles(world), ["after them all", "wanted by two"]);
    crate::replay::replay(&world.events());
}

fn left_before(world: &World) {
    world.add("so that the project exists");
    let before = world.last_event();
    let left = || false;
    let (call, op) = (world.call("a"), add("for nobody"));
    let (other_call, other) = (world.call("b"), add("for b"));
    let orders = [
        PendingOp { call: &call, ready: &ready(&call, &op), is_wanted: &left },
        PendingOp { call: &other_call, ready: &ready(&other_call, &other), is_wanted: &stays },
    ];
    let answers = world.kernel.run_many(&orders, LONG);
    assert_eq!(answers[0].as_ref().unwrap_err().code(), "not_run");
    assert!(answers[1].is_ok());
    assert_eq!(titles(world), ["for b", "so that the project exists"]);
    let agents: Vec<_> = world.events().into_iter().filter(|event| event.number > before).collect();
    assert!(agents.iter().all(|event| event.actor == "b"), "{agents:?}");
    // The same request can still be made, and is not a replay.
    assert!(!world.kernel.run(&call, &op).unwrap().replayed);
}

/// The caller is present at its turn and gone before the commit: a process that was stopped in between must not grant
/// anything to a caller that has left.
fn left_before_commit(world: &World) {
    let task = world.add("to be granted");
    let asked = Cell::new(0);
    let leaves = || {
        asked.set(asked.get() + 1);
        asked.get() < 2
    };
    let (call, op) = (world.call("a"), claim(&task));
    let (other_call, other) = (world.call("b"), add("for b"));
    let orders = [
        PendingOp { call: &call, ready: &ready(&call, &op), is_wanted: &leaves },
        PendingOp { call: &other_call, ready: &ready(&other_call, &other), is_wanted: &stays },
    ];
    let answers = world.kernel.run_many(&orders, LONG);
    assert_eq!(answers[0].as_ref().unwrap_err().code(), "not_run");
    assert!(answers[1].is_ok());
    assert_eq!(asked.get(), 2, "asked before the write and before the commit");
    assert!(world.show(&task)["holder"].is_null());
    assert_eq!(titles(world), ["for b", "to be granted"]);
    assert_eq!(world.claim("c", &task).unwrap()["task"]["attempt"], 1);
}

/// A caller that left and is refused can tell whether its op may still be committed: from the last check of the waiting
/// callers to the end of the commit, and at no other time.
fn told_while_deciding(world: &World) {
    world.add("so that the project exists");
    let other = world.another();
    let (seen, call, op) = (RefCell::new(Vec::new()), world.call("a"), add("for a"));
    let wanted = || {
        seen.borrow_mut().push((other.store().is_deciding(), other.kept(&call, &op).unwrap().is_some()));
        true
    };
    let answers =
        world.kernel.run_many(&[PendingOp { call: &call, ready: &ready(&call, &op), is_wanted: &wanted }], LONG);
    let reply = answers[0].as_ref().unwrap();
    assert_eq!(*seen.borrow(), [(false, false), (true, false)]);
    assert!(!other.store().is_deciding());
    assert_eq!(other.kept(&call, &op).unwrap(), Some(Reply { replayed: true, ..reply.clone() }));
    // Nothing is revealed about another request under the same id, nor to another agent.
    assert_eq!(other.kept(&call, &add("something else")).unwrap(), None);
    assert_eq!(other.kept(&Call { request_id: call.request_id.clone(), ..world.call("b") }, &op).unwrap(), None);
}

/// A write that leaves a row and panics.
struct Panics(project::NamedProject);

struct Writes(project::NamedProject);

const MARK: Sql = Sql::same("UPDATE project SET holds_issued = holds_issued + 1");

impl GroupWrite<()> for Panics {
    fn project(&self) -> &project::NamedProject {
        &self.0
    }

    fn is_wanted(&self) -> bool {
        true
    }

    fn write(&self, tx: &mut dyn Tx, _: Entered) -> Result<CommitDecision<()>> {
        tx.execute(MARK, &[])?;
        panic!("on purpose");
    }
}

impl GroupWrite<()> for Writes {
    fn project(&self) -> &project::NamedProject {
        &self.0
    }

    fn is_wanted(&self) -> bool {
        true
    }

    fn write(&self, tx: &mut dyn Tx, _: Entered) -> Result<CommitDecision<()>> {
        tx.execute(MARK, &[])?;
        Ok(CommitDecision::Commit(()))
    }
}

fn panic_among_many(world: &World) {
    world.add("so that the project exists");
    let issued = || crate::raw::number(&world.kernel, "SELECT CAST(SUM(holds_issued) AS BIGINT) FROM project", &[]);
    let projects = crate::raw::number(&world.kernel, "SELECT COUNT(*) FROM project", &[]);
    let before = issued();
    let name = || world.call("a").project;
    let (first, panics, last) = (Writes(name()), Panics(name()), Writes(name()));
    let answers = world.kernel.store().write_many(&[&first, &panics, &last], LONG);
    assert!(answers[0].is_ok() && answers[2].is_ok(), "{answers:?}");
    assert_eq!(answers[1].as_ref().unwrap_err().code(), "internal");
    assert_eq!(issued(), before + 2 * projects, "the two that did not panic, and nothing of the one that did");
    world.add("the next op works");
}

fn once_among_many(world: &World) {
    let call = world.call("a");
    let answers = run(world, &[(call.clone(), add("once")), (call.clone(), add("once")), (call, add("other"))]);
    let (first, second) = (answers[0].as_ref().unwrap(), answers[1].as_ref().unwrap());
    assert!(!first.replayed && second.replayed);
    assert_eq!(first.body, second.body);
    assert_eq!(answers[2].as_ref().unwrap_err().kind().as_str(), "mismatch");
    assert_eq!(titles(world), ["once"]);
}

fn several_projects(world: &World) {
    let in_project = |name: &str, agent: &str| {
        let call = world.call(agent);
        Call { project: project::NamedProject { key: format!("name:{name}").into(), label: name.to_owned() }, ..call }
    };
    let work: Vec<_> = (0..64)
        .map(|n| (in_project(["p", "q", "r"][n % 3], &format!("a{}", n % 5)), add(&format!("task {n}"))))
        .collect();
    for answer in run(world, &work) {
        answer.unwrap();
    }
    let numbers: Vec<_> = world.events().iter().map(|event| event.number).collect();
    assert_eq!(numbers, (1..=i64::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
    assert_eq!(titles(world).len(), 22);
}

/// With a zero time limit at least one op runs, and only answered ops have run.
fn no_longer(world: &World) {
    let work: Vec<_> = (0..5)
        .map(|n| {
            let call = world.call("a");
            let ready = ready(&call, &add(&format!("task {n}")));
            (call, ready)
        })
        .collect();
    let mut orders: Vec<_> = work.iter().map(|(call, ready)| PendingOp { call, ready, is_wanted: &stays }).collect();
    let mut rounds = 0;
    while !orders.is_empty() {
        let answers = world.kernel.run_many(&orders, Duration::ZERO);
        assert!(!answers.is_empty() && answers.iter().all(|answer| answer.is_ok()), "{answers:?}");
        orders.drain(..answers.len());
        rounds += 1;
        assert_eq!(titles(world).len(), 5 - orders.len());
    }
    let shares = !matches!(world.engine, Engine::Postgres);
    assert_eq!(rounds, if shares { 5 } else { 1 });
}
