//! Dependencies: when a task becomes ready, waits again or is stuck, and the refusal of cycles.

use serde_json::json;
use tenure_core::id::TaskId;
use tenure_core::task::TaskState;
use tenure_kernel::Op;
use tenure_kernel::op::{add, add_many};
use tenure_kernel::query;

use super::Case;
use super::shorthand::{taken, words};
use crate::fixture::{World, code_of, kind_of, refusal};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l8_ready_once_in_the_finishing_transaction", ready_once),
    Case::everywhere("inv_l8_two_that_finish_at_once_unlock_once", finish_at_once),
    Case::everywhere("inv_l8_only_open_dependents_are_told", only_open_ones),
    Case::everywhere("inv_l8_a_refused_finish_unlocks_nothing", refused_finish),
    Case::everywhere("inv_l8_reopen_makes_dependents_wait_again", waits_again),
    Case::everywhere("inv_l8_a_cancelled_dependency_does_not_satisfy", cancelled_dependency),
    Case::everywhere("inv_l8_new_tasks_see_how_far_their_dependencies_are", new_tasks),
    Case::everywhere("inv_l8_edit_replaces_dependencies_and_is_for_people", replaced),
    Case::everywhere("inv_l8_edit_refuses_a_cycle_and_names_it", cycle_by_edit),
    Case::everywhere("inv_l8_a_long_chain_has_no_cycle_until_it_is_closed", long_chain),
    Case::everywhere("a_graph_is_everything_above_and_below", graph),
];

fn state(world: &World, task: &str) -> String {
    world.show(task)["state"].as_str().unwrap().to_owned()
}

fn ready_once(world: &World) {
    let (a, b) = (world.add("a"), world.add("b"));
    let both = world.add_with(add::Add {
        after: vec![a.clone().into(), b.clone().into(), a.clone().into()],
        labels: words(&["x"]),
        ..add::Add::titled("after both")
    });
    let one = world.add_after("after a", &[&a]);
    assert_eq!(world.show(&both)["after"], json!([a, b]), "repeats count once");
    assert_eq!(world.show(&both)["unmet"], json!([a, b]));
    let done = world.done("p", &a).unwrap();
    assert_eq!(done["unlocked"], json!([one]));
    assert_eq!(world.show(&both)["unmet"], json!([b]));
    assert_eq!((state(world, &both), state(world, &one)), ("waiting".into(), "ready".into()));
    let before = world.last_event();
    let done = world.done("p", &b).unwrap();
    assert_eq!(done["unlocked"], json!([both]));
    assert_eq!(world.kinds_after(before), ["task.done", "task.ready"]);
    let ready = world.events().pop().unwrap();
    assert_eq!((ready.subject.as_str(), ready.cause), (both.as_str(), Some(before.next())));
    assert_eq!(ready.data["unlocked_by"], b.as_str());
    assert_eq!(ready.at, world.events()[usize::try_from(before.get()).unwrap()].at);
    assert_eq!(taken(&world.claim_labelled("p", &["x"]).unwrap()), both);
    world.sound();
}

fn finish_at_once(world: &World) {
    let firsts: Vec<String> = (0..4).map(|n| world.add(&format!("first {n}"))).collect();
    let after: Vec<&str> = firsts.iter().map(String::as_str).collect();
    let last = world.add_after("last", &after);
    let unlocked = world.race(4, |n, kernel| {
        let [done, ..] = super::shorthand::acting(Some(&firsts[n]), None, false);
        let reply = kernel.run(&world.call(&format!("a{n}")), &done).unwrap();
        let done: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
        done["unlocked"].as_array().unwrap().len()
    });
    assert_eq!(unlocked.iter().sum::<usize>(), 1);
    assert_eq!(world.count("task.ready"), 1);
    assert_eq!(state(world, &last), "ready");
    world.sound();
}

fn only_open_ones(world: &World) {
    let first = world.add("first");
    let blocked = world.add_after("blocked", &[&first]);
    let cancelled = world.add_after("cancelled", &[&first]);
    let done = world.add_after("done before its time", &[&first]);
    let open = world.add_after("open", &[&first]);
    world.block("p", &blocked, "x").unwrap();
    world.cancel("p", &cancelled).unwrap();
    world.done("p", &done).unwrap();
    assert_eq!(world.done("p", &first).unwrap()["unlocked"], json!([open]));
    assert_eq!(world.count("task.ready"), 1);
    // A task that was not open finds its dependencies met when it is reopened.
    assert_eq!(world.unblock("p", &blocked).unwrap()["state"], "ready");
    assert_eq!(world.reopen("p", &cancelled).unwrap()["state"], "ready");
    assert_eq!(world.reopen("p", &done).unwrap()["state"], "ready");
    world.sound();
}

