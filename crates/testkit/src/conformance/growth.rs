//! Growth: the cost of a call does not depend on the size of the store. Counted in steps, not timed.

use tenure_core::choice::ListOrder;
use tenure_core::memory::MemoryKind;
use tenure_core::number::EventNumber;
use tenure_core::session::Start;
use tenure_kernel::Op;
use tenure_kernel::op::{add, add_many, remember, resume};
use tenure_kernel::query;
use tenure_kernel::query::standing::{Depth, Standing};
use tenure_kernel::query::{list, log};

use super::shorthand::claiming;
use super::{Case, sessions};
use crate::fixture::{Engine, World};

pub(super) const CASES: &[Case] = &[
    Case::only(&[Engine::Memory], "inv_t13_calls_cost_the_same_among_five_thousand_tasks", cost_stays),
    Case::only(
        &[Engine::Memory],
        "inv_t13_a_session_begins_at_the_same_cost_among_two_thousand_memories",
        beginning_stays,
    ),
    Case::only(&[Engine::Postgres], "inv_t13_a_session_that_begins_waits_for_the_server_a_bounded_time", hook_trips),
    Case::only(&[Engine::Postgres], "inv_t13_hot_ops_wait_for_the_server_at_most_eight_times", round_trips),
];

/// Half of the tasks are ready, and each of the other half depends on four of them: two dependencies per task.
fn fill(world: &World, tasks: usize) -> Vec<String> {
    let half = tasks / 2;
    let item = |n: usize| {
        let after = |k: usize| format!("k{}", (n - half + k) % half);
        add_many::NewTask {
            title: format!("task {n}"),
            description: String::new(),
            priority: 2,
            labels: vec!["x".into()],
            acceptance: String::new(),
            after: if n < half { Vec::new() } else { (0..4).map(after).collect() },
            key: Some(format!("k{n}")),
            line: n,
        }
    };
    let request = add_many::AddMany { items: (0..tasks).map(item).collect() };
    let added = world.run("person:ann", Op::new(request)).unwrap();
    world.note("a", added["ids"][0].as_str().unwrap(), "known").unwrap();
    added["ids"].as_array().unwrap().iter().take(50).map(|id| id.as_str().unwrap().to_owned()).collect()
}

fn cost_stays(_: &World) {
    let costs = |tasks: usize| -> Vec<(&'static str, u64)> {
        let world = World::new(Engine::Memory);
        let ids = fill(&world, tasks);
        let call = world.call("a");
        let kernel = &world.kernel;
        let since = Some(log::Since::Number(EventNumber::new(10)));
        // Warm-up: the first call prepares its statements, which is a different cost.
        let mut measured = Vec::new();
        let mut measure = |name: &'static str, work: &mut dyn FnMut(usize)| {
            work(0);
            let before = kernel.store().steps();
            work(1);
            measured.push((name, kernel.store().steps() - before));
        };
        measure("add", &mut |_| drop(world.add("one more")));
        measure("claim", &mut |_| drop(world.claim_any("a").unwrap()));
        measure("claim by name", &mut |n| drop(world.claim("a", &ids[10 + n]).unwrap()));
        measure("note", &mut |n| drop(world.note("a", &ids[n], "x").unwrap()));
        measure("done", &mut |n| drop(world.done("a", &ids[n]).unwrap()));
        measure("release", &mut |n| drop(world.release("a", &ids[10 + n]).unwrap()));
        measure("cancel", &mut |n| drop(world.cancel("a", &ids[20 + n]).unwrap()));
        let page = list::List { limit: 20, ..list::List::default() };
        measure("list", &mut |_| drop(kernel.ask(&call, &page).unwrap()));
        let rare = list::List { text: Some((tasks - 1).to_string()), ..page.clone() };
        measure("list by a rare word", &mut |_| drop(kernel.ask(&call, &rare).unwrap()));
        for sort in [ListOrder::Created, ListOrder::Updated] {
            let sorted = list::List { sort, ..page.clone() };
            measure("list in another order", &mut |_| drop(kernel.ask(&call, &sorted).unwrap()));
        }
        let labelled = list::List { labels: vec!["x".into()], ..page.clone() };
        measure("list by label", &mut |_| drop(kernel.ask(&call, &labelled).unwrap()));
        measure("next", &mut |_| drop(kernel.ask(&call, &query::next::Next { labels: Vec::new() }).unwrap()));
        measure("next by label", &mut |_| {
            drop(kernel.ask(&call, &query::next::Next { labels: vec!["x".into()] }).unwrap());
        });
        measure("show", &mut |n| drop(kernel.ask(&call, &query::show::Show { id: ids[30 + n].clone() }).unwrap()));
        measure("why", &mut |n| drop(kernel.ask(&call, &query::why::Why { id: ids[30 + n].clone() }).unwrap()));
        measure("status", &mut |_| drop(kernel.ask(&call, &query::status::Status {}).unwrap()));
        measure("holds", &mut |_| drop(kernel.ask(&call, &query::holds::Holds::of(None, 20)).unwrap()));
        measure("id", &mut |_| {
            drop(kernel.ask(&call, &query::task_id::ResolveTask { typed: ids[0].clone() }).unwrap());
        });
        let filter = log::Log { since, limit: 20, ..log::Log::default() };
        measure("log", &mut |_| drop(kernel.ask(&call, &filter).unwrap()));
        measure("add after", &mut |_| {
            let after = vec![ids[40].clone(), ids[41].clone()];
            world
                .run(
                    "person:ann",
                    Op::new(add::Add { after: after.into_iter().map(Into::into).collect(), ..add::Add::titled("x") }),
                )
                .unwrap();
        });
        measured
    };
    for ((name, few), (_, many)) in costs(100).into_iter().zip(costs(5_000)) {
        assert!(few > 0 && many <= few * 2, "{name}: {few} steps among 100 tasks, {many} among 5,000");
    }
}

