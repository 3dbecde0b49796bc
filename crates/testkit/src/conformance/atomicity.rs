//! Atomicity: the rows, events and record of an op appear together, under one lock, or not at all.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use tenure_core::Span;
use tenure_core::number::EventNumber;
use tenure_kernel::Op;
use tenure_kernel::op::{add, claim, done, edit, note};
use tenure_kernel::query;
use tenure_store::table::project;
use tenure_store::{CommitDecision, Options, Sql, Store};

use super::Case;
use super::shorthand::{claiming, id};
use super::walk::every_op;
use crate::fixture::{Engine, World, code_of, kind_of};
use crate::raw::{differing, dump, number};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_t1_every_op_is_one_unit_with_its_events_and_its_record", every_op_is_one_unit),
    Case::everywhere("inv_t1_a_query_and_a_refusal_are_no_door", refusals_are_no_door),
    Case::shared("inv_t2_racing_ops_are_all_there_and_numbered_without_a_gap", race),
    Case::only(&[Engine::File], "inv_t2_the_race_is_won_without_the_turnstile_too", |_| {
        race(&World::with(Engine::File, |options| options.turnstile = false));
    }),
    Case::shared("inv_t2_no_update_is_lost_between_read_and_write", no_lost_update),
    Case::shared("inv_t2_the_lock_is_had_before_the_first_read", locked_before_reading),
    Case::everywhere("inv_t15_a_refused_op_commits_settling_and_presence_and_nothing_else", refused_settles),
    Case::everywhere("inv_t15_a_refused_first_op_registers_nobody", refused_first_op),
];

fn every_op_is_one_unit(world: &World) {
    every_op(world, |call, op| {
        world.advance(Span::seconds(1));
        let before = dump(&world.kernel);
        let last = world.last_event();
        let reply = world.kernel.run(call, op)?;
        let after = dump(&world.kernel);
        let events: Vec<_> = world.events().into_iter().filter(|event| event.number > last).collect();
        let numbers: Vec<i64> = events.iter().map(|event| event.number.get()).collect();
        assert_eq!(numbers, (last.next().get()..=world.last_event().get()).collect::<Vec<_>>());
        for event in &events {
            assert_eq!((event.op.as_str(), event.request_id.as_str()), (op.name(), call.request_id.as_str()));
        }
        let changed = differing(&before, &after);
        assert!(changed.contains(&"request") && changed.contains(&"project"), "{}: {changed:?}", op.name());
        assert_eq!(after["request"].len(), before["request"].len() + 1, "{}", op.name());
        Ok(reply)
    });
}

fn refusals_are_no_door(world: &World) {
    let task = world.add("first");
    world.claim("a", &task).unwrap();
    let before = dump(&world.kernel);
    // By a known agent at the same instant: nothing is due, so nothing may change.
    for op in [
        claiming("t-00000"),
        Op::new(edit::Edit {
            task: task.clone().into(),
            expect_version: Some(9),
            title: Some("x".into()),
            ..edit::Edit::default()
        }),
        Op::new(add::Add { after: vec!["t-00000".into()], ..add::Add::titled("x") }),
        Op::new(done::Done { task: Some(task.into()), fence: Some(1.into()), ..done::Done::default() }),
    ] {
        world.run("a", op).unwrap_err();
        assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    }
}

