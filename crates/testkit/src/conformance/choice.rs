//! The choice of a task when none is named: one order for `claim`, `next`, `list` and counts.

use std::collections::BTreeSet;

use serde_json::json;
use tenure_core::Span;
use tenure_core::task::TaskState;
use tenure_kernel::Op;
use tenure_kernel::op::{add, claim, reopen, resume, snooze};
use tenure_kernel::query::{list, peek, status};

use super::Case;
use super::shorthand::{taken, words};
use crate::fixture::{TestClock, World, code_of, kind_of};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_l6_eight_agents_take_forty_tasks_once_each", race_for_tasks),
    Case::everywhere("inv_l6_contenders_for_one_task_get_the_next_ones", contenders),
    Case::everywhere("inv_l7_priority_then_number_decides", order),
    Case::everywhere("inv_l7_next_tells_what_claim_takes_and_why", next_is_claim),
    Case::everywhere("inv_l7_lapsed_and_ready_are_one_order", lapsed_among_ready),
    Case::everywhere("inv_l7_a_task_that_an_agent_gave_up_comes_last_for_it", given_up),
    Case::everywhere("inv_l7_the_first_is_found_among_more_lapsed_than_one_write_ends", beyond_the_settled),
    Case::everywhere("inv_l7_labels_filter_claim_next_and_list", labels),
    Case::everywhere("inv_l7_assigned_tasks_are_chosen_by_their_assignee_only", assigned),
    Case::everywhere("an_assignment_ends_when_its_agent_is_gone", assignee_gone),
    Case::everywhere("an_assignment_to_an_agent_gone_before_does_not_count", assigned_to_the_gone),
    Case::everywhere("an_assignment_to_a_person_stays", assigned_to_a_person),
    Case::everywhere("an_empty_hand_says_why", nothing_to_take),
    Case::everywhere("inv_l7_a_snoozed_task_is_offered_from_its_time_on", snoozed),
    Case::everywhere("a_snoozed_task_can_be_claimed_by_its_id", snoozed_and_named),
    Case::everywhere("inv_l8_a_snoozed_task_is_told_of_its_dependencies", snoozed_and_told),
    Case::everywhere("a_snooze_holds_for_labels_assignees_and_dependencies", snoozed_in_every_way),
];

/// Agents claim and finish until no task is left.
fn race_for_tasks(world: &World) {
    let tasks: BTreeSet<String> = (0..40).map(|n| world.add(&format!("task {n}"))).collect();
    let handed = world.race(8, |n, kernel| {
        let agent = format!("a{n}");
        let mut mine = Vec::new();
        loop {
            let claim = Op::new(claim::Claim::default());
            let reply = kernel.run(&world.call(&agent), &claim).unwrap();
            let claimed: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
            if claimed["task"].is_null() {
                return mine;
            }
            let task = taken(&claimed);
            assert_eq!(claimed["task"]["holder"]["agent"], agent.as_str());
            assert_eq!(claimed["hold"]["subject"], task.as_str());
            if mine.len() % 2 == 0 {
                let [done, ..] = super::shorthand::acting(Some(&task), None, false);
                kernel.run(&world.call(&agent), &done).unwrap();
            }
            mine.push(task);
        }
    });
    let all: Vec<String> = handed.into_iter().flatten().collect();
    assert_eq!(all.len(), 40, "none twice");
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), tasks, "none forgotten");
    assert_eq!(world.count("task.claimed"), 40);
    world.sound();
}

/// All agents want the first task: one gets it, the others get the following tasks in the same call.
fn contenders(world: &World) {
    let tasks: Vec<String> = (0..6).map(|n| world.add(&format!("task {n}"))).collect();
    let mut got = world.race(4, |n, kernel| {
        let reply = kernel.run(&world.call(&format!("a{n}")), &Op::new(claim::Claim::default())).unwrap();
        taken(&serde_json::from_str(&reply.body).unwrap())
    });
    got.sort();
    let mut first = tasks[..4].to_vec();
    first.sort();
    assert_eq!(got, first);
    for n in 0..4 {
        let agent = format!("a{n}");
        let focus = world.focus(&agent).unwrap();
        assert_eq!(world.show(&focus)["holder"]["agent"], agent.as_str(), "the focus is the task held");
    }
    world.sound();
}

