//! Transfer: a held task goes to another agent with its remaining time and a new fence.

use serde_json::json;
use tenure_core::Span;
use tenure_kernel::Op;
use tenure_kernel::op::transfer;
use tenure_kernel::query;

use super::Case;
use super::shorthand::{acting, claiming, fence, note_in_focus};
use crate::fixture::{World, code_of, kind_of};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_r9_transfer_gives_a_new_fence_and_the_remaining_time", handed),
    Case::everywhere("inv_r9_who_works_on_another_task_keeps_its_focus", keeps_focus),
    Case::everywhere("inv_r9_transfer_is_all_or_nothing", refused),
    Case::everywhere("inv_r9_nothing_to_move_is_not_found", nothing_to_move),
    Case::everywhere("inv_r9_a_person_moves_with_force_and_is_audited", forced),
    Case::everywhere("inv_l4_the_former_holder_is_stale_after_a_transfer", former_holder),
    Case::everywhere("inv_l1_a_race_of_transfers_and_claims_leaves_one_holder", race),
];

fn appear(world: &World, agents: &[&str]) {
    let task = world.add("hello");
    for agent in agents {
        world.note(agent, &task, "hello").unwrap();
    }
    world.cancel("person:ann", &task).unwrap();
}

/// A `done` of the receiver without an id must not finish the received task.
fn keeps_focus(world: &World) {
    let (task, own) = (world.add("handed on"), world.add("own"));
    world.claim("a", &task).unwrap();
    world.claim("b", &own).unwrap();
    world.transfer("a", &task, "b").unwrap();
    assert_eq!(world.focus("b"), Some(own));
    assert_eq!(world.show(&task)["holder"]["agent"], "b");
}

fn handed(world: &World) {
    appear(world, &["b"]);
    let task = world.add("handed on");
    let claimed = world.claim_for("a", &task, 1_000).unwrap();
    world.advance(Span::seconds(100));
    let before = world.last_event();
    let holds = world.transfer("a", &task, "b").unwrap()["holds"].clone();
    assert_eq!(world.kinds_after(before), ["hold.transferred"], "one event a hold");
    assert_eq!(holds.as_array().unwrap().len(), 1);
    let hold = &holds[0];
    assert_eq!(hold["fence"], before.next().get());
    assert!(hold["fence"].as_i64().unwrap() > fence(&claimed));
    assert_eq!((&hold["holder"], &hold["subject"]), (&json!("b"), &json!(task)));
    assert_eq!((&hold["expires_in_s"], &hold["ttl_s"]), (&json!(900), &json!(1_000)), "the remaining time");
    assert_ne!(hold["id"], claimed["hold"]["id"]);
    let old = world
        .kernel
        .ask(&world.call("a"), &query::show_hold::ShowHold { id: claimed["hold"]["id"].as_str().unwrap().into() })
        .unwrap();
    assert_eq!(old.state, "transferred");
    let shown = world.show(&task);
    assert_eq!((&shown["holder"]["agent"], &shown["holder"]["fence"]), (&json!("b"), &hold["fence"]));
    assert_eq!((&shown["status"], &shown["attempt"]), (&json!("started"), &json!(2)));
    let event = world.events().pop().unwrap();
    assert_eq!((&event.data["from"], &event.data["holder"]), (&json!("a"), &json!("b")));
    assert_eq!(event.data["overrode"], json!(null));
    // The focus is transferred too.
    assert_eq!((world.focus("a"), world.focus("b")), (None, Some(task.clone())));
    // b has not been shown the fence: a claim shows it, and changes nothing else.
    assert_eq!(kind_of(world.unchanged(&task, || world.done("b", &task))), "stale");
    let own = world.unchanged_but_renewed(&task, || world.claim("b", &task).unwrap());
    assert_eq!((&own["rule"], &own["hold"]["fence"]), (&json!("own"), &hold["fence"]));
    world.done("b", &task).unwrap();
    world.sound();
}

impl World {
    /// Runs a closure that appends no event and leaves the task unchanged except for the expiry of its hold.
    fn unchanged_but_renewed<T>(&self, task: &str, what: impl FnOnce() -> T) -> T {
        let look = || {
            let mut shown = self.show(task);
            shown["holder"]["expires_at"] = json!(null);
            shown["holder"]["liveness"] = json!(null);
            (shown, self.last_event())
        };
        let before = look();
        let answer = what();
        assert_eq!(look(), before);
        answer
    }
}

