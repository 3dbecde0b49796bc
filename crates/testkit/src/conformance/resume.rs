//! Resume: an ordered list of rules, one transaction, one brief.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_core::Span;
use tenure_kernel::op::{add, block, edit, note, remember, reserve, resume};
use tenure_kernel::query;
use tenure_kernel::{Call, Checkout, Op, Trust, WorkingTree};

use super::Case;
use super::shorthand::{fence, id, taken, words};
use crate::fixture::{World, code_of, kind_of};
use crate::raw::{dump, number};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l7_the_rules_of_resume_fire_in_their_order", rules),
    Case::everywhere("inv_l7_the_focus_respects_the_label_filter", labels),
    Case::everywhere("inv_l6_focus_brief_hold_and_store_agree_in_every_response", agree),
    Case::shared("inv_l6_fifty_agents_resume_and_no_task_is_handed_out_twice_or_forgotten", race),
    Case::everywhere("inv_l6_peek_shows_what_resume_takes_and_changes_nothing", peek),
    Case::everywhere("inv_l5_resume_and_notes_keep_a_hold_and_queries_do_not", renewal),
    Case::everywhere("inv_l6_peek_passes_over_what_was_reserved_for_those_who_are_gone", reserved),
    Case::everywhere("inv_l3_a_take_over_knows_where_it_stopped_and_the_former_holder_is_told", take_over),
    Case::everywhere("an_agent_whose_task_was_taken_by_force_is_told", forced),
    Case::everywhere("inv_m4_lessons_are_learnt_once_and_stay_forgotten", lessons_once),
    Case::everywhere("inv_m2_a_brief_keeps_its_budget_whatever_it_is_about", hostile),
    Case::everywhere("inv_l11_a_note_with_memories_and_files_is_all_or_nothing", whole_note),
    Case::everywhere("inv_t6_a_replayed_resume_is_the_same_bytes_and_takes_nothing", replay),
];

pub(super) fn resume(world: &World, agent: &str) -> Value {
    let answer = world.run(agent, Op::new(resume::Resume::default())).unwrap();
    agrees(world, agent, &answer);
    answer
}

fn resume_labelled(world: &World, agent: &str, labels: &[&str]) -> Value {
    let request = resume::Resume { labels: words(labels), ..resume::Resume::default() };
    let answer = world.run(agent, Op::new(request)).unwrap();
    agrees(world, agent, &answer);
    answer
}

/// L6: all parts of a response are about the same task.
fn agrees(world: &World, agent: &str, answer: &Value) {
    let stored = world.focus(agent);
    assert_eq!(answer["focus"], json!(stored), "the stored focus");
    assert_eq!(answer["focus"], answer["task"].get("id").cloned().unwrap_or(Value::Null), "the task");
    assert_eq!(answer["hold"].get("subject").cloned().unwrap_or(Value::Null), answer["focus"], "the hold");
    let text = answer["brief"]["text"].as_str().unwrap();
    let tokens = answer["brief"]["tokens"].as_u64().unwrap();
    assert!(tokens <= answer["brief"]["budget"].as_u64().unwrap() && text.len().div_ceil(4) as u64 == tokens);
    if let Some(task) = &stored {
        assert!(text.contains(&format!("## Task\n{task} ")), "the brief is of {task}: {text}");
        assert_eq!(world.show(task)["holder"]["agent"], agent);
        assert_eq!(world.show(task)["holder"]["fence"], answer["hold"]["fence"]);
        assert!(text.contains("## Do next\n") && text.contains("## Where it stopped\n"), "{text}");
    }
}

fn by_rule(world: &World, agent: &str, rule: &str) -> String {
    let answer = resume(world, agent);
    assert_eq!(answer["rule"], rule, "{}", answer["reason"]);
    taken(&answer)
}

fn block_on(world: &World, agent: &str, task: &str, on: Option<&str>) {
    let request = block::Block {
        task: Some(task.into()),
        reason: "waits".into(),
        on: on.map(str::to_owned).map(Into::into),
        ..block::Block::default()
    };
    world.run(agent, Op::new(request)).unwrap();
}