fn refused_finish(world: &World) {
    let first = world.add("first");
    let second = world.add_after("second", &[&first]);
    world.claim("a", &first).unwrap();
    world.unchanged(&second, || assert_eq!(kind_of(world.done("b", &first)), "conflict"));
    world.done("a", &first).unwrap();
    world.unchanged(&second, || assert_eq!(kind_of(world.done("b", &first)), "conflict"));
    assert_eq!(world.count("task.ready"), 1);
}

fn waits_again(world: &World) {
    let first = world.add("first");
    let open = world.add_with(add::Add {
        after: vec![first.clone().into()],
        labels: words(&["x"]),
        ..add::Add::titled("not started")
    });
    let started = world.add_after("started", &[&first]);
    let blocked = world.add_after("blocked", &[&first]);
    let finished = world.add_after("finished", &[&first]);
    world.done("p", &first).unwrap();
    world.claim("a", &started).unwrap();
    world.block("p", &blocked, "x").unwrap();
    world.done("p", &finished).unwrap();
    let before = world.last_event();
    world.reopen("p", &first).unwrap();
    assert_eq!(world.kinds_after(before), ["task.reopened", "task.waiting"]);
    let waiting = world.events().pop().unwrap();
    assert_eq!((waiting.subject.as_str(), waiting.cause), (open.as_str(), Some(before.next())));
    assert_eq!(state(world, &open), "waiting");
    assert_eq!(world.in_state(TaskState::Waiting), [open.as_str()]);
    assert_eq!(world.show(&started)["holder"]["agent"], "a", "what has started goes on");
    assert_eq!(state(world, &blocked), "blocked");
    assert_eq!(state(world, &finished), "done");
    assert!(world.claim_labelled("b", &["x"]).unwrap()["task"].is_null());
    // A started task that is released waits too.
    assert_eq!(world.release("a", &started).unwrap()["state"], "waiting");
    assert_eq!(world.done("p", &first).unwrap()["unlocked"], json!([open, started]));
    assert_eq!(taken(&world.claim_labelled("b", &["x"]).unwrap()), open);
    assert_eq!(world.events().iter().filter(|event| event.kind == "task.ready" && event.subject == open).count(), 2);
    world.sound();
}

fn cancelled_dependency(world: &World) {
    let (first, other) = (world.add("first"), world.add("other"));
    let second = world.add_after("second", &[&first, &other]);
    let third = world.add_after("third", &[&second]);
    world.cancel("p", &first).unwrap();
    assert_eq!(state(world, &second), "stuck");
    assert_eq!(state(world, &third), "waiting", "only what comes right after it is stuck");
    assert_eq!(world.show(&second)["unmet"], json!([first, other]));
    assert_eq!(world.done("p", &other).unwrap()["unlocked"], json!([]));
    assert_eq!(state(world, &second), "stuck");
    assert_eq!(world.in_state(TaskState::Stuck), [second.as_str()]);
    let status = world.kernel.ask(&world.call("p"), &query::status::Status {}).unwrap();
    assert_eq!((status.stuck, status.waiting, status.ready), (1, 1, 0));
    assert_eq!(status.stuck_by[0].by, format!("{first} cancelled"));
    let error = refusal(world.unchanged(&second, || world.claim("a", &second)));
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("conflict", "not_ready"));
    assert_eq!(error.get("unmet"), Some(&json!([first])));
    world.sound();
    // After a reopen it can be waited for again, and done it satisfies.
    world.reopen("p", &first).unwrap();
    assert_eq!(state(world, &second), "waiting");
    assert_eq!(world.done("p", &first).unwrap()["unlocked"], json!([second]));
    world.sound();
}

fn new_tasks(world: &World) {
    let (done, cancelled, open) = (world.add("done"), world.add("cancelled"), world.add("open"));
    world.done("p", &done).unwrap();
    world.cancel("p", &cancelled).unwrap();
    for (after, expected) in [
        (vec![done.as_str()], "ready"),
        (vec![open.as_str(), done.as_str()], "waiting"),
        (vec![cancelled.as_str()], "stuck"),
        (vec![cancelled.as_str(), open.as_str()], "stuck"),
    ] {
        assert_eq!(state(world, &world.add_after("new", &after)), expected, "{after:?}");
    }
    assert_eq!(world.count("task.ready"), 0, "born ready is not unlocked");
    let before = world.last_event();
    let unknown = add::Add { after: words(&[&open, "t-none0"]), ..add::Add::titled("x") };
    assert_eq!(kind_of(world.run("p", Op::new(unknown))), "not_found");
    assert_eq!(world.last_event(), before);
    world.sound();
}

