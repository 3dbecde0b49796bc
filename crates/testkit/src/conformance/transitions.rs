//! The table of transitions, and the other effects of block, unblock and reopen.

use serde_json::json;
use tenure_core::Span;
use tenure_kernel::Op;
use tenure_kernel::op::{block, edit, note, reopen, transfer, unblock};
use tenure_kernel::query;

use super::Case;
use super::shorthand::{acting, claiming};
use crate::fixture::{World, code_of, kind_of, refusal};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l10_every_status_and_every_op", table),
    Case::everywhere("inv_l10_an_unknown_task_is_not_found_by_any_op", unknown_task),
    Case::everywhere("inv_l10_repeating_a_finished_transition_says_who_and_when", repeated),
    Case::everywhere("inv_l10_notes_and_edits_leave_the_status_alone", notes_and_edits),
    Case::everywhere("a_blocker_must_be_another_task_that_is_not_over", block_on),
    Case::everywhere("a_blocker_is_gone_when_it_is_done", blocker_gone),
    Case::everywhere("blocking_ends_the_hold_and_unblocking_opens", block_and_unblock),
    Case::everywhere("reopening_forgets_how_it_ended", reopened),
];

const STATUSES: [&str; 5] = ["open", "started", "blocked", "done", "cancelled"];

/// Rows are ops, columns the statuses above; a dash is a refusal. Started tasks are held by the actor, for whom a claim
/// is no transition.
const TABLE: [(&str, [&str; 5]); 7] = [
    ("claim", ["started", "started", "-", "-", "-"]),
    ("release", ["-", "open", "-", "-", "-"]),
    ("block", ["blocked", "blocked", "-", "-", "-"]),
    ("unblock", ["-", "-", "open", "-", "-"]),
    ("done", ["done", "done", "done", "-", "-"]),
    ("cancel", ["cancelled", "cancelled", "cancelled", "-", "-"]),
    ("reopen", ["-", "-", "-", "open", "open"]),
];

/// A new task in a status; a started one is held by `a`.
fn task_in(world: &World, status: &str) -> String {
    let task = world.add(status);
    match status {
        "started" => drop(world.claim("a", &task).unwrap()),
        "blocked" => drop(world.block("person:ann", &task, "waits for a key").unwrap()),
        "done" => drop(world.done("person:ann", &task).unwrap()),
        "cancelled" => drop(world.cancel("person:ann", &task).unwrap()),
        _ => {}
    }
    assert_eq!(world.show(&task)["status"], status);
    task
}

fn op(verb: &str, task: &str, force: bool) -> Op {
    let [done, block, cancel, release] = acting(Some(task), None, force);
    match verb {
        "claim" => claiming(task),
        "release" => release,
        "block" => block,
        "unblock" => Op::new(unblock::Unblock { task: task.into() }),
        "done" => done,
        "cancel" => cancel,
        "reopen" => Op::new(reopen::Reopen { task: task.into(), ..reopen::Reopen::default() }),
        other => panic!("no op {other}"),
    }
}

fn table(world: &World) {
    for (verb, row) in TABLE {
        for (status, after) in STATUSES.into_iter().zip(row) {
            let told = format!("{verb} of a task that is {status}");
            let task = task_in(world, status);
            if after == "-" {
                for (actor, force) in [("a", false), ("stranger", false), ("person:ann", true)] {
                    let refused = world.unchanged(&task, || world.run(actor, op(verb, &task, force)));
                    assert_eq!(kind_of(refused), "conflict", "{told} by {actor}");
                }
            } else {
                // Another agent can move only a task without a holder.
                if status == "started" {
                    let refused = world.unchanged(&task, || world.run("stranger", op(verb, &task, false)));
                    assert_eq!(kind_of(refused), "conflict", "{told} by a stranger");
                }
                world.run("a", op(verb, &task, false)).unwrap();
                assert_eq!(world.show(&task)["status"], after, "{told}");
            }
        }
    }
    world.sound();
}