/// Eight kernels add, claim, note and finish concurrently: each acknowledged op is present once.
fn race(world: &World) {
    const THREADS: usize = 8;
    const ROUNDS: usize = 6;
    let acknowledged = world.race(THREADS, |n, kernel| {
        let agent = format!("agent-{n}");
        let mut own: Vec<(String, &'static str, Value)> = Vec::new();
        let mut send = |op: Op| {
            let call = world.call(&agent);
            let reply = kernel.run(&call, &op).unwrap();
            let body: Value = serde_json::from_str(&reply.body).unwrap();
            own.push((call.request_id.as_str().to_owned(), op.name(), body.clone()));
            body
        };
        for round in 0..ROUNDS {
            send(Op::new(add::Add::titled(&format!("task {round} of {n}"))));
            let taken = send(Op::new(claim::Claim::default()));
            let task = Some(taken["task"]["id"].as_str().unwrap().to_owned());
            send(Op::new(note::Note { text: format!("{n} {round}"), ..note::Note::default() }));
            send(Op::new(done::Done { task: task.map(Into::into), ..done::Done::default() }));
        }
        own
    });
    let events = world.events();
    let numbers: Vec<i64> = events.iter().map(|event| event.number.get()).collect();
    assert_eq!(numbers, (1..=world.last_event().get()).collect::<Vec<_>>());
    let mut of_request: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for event in &events {
        of_request.entry(&event.request_id).or_default().push(&event.kind);
    }
    let acknowledged: Vec<_> = acknowledged.into_iter().flatten().collect();
    let known: BTreeSet<&str> = acknowledged.iter().map(|(request, ..)| request.as_str()).collect();
    assert_eq!(of_request.keys().copied().collect::<BTreeSet<_>>(), known, "events come from acknowledged ops only");
    for (request, op, body) in &acknowledged {
        let kind = match *op {
            "add" => "task.added",
            "claim" => "task.claimed",
            "note" => "task.noted",
            _ => "task.done",
        };
        let own = of_request[request.as_str()].iter().filter(|of| **of == kind).count();
        assert_eq!(own, 1, "{op} {body}");
        match *op {
            "add" | "done" => assert_eq!(world.show(&id(body))["status"], "done"),
            "note" => {
                let shown = world.show(body["task"].as_str().unwrap());
                assert!(shown["notes"].as_array().unwrap().iter().any(|note| note["id"] == body["id"]));
            }
            _ => assert_eq!(world.show(&id(&body["task"]))["attempt"], 1),
        }
    }
    world.sound();
}

/// The lock is taken before the first read, so what a body reads is still true when it writes.
fn no_lost_update(world: &World) {
    const THREADS: usize = 6;
    const TIMES: usize = 20;
    world.add("so that the project exists");
    let before = number(&world.kernel, "SELECT holds_issued FROM project", &[]);
    let name = project::NamedProject { key: "name:p".into(), label: "p".into() };
    world.race(THREADS, |_, kernel| {
        for _ in 0..TIMES {
            kernel
                .store()
                .write(&name, |tx, entered| {
                    let read = entered.project.unwrap().holds_issued;
                    std::thread::yield_now();
                    tx.execute(Sql::same("UPDATE project SET holds_issued = $1"), &[(read + 1).into()])?;
                    Ok(CommitDecision::Commit(()))
                })
                .unwrap();
        }
    });
    let after = number(&world.kernel, "SELECT holds_issued FROM project", &[]);
    assert_eq!(after - before, (THREADS * TIMES) as i64);
}

/// A second writer does not start to read while the first has its turn. The turnstile, which would also exclude it, is
/// off: this tests the engine's own lock.
fn locked_before_reading(world: &World) {
    let world = World::with(world.engine, |options| options.turnstile = false);
    let name = project::NamedProject { key: "name:p".into(), label: "p".into() };
    world.add("first");
    let options = Options { patience: Duration::from_millis(20), ..world.options.clone() };
    let hasty = Store::new(world.location.clone(), options).unwrap();
    let begun = Cell::new(0);
    let first = world.kernel.store().write(&name, |_, _| {
        let second = hasty.write(&name, |_, _| {
            begun.set(begun.get() + 1);
            Ok(CommitDecision::Undo(()))
        });
        Ok(CommitDecision::Undo(second))
    });
    assert_eq!(kind_of(first.unwrap()), "busy");
    assert_eq!(begun.get(), 0, "the second writer read while the first had the lock");
    hasty.write(&name, |_, _| Ok(CommitDecision::Undo(()))).unwrap();
}

fn refused_settles(world: &World) {
    let task = world.add("lapses");
    let other = world.add("stays");
    world.claim_for("a", &task, 60).unwrap();
    world.claim_for("b", &other, 3_600).unwrap();
    world.advance(Span::minutes(20));
    let (before, last) = (dump(&world.kernel), world.last_event());
    assert_eq!(code_of(world.claim("b", "t-00000")), "not_found");
    let after = dump(&world.kernel);
    assert_eq!(world.kinds_after(last), ["hold.expired"], "the hold of a is settled");
    // Presence: b was seen and its hold renewed. Nothing of the claim itself remains, in particular no record.
    assert_eq!(differing(&before, &after), ["project", "agent", "task", "hold", "event"]);
    assert_eq!(world.agent("b").unwrap().last_seen_s, 0);
    let call = world.call("person:ann");
    let held = world.kernel.ask(&call, &query::holds::Holds::of(Some("b"), 10)).unwrap().items;
    assert_eq!(held[0].expires_in_s, 3_600);
    assert_eq!(world.show(&task)["lapsed_from"], "a");
    world.sound();
}

fn refused_first_op(world: &World) {
    assert_eq!(kind_of(world.claim("a", "t-00000")), "not_found");
    let after = dump(&world.kernel);
    for table in ["agent", "checkout", "task", "hold", "event", "request"] {
        assert_eq!(after[table], [""; 0], "{table}");
    }
    assert!(!world.kernel.ask(&world.call("a"), &query::switched_on::SwitchedOn {}).unwrap());
    // The refusal consumed no number: the first successful op is event 1.
    world.add("first");
    assert_eq!(world.kinds_after(EventNumber::START), ["project.created", "agent.registered", "task.added"]);
}