fn rules(world: &World) {
    let nothing = resume(world, "a");
    assert_eq!((&nothing["rule"], &nothing["task"], &nothing["hold"]), (&json!("none"), &Value::Null, &Value::Null));
    let late = world.add_ranked("late", 4, &[]);
    let urgent = world.add_ranked("urgent", 0, &[]);
    let blocker = world.add_ranked("blocker", 4, &[]);
    // The best ready task, and then the focus, whatever is added.
    assert_eq!(by_rule(world, "a", "ready"), urgent);
    let first = resume(world, "a");
    assert_eq!((first["rule"].as_str(), taken(&first)), (Some("focus"), urgent.clone()));
    // With two held tasks, the focus is the newer one; the older is `own`.
    world.claim("a", &late).unwrap();
    assert_eq!(by_rule(world, "a", "focus"), late);
    // Blocked on another task: skipped until that is done.
    block_on(world, "a", &late, Some(&blocker));
    let mine = world.add_with(add::Add { assignee: Some("a".into()), priority: 4, ..add::Add::titled("assigned") });
    assert_eq!(by_rule(world, "a", "assigned"), mine);
    world.done("a", &mine).unwrap();
    assert_eq!(by_rule(world, "a", "own"), urgent, "its own started task comes after what is assigned");
    world.done("b", &blocker).unwrap();
    assert_eq!(by_rule(world, "a", "focus"), urgent, "a live focus comes first");
    world.release("a", &urgent).unwrap();
    assert_eq!(by_rule(world, "a", "unblocked"), late);
    assert_eq!(world.show(&late)["attempt"], 2);
    // A task that a person unblocked returns to the agent that blocked it; a released one does not.
    block_on(world, "a", &late, None);
    assert_eq!(by_rule(world, "a", "ready"), urgent);
    world.release("a", &urgent).unwrap();
    world.unblock("person:ann", &late).unwrap();
    // Regardless of later notes.
    for n in 0..200 {
        world.note("b", &late, &format!("remark {n}")).unwrap();
    }
    assert_eq!(by_rule(world, "a", "unblocked"), late);
    // The agent's own expired hold, which no other agent took.
    world.advance(Span::hours(2));
    let again = resume(world, "a");
    assert_eq!((again["rule"].as_str(), taken(&again)), (Some("own"), late.clone()));
    // For other agents, an expired task is taken like a ready one.
    world.advance(Span::hours(2));
    world.done("b", &urgent).unwrap();
    let over = resume(world, "b");
    assert_eq!((over["rule"].as_str(), taken(&over)), (Some("lapsed"), late));
    world.sound();
}

fn labels(world: &World) {
    let red = world.add_ranked("red", 2, &["red"]);
    let blue = world.add_ranked("blue", 2, &["blue", "deep"]);
    assert_eq!(taken(&resume_labelled(world, "a", &["red"])), red);
    let other = resume_labelled(world, "a", &["blue", "deep"]);
    assert_eq!((other["rule"].as_str(), taken(&other)), (Some("ready"), blue.clone()));
    let back = resume_labelled(world, "a", &["red"]);
    assert_eq!((back["rule"].as_str(), taken(&back)), (Some("own"), red));
    let none = world.run("a", Op::new(resume::Resume { labels: words(&["green"]), ..Default::default() })).unwrap();
    assert_eq!((&none["rule"], &none["focus"]), (&json!("none"), &Value::Null));
    assert_eq!(
        code_of(world.run("a", Op::new(resume::Resume { budget: Some(1), ..Default::default() }))),
        "bad_budget"
    );
    assert_eq!(kind_of(world.run("a", Op::new(resume::Resume { ttl_s: Some(0), ..Default::default() }))), "usage");
    assert_eq!(code_of(world.run("a", Op::new(resume::Resume { limit: Some(0), ..Default::default() }))), "bad_limit");
}

