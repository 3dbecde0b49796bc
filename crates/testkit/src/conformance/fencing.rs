//! Fences: which agent may act on a task, and which one is told that it is too late.

use serde_json::json;
use tenure_client::phrasing::Commands;
use tenure_core::Span;
use tenure_core::number::EventNumber;
use tenure_kernel::Op;
use tenure_kernel::op::{done, note, transfer};
use tenure_kernel::query;

use super::Case;
use super::shorthand::{acting, claiming, fence, note_in_focus};
use crate::fixture::{World, code_of, kind_of, refusal};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l4_taken_over_is_stale_and_moves_nothing", taken_over_is_stale),
    Case::everywhere("inv_l4_late_is_accepted_while_nobody_took_over", late_is_accepted),
    Case::everywhere("inv_l4_every_op_of_a_replaced_holder_is_stale", every_op_of_a_replaced_holder),
    Case::everywhere("inv_l4_finishing_may_be_late_and_giving_back_may_not", what_may_be_late),
    Case::everywhere("inv_l4_giving_back_ends_the_right_once_another_came", giving_back),
    Case::everywhere("inv_l4_a_former_holder_is_told_who_ended_its_hold", forced_end),
    Case::everywhere("inv_l4_a_given_fence_is_believed_over_the_one_shown", given_fence),
    Case::everywhere("inv_l4_the_same_agent_is_fenced_from_its_former_hold", own_former_hold),
    Case::everywhere("inv_l4_a_stranger_is_told_who_and_until_when", stranger),
    Case::everywhere("inv_l4_force_is_for_people_and_names_whom_it_overrode", force),
    Case::everywhere("inv_l4_force_of_a_free_task_overrides_nobody", force_of_a_free_task),
    Case::everywhere("inv_l4_force_is_denied_to_agents", force_by_an_agent),
];

fn taken_over_is_stale(world: &World) {
    let task = world.add("first");
    let dependent = world.add_after("second", &[&task]);
    world.claim_for("a", &task, 60).unwrap();
    world.advance(Span::seconds(60));
    let taken = world.claim("b", &task).unwrap();
    assert_eq!(taken["task"]["attempt"], 2);
    assert_eq!(taken["rule"], "named");
    let before = world.last_event();
    assert_eq!(kind_of(world.done("a", &task)), "stale");
    assert_eq!(world.last_event(), before, "a refused op appends nothing");
    assert_eq!(world.show(&task)["holder"]["agent"], "b");
    assert_eq!(world.show(&dependent)["state"], "waiting");
    world.done("b", &task).unwrap();
    assert_eq!(kind_of(world.done("a", &task)), "stale");
    assert_eq!(kind_of(world.done("b", &task)), "conflict");
    world.sound();
}

fn late_is_accepted(world: &World) {
    let task = world.add("first");
    let dependent = world.add_after("second", &[&task]);
    world.claim_for("a", &task, 60).unwrap();
    world.advance(Span::minutes(30));
    let done = world.done("a", &task).unwrap();
    assert_eq!(done["late"], true);
    assert_eq!(done["unlocked"], json!([dependent]));
    let kinds = world.kinds_after(EventNumber::new(world.last_event().get() - 3));
    assert_eq!(kinds, ["hold.expired", "task.done", "task.ready"]);
    world.sound();
}

/// A claims, A's hold expires, B claims: no op of A succeeds, by id or by focus, and B keeps its hold and its fence.
fn every_op_of_a_replaced_holder(world: &World) {
    world.add("so that c is known");
    world.claim_any("c").unwrap();
    let task = world.add("taken over");
    let old = fence(&world.claim_for("a", &task, 60).unwrap());
    world.advance(Span::seconds(60));
    let new = fence(&world.claim("b", &task).unwrap());
    assert!(new > old);
    let hand = |named: Option<&str>| {
        let request =
            transfer::Transfer { task: named.map(str::to_owned).map(Into::into), to: "c".into(), ..Default::default() };
        Op::new(request)
    };
    let mut ops = acting(Some(&task), None, false).to_vec();
    ops.extend(acting(None, None, false));
    ops.extend(acting(Some(&task), Some(old), false));
    ops.extend([hand(Some(&task)), hand(None), note_in_focus("still at it")]);
    for op in ops {
        let refused = world.unchanged(&task, || world.run("a", op.clone()));
        assert_eq!(kind_of(refused), "stale", "{op:?}");
    }
    // Any agent may note by id, including a former holder, unless it shows its old fence.
    let by_id = note::Note { task: Some(task.clone().into()), text: "what I found".into(), ..Default::default() };
    assert_eq!(world.run("a", Op::new(by_id.clone())).unwrap()["late"], false);
    let fenced = Op::new(note::Note { fence: Some(old.into()), ..by_id });
    assert_eq!(kind_of(world.unchanged(&task, || world.run("a", fenced))), "stale");
    assert_eq!(world.show(&task)["holder"]["fence"], new);
    world.sound();
}