fn order(world: &World) {
    let late = world.add_ranked("late", 4, &[]);
    let second = world.add_ranked("second", 1, &[]);
    let third = world.add_ranked("third", 1, &[]);
    let first = world.add_ranked("first", 0, &[]);
    let expected = [first, second, third.clone(), late.clone()];
    assert_eq!(world.in_state(TaskState::Ready), expected);
    let moved = world.add_ranked("moved", 3, &[]);
    world.edit("a", &moved, |request| request.priority = Some(0)).unwrap();
    let expected = [expected[0].clone(), moved, expected[1].clone(), third, late];
    for task in expected {
        assert_eq!(world.next("b", &[]).task.unwrap().id, task);
        let claimed = world.claim_any("b").unwrap();
        assert_eq!(taken(&claimed), task);
        assert_eq!(claimed["rule"], "ready");
    }
    assert_eq!(world.claim_any("b").unwrap()["rule"], "none");
}

fn next_is_claim(world: &World) {
    let first = world.add("first");
    world.add_after("second", &[&first]);
    world.add_ranked("third", 3, &["x"]);
    let lapsing = world.add_ranked("lapsing", 1, &[]);
    world.claim_for("gone", &lapsing, 60).unwrap();
    world.advance(Span::minutes(3));
    for _ in 0..5 {
        let next = world.next("a", &[]);
        let again = world.next("a", &[]);
        assert_eq!(json!(next), json!(again), "looking changes nothing");
        let claimed = world.claim_any("a").unwrap();
        let next = json!(next);
        assert_eq!(next["task"]["id"], claimed["task"]["id"]);
        assert_eq!((&next["rule"], &next["reason"]), (&claimed["rule"], &claimed["reason"]));
        if let Some(task) = claimed["task"]["id"].as_str() {
            world.done("a", task).unwrap();
        }
    }
    world.sound();
}

/// An agent that releases a task gets another one, if there is one; the other agents get it as before.
fn given_up(world: &World) {
    let first = world.add_ranked("first", 0, &["x"]);
    let second = world.add_ranked("second", 1, &["x"]);
    let third = world.add_ranked("third", 2, &[]);
    let next = |agent: &str, labels: &[&str]| world.next(agent, labels).task.map(|task| task.id.to_string());
    let resume = |agent: &str| {
        let resumed = world.run(agent, Op::new(resume::Resume::default())).unwrap();
        resumed["task"]["id"].as_str().unwrap().to_owned()
    };
    let gives_up = |agent: &str, task: &str| {
        world.claim(agent, task).unwrap();
        world.release(agent, task).unwrap();
    };
    gives_up("a", &first);
    assert_eq!(next("b", &[]), Some(first.clone()), "for others nothing changes");
    assert_eq!(next("a", &[]), Some(second.clone()));
    assert_eq!(next("a", &["x"]), Some(second.clone()));
    let peeked = world.kernel.ask(&world.call("a"), &peek::Peek(resume::Resume::default())).unwrap();
    assert_eq!(peeked.task.map(|task| task.id.to_string()), Some(second.clone()));
    assert_eq!(resume("a"), second);
    world.release("a", &second).unwrap();
    assert_eq!(taken(&world.claim_any("a").unwrap()), third, "each of them comes after the rest");
    world.done("a", &third).unwrap();
    // Nothing else is ready: the first of them is offered again.
    assert_eq!(next("a", &[]), Some(first.clone()));
    assert_eq!(taken(&world.claim_any("a").unwrap()), first);
    world.release("a", &first).unwrap();
    // A change of the task ends that, and so does another holder.
    world.edit("b", &first, |request| request.title = Some("clearer".into())).unwrap();
    assert_eq!(next("a", &[]), Some(first.clone()));
    gives_up("a", &first);
    assert_eq!(next("a", &[]), Some(first.clone()), "the second was given up too, and comes after it");
    world.claim("b", &second).unwrap();
    world.block("b", &second, "no key").unwrap();
    world.unblock("b", &second).unwrap();
    assert_eq!(next("a", &[]), Some(second.clone()));
    // An assignment is a change too; without one since, an assigned task is passed over like any other.
    world.edit("b", &first, |request| request.assignee = Some("a".into())).unwrap();
    assert_eq!(resume("a"), first);
    world.release("a", &first).unwrap();
    assert_eq!(resume("a"), second);
    world.sound();
}