fn agree(world: &World) {
    for n in 0..6 {
        world.add_ranked(&format!("task {n}"), n % 3, &[]);
    }
    let mut dice = 7_u64;
    for step in 0..60 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let agent = ["a", "b", "c"][(dice >> 33) as usize % 3];
        let answer = resume(world, agent);
        let Some(task) = answer["focus"].as_str().map(str::to_owned) else {
            world.reopen("person:ann", &world.in_state(tenure_core::task::TaskState::Done)[0]).unwrap();
            continue;
        };
        match (dice >> 40) % 6 {
            0 => drop(world.done(agent, &task).unwrap()),
            1 => drop(world.release(agent, &task).unwrap()),
            2 => block_on(world, agent, &task, None),
            3 => world.advance(Span::minutes(70)),
            4 => drop(world.note(agent, &task, &format!("step {step}")).unwrap()),
            _ => {}
        }
        for blocked in world.in_state(tenure_core::task::TaskState::Blocked) {
            world.unblock("person:ann", &blocked).unwrap();
        }
    }
    world.sound();
}

fn race(world: &World) {
    let items = (0..200)
        .map(|n| tenure_kernel::op::add_many::NewTask {
            title: format!("task {n}"),
            description: String::new(),
            priority: 2,
            labels: Vec::new(),
            acceptance: String::new(),
            after: Vec::new(),
            key: None,
            line: n + 1,
        })
        .collect();
    world.run("person:ann", Op::new(tenure_kernel::op::add_many::AddMany { items })).unwrap();
    let taken: Vec<Vec<(String, i64)>> = world.race(50, |n, kernel| {
        let agent = format!("agent-{n}");
        let mut mine = Vec::new();
        for _ in 0..4 {
            let body = world.run_patiently(kernel, &agent, &Op::new(resume::Resume::default()));
            assert_eq!(body["focus"], body["task"]["id"]);
            let task = id(&body["task"]);
            mine.push((task.clone(), fence(&body)));
            let done = tenure_kernel::op::done::Done { task: Some(task.into()), ..Default::default() };
            world.run_patiently(kernel, &agent, &Op::new(done));
        }
        mine
    });
    let tasks: BTreeSet<&String> = taken.iter().flatten().map(|(task, _)| task).collect();
    let fences: BTreeSet<i64> = taken.iter().flatten().map(|(_, fence)| *fence).collect();
    assert_eq!((tasks.len(), fences.len()), (200, 200));
    assert_eq!(resume(world, "late")["rule"], "none");
    world.sound();
}

fn peek(world: &World) {
    world.add_ranked("second", 2, &[]);
    let best = world.add_ranked("first", 1, &[]);
    world.note("b", &best, "seen").unwrap();
    for round in 0..3 {
        let before = dump(&world.kernel);
        let seen = world.kernel.ask(&world.call("a"), &query::peek::Peek(resume::Resume::default())).unwrap();
        assert_eq!(dump(&world.kernel), before, "a look changes nothing");
        assert_eq!((seen.hold.is_none(), seen.events.offered), (true, None));
        let answer = resume(world, "a");
        assert_eq!(json!(seen.task.map(|task| task.id)), answer["focus"], "round {round}");
        assert_eq!((json!(seen.rule), json!(seen.reason)), (answer["rule"].clone(), answer["reason"].clone()));
        if round == 1 {
            world.advance(Span::hours(2));
        }
    }
}

fn renewal(world: &World) {
    let task = world.add("long work");
    let request = resume::Resume { ttl_s: Some(60), ..resume::Resume::default() };
    let first = world.run("a", Op::new(request)).unwrap();
    for step in 0..10 {
        world.advance(Span::seconds(30));
        match step % 2 {
            0 => drop(world.note("a", &task, "on").unwrap()),
            _ => assert_eq!(fence(&resume(world, "a")), fence(&first), "the same hold"),
        }
    }
    for _ in 0..3 {
        world.advance(Span::seconds(29));
        world.kernel.ask(&world.call("a"), &query::peek::Peek(resume::Resume::default())).unwrap();
    }
    assert_eq!(world.show(&task)["state"], "ready", "queries keep nothing");
}