fn what_may_be_late(world: &World) {
    for late in ["note", "block", "cancel"] {
        let task = world.add(late);
        world.claim_for("a", &task, 60).unwrap();
        world.advance(Span::seconds(61));
        // An expired hold cannot be released or transferred.
        assert_eq!(code_of(world.release("a", &task)), "lapsed");
        assert_eq!(kind_of(world.transfer("a", &task, "a")), "stale");
        match late {
            "note" => assert_eq!(world.run("a", note_in_focus("almost")).unwrap()["late"], true),
            "block" => assert_eq!(world.block("a", &task, "no key").unwrap()["status"], "blocked"),
            _ => assert_eq!(world.cancel("a", &task).unwrap()["status"], "cancelled"),
        }
        let events = world.events();
        let last = events.last().unwrap();
        assert_eq!(last.data["late"], true, "{late}");
        // An unrelated agent's op on the same task is never late.
        let noted = world.note("c", &task, "seen").unwrap();
        assert_eq!(noted["late"], false);
    }
    world.sound();
}

/// A former holder is told who ended its hold, how and when.
fn forced_end(world: &World) {
    let force = |task: &str, op: &str| {
        let ops = acting(Some(task), None, true);
        let [done, block, cancel, release] = [&ops[0], &ops[1], &ops[2], &ops[3]];
        let op = match op {
            "done" => done,
            "block" => block,
            "cancel" => cancel,
            _ => release,
        };
        world.run("person:ann", op.clone()).unwrap();
    };
    for (op, how) in
        [("done", "finished it"), ("block", "blocked it"), ("cancel", "cancelled it"), ("release", "released it")]
    {
        let task = world.add(op);
        world.claim("a", &task).unwrap();
        force(&task, op);
        let error = refusal(world.unchanged(&task, || world.done("a", &task)));
        let told = format!("your hold on {task} is over: person:ann {how} at ");
        assert_eq!(error.kind().as_str(), "stale");
        assert!(error.message().starts_with(&told), "{}", error.message());
        assert_eq!(error.get("ended_by"), Some(&json!("person:ann")));
    }
    let task = world.add("moved");
    world.note("b", &task, "registers").unwrap();
    world.claim("a", &task).unwrap();
    let moved = transfer::Transfer {
        task: Some(task.clone().into()),
        to: "b".into(),
        force: true,
        ..transfer::Transfer::default()
    };
    world.run("person:ann", Op::new(moved)).unwrap();
    let error = refusal(world.unchanged(&task, || world.done("a", &task)));
    assert!(error.message().contains("person:ann transferred it to b at "), "{}", error.message());
    assert!(error.message().ends_with("; b has it now"), "{}", error.message());
    // The hold of the next holder ends by itself: that is no force.
    world.claim("b", &task).unwrap();
    world.done("b", &task).unwrap();
    world.sound();
}

fn giving_back(world: &World) {
    let task = world.add("given back");
    world.claim("a", &task).unwrap();
    world.release("a", &task).unwrap();
    // No other agent came since: the former holder acts like any agent, and is not late.
    assert_eq!(world.run("a", acting(Some(&task), None, false)[1].clone()).unwrap()["status"], "blocked");
    assert_eq!(world.events().last().unwrap().data["late"], false);
    world.unblock("a", &task).unwrap();
    world.claim("b", &task).unwrap();
    world.release("b", &task).unwrap();
    for op in &acting(Some(&task), None, false)[..3] {
        assert_eq!(kind_of(world.unchanged(&task, || world.run("a", op.clone()))), "stale");
    }
    // An agent that never held the task is not a former holder, and a claim turns a former holder into the holder.
    world.block("c", &task, "x").unwrap();
    world.unblock("c", &task).unwrap();
    world.claim("a", &task).unwrap();
    world.done("a", &task).unwrap();
    world.sound();
}

fn given_fence(world: &World) {
    let task = world.add("fenced");
    let right = fence(&world.claim("a", &task).unwrap());
    let done =
        |fence| Op::new(done::Done { task: Some(task.clone().into()), fence: Some(fence), ..done::Done::default() });
    for wrong in [right - 1, right + 1, 0, -1, i64::MAX] {
        assert_eq!(kind_of(world.unchanged(&task, || world.run("a", done(wrong.into())))), "stale", "{wrong}");
    }
    // Another agent's fence does not help.
    let error = refusal(world.unchanged(&task, || world.run("b", done(right.into()))));
    assert_eq!(error.kind().as_str(), "stale");
    assert_eq!(error.get("current_fence"), Some(&json!(right)));
    assert_eq!(world.run("a", done(right.into())).unwrap()["late"], false);
}

