//! Waiting in line with real processes: the order of service, the output, and the effects of a kill.

use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::home::{Engine, Home, text, wait_until};
use crate::session::Tool;

impl Home {
    /// A process that reserves and waits.
    fn waiter(&self, agent: &str, args: &[&str]) -> Child {
        let mut command = self.call(&[&["reserve"], args].concat()).json().agent(agent).into_command();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The waiting agents, in order.
    pub(crate) fn line(&self) -> Vec<String> {
        let held = self.ok(&["holds", "--limit", "1000"]);
        held["waiting"].as_array().into_iter().flatten().map(|place| text(&place["agent"])).collect()
    }
}

/// The answer of a process, after its end.
pub(crate) fn answer(mut child: Child) -> (i32, Value) {
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let code = child.wait().unwrap().code().unwrap_or(-1);
    (code, serde_json::from_str(&out).unwrap_or(Value::Null))
}

#[test]
fn inv_r7_a_waiter_gets_what_is_released() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.ok_as("a", &["reserve", "src/lib.rs"]);
        let waiter = home.waiter("b", &["src/", "--wait", "--reason", "index"]);
        wait_until("b waits", || home.line() == ["b"]);
        home.refused_as("c", &["reserve", "src/x"]).is("conflict", "path_held").names(&["b waits for it"]);
        let released = Instant::now();
        home.ok_as("a", &["release", "src/lib.rs"]);
        let (code, held) = answer(waiter);
        // This includes two calls of other processes on a busy machine.
        assert!(released.elapsed() < Duration::from_secs(5), "{:?}", released.elapsed());
        assert_eq!((code, &held["data"]["holds"][0]["state"]), (0, &json!("live")), "{held}");
        assert_eq!(held["data"]["holds"][0]["subject"], "src/");
        let kinds: Vec<String> = home.events().into_iter().map(|event| event.kind).collect();
        for once in ["place.queued", "path.offered", "offer.taken"] {
            assert_eq!(kinds.iter().filter(|kind| *kind == once).count(), 1, "{once} in {kinds:?}");
        }
        home.replayed();
    }
}

#[test]
fn inv_r7_a_waiter_gets_what_a_holder_had_that_is_killed_meanwhile() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.add("something");
        let mut tool = Tool::new(&home, "claude", "CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=A");
        tool.start("A", "startup");
        tool.hook("UserPromptSubmit", "A", &json!({}));
        assert_eq!(tool.run("reserve f --ttl 1h")["ok"], true);
        let waiter = home.waiter("b", &["f", "--wait"]);
        wait_until("b waits", || home.line() == ["b"]);
        let killed = Instant::now();
        tool.kill();
        let (code, held) = answer(waiter);
        assert_eq!((code, &held["data"]["holds"][0]["holder"]), (0, &json!("b")), "{held}");
        // Its next renewal would come after 30 s.
        assert!(killed.elapsed() < Duration::from_secs(20), "{:?}", killed.elapsed());
        home.replayed();
    }
}

#[test]
fn inv_r7_a_call_that_is_over_keeps_its_place_and_the_same_command_goes_on() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.ok_as("a", &["reserve", "f", "--reason", "the index"]);
        let refused = home.refused_as("b", &["reserve", "f", "--wait=1s"]);
        refused.is("busy", "still_waiting").names(&["number 1 in the waiting line"]);
        assert_eq!((refused.exit, refused.detail("waiting"), refused.detail("place")), (3, &json!(true), &json!(1)));
        assert_eq!(refused.detail("blockers")[0]["holder"], "a");
        let place = text(refused.detail("id"));
        home.refused_as("c", &["reserve", "f", "--wait=1s"]).names(&["number 2 in the waiting line"]);
        // The output for a person.
        let said = home.call(&["reserve", "f", "--wait=1s"]).agent("b").run();
        assert_eq!(said.code, 3);
        assert!(said.stderr.contains("number 1 in the waiting line") && said.stderr.contains("the index"), "{said:?}");
        // A killed process keeps its place too.
        let mut killed = home.waiter("d", &["f", "--wait"]);
        wait_until("d waits", || home.line() == ["b", "c", "d"]);
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert_eq!(home.line(), ["b", "c", "d"]);
        home.ok_as("a", &["release", "f"]);
        assert_eq!(home.ok_as("b", &["reserve", "f", "--wait"])["holds"][0]["holder"], "b");
        home.refused_as("b", &["release", &place]).is("conflict", "not_held");
        home.ok_as("b", &["release", "f"]);
        home.ok_as("c", &["release", "f"]);
        assert_eq!(home.ok_as("d", &["reserve", "f", "--wait"])["holds"][0]["holder"], "d");
        assert!(home.line().is_empty());
        home.replayed();
    }
}

