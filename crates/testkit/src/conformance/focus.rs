//! The focus: the task that an agent means when it names none.

use tenure_core::Span;
use tenure_kernel::Op;
use tenure_kernel::op::{claim, note};

use super::Case;
use super::shorthand::{acting, note_in_focus, taken};
use crate::fixture::{World, code_of, kind_of, refusal};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l6_the_focus_is_the_task_of_the_response_and_of_the_hold", focus_is_the_task),
    Case::everywhere("inv_l6_a_claim_without_an_id_takes_another_task", takes_another),
    Case::everywhere("inv_l6_an_op_without_an_id_means_the_focus", means_the_focus),
    Case::everywhere("inv_l6_a_refused_claim_leaves_the_focus", refused_claim),
    Case::everywhere("without_a_focus_an_id_is_asked_for", no_focus),
    Case::everywhere("a_lapsed_focus_is_late_and_then_stale", lapsed_focus),
    Case::everywhere("a_note_with_an_id_touches_neither_hold_nor_focus", notes_by_id),
];

fn focus_is_the_task(world: &World) {
    let tasks: Vec<String> = (0..3).map(|n| world.add(&format!("task {n}"))).collect();
    for agent in ["a", "b", "c"] {
        let claimed = world.claim_any(agent).unwrap();
        let task = taken(&claimed);
        assert_eq!(claimed["hold"]["subject"], task.as_str());
        assert_eq!(claimed["hold"]["holder"], agent);
        assert_eq!(claimed["task"]["holder"]["fence"], claimed["hold"]["fence"]);
        assert_eq!(claimed["task"]["holder"]["hold"], claimed["hold"]["id"]);
        assert_eq!(claimed["task"]["status"], "started");
        assert_eq!(world.focus(agent), Some(task.clone()));
        let shown = world.show(&task);
        assert_eq!(shown["holder"]["agent"], agent);
        for field in ["state", "version", "attempt", "status"] {
            assert_eq!(shown[field], claimed["task"][field], "the answer is what was stored: {field}");
        }
    }
    assert_eq!(tasks.len(), 3);
    world.sound();
}

fn takes_another(world: &World) {
    let (first, second) = (world.add("first"), world.add("second"));
    assert_eq!(taken(&world.claim_any("a").unwrap()), first);
    assert_eq!(taken(&world.claim_any("a").unwrap()), second);
    assert_eq!(world.focus("a"), Some(second.clone()));
    for task in [&first, &second] {
        assert_eq!(world.show(task)["holder"]["agent"], "a", "an agent may hold several tasks");
    }
    assert!(world.claim_any("a").unwrap()["task"].is_null());
    assert_eq!(world.focus("a"), Some(second.clone()), "an empty hand leaves the focus");
    // Claiming its own task moves the focus back to it.
    world.claim("a", &first).unwrap();
    assert_eq!(world.focus("a"), Some(first));
}

fn means_the_focus(world: &World) {
    for (nth, status) in ["done", "blocked", "cancelled", "open"].into_iter().enumerate() {
        let (other, task) = (world.add("other"), world.add(status));
        world.claim("a", &other).unwrap();
        world.claim("a", &task).unwrap();
        assert_eq!(world.run("a", note_in_focus("on it")).unwrap()["task"], task.as_str());
        let op = acting(None, None, false)[nth].clone();
        assert_eq!(world.run("a", op).unwrap()["id"], task.as_str());
        assert_eq!(world.show(&task)["status"], status);
        assert_eq!(world.focus("a"), None, "{status}: what is over is not in focus");
        assert_eq!(world.show(&other)["holder"]["agent"], "a");
        // Finishing a task that is not in focus leaves the focus unchanged.
        let third = world.add("third");
        world.claim("a", &third).unwrap();
        world.done("a", &other).unwrap();
        assert_eq!(world.focus("a"), Some(third.clone()));
        world.done("a", &third).unwrap();
        if status == "open" {
            world.cancel("a", &task).unwrap();
        }
    }
    world.sound();
}

fn refused_claim(world: &World) {
    let (mine, held) = (world.add("mine"), world.add("held"));
    world.claim("b", &held).unwrap();
    world.claim("a", &mine).unwrap();
    assert_eq!(kind_of(world.claim("a", &held)), "conflict");
    assert_eq!(kind_of(world.claim("a", "t-none0")), "not_found");
    let bad = claim::Claim { task: Some(mine.clone().into()), ttl_s: Some(0), ..claim::Claim::default() };
    assert_eq!(kind_of(world.run("a", Op::new(bad))), "usage");
    assert_eq!(world.focus("a"), Some(mine));
}

fn no_focus(world: &World) {
    let task = world.add("known");
    world.note("a", &task, "hello").unwrap();
    let mut ops = acting(None, None, false).to_vec();
    ops.push(note_in_focus("hello"));
    for op in ops {
        let error = refusal(world.unchanged(&task, || world.run("a", op.clone())));
        assert_eq!((error.kind().as_str(), error.code().as_str()), ("usage", "no_focus"), "{op:?}");
    }
}

fn lapsed_focus(world: &World) {
    let task = world.add("lapsing");
    world.claim_for("a", &task, 60).unwrap();
    world.advance(Span::minutes(2));
    assert_eq!(world.run("a", note_in_focus("slow")).unwrap()["late"], true);
    assert_eq!(world.show(&task)["state"], "ready", "a late note takes nothing back");
    world.claim("b", &task).unwrap();
    assert_eq!(kind_of(world.unchanged(&task, || world.run("a", note_in_focus("slower")))), "stale");
    assert_eq!(kind_of(world.unchanged(&task, || world.run("a", acting(None, None, false)[0].clone()))), "stale");
    let other = world.add("other");
    world.claim("a", &other).unwrap();
    world.run("a", note_in_focus("on with the next")).unwrap();
    world.sound();
}

fn notes_by_id(world: &World) {
    let (task, other) = (world.add("noted"), world.add("other"));
    world.claim("a", &task).unwrap();
    world.claim("b", &other).unwrap();
    let data = serde_json::json!({ "found": [1, "two", null] });
    let request = note::Note {
        task: Some(task.clone().into()),
        text: "what I\nfound".into(),
        data: Some(data.clone()),
        ..note::Note::default()
    };
    let before = world.show(&task);
    let noted = world.run("b", Op::new(request)).unwrap();
    assert_eq!((noted["task"].as_str(), &noted["late"]), (Some(task.as_str()), &false.into()));
    let after = world.show(&task);
    for field in ["holder", "status", "version", "updated_at", "attempt"] {
        assert_eq!(after[field], before[field]);
    }
    let note = &after["notes"][0];
    assert_eq!((&note["id"], &note["agent"], &note["data"]), (&noted["id"], &"b".into(), &data));
    assert_eq!(note["text"], "what I\nfound");
    assert_eq!(world.focus("b"), Some(other));
    // A given fence is checked, with or without an id.
    let fenced = note::Note {
        task: Some(task.clone().into()),
        text: "x".into(),
        fence: Some(1.into()),
        ..note::Note::default()
    };
    assert_eq!(kind_of(world.unchanged(&task, || world.run("b", Op::new(fenced)))), "stale");
    let nul = note::Note {
        task: Some(task.clone().into()),
        text: "x".into(),
        data: Some(serde_json::json!({ "a\u{0}": 1 })),
        ..note::Note::default()
    };
    assert_eq!(code_of(world.unchanged(&task, || world.run("b", Op::new(nul)))), "control_character");
}