fn lapsed_among_ready(world: &World) {
    let tasks: Vec<String> = (0..4).map(|n| world.add(&format!("task {n}"))).collect();
    world.claim_for("a", &tasks[1], 60).unwrap();
    world.claim_for("a", &tasks[3], 60).unwrap();
    world.advance(Span::minutes(2));
    assert_eq!(world.in_state(TaskState::Ready), tasks);
    let rules: Vec<_> = tasks
        .iter()
        .map(|task| {
            let claimed = world.claim_any("b").unwrap();
            assert_eq!(taken(&claimed), *task);
            claimed["rule"].clone()
        })
        .collect();
    assert_eq!(rules, ["ready", "lapsed", "ready", "lapsed"]);
    world.sound();
}

/// One write settles at most 64 expired holds, earliest first. Here the first task in order expired last, so it is not
/// among them, and is claimed all the same.
fn beyond_the_settled(world: &World) {
    let first = world.add_ranked("first", 0, &["x"]);
    let others: Vec<String> = (0..69).map(|n| world.add_ranked(&format!("task {n}"), 2, &["x"])).collect();
    let last = world.add_ranked("never taken", 3, &["x"]);
    world.claim_for("a", &first, 120).unwrap();
    for task in &others {
        world.claim_for("a", task, 60).unwrap();
    }
    let second = world.add_ranked("second", 1, &["y"]);
    world.claim_for("a", &second, 119).unwrap();
    world.advance(Span::minutes(5));
    assert_eq!(world.in_state(TaskState::Ready).len(), 72);
    for labels in [&[][..], &["x"], &["y"]] {
        let wanted = if labels == ["y"] { &second } else { &first };
        assert_eq!(world.next("b", labels).task.unwrap().id, *wanted);
    }
    let before = world.last_event();
    let claimed = world.claim_labelled("b", &["x"]).unwrap();
    assert_eq!((taken(&claimed), &claimed["rule"]), (first.clone(), &json!("lapsed")));
    let kinds = world.kinds_after(before);
    assert_eq!(kinds.iter().filter(|kind| *kind == "hold.expired").count(), 65, "64 and the one taken");
    assert_eq!(taken(&world.claim_any("c").unwrap()), second);
    assert_eq!(taken(&world.claim_any("c").unwrap()), others[0]);
    assert_eq!(world.count("hold.expired"), 71);
    assert_eq!(taken(&world.claim("c", &last).unwrap()), last);
    world.sound();
}

fn labels(world: &World) {
    let plain = world.add_ranked("plain", 0, &[]);
    let ui = world.add_ranked("ui", 1, &["ui"]);
    let both = world.add_ranked("both", 2, &["rust", "ui"]);
    let first = world.add_ranked("first", 0, &["db"]);
    let waits = world.add_with(add::Add {
        labels: words(&["db", "rust"]),
        after: vec![first.clone().into()],
        ..add::Add::titled("waits")
    });
    let listed = |labels: &[&str]| -> Vec<String> {
        let filter = list::List { labels: words(labels), ..list::List::default() };
        world.list(&filter).into_iter().map(|task| task.id).map(String::from).collect()
    };
    assert_eq!(listed(&["ui"]), [ui.as_str(), &both]);
    assert_eq!(listed(&["rust", "ui"]), [both.as_str()]);
    assert_eq!(listed(&["db"]), [first.as_str(), &waits]);
    assert_eq!(listed(&["none"]), [""; 0]);
    // All labels must match: a task with only one of them is skipped, although it comes first.
    let rust = world.add_ranked("rust", 0, &["rust"]);
    assert_eq!(world.next("a", &["rust", "ui"]).task.unwrap().id, both);
    assert_eq!(taken(&world.claim_labelled("a", &["ui", "rust"]).unwrap()), both);
    assert_eq!(world.focus("a"), Some(both.clone()));
    assert!(world.claim_labelled("a", &["ui", "rust"]).unwrap()["task"].is_null());
    // The label rows follow readiness, status, edits and expiry.
    world.done("b", &rust).unwrap();
    assert!(world.claim_labelled("a", &["rust"]).unwrap()["task"].is_null());
    world.done("b", &first).unwrap();
    assert_eq!(world.next("a", &["rust"]).task.unwrap().id, waits);
    world.reopen("b", &first).unwrap();
    assert!(world.next("a", &["rust"]).task.is_none());
    world.edit("b", &plain, |request| request.add_labels = words(&["rust"])).unwrap();
    assert_eq!(taken(&world.claim_labelled("b", &["rust"]).unwrap()), plain);
    world.edit("b", &ui, |request| request.remove_labels = words(&["ui"])).unwrap();
    assert_eq!(listed(&["ui"]), [both.as_str()]);
    world.advance(Span::minutes(61));
    assert_eq!(world.next("c", &["ui"]).task.unwrap().id, both);
    assert_eq!(taken(&world.claim_labelled("c", &["ui"]).unwrap()), both);
    // A claim by id ignores the labels.
    let named = claim::Claim { task: Some(ui.clone().into()), labels: words(&["db"]), ..claim::Claim::default() };
    assert_eq!(taken(&world.run("c", Op::new(named)).unwrap()), ui);
    world.sound();
}