fn unknown_task(world: &World) {
    world.add("known");
    world.claim_any("a").unwrap();
    let before = world.last_event();
    for unknown in ["t-none0", "", "t-", "T-ABCDE", "%", "'; DROP TABLE task; --", "ünïcode", &"x".repeat(5_000)] {
        for (verb, _) in TABLE {
            assert_eq!(kind_of(world.run("a", op(verb, unknown, false))), "not_found", "{verb} {unknown:?}");
        }
        assert_eq!(kind_of(world.note("a", unknown, "x")), "not_found");
        assert_eq!(kind_of(world.transfer("a", unknown, "a")), "not_found");
        assert_eq!(kind_of(world.edit("a", unknown, |request| request.priority = Some(0))), "not_found");
        assert_eq!(kind_of(world.kernel.ask(&world.call("a"), &query::show::Show { id: unknown.into() })), "not_found");
    }
    assert_eq!(world.last_event(), before);
}

fn repeated(world: &World) {
    let finished = |verb: &str| {
        let task = world.add(verb);
        world.run("a", op(verb, &task, false)).unwrap();
        let at = world.show(&task)["finished_at"].clone();
        world.advance(Span::minutes(1));
        let error = refusal(world.unchanged(&task, || world.run("b", op(verb, &task, false))));
        assert_eq!((error.kind().as_str(), error.code().as_str()), ("conflict", "illegal_transition"));
        assert_eq!(error.get("finished_by"), Some(&json!("a")));
        assert_eq!(error.get("finished_at"), Some(&at));
        assert!(error.blocker().unwrap().contains(" by a at "), "{:?}", error.blocker());
    };
    finished("done");
    finished("cancel");
}

fn notes_and_edits(world: &World) {
    for status in STATUSES {
        let task = task_in(world, status);
        let before = world.show(&task);
        world.note("stranger", &task, "seen").unwrap();
        let noted = world.show(&task);
        for field in ["status", "state", "holder", "version", "updated_at", "attempt"] {
            assert_eq!(noted[field], before[field], "{status} {field}");
        }
        world.edit("stranger", &task, |request| request.title = Some("another".into())).unwrap();
        let edited = world.show(&task);
        for field in ["status", "state", "holder", "attempt"] {
            assert_eq!(edited[field], before[field], "{status} {field}");
        }
        assert_eq!(edited["version"], before["version"].as_i64().unwrap() + 1);
        if status != "started" {
            let hand =
                transfer::Transfer { task: Some(task.clone().into()), to: "a".into(), ..transfer::Transfer::default() };
            let refused = world.unchanged(&task, || world.run("stranger", Op::new(hand)));
            assert_eq!(kind_of(refused), "not_found", "{status}");
        }
    }
    // An empty text is refused before any read.
    let task = world.add("quiet");
    let empty = note::Note { task: Some(task.clone().into()), text: " \n".into(), ..note::Note::default() };
    assert_eq!(code_of(world.unchanged(&task, || world.run("a", Op::new(empty)))), "text_empty");
    assert_eq!(code_of(world.unchanged(&task, || world.block("a", &task, ""))), "text_empty");
    let nothing = edit::Edit { task: task.clone().into(), ..edit::Edit::default() };
    assert_eq!(code_of(world.unchanged(&task, || world.run("a", Op::new(nothing)))), "nothing_to_change");
    world.sound();
}

fn blocked_on(task: &str, on: &str) -> Op {
    Op::new(block::Block {
        task: Some(task.into()),
        reason: "needs it".into(),
        on: Some(on.into()),
        ..block::Block::default()
    })
}

fn block_on(world: &World) {
    let task = world.add("blocked");
    for (on, code) in [
        (task.clone(), "cycle"),
        ("t-none0".to_owned(), "not_found"),
        (task_in(world, "done"), "blocker_gone"),
        (task_in(world, "cancelled"), "blocker_gone"),
    ] {
        assert_eq!(code_of(world.unchanged(&task, || world.run("a", blocked_on(&task, &on)))), code);
    }
    for status in ["open", "started", "blocked"] {
        let on = task_in(world, status);
        let blocked = world.run("b", blocked_on(&task, &on)).unwrap();
        assert_eq!((&blocked["blocked_on"], &blocked["reason"]), (&json!(on), &json!("needs it")));
        world.unblock("b", &task).unwrap();
    }
    // Neither its dependents nor a task blocked on it can block it: both would wait for ever.
    let dependent = world.add_after("after it", &[&task]);
    assert_eq!(code_of(world.unchanged(&task, || world.run("a", blocked_on(&task, &dependent)))), "cycle");
    let other = world.add("other");
    world.run("a", blocked_on(&other, &dependent)).unwrap();
    assert_eq!(code_of(world.unchanged(&task, || world.run("a", blocked_on(&task, &other)))), "cycle");
}