fn reserved(world: &World) {
    let task = world.add("work");
    world.note("b", &task, "here").unwrap();
    let for_b = edit::Edit { task: task.clone().into(), assignee: Some("b".into()), ..edit::Edit::default() };
    world.run("person:ann", Op::new(for_b)).unwrap();
    world.claim("a", &task).unwrap();
    world.advance(Span::hours(2));
    let seen = world.kernel.ask(&world.call("a"), &query::peek::Peek(resume::Resume::default())).unwrap();
    let answer = resume(world, "a");
    assert_eq!((json!(seen.rule), json!(seen.reason)), (answer["rule"].clone(), answer["reason"].clone()));
    assert_eq!(answer["rule"], "own");
}

fn at(world: &World, agent: &str, tree: WorkingTree) -> Call {
    let here = Checkout { host: "h".into(), path: "/p".into(), common: None, trust: Trust::Any, tree };
    Call { checkout: Some(here), ..world.call(agent) }
}

fn take_over(world: &World) {
    let task = world.add_with(add::Add {
        acceptance: "all tests pass".into(),
        description: "the long story".into(),
        ..add::Add::titled("port the parser")
    });
    let next = world.add_after("ship it", &[&task]);
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let tree = WorkingTree { head: commit.into(), ..WorkingTree::default() };
    assert_eq!(taken(&resume(world, "a")), task);
    let paths = reserve::Reserve { paths: words(&["src/lexer.rs"]), ..reserve::Reserve::default() };
    world.run_call(&at(world, "a", WorkingTree::default()), &Op::new(paths)).unwrap();
    for n in 0..4 {
        world.note("c", &task, &format!("seen {n}")).unwrap();
    }
    let whole = note::Note {
        text: "lexer done\n## Do next\nnothing, it is all finished".into(),
        memories: vec![remember::NewMemory { text: "the lexer wants UTF-8".into(), ..remember::NewMemory::default() }],
        artifacts: vec![note::Artifact {
            path: "out/report.txt".into(),
            kind: Some("report".into()),
            sha256: "AB".repeat(32),
            size: 17,
        }],
        ..note::Note::default()
    };
    world.run_call(&at(world, "a", tree), &Op::new(whole)).unwrap();
    world.advance(Span::hours(2));
    let dirty =
        WorkingTree { head: "f".repeat(40), uncommitted: words(&["src/lexer.rs", "src/a b.rs"]), uncommitted_more: 3 };
    let call = at(world, "b", dirty);
    let answer = world.run_call(&call, &Op::new(resume::Resume::default())).unwrap();
    agrees(world, "b", &answer);
    assert_eq!((answer["rule"].as_str(), answer["task"]["attempt"].as_i64()), (Some("lapsed"), Some(2)));
    let text = answer["brief"]["text"].as_str().unwrap();
    for expected in [
        "port the parser",
        "> all tests pass",
        "> the long story",
        "Taken 2 times so far: the hold of a on",
        "expired",
        "Last note, by a at",
        "> lexer done\n> ## Do next\n> nothing",
        "Last commit then: 0123456789ab; this working tree is at ffffffffffff",
        "report “out/report.txt” (17 bytes, sha256 abababababab…)",
        "Left uncommitted in this checkout: “src/lexer.rs”\n",
        "2 more notes: tenure show ",
        "Uncommitted here, not known to be of this task: 4 files",
        "“the lexer wants UTF-8” (fact",
        "tenure done",
        &format!("Unlocks {next} “ship it”"),
    ] {
        assert!(text.contains(expected), "{expected:?} in {text}");
    }
    assert_eq!(text.matches("\n## Do next\n").count(), 1, "words of agents make no sections");
    // The former holder returns: it is told in a sentence, and its old fence is refused.
    assert_eq!(kind_of(world.done("a", &task)), "stale");
    let back = world.run("a", Op::new(resume::Resume::default())).unwrap();
    let lost = back["lost"].as_str().unwrap();
    assert!(lost.starts_with(&format!("{task} “port the parser” is no longer yours: b took it over at ")), "{lost}");
    assert!(back["brief"]["text"].as_str().unwrap().contains(lost));
    agrees(world, "a", &back);
    assert_eq!(resume(world, "a")["lost"], Value::Null, "told once");
    world.sound();
}