fn own_former_hold(world: &World) {
    let task = world.add("twice mine");
    let old = fence(&world.claim_for("a", &task, 60).unwrap());
    world.advance(Span::seconds(90));
    let again = world.claim("a", &task).unwrap();
    assert!(fence(&again) > old, "a lapsed hold is not revived");
    assert_eq!(again["task"]["attempt"], 2);
    let under_the_old =
        Op::new(done::Done { task: Some(task.clone().into()), fence: Some(old.into()), ..done::Done::default() });
    assert_eq!(kind_of(world.unchanged(&task, || world.run("a", under_the_old))), "stale");
    // The last fence shown is the new one.
    assert_eq!(world.done("a", &task).unwrap()["late"], false);
    world.sound();
}

fn stranger(world: &World) {
    let task = world.add("held");
    world.claim("a", &task).unwrap();
    world.advance(Span::minutes(3));
    let mut ops = acting(Some(&task), None, false).to_vec();
    ops.push(claiming(&task));
    for op in ops {
        let error = refusal(world.unchanged(&task, || world.run("b", op.clone())));
        assert_eq!((error.kind().as_str(), error.code().as_str()), ("conflict", "task_held"), "{op:?}");
        let blockers = error.get("blockers").unwrap();
        assert_eq!(blockers[0]["holder"], "a");
        assert_eq!(blockers[0]["liveness"], "idle");
        assert_eq!(blockers[0]["age_s"], 180);
        assert_eq!(blockers[0]["expires_in_s"], 3_420);
        assert!(error.blocker().unwrap().contains('a'));
        assert!((1..=3).contains(&error.attempts(&Commands).len()));
        assert!(error.override_by_person().is_some());
    }
}

fn force(world: &World) {
    world.add("so that b is known");
    world.claim_any("b").unwrap();
    let hand = |task: &str| {
        Op::new(transfer::Transfer {
            task: Some(task.into()),
            to: "b".into(),
            force: true,
            ..transfer::Transfer::default()
        })
    };
    for (nth, name) in ["done", "block", "cancel", "release", "transfer"].into_iter().enumerate() {
        let task = world.add(name);
        let claimed = world.claim("a", &task).unwrap();
        let hold = claimed["hold"]["id"].as_str().unwrap();
        assert_eq!(world.focus("a"), Some(task.clone()));
        let op = |force| if nth < 4 { acting(Some(&task), None, force)[nth].clone() } else { hand(&task) };
        if nth < 4 {
            assert_eq!(kind_of(world.unchanged(&task, || world.run("person:ann", op(false)))), "conflict");
        }
        world.run("person:ann", op(true)).unwrap();
        let events = world.events();
        let ended = events.iter().rfind(|event| event.subject == task).unwrap();
        assert_eq!(ended.data["overrode"], "a", "{name}");
        assert_eq!(ended.actor, "person:ann");
        assert!(ended.sentence().contains("overriding a"), "{}", ended.sentence());
        let row = world.kernel.ask(&world.call("a"), &query::show_hold::ShowHold { id: hold.into() }).unwrap();
        assert_eq!(row.state, "forced");
        assert_eq!(world.focus("a"), None, "{name}: what was taken away is not in focus");
        // The override is newer than the fence it ended.
        for op in acting(Some(&task), None, false) {
            assert_eq!(kind_of(world.unchanged(&task, || world.run("a", op.clone()))), "stale", "{name}: {op:?}");
        }
    }
    world.sound();
}

fn force_of_a_free_task(world: &World) {
    let task = world.add("free");
    let done = acting(Some(&task), None, true)[0].clone();
    world.run("person:ann", done).unwrap();
    assert_eq!(world.events().last().unwrap().data["overrode"], json!(null));
    // Force overrides a holder, never the table of transitions.
    for op in acting(Some(&task), None, true) {
        assert_eq!(kind_of(world.unchanged(&task, || world.run("person:ann", op.clone()))), "conflict", "{op:?}");
    }
}

fn force_by_an_agent(world: &World) {
    let task = world.add("forced");
    world.claim("a", &task).unwrap();
    for agent in ["a", "b"] {
        for op in acting(Some(&task), None, true) {
            let error = refusal(world.unchanged(&task, || world.run(agent, op.clone())));
            assert_eq!((error.kind().as_str(), error.code().as_str()), ("denied", "people_only"), "{agent} {op:?}");
        }
        let hand = transfer::Transfer {
            task: Some(task.clone().into()),
            to: "a".into(),
            force: true,
            ..transfer::Transfer::default()
        };
        assert_eq!(kind_of(world.unchanged(&task, || world.run(agent, Op::new(hand)))), "denied");
    }
}