fn blocker_gone(world: &World) {
    let (task, on) = (world.add("blocked"), world.add("blocker"));
    world.run("a", blocked_on(&task, &on)).unwrap();
    let status = || world.kernel.ask(&world.call("a"), &query::status::Status {}).unwrap().blocked_by;
    assert_eq!(world.show(&task)["blocker_gone"], false);
    assert!(!status()[0].gone && status()[0].by.starts_with(&on));
    world.done("a", &on).unwrap();
    assert_eq!(world.show(&task)["blocker_gone"], true);
    assert!(status()[0].gone);
    // The missing blocker is reported, not acted on: an agent or a person decides that the task can continue.
    assert_eq!(world.show(&task)["state"], "blocked");
    world.reopen("a", &on).unwrap();
    assert_eq!(world.show(&task)["blocker_gone"], false);
    let unblocked = world.unblock("a", &task).unwrap();
    assert!(unblocked["blocked_on"].is_null() && unblocked["reason"].is_null());
    assert_eq!(world.show(&task)["blocker_gone"], false);
}

fn block_and_unblock(world: &World) {
    let first = world.add("first");
    let task = world.add_after("second", &[&first]);
    world.done("a", &first).unwrap();
    let hold = world.claim("a", &task).unwrap()["hold"]["id"].clone();
    let blocked = world.block("a", &task, "no answer").unwrap();
    assert_eq!((&blocked["state"], &blocked["reason"]), (&"blocked".into(), &"no answer".into()));
    assert!(blocked["holder"].is_null());
    assert_eq!(
        world
            .kernel
            .ask(&world.call("a"), &query::show_hold::ShowHold { id: hold.as_str().unwrap().into() })
            .unwrap()
            .state,
        "finished"
    );
    assert_eq!(world.focus("a"), None);
    assert!(world.claim_any("b").unwrap()["task"].is_null(), "blocked tasks are not chosen");
    assert_eq!(world.unblock("c", &task).unwrap()["state"], "ready");
    // Unblocked while a dependency is open again: it waits.
    world.block("a", &task, "again").unwrap();
    world.reopen("a", &first).unwrap();
    assert_eq!(world.unblock("c", &task).unwrap()["state"], "waiting");
    assert_eq!(world.done("a", &first).unwrap()["unlocked"], json!([task]));
    world.sound();
}

fn reopened(world: &World) {
    for verb in ["done", "cancel"] {
        let task = world.add(verb);
        world.claim("a", &task).unwrap();
        world.run("a", op(verb, &task, false)).unwrap();
        let opened = world.reopen("b", &task).unwrap();
        assert_eq!((&opened["status"], &opened["state"]), (&"open".into(), &"ready".into()));
        for field in ["finished_by", "finished_at", "reason", "holder", "lapsed_from"] {
            assert!(opened[field].is_null(), "{field}");
        }
        assert_eq!(world.claim("b", &task).unwrap()["task"]["attempt"], 2);
        assert_eq!(kind_of(world.done("a", &task)), "stale", "the hold of {verb} is over");
        world.done("b", &task).unwrap();
    }
    // A hold that expired before the end is no longer a reason afterwards.
    let task = world.add("late");
    world.claim_for("a", &task, 60).unwrap();
    world.advance(Span::minutes(2));
    world.done("a", &task).unwrap();
    assert!(world.reopen("b", &task).unwrap()["lapsed_from"].is_null());
    assert_eq!(world.claim("b", &task).unwrap()["rule"], "named");
    world.sound();
}