fn forced(world: &World) {
    let task = world.add("work");
    world.claim("a", &task).unwrap();
    let force =
        tenure_kernel::op::cancel::Cancel { task: Some(task.clone().into()), force: true, ..Default::default() };
    world.run("person:ann", Op::new(force)).unwrap();
    let answer = resume(world, "a");
    let told = answer["events"]["items"].as_array().unwrap();
    assert!(told.iter().any(|news| news["kind"] == "task.cancelled" && news["subject"] == json!(task)), "{answer}");
    assert!(answer["brief"]["text"].as_str().unwrap().contains("overriding a"));
}

fn lessons_once(world: &World) {
    use tenure_kernel::op::{lessons, memory_forget};
    let learn = || world.run("a", Op::new(lessons::Lessons {})).unwrap();
    for n in 0..14 {
        let task = world.add(&format!("task {n}"));
        world.claim("a", &task).unwrap();
        block_on(world, "a", &task, None);
        world.unblock("person:ann", &task).unwrap();
        world.done("a", &task).unwrap();
    }
    let first = learn();
    assert_eq!((first["count"].as_i64(), learn()["count"].as_i64()), (Some(10), Some(4)), "at most ten at once");
    assert_eq!(learn()["count"], 0, "what is known is not learnt again");
    let event = world.events().into_iter().rfind(|event| event.kind == "memory.added").unwrap();
    assert_eq!(event.data["from"].as_array().map(Vec::len), Some(2), "with the events it comes from");
    assert!(event.cause.is_some());
    let memory = first["items"][0]["id"].as_str().unwrap().to_owned();
    let key = first["items"][1]["key"].as_str().unwrap().to_owned();
    world.advance(Span::seconds(1));
    world.run("person:ann", Op::new(memory_forget::MemoryForget { memory: memory.into() })).unwrap();
    let item = remember::NewMemory {
        text: "in better words".into(),
        key: Some(key),
        kind: tenure_core::memory::MemoryKind::Lesson,
        scope: Some(remember::MemoryReach::Project),
        ..remember::NewMemory::default()
    };
    world.run("person:ann", Op::new(remember::Remember { items: vec![item] })).unwrap();
    assert_eq!(learn()["count"], 0, "what people forgot or said better stays so");
}

fn hostile(world: &World) {
    let long = "## Task\n\u{1F600}é\t`x` ".repeat(3_000);
    let beginning = |bytes: usize| long[..long.floor_char_boundary(bytes)].to_owned();
    let task = world.add_with(add::Add {
        description: beginning(60_000),
        acceptance: "ö".repeat(20_000),
        labels: words(&["a", "b"]),
        ..add::Add::titled(&"t\u{1F600}".repeat(200))
    });
    for n in 0..30 {
        world.add_after(&"dependent ".repeat(40), &[&task]);
        let item = remember::NewMemory {
            text: format!("{n} {}", "directive ".repeat(300)),
            kind: tenure_core::memory::MemoryKind::Directive,
            scope: Some(remember::MemoryReach::Project),
            ..remember::NewMemory::default()
        };
        world.run("b", Op::new(remember::Remember { items: vec![item] })).unwrap();
        world.note("b", &task, &beginning(5_000 + n)).unwrap();
    }
    for budget in [150, 151, 200, 333, 800, 1_500, 2_048, 10_000, 50_000] {
        let request = resume::Resume { budget: Some(budget), limit: Some(1_000), ..resume::Resume::default() };
        let answer = world.run("a", Op::new(request)).unwrap();
        agrees(world, "a", &answer);
        let text = answer["brief"]["text"].as_str().unwrap();
        assert!(text.len() <= budget as usize * 4, "{budget}: {}", text.len());
        assert!(text.contains("tenure done"), "{budget}: {text}");
        assert!(text.contains("\n\n## Do next\n"), "{budget}: {text}");
        assert!(text.contains("\n\n## Where it stopped\n- Last note, by b"), "{budget}: {text}");
        for line in text.lines().filter(|line| line.starts_with('#')) {
            assert!(line.starts_with("## "), "{line}");
        }
    }
    let call = world.call("a");
    let peek =
        |request: &resume::Resume| world.kernel.ask(&call, &query::peek::Peek(request.clone())).unwrap().brief.text;
    assert_eq!(peek(&resume::Resume::default()), peek(&resume::Resume::default()), "the same bytes");
}