fn refused(world: &World) {
    appear(world, &["b", "c"]);
    let task = world.add("kept");
    world.claim("a", &task).unwrap();
    let focus = || (world.focus("a"), world.focus("b"), world.focus("c"));
    let before = focus();
    world.unchanged(&task, || {
        assert_eq!(kind_of(world.transfer("b", &task, "b")), "conflict", "only the holder");
        assert_eq!(kind_of(world.transfer("c", &task, "b")), "conflict");
        assert_eq!(kind_of(world.transfer("person:ann", &task, "b")), "conflict", "a person says so with force");
        assert_eq!(code_of(world.transfer("a", &task, "nobody")), "unknown_agent");
        assert_eq!(code_of(world.transfer("a", &task, "a")), "same_holder");
        let wrong = transfer::Transfer {
            task: Some(task.clone().into()),
            to: "b".into(),
            fence: Some(1.into()),
            ..transfer::Transfer::default()
        };
        assert_eq!(kind_of(world.run("a", Op::new(wrong))), "stale");
    });
    assert_eq!(focus(), before);
    world.done("a", &task).unwrap();
    world.sound();
}

fn nothing_to_move(world: &World) {
    appear(world, &["a", "b"]);
    let (open, blocked, done) = (world.add("open"), world.add("blocked"), world.add("done"));
    world.block("a", &blocked, "x").unwrap();
    world.done("a", &done).unwrap();
    for task in [&open, &blocked, &done] {
        for (agent, force) in [("a", false), ("person:ann", true)] {
            let request = transfer::Transfer {
                task: Some(task.clone().into()),
                to: "b".into(),
                force,
                ..transfer::Transfer::default()
            };
            let refused = world.unchanged(task, || world.run(agent, Op::new(request)));
            assert_eq!(code_of(refused), "nothing_to_transfer");
        }
        assert_eq!(kind_of(world.transfer("b", task, "a")), "not_found");
    }
    // Without an id the focus is meant.
    let in_focus = || Op::new(transfer::Transfer { to: "b".into(), ..transfer::Transfer::default() });
    assert_eq!(code_of(world.run("a", in_focus())), "no_focus");
    world.claim_for("a", &open, 60).unwrap();
    world.run("a", in_focus()).unwrap();
    assert_eq!(world.show(&open)["holder"]["agent"], "b");
    // An expired hold cannot be transferred.
    world.advance(Span::minutes(2));
    world.claim_for("a", &open, 60).unwrap();
    world.advance(Span::minutes(2));
    assert_eq!(code_of(world.transfer("a", &open, "b")), "lapsed");
    world.sound();
}

fn forced(world: &World) {
    appear(world, &["b"]);
    let task = world.add("moved");
    world.claim("a", &task).unwrap();
    let force = transfer::Transfer {
        task: Some(task.clone().into()),
        to: "b".into(),
        force: true,
        ..transfer::Transfer::default()
    };
    world.run("person:ann", Op::new(force)).unwrap();
    let event = world.events().pop().unwrap();
    assert_eq!((&event.data["overrode"], event.actor.as_str()), (&json!("a"), "person:ann"));
    assert_eq!(world.focus("b"), Some(task.clone()));
    world.claim("b", &task).unwrap();
    world.done("b", &task).unwrap();
    world.sound();
}

fn former_holder(world: &World) {
    appear(world, &["b"]);
    let task = world.add("handed on");
    world.claim("a", &task).unwrap();
    world.transfer("a", &task, "b").unwrap();
    for op in acting(Some(&task), None, false) {
        assert_eq!(kind_of(world.unchanged(&task, || world.run("a", op.clone()))), "stale", "{op:?}");
    }
    assert_eq!(code_of(world.run("a", note_in_focus("x"))), "no_focus");
    // Also after the new hold has expired: it is newer than a's.
    world.advance(Span::hours(2));
    for op in acting(Some(&task), None, false) {
        assert_eq!(kind_of(world.run("a", op.clone())), "stale", "{op:?}");
    }
    assert_eq!(world.show(&task)["lapsed_from"], "b");
    world.claim("a", &task).unwrap();
    world.done("a", &task).unwrap();
    world.sound();
}

fn race(world: &World) {
    let agents: Vec<String> = (0..6).map(|n| format!("a{n}")).collect();
    appear(world, &agents.iter().map(String::as_str).collect::<Vec<_>>());
    let tasks: Vec<String> = (0..3).map(|n| world.add(&format!("task {n}"))).collect();
    world.race(6, |n, kernel| {
        for round in 0..12 {
            let task = &tasks[(n + round) % tasks.len()];
            let to = agents[(n + 1 + round % 5) % agents.len()].clone();
            let op = match round % 3 {
                0 => claiming(task),
                1 => Op::new(transfer::Transfer {
                    task: Some(task.clone().into()),
                    to: to.into(),
                    ..transfer::Transfer::default()
                }),
                _ => acting(Some(task), None, false)[3].clone(),
            };
            // Most are refused: the log afterwards is what counts.
            if let Err(error) = kernel.run(&world.call(&agents[n]), &op) {
                assert!(matches!(error.kind().as_str(), "conflict" | "stale" | "not_found"), "{error:?}");
            }
        }
    });
    world.sound();
}
