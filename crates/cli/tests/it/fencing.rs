//! Fences from outside: which agent may finish a task whose hold expired.

use std::time::Duration;

use crate::home::{Engine, Home, keys, text, wait_until};

/// Waits until a query shows the hold on a task as expired.
fn lapses(home: &Home, task: &str) {
    wait_until("the hold lapses", || home.ok(&["show", task])["state"] == "ready");
}

/// The kinds of the events about a task.
fn story(home: &Home, task: &str) -> Vec<String> {
    let events = home.events().into_iter().filter(|event| event.subject == task);
    events.map(|event| event.kind).collect()
}

#[test]
fn inv_l4_a_finish_after_a_take_over_is_stale_and_moves_no_dependent() {
    let homes = Engine::ALL.map(Home::new);
    let prepared = homes.each_ref().map(|home| {
        let first = home.add("first");
        let second = text(&home.ok(&["add", "second", "--after", &first])["id"]);
        let fence = home.ok_as("slow", &["claim", &first, "--ttl", "1s"])["hold"]["fence"].clone();
        (first, second, fence)
    });
    for (home, (first, second, fence)) in homes.iter().zip(prepared) {
        lapses(home, &first);
        // The expiry is visible before any write.
        let shown = home.ok(&["show", &first]);
        assert_eq!((&shown["state"], &shown["status"]), (&"ready".into(), &"open".into()));
        assert_eq!(shown["lapsed_from"], "slow");

        let taken = home.ok_as("quick", &["claim"]);
        assert_eq!(taken["task"]["id"], first.as_str());
        assert_eq!(taken["task"]["attempt"], 2);
        assert_eq!(taken["rule"], "lapsed");
        assert!(taken["hold"]["fence"].as_i64() > fence.as_i64(), "fences rise");

        for attempt in [vec!["done"], vec!["done", &first], vec!["done", &first, "--fence", &fence.to_string()]] {
            home.refused_as("slow", &attempt).is("stale", "stale_fence").names(&[&first]);
        }
        for attempt in [vec!["block", &first, "--reason", "x"], vec!["release", &first], vec!["note", "x"]] {
            assert_eq!(home.refused_as("slow", &attempt).kind, "stale", "{attempt:?}");
        }
        // Neither the new holder's task nor its dependents have changed.
        let shown = home.ok(&["show", &first]);
        assert_eq!(shown["holder"]["agent"], "quick");
        assert_eq!(shown["holder"]["fence"], taken["hold"]["fence"]);
        assert_eq!(home.ok(&["show", &second])["state"], "waiting");
        let told = ["task.added", "task.claimed", "hold.expired", "task.claimed"];
        assert_eq!(story(home, &first), told);
        assert_eq!(story(home, &second), ["task.added"]);

        let done = home.ok_as("quick", &["done"]);
        assert_eq!((&done["late"], &done["unlocked"]), (&false.into(), &serde_json::json!([second])));
        assert_eq!(home.ok(&["show", &second])["state"], "ready");
        home.replayed();
    }
}

#[test]
fn inv_l4_a_late_finish_is_accepted_while_nobody_took_over() {
    let homes = Engine::ALL.map(Home::new);
    let tasks = homes.each_ref().map(|home| {
        let first = home.add("first");
        let second = text(&home.ok(&["add", "second", "--after", &first])["id"]);
        home.ok_as("slow", &["claim", &first, "--ttl", "1s"]);
        (first, second)
    });
    for (home, (first, second)) in homes.iter().zip(tasks) {
        lapses(home, &first);
        // Without its hold the agent may not renew, release or transfer it.
        home.ok_as("other", &["whoami"]);
        home.refused_as("slow", &["release", &first]).is("stale", "lapsed");
        let noted = home.ok_as("slow", &["note", &first, "still at it"]);
        assert_eq!(noted["late"], true);
        // A fence of another task does not help.
        assert_eq!(home.refused_as("slow", &["done", &first, "--fence", "1"]).kind, "stale");
        let done = home.ok_as("slow", &["done", &first]);
        assert_eq!((&done["late"], &done["status"]), (&true.into(), &"done".into()));
        assert_eq!(done["unlocked"], serde_json::json!([second]));
        home.refused_as("slow", &["done", &first]).is("conflict", "illegal_transition");
        home.replayed();
    }
}

#[test]
fn inv_l5_ops_renew_a_hold_and_queries_do_not() {
    let home = Home::new(Engine::File);
    let (kept, lost) = (home.add("kept"), home.add("lost"));
    home.ok_as("busy", &["claim", &kept, "--ttl", "2s"]);
    home.ok_as("idle", &["claim", &lost, "--ttl", "2s"]);
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(700));
        home.ok_as("busy", &["note", "at work"]);
        home.ok_as("idle", &["show", &lost]);
    }
    assert_eq!(home.ok(&["show", &kept])["holder"]["agent"], "busy");
    assert_eq!(home.ok(&["show", &lost])["holder"], serde_json::Value::Null);
    assert_eq!(home.ok(&["holds"])["items"].as_array().unwrap().len(), 1);
}

#[test]
fn inv_l4_force_is_for_people_and_says_whom_it_overrode() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let task = home.add("contended");
        home.ok_as("holder", &["claim", &task]);
        home.refused_as("other", &["done", &task, "--force"]).is("denied", "people_only");
        home.refused_as("other", &["done", &task]).is("conflict", "task_held");
        home.refused(&["done", &task]).is("conflict", "task_held");
        assert_eq!(home.ok(&["done", &task, "--force"])["status"], "done");
        let last = home.events().pop().unwrap();
        assert_eq!((last.kind.as_str(), &last.data["overrode"]), ("task.done", &"holder".into()));
        assert_eq!(home.refused_as("holder", &["done"]).exit, 2, "the focus went with the hold");
        assert_eq!(home.refused_as("holder", &["release", &task]).kind, "stale");
    }
}

#[test]
fn inv_l4_a_transfer_moves_the_hold_under_a_new_fence() {
    let home = Home::new(Engine::File);
    let task = home.add("handed over");
    home.ok_as("taker", &["add", "so that taker is known"]);
    let before = home.ok_as("giver", &["claim", &task])["hold"].clone();
    assert_eq!(home.refused_as("giver", &["transfer", &task, "--to", "nobody"]).kind, "not_found");
    let moved = home.ok_as("giver", &["transfer", &task, "--to", "taker"]);
    assert_eq!(keys(&moved), "holds");
    assert_eq!(moved["holds"][0]["holder"], "taker");
    assert!(moved["holds"][0]["fence"].as_i64() > before["fence"].as_i64());
    assert_eq!(home.refused_as("giver", &["done", &task]).kind, "stale");
    // The new holder acts under a fence it has been shown, not under one it never saw.
    home.refused_as("taker", &["done", &task]).is("stale", "stale_fence");
    assert_eq!(home.ok_as("taker", &["claim", &task])["hold"]["fence"], moved["holds"][0]["fence"]);
    assert_eq!(home.ok_as("taker", &["done"])["id"], task.as_str());
    home.replayed();
}