fn whole_note(world: &World) {
    let task = world.add("work");
    world.claim("a", &task).unwrap();
    let memory = |text: &str| remember::NewMemory { text: text.into(), ..remember::NewMemory::default() };
    let file = |path: &str| note::Artifact { path: path.into(), kind: None, sha256: "0".repeat(64), size: 1 };
    let good = note::Note {
        text: "whole".into(),
        memories: (0..50).map(|n| memory(&format!("fact {n} of fifty"))).collect(),
        artifacts: (0..50).map(|n| file(&format!("f{n}"))).collect(),
        ..note::Note::default()
    };
    let rows = |table: &str| number(&world.kernel, &format!("SELECT COUNT(*) FROM {table}"), &[]);
    let before = dump(&world.kernel);
    let spoilt: [(&str, note::Note); 6] = [
        (
            "too_many_memories",
            note::Note { memories: [good.memories.clone(), vec![memory("x")]].concat(), ..good.clone() },
        ),
        (
            "too_many_artifacts",
            note::Note { artifacts: [good.artifacts.clone(), vec![file("x")]].concat(), ..good.clone() },
        ),
        (
            "bad_artifact",
            note::Note {
                artifacts: vec![file("a"), note::Artifact { sha256: "x".into(), ..file("b") }],
                ..good.clone()
            },
        ),
        ("bad_artifact", note::Note { artifacts: vec![file("a"), file("")], ..good.clone() }),
        // These two are detected only during the writes.
        (
            "not_found",
            note::Note {
                memories: vec![memory("one"), remember::NewMemory { task: Some("t-none".into()), ..memory("two") }],
                ..good.clone()
            },
        ),
        (
            "global_apart",
            note::Note {
                memories: vec![
                    memory("one"),
                    remember::NewMemory { scope: Some(remember::MemoryReach::Global), ..memory("two") },
                ],
                ..good.clone()
            },
        ),
    ];
    for (code, request) in spoilt {
        assert_eq!(code_of(world.run("a", Op::new(request))), code);
    }
    let differ = crate::raw::differing(&before, &dump(&world.kernel));
    assert!(differ.iter().all(|table| ["agent", "hold", "project"].contains(table)), "only presence: {differ:?}");
    let noted = world.run("a", Op::new(good)).unwrap();
    assert_eq!((noted["memories"].as_array().unwrap().len(), noted["artifacts"].as_i64()), (50, Some(50)));
    assert_eq!((rows("memory"), rows("artifact"), rows("note")), (50, 50, 1));
    assert_eq!(noted["memories"][0]["of"], json!(task), "for the task, where nothing else is said");
}

fn replay(world: &World) {
    world.add("one");
    world.add("two");
    let call = Call { request_id: tenure_kernel::RequestId::given("once").unwrap(), ..world.call("a") };
    let op = Op::new(resume::Resume::default());
    let first = world.kernel.run(&call, &op).unwrap();
    world.release("a", first.body.split('"').find(|part| part.starts_with("t-")).unwrap()).unwrap();
    let before = dump(&world.kernel);
    let again = world.kernel.run(&call, &op).unwrap();
    assert_eq!((again.body, again.replayed), (first.body, true));
    assert_eq!(dump(&world.kernel), before);
}
