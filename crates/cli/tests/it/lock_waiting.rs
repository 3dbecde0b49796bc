//! Waiting for a lock with real processes: by hand, and before a command runs under it.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::home::{Engine, Home, wait_until};
use crate::lock::Run;
use crate::waiting::answer;

/// A process that requests a lock and waits for it.
fn asks(home: &Home, agent: &str, args: &[&str]) -> Child {
    let mut command = home.call(&[&["lock", "deploy"], args].concat()).json().agent(agent).into_command();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn fence_of(home: &Home, kind: &str) -> Value {
    json!(home.events().into_iter().rev().find(|event| event.kind == kind).unwrap().number)
}

#[test]
fn inv_r7_whoever_waits_for_a_lock_gets_it_when_it_is_released() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        let first = home.ok_as("a", &["lock", "deploy"]);
        let waiter = asks(&home, "b", &["--wait", "--reason", "v2"]);
        wait_until("b waits", || home.line() == ["b"]);
        home.ok_as("a", &["release", "deploy"]);
        // Free or offered, the lock is b's: no request passes a waiting agent.
        home.refused_as("c", &["lock", "deploy"]).is("conflict", "lock_held");
        let (code, held) = answer(waiter);
        let held = &held["data"];
        assert_eq!((code, &held["holder"], &held["state"]), (0, &json!("b"), &json!("live")), "{held}");
        assert_eq!((&held["ttl_s"], &held["reason"]), (&json!(600), &json!("v2")));
        assert!(held["fence"].as_i64() > first["fence"].as_i64());
        assert_eq!(held["fence"], fence_of(&home, "lock.offered"), "what was offered keeps its fence");
        let kinds: Vec<String> = home.events().into_iter().map(|event| event.kind).collect();
        for once in ["place.queued", "lock.offered", "offer.taken", "lock.released"] {
            assert_eq!(kinds.iter().filter(|kind| *kind == once).count(), 1, "{once} in {kinds:?}");
        }
        home.replayed();
    }
}

#[test]
fn inv_r7_a_command_waits_for_its_lock_and_never_runs_beside_another() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        // Another agent, and another run of the same agent.
        for second in ["b", "a"] {
            let run = Run::start(&home, "a", "30s", "mkdir ../inside || exit 9; trap 'rmdir ../inside' EXIT");
            let script = "mkdir ../inside || exit 9; echo $TENURE_FENCE; rmdir ../inside; exit 4";
            let waiter = asks(&home, second, &["--wait", "--", "sh", "-c", script]);
            wait_until("it waits", || home.line() == [second]);
            run.let_go();
            let (code, document) = run.end();
            assert_eq!((code, &document["data"]["released"]), (0, &json!(true)), "{document}");
            let output = waiter.wait_with_output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            let (fence, document) = said.split_once('\n').unwrap();
            let document: Value = serde_json::from_str(document).unwrap();
            assert_eq!((output.status.code(), &document["data"]["exit"]), (Some(4), &json!(4)), "{document}");
            assert_eq!(document["data"]["released"], true);
            assert_eq!(document["data"]["hold"]["holder"], second);
            assert_eq!(fence, fence_of(&home, "lock.offered").to_string());
        }
        assert!(home.ok(&["holds"])["items"].as_array().unwrap().is_empty() && home.line().is_empty());
        home.replayed();
    }
}

#[test]
fn inv_r7_a_wait_that_is_over_is_busy_and_the_same_command_goes_on() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.ok_as("a", &["lock", "deploy", "--reason", "v1"]);
        let refused = home.refused_as("b", &["lock", "deploy", "--wait=1s"]);
        refused.is("busy", "still_waiting").names(&["number 1 in the waiting line"]);
        assert_eq!((refused.exit, refused.detail("place")), (3, &json!(1)));
        assert_eq!(refused.detail("blockers")[0]["holder"], "a");
        // Also before a command, which is not started: the exit code is 124, which is not the command's.
        let busy = home.call(&["lock", "deploy", "--wait=1s", "--", "touch", "ran"]).json().agent("c").run();
        let error = &busy.json.as_ref().unwrap()["error"];
        assert_eq!((busy.code, &error["code"], &error["kind"]), (124, &json!("still_waiting"), &json!("busy")));
        assert_eq!((&error["details"]["exit"], &error["details"]["place"]), (&json!(124), &json!(2)), "{error}");
        let said = home.call(&["lock", "deploy", "--wait=1s", "--", "touch", "ran"]).agent("c").run();
        assert_eq!((said.code, said.stdout.as_str()), (124, ""));
        assert!(said.stderr.contains("number 2 in the waiting line"), "{}", said.stderr);
        assert!(!home.repo().join("ran").exists() && home.line() == ["b", "c"]);
        home.ok_as("a", &["release", "deploy"]);
        assert_eq!(home.ok_as("b", &["lock", "deploy", "--wait=1s"])["holder"], "b");
        home.ok_as("b", &["release", "deploy"]);
        let done = home.call(&["lock", "deploy", "--wait=1s", "--", "touch", "ran"]).json().agent("c").run();
        assert_eq!(done.code, 0, "{done:?}");
        assert!(home.repo().join("ran").exists() && home.line().is_empty());
        home.replayed();
    }
}
