//! The log: numbers in commit order, and events that record the actor, the change, the op and the cause.

use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_core::number::EventNumber;
use tenure_kernel::answer::LoggedEvent;
use tenure_kernel::op::{add, claim, done};
use tenure_kernel::query::log;
use tenure_kernel::{Call, Op};
use tenure_store::table::project;

use super::Case;
use super::walk::every_op;
use crate::fixture::World;

pub(super) const CASES: &[Case] = &[
    Case::shared("inv_t3_a_reader_never_misses_an_event_and_never_meets_a_lower_one", readers_miss_nothing),
    Case::everywhere("inv_t3_every_event_says_who_what_by_which_op_and_why", events_say_all),
    Case::everywhere("inv_t3_each_project_counts_for_itself", projects_count_apart),
];

/// Four writers, and two readers that follow by cursor: one reads everything, one a single kind.
fn readers_miss_nothing(world: &World) {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 12;
    world.add("so that there is a log");
    let writing = AtomicUsize::new(WRITERS);
    let follow = |kind: Option<&str>| {
        let kernel = world.another();
        let mut since = log::Since::Number(EventNumber::START);
        let mut seen: Vec<EventNumber> = Vec::new();
        loop {
            // Read before the page: a page read after the last writer ended is the last one needed.
            let over = writing.load(Ordering::SeqCst) == 0;
            let filter =
                log::Log { kind: kind.map(str::to_owned), since: Some(since.clone()), limit: 7, ..log::Log::default() };
            let page = kernel.ask(&world.call("person:ann"), &filter).unwrap();
            for event in &page.items {
                assert!(seen.last().is_none_or(|last| *last < event.number), "{} after {seen:?}", event.number);
                seen.push(event.number);
            }
            since = log::Since::Cursor(page.next.or(page.cursor).unwrap());
            if over && !page.more {
                return seen;
            }
        }
    };
    let (all, done) = std::thread::scope(|scope| {
        for n in 0..WRITERS {
            let (kernel, writing) = (world.another(), &writing);
            scope.spawn(move || {
                let agent = format!("agent-{n}");
                for round in 0..ROUNDS {
                    let add = Op::new(add::Add::titled(&format!("{n} {round}")));
                    kernel.run(&world.call(&agent), &add).unwrap();
                    kernel.run(&world.call(&agent), &Op::new(claim::Claim::default())).unwrap();
                    kernel.run(&world.call(&agent), &Op::new(done::Done::default())).unwrap();
                }
                writing.fetch_sub(1, Ordering::SeqCst);
            });
        }
        let all = scope.spawn(|| follow(None));
        let done = scope.spawn(|| follow(Some("task.done")));
        (all.join().unwrap(), done.join().unwrap())
    });
    assert_eq!(all, (1..=world.last_event().get()).collect::<Vec<_>>());
    let events = world.events();
    let expected: Vec<EventNumber> = events.iter().filter(|e| e.kind == "task.done").map(|e| e.number).collect();
    assert_eq!((done.len(), done), (WRITERS * ROUNDS, expected));
}

fn events_say_all(world: &World) {
    let mut sent = Vec::new();
    every_op(world, |call, op| {
        sent.push((call.actor.name.clone(), op.name(), call.request_id.as_str().to_owned()));
        world.kernel.run(call, op)
    });
    // What an example refers to is added beside the walk.
    let walked = |event: &LoggedEvent| sent.iter().any(|(_, _, request)| *request == event.request_id);
    let events: Vec<LoggedEvent> = world.events().into_iter().filter(walked).collect();
    assert!(events.len() > 40, "{} events", events.len());
    for event in &events {
        assert!(!event.subject.is_empty() && event.at.ends_with('Z'), "{event:?}");
        assert!(sent.contains(&(event.actor.clone(), event.op.as_str(), event.request_id.clone())), "{event:?}");
        assert!(event.cause.is_none_or(|cause| cause < event.number), "{event:?}");
        assert!(event.data.is_object(), "{event:?}");
        let about_a_hold = matches!(event.kind.as_str(), "task.claimed" | "hold.transferred" | "task.released");
        assert!(!about_a_hold || event.hold.is_some(), "{event:?}");
    }
    let one = |kind: &str| events.iter().find(|event| event.kind == kind).unwrap();
    assert_eq!(one("task.ready").cause, Some(one("task.done").number));
    assert_eq!(one("task.waiting").cause, Some(events.iter().rfind(|e| e.kind == "task.reopened").unwrap().number));
}

fn projects_count_apart(world: &World) {
    let elsewhere =
        |call: Call| Call { project: project::NamedProject { key: "name:q".into(), label: "q".into() }, ..call };
    for n in 1..=3 {
        world.add(&format!("p {n}"));
        let call = elsewhere(world.call("a"));
        world.kernel.run(&call, &Op::new(add::Add::titled(&format!("q {n}")))).unwrap();
    }
    let filter = log::Log { since: Some(log::Since::Number(EventNumber::START)), limit: 100, ..log::Log::default() };
    for call in [world.call("a"), elsewhere(world.call("a"))] {
        let page = world.kernel.ask(&call, &filter).unwrap();
        let numbers: Vec<EventNumber> = page.items.iter().map(|event| event.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
    }
    let other = world.kernel.ask(&elsewhere(world.call("a")), &tenure_kernel::query::list::List::default()).unwrap();
    assert!(other.items.iter().all(|task| task.title.starts_with('q')) && other.items.len() == 3);
}