/// Adds a task assigned to a known agent.
fn add_for(world: &World, agent: &str, title: &str, priority: i64) -> String {
    let request = add::Add { assignee: Some(agent.into()), priority, ..add::Add::titled(title) };
    world.add_with(request)
}

fn appear(world: &World, agent: &str) {
    let task = world.add("hello");
    world.note(agent, &task, "hello").unwrap();
    world.cancel(agent, &task).unwrap();
}

fn assigned(world: &World) {
    appear(world, "a");
    let for_a = add_for(world, "a", "for a", 0);
    let anyones = world.add_ranked("anyone's", 2, &["x"]);
    world.edit("a", &for_a, |request| request.add_labels = words(&["x"])).unwrap();
    assert_eq!(world.next("b", &[]).task.unwrap().id, anyones);
    assert_eq!(world.next("b", &["x"]).task.unwrap().id, anyones);
    assert_eq!(taken(&world.claim_labelled("b", &["x"]).unwrap()), anyones);
    world.release("b", &anyones).unwrap();
    assert_eq!(taken(&world.claim_any("b").unwrap()), anyones);
    let empty = world.claim_any("b").unwrap();
    assert_eq!(empty["reason"], "1 ready, but all are assigned to other agents");
    let filter = list::List { assignee: Some("a".into()), ..list::List::default() };
    assert_eq!(world.list(&filter).len(), 1);
    assert_eq!(world.next("a", &[]).task.unwrap().id, for_a);
    assert_eq!(taken(&world.claim_any("a").unwrap()), for_a);
    world.release("a", &for_a).unwrap();
    // Any agent may claim it by id, and the assignment is unchanged.
    let named = world.claim("b", &for_a).unwrap();
    assert_eq!(named["task"]["assignee"], "a");
    world.release("b", &for_a).unwrap();
    world.edit("person:ann", &for_a, |request| request.assignee = Some("".into())).unwrap();
    assert_eq!(taken(&world.claim_any("b").unwrap()), for_a);
}

fn assignee_gone(world: &World) {
    appear(world, "a");
    appear(world, "b");
    let for_a = add_for(world, "a", "for a", 2);
    world.advance(Span(Span::minutes(60).0 - 1));
    assert!(world.next("b", &[]).task.is_none());
    assert!(world.claim_any("b").unwrap()["task"].is_null());
    world.advance(Span(1));
    assert_eq!(world.next("b", &[]).task.unwrap().id, for_a, "seen before anything is written");
    let before = world.last_event();
    assert_eq!(taken(&world.claim_any("b").unwrap()), for_a);
    assert_eq!(world.kinds_after(before), ["task.unassigned", "task.claimed"]);
    assert!(world.show(&for_a)["assignee"].is_null());
    // One op of the agent brings it back before its assignment is cleared.
    world.advance(Span::minutes(59));
    world.note("b", &for_a, "still here").unwrap();
    let for_b = add_for(world, "b", "for b", 2);
    world.advance(Span::minutes(65));
    world.note("b", &for_a, "back again").unwrap();
    assert_eq!(world.show(&for_b)["assignee"], "b");
    // A live hold keeps its agent present, however long it has been quiet.
    let long = world.add("long");
    world.claim_for("b", &long, 4 * 3_600).unwrap();
    world.advance(Span::hours(3));
    world.note("person:ann", &long, "?").unwrap();
    assert_eq!(world.show(&for_b)["assignee"], "b");
    world.advance(Span::hours(2));
    world.note("person:ann", &long, "?").unwrap();
    assert!(world.show(&for_b)["assignee"].is_null());
    world.sound();
}