/// Memories of the project that all contain the words of the current task.
fn remember(world: &World, memories: usize) {
    for from in (0..memories).step_by(50) {
        let item = |n: usize| remember::NewMemory {
            text: format!("the parser of the import is slow, number {n}"),
            key: Some(format!("k/{n}")),
            kind: if n.is_multiple_of(10) { MemoryKind::Directive } else { MemoryKind::Fact },
            scope: Some(remember::MemoryReach::Project),
            ..remember::NewMemory::default()
        };
        let items = (from..from + 50).map(item).collect();
        world.run("b", Op::new(remember::Remember { items })).unwrap();
    }
}

fn beginning_stays(_: &World) {
    let costs = |memories: usize| -> Vec<(&'static str, u64)> {
        let world = World::new(Engine::Memory);
        let task = world.add("make the parser of the import less slow");
        world.claim("a", &task).unwrap();
        remember(&world, memories);
        let (call, request) = (world.call("a"), resume::Resume::default());
        let kernel = &world.kernel;
        let mut measured = Vec::new();
        let mut measure = |name: &'static str, work: &dyn Fn()| {
            work();
            let before = kernel.store().steps();
            work();
            measured.push((name, kernel.store().steps() - before));
        };
        measure("a session begins with a brief", &|| {
            drop(kernel.ask(&call, &query::beginning::Beginning { request: request.clone(), ready: 3 }).unwrap());
        });
        measure("a session begins", &|| {
            drop(
                kernel
                    .ask(&world.call("c"), &query::beginning::Beginning { request: request.clone(), ready: 3 })
                    .unwrap(),
            );
        });
        measure("resume --peek", &|| drop(kernel.ask(&call, &query::peek::Peek(request.clone())).unwrap()));
        measure("resume", &|| drop(world.run("a", Op::new(request.clone())).unwrap()));
        measured
    };
    for ((name, few), (_, many)) in costs(150).into_iter().zip(costs(2_000)) {
        assert!(few > 0 && many <= few * 2, "{name}: {few} steps among 150 memories, {many} among 2,000");
    }
}

fn hook_trips(world: &World) {
    let task = world.add("make the parser of the import less slow");
    remember(world, 100);
    sessions::start(world, &world.kernel, 1, "A", Start::Startup, &[]);
    let call = sessions::hook(world, "claude-a", 1);
    world.run_call(&call, &claiming(&task)).unwrap();
    let store = world.kernel.store();
    let trips = |work: &dyn Fn()| {
        let before = store.round_trips();
        work();
        store.round_trips() - before
    };
    let says = sessions::presence("A");
    let look = |depth| Standing { says: says.clone(), given: None, depth };
    let request = resume::Resume::default();
    let begin = || drop(world.run_call(&call, &sessions::starting("A", Start::Compact)).unwrap());
    let counted = [
        ("who it is", 8, trips(&|| drop(world.kernel.ask(&call, &look(Depth::Who)).unwrap()))),
        ("whether there is anything new", 8, trips(&|| drop(world.kernel.ask(&call, &look(Depth::News)).unwrap()))),
        ("session_start", 8, trips(&begin)),
        (
            "its brief",
            32,
            trips(&|| {
                drop(
                    world
                        .kernel
                        .ask(&call, &query::beginning::Beginning { request: request.clone(), ready: 3 })
                        .unwrap(),
                );
            }),
        ),
        (
            "what is ready",
            12,
            trips(&|| {
                drop(
                    world
                        .kernel
                        .ask(&world.call("c"), &query::beginning::Beginning { request: request.clone(), ready: 3 })
                        .unwrap(),
                );
            }),
        ),
    ];
    for (name, most, trips) in counted {
        assert!((1..=most).contains(&trips), "{name}: {trips} round trips of {counted:?}");
    }
}

fn round_trips(world: &World) {
    let ids = fill(world, 100);
    let store = world.kernel.store();
    let trips = |work: &dyn Fn()| {
        let before = store.round_trips();
        work();
        store.round_trips() - before
    };
    for n in 0..2 {
        let (one, other) = (ids[2 * n].as_str(), ids[2 * n + 1].as_str());
        let counted = [
            ("add", trips(&|| drop(world.add("x")))),
            ("claim", trips(&|| drop(world.claim_any("a").unwrap()))),
            ("claim by name", trips(&|| drop(world.claim("a", other).unwrap()))),
            ("note", trips(&|| drop(world.note("a", one, "x").unwrap()))),
            ("done", trips(&|| drop(world.done("a", one).unwrap()))),
            ("release", trips(&|| drop(world.release("a", other).unwrap()))),
        ];
        for (name, trips) in counted {
            assert!((1..=8).contains(&trips), "{name}: {trips} round trips");
        }
    }
}