fn replaced(world: &World) {
    let (a, b, c) = (world.add("a"), world.add("b"), world.add("c"));
    let task = world.add_with(add::Add {
        after: vec![a.clone().into()],
        labels: words(&["x"]),
        ..add::Add::titled("moved about")
    });
    world.done("p", &b).unwrap();
    world.cancel("p", &c).unwrap();
    for agent in ["p", "claude-1"] {
        let error = refusal(world.unchanged(&task, || world.edit_after(agent, &task, &[])));
        assert_eq!((error.kind().as_str(), error.code().as_str()), ("denied", "people_only"));
    }
    assert_eq!(kind_of(world.unchanged(&task, || world.edit_after("person:ann", &task, &["t-none0"]))), "not_found");
    for (after, expected) in [
        (vec![&b], "ready"),
        (vec![&a, &b], "waiting"),
        (vec![&c, &a], "stuck"),
        (vec![], "ready"),
        (vec![&c], "stuck"),
        (vec![&a], "waiting"),
    ] {
        let after: Vec<&str> = after.into_iter().map(String::as_str).collect();
        let edited = world.edit_after("person:ann", &task, &after).unwrap();
        assert_eq!(edited["state"], expected);
        let ready = expected == "ready";
        assert_eq!(world.next("p", &["x"]).task.is_some(), ready, "label rows follow");
        world.sound();
    }
    // The same edit again is not a change.
    let before = (world.show(&task)["version"].clone(), world.last_event());
    world.edit_after("person:ann", &task, &[&a]).unwrap();
    assert_eq!((world.show(&task)["version"].clone(), world.last_event()), before);
    // A removed dependency no longer affects it.
    world.edit_after("person:ann", &task, &[]).unwrap();
    world.edit_after("person:ann", &task, &[&b]).unwrap();
    assert_eq!(world.done("p", &a).unwrap()["unlocked"], json!([]));
    world.reopen("p", &b).unwrap();
    assert_eq!(state(world, &task), "waiting");
    world.sound();
}

fn cycle_by_edit(world: &World) {
    let a = world.add("a");
    let b = world.add_after("b", &[&a]);
    let c = world.add_after("c", &[&b]);
    let other = world.add("other");
    for (task, after, way) in [
        (&a, vec![&c], vec![&c, &b, &a]),
        (&a, vec![&other, &b], vec![&b, &a]),
        (&a, vec![&a], vec![&a]),
        (&b, vec![&a, &c], vec![&c, &b]),
    ] {
        let after: Vec<&str> = after.into_iter().map(String::as_str).collect();
        let error = refusal(world.unchanged(task, || world.edit_after("person:ann", task, &after)));
        assert_eq!((error.kind().as_str(), error.code().as_str()), ("conflict", "cycle"));
        assert_eq!(error.get("cycle"), Some(&json!(way)));
        assert!(error.message().contains(&format!("{task} after {}", way[0])), "{}", error.message());
    }
    world.edit_after("person:ann", &c, &[&a, &b]).unwrap();
    world.edit_after("person:ann", &b, &[&other]).unwrap();
    // Allowed now that b no longer depends on a.
    world.edit_after("person:ann", &a, &[&b]).unwrap();
    world.sound();
}

fn long_chain(world: &World) {
    let item = |n: usize| add_many::NewTask {
        title: format!("link {n}"),
        description: String::new(),
        priority: 2,
        labels: Vec::new(),
        acceptance: String::new(),
        after: if n == 0 { Vec::new() } else { vec![format!("k{}", n - 1)] },
        key: Some(format!("k{n}")),
        line: n + 1,
    };
    let mut items: Vec<_> = (0..900).map(item).collect();
    let ids = world.run("p", Op::new(add_many::AddMany { items: items.clone() })).unwrap()["ids"].clone();
    let (first, last) = (ids[0].as_str().unwrap(), ids[899].as_str().unwrap());
    let error = refusal(world.unchanged(first, || world.edit_after("person:ann", first, &[last])));
    assert_eq!(error.code(), "cycle");
    assert_eq!(error.get("cycle").unwrap().as_array().unwrap().len(), 900);
    items[0].after = vec!["k899".into()];
    let before = world.last_event();
    assert_eq!(code_of(world.run("p", Op::new(add_many::AddMany { items }))), "cycle");
    assert_eq!(world.last_event(), before);
}

fn graph(world: &World) {
    let a = world.add("a");
    let b = world.add_after("b", &[&a]);
    let c = world.add_after("c", &[&b]);
    let aside = world.add_after("aside", &[&a]);
    world.add("alone");
    let graph = world.kernel.ask(&world.call("p"), &query::graph::Graph { id: b.clone() }).unwrap();
    let mut tasks: Vec<String> = graph.tasks.into_iter().map(|task| task.id).map(String::from).collect();
    tasks.sort();
    let mut expected = vec![a.clone(), b.clone(), c.clone()];
    expected.sort();
    assert_eq!(tasks, expected, "{aside} is neither above nor below");
    let mut edges = vec![(TaskId::from(b.as_str()), TaskId::from(a)), (c.into(), b.into())];
    edges.sort();
    assert_eq!((graph.edges, graph.more), (edges, false));
}