/// The agent was gone before the task was assigned to it, or before the task was reopened.
fn assigned_to_the_gone(world: &World) {
    appear(world, "a");
    let finished = add_for(world, "a", "finished", 2);
    world.done("a", &finished).unwrap();
    world.advance(Span::minutes(61));
    let late = add_for(world, "a", "late", 1);
    let edited = world.add_ranked("edited", 3, &[]);
    world.edit("person:ann", &edited, |request| request.assignee = Some("a".into())).unwrap();
    world.reopen("person:ann", &finished).unwrap();
    for task in [late, finished, edited] {
        assert_eq!(world.next("b", &[]).task.map(|task| task.id), Some(Into::into(task.clone())));
        assert_eq!(taken(&world.claim_any("b").unwrap()), task);
        assert!(world.show(&task)["assignee"].is_null());
    }
    world.sound();
}

fn assigned_to_a_person(world: &World) {
    let task = add_for(world, "person:ann", "for ann", 2);
    world.advance(Span::hours(30));
    assert!(world.next("b", &[]).task.is_none());
    assert!(world.claim_any("b").unwrap()["task"].is_null());
    assert_eq!(world.show(&task)["assignee"], "person:ann");
    assert_eq!(taken(&world.claim_any("person:ann").unwrap()), task);
}