#[test]
fn inv_r7_circles_are_refused_at_once() {
    let home = Home::new(Engine::File);
    for (agent, path) in [("a", "f"), ("b", "g"), ("c", "h")] {
        home.ok_as(agent, &["reserve", path]);
    }
    home.refused_as("a", &["reserve", "g", "--wait=1s"]);
    let two = home.refused_as("b", &["reserve", "f", "--wait"]);
    two.is("conflict", "waits_in_circle").names(&["a, who waits for b"]);
    home.refused_as("b", &["reserve", "h", "--wait=1s"]);
    let three = home.refused_as("c", &["reserve", "f", "--wait"]);
    assert_eq!(three.is("conflict", "waits_in_circle").detail("circle"), &json!(["c", "a", "b", "c"]));
}

#[test]
fn inv_r7_sixty_four_waiters_are_all_served() {
    for engine in Engine::ALL {
        let home = Home::new(engine);
        home.ok_as("h", &["reserve", "f"]);
        let mut waiters = Vec::new();
        for n in 0..64 {
            waiters.push((format!("w{n:02}"), home.waiter(&format!("w{n:02}"), &["f", "--wait"])));
        }
        wait_until("all wait", || home.line().len() == 64);
        let line = home.line();
        home.ok_as("h", &["release", "f"]);
        for agent in &line {
            let at = waiters.iter().position(|(name, _)| name == agent).unwrap();
            let (agent, child) = waiters.swap_remove(at);
            let (code, held) = answer(child);
            assert_eq!((code, &held["data"]["holds"][0]["holder"]), (0, &json!(agent)), "{held}");
            home.ok_as(&agent, &["release", "f"]);
        }
        let events = home.events();
        let at = |kind: &str| -> Vec<i64> {
            let of = events.iter().filter(|event| event.kind == kind);
            of.map(|event| tenure_core::Time::parse(&event.at).unwrap().0).collect()
        };
        let (offered, taken) = (at("path.offered"), at("offer.taken"));
        assert_eq!((offered.len(), taken.len()), (64, 64));
        let slow = offered.iter().zip(&taken).filter(|(offered, taken)| **taken - **offered > 1_000_000).count();
        assert_eq!(slow, 0, "each takes its offer within a second");
        home.replayed();
    }
}

#[test]
fn the_times_of_the_line_are_settings() {
    let home = Home::new(Engine::File);
    std::fs::write(home.repo().join("tenure.toml"), "[wait]\nplace = \"5m\"\noffer = \"10s\"\ncall = \"1s\"\n")
        .unwrap();
    home.ok_as("a", &["reserve", "f"]);
    let refused = home.refused_as("b", &["reserve", "f", "--wait=60s"]);
    assert!(refused.detail("expires_in_s").as_i64().unwrap() > 200, "{}", refused.error);
    home.ok_as("a", &["release", "f"]);
    let offered = home.events().into_iter().find(|event| event.kind == "path.offered").unwrap();
    assert_eq!(offered.data["ttl_s"], 10);
    std::fs::write(home.repo().join("tenure.toml"), "[wait]\nplace = \"0s\"\n").unwrap();
    home.refused_as("b", &["reserve", "f"]).is("usage", "config_invalid");
}

#[test]
fn who_waits_is_shown() {
    let home = Home::new(Engine::File);
    home.ok_as("a", &["reserve", "f"]);
    home.refused_as("b", &["reserve", "f", "--wait=1s", "--reason", "later"]);
    let shown = home.run(&["holds"]).stdout;
    assert!(shown.contains("Waiting, in order") && shown.contains("later"), "{shown}");
    assert!(home.run(&["status"]).stdout.contains("Waiting, in order"));
    let brief = |agent: &str| text(&home.ok_as(agent, &["resume", "--peek"])["brief"]["text"]);
    assert!(brief("b").contains("You wait for “f”"), "{}", brief("b"));
    assert!(!brief("a").contains("Waiting line"));
    home.ok_as("a", &["release", "f"]);
    assert!(brief("b").contains("Offered to you: “f”"), "{}", brief("b"));
    assert!(home.run(&["holds"]).stdout.contains("path, offered"));
    assert!(home.call(&["check", "f"]).agent("c").run().stdout.contains("Not free."));
}