fn nothing_to_take(world: &World) {
    let reason = |agent: &str| {
        let claimed = world.claim_any(agent).unwrap();
        assert!(claimed["task"].is_null() && claimed["hold"].is_null());
        assert_eq!(claimed["rule"], "none");
        assert_eq!(claimed["reason"], world.next(agent, &[]).reason);
        claimed["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason("a"), "there are no tasks");
    let first = world.add("first");
    let second = world.add_after("second", &[&first]);
    let third = world.add("third");
    world.claim("b", &first).unwrap();
    world.block("b", &third, "x").unwrap();
    assert_eq!(reason("a"), "nothing is ready: 1 held, 1 waiting, 1 blocked");
    world.cancel("b", &first).unwrap();
    assert_eq!(reason("a"), "nothing is ready: 1 stuck, 1 blocked");
    assert_eq!(kind_of(world.claim("a", &second)), "conflict", "an id that cannot be taken is a refusal");
    world.cancel("b", &second).unwrap();
    world.done("b", &third).unwrap();
    assert_eq!(reason("a"), "all 3 tasks are done or cancelled");
    world.add_ranked("fourth", 2, &["x"]);
    let filtered = world.claim_labelled("a", &["y"]).unwrap();
    assert_eq!(filtered["reason"], "1 ready, but none has these labels and is open to you");
}

fn snooze(world: &World, agent: &str, task: &str, for_s: i64) -> tenure_core::Result<serde_json::Value> {
    world.run(agent, Op::new(snooze::Snooze { task: task.into(), for_s: Some(for_s), until: None }))
}

/// How many tasks are ready and how many wait, by the counters; the lists must agree.
fn ready_and_waiting(world: &World) -> (usize, usize) {
    let seen = world.kernel.ask(&world.call("person:ann"), &status::Status {}).unwrap();
    let counted = [seen.ready, seen.waiting].map(|count| usize::try_from(count).unwrap());
    let listed = [TaskState::Ready, TaskState::Waiting].map(|state| world.in_state(state).len());
    assert_eq!(counted, listed);
    counted.into()
}

fn snoozed(world: &World) {
    let [first, second] = ["first", "second"].map(|title| world.add(title));
    let answer = snooze(world, "a", &first, 7_200).unwrap();
    let until = answer["not_before"].clone();
    assert_eq!(
        (&answer["state"], &answer["status"], &answer["version"]),
        (&json!("waiting"), &json!("open"), &json!(2))
    );
    assert_eq!(snooze(world, "a", &first, 7_200).unwrap()["version"], 2, "the same time changes nothing");
    assert_eq!(world.count("task.snoozed"), 1);
    assert_eq!(ready_and_waiting(world), (1, 1));
    assert_eq!(world.next("b", &[]).task.unwrap().id, second);
    assert_eq!(taken(&world.claim_any("b").unwrap()), second);
    world.done("b", &second).unwrap();
    let none = world.claim_any("b").unwrap();
    let until = until.as_str().unwrap();
    assert_eq!(none["reason"], format!("nothing is ready: 1 waiting; 1 task is snoozed until {until}"));
    assert_eq!(none["reason"], world.next("b", &[]).reason);
    world.advance(Span(Span::hours(2).0 - 1));
    assert_eq!(ready_and_waiting(world), (0, 1));
    assert!(world.claim_any("b").unwrap()["task"].is_null());
    // The view goes by the time before any write has noticed it.
    world.advance(Span(1));
    assert_eq!(ready_and_waiting(world), (1, 0));
    assert_eq!(world.show(&first)["not_before"], json!(null));
    assert_eq!(world.next("b", &[]).task.unwrap().id, first);
    world.add("third");
    assert_eq!(ready_and_waiting(world), (2, 0));
    assert_eq!(taken(&world.claim_any("b").unwrap()), first);
    world.sound();
}

fn snoozed_and_named(world: &World) {
    let task = world.add("task");
    snooze(world, "b", &task, 7_200).unwrap();
    assert_eq!(world.claim("a", &task).unwrap()["task"]["state"], "held");
    let snoozed = snooze(world, "b", &task, 86_400).unwrap();
    assert_eq!(snoozed["holder"]["agent"], "a", "it does not end the hold");
    world.release("a", &task).unwrap();
    assert_eq!(world.show(&task)["state"], "waiting", "it counts after the hold");
    assert_eq!(snooze(world, "b", &task, 0).unwrap()["state"], "ready");
    snooze(world, "b", &task, 60).unwrap();
    world.done("a", &task).unwrap();
    assert_eq!(code_of(snooze(world, "b", &task, 60)), "illegal_transition");
    world.reopen("a", &task).unwrap();
    assert_eq!(ready_and_waiting(world), (1, 0), "what is finished waits for no time");
    let until = Some(TestClock::START);
    let past = world.run("b", Op::new(snooze::Snooze { task: task.clone().into(), for_s: None, until })).unwrap();
    assert_eq!((&past["state"], &past["version"]), (&json!("ready"), &world.show(&task)["version"]));
    world.sound();
}

/// `task.ready` and `task.waiting` are about dependencies alone, and no event says that a time has come.
fn snoozed_and_told(world: &World) {
    let first = world.add("first");
    let second = world.add_after("second", &[&first]);
    snooze(world, "b", &second, 600).unwrap();
    assert_eq!(world.done("b", &first).unwrap()["unlocked"], json!([]), "it is not ready yet");
    assert_eq!(world.count("task.ready"), 1, "but its last dependency is met");
    world.run("b", Op::new(reopen::Reopen { task: first.clone().into(), reason: String::new() })).unwrap();
    assert_eq!(world.count("task.waiting"), 1);
    world.done("b", &first).unwrap();
    assert_eq!((world.count("task.ready"), ready_and_waiting(world)), (2, (0, 1)));
    let events = world.events().len();
    world.advance(Span::minutes(10));
    assert_eq!(taken(&world.claim_any("b").unwrap()), second);
    assert_eq!(world.events().len(), events + 1, "only the claim");
    world.sound();
}

fn snoozed_in_every_way(world: &World) {
    let labelled = world.add_ranked("labelled", 2, &["x"]);
    let first = world.add_ranked("first", 4, &[]);
    let second = world.add_after("second", &[&first]);
    appear(world, "a");
    let assigned = add_for(world, "a", "for a", 3);
    for task in [&labelled, &second, &assigned] {
        snooze(world, "b", task, 600).unwrap();
    }
    assert!(world.claim_labelled("a", &["x"]).unwrap()["task"].is_null());
    let peeked = || world.kernel.ask(&world.call("a"), &peek::Peek(resume::Resume::default())).unwrap();
    assert_eq!(peeked().task.unwrap().id, first);
    let done = world.done("b", &first).unwrap();
    assert_eq!(done["unlocked"], json!([]), "a snoozed task is not ready, though nothing is unmet");
    assert!(peeked().task.is_none());
    assert_eq!(ready_and_waiting(world), (0, 3));
    world.advance(Span::minutes(10));
    assert_eq!(ready_and_waiting(world), (3, 0));
    assert_eq!(world.next("b", &["x"]).task.unwrap().id, labelled);
    assert_eq!(peeked().task.unwrap().id, assigned);
    let resumed = world.run("a", Op::new(resume::Resume::default())).unwrap();
    assert_eq!((resumed["task"]["id"].as_str(), &resumed["rule"]), (Some(assigned.as_str()), &json!("assigned")));
    assert_eq!(taken(&world.claim_labelled("b", &["x"]).unwrap()), labelled);
    assert_eq!(taken(&world.claim_any("b").unwrap()), second);
    world.sound();
}
