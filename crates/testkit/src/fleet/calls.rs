//! The `tenure` calls that an agent makes.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::ground::Answer;
use super::{Line, Order};
use crate::wander::Dice;

/// The time to live of a hold. The holds of a killed agent without a proof of death block others for this long.
const TTL: Duration = Duration::from_secs(8);
/// The longest wait of one call in line; then the agent reads its mail.
const PATIENCE: &str = "--wait=2s";
/// The number of attempts of a call that was only busy.
const TRIES: usize = 20;

/// The result of a request for paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Granted,
    Held,
    Waiting,
    Circle,
    /// No holder blocks the request, but the check could not run.
    Busy,
}

/// An agent as its tool sees it.
pub(super) struct Session {
    pub(super) order: Order,
    pub(super) dice: Dice,
    /// The start of the last granting call. Holds live at least their time to live from then on.
    granted: Instant,
}

impl Session {
    pub(super) fn new(order: Order) -> Session {
        let dice = Dice::new(order.seed);
        Session { order, dice, granted: Instant::now() }
    }

    pub(super) fn say(&self, line: Line) {
        let mut out = std::io::stdout().lock();
        // The supervisor is gone, so there is nothing left to do.
        if writeln!(out, "{}", serde_json::to_string(&line).unwrap()).and_then(|()| out.flush()).is_err() {
            std::process::exit(1);
        }
    }

    pub(super) fn call(&self, args: &[&str]) -> Answer {
        self.call_with(args, "")
    }

    fn call_with(&self, args: &[&str], input: &str) -> Answer {
        // Within a tool, the identity is found by the process that a hook registered.
        let who = if self.order.hooks { ("CLAUDECODE", "1") } else { ("TENURE_AGENT", self.order.id.as_str()) };
        self.order.ground.call(&[who], args, input)
    }

    /// A call that may only fail as busy; any other failure is reported.
    pub(super) fn must(&self, args: &[&str]) -> Value {
        for _ in 0..TRIES {
            let answer = self.call(args);
            match answer.exit {
                0 => return answer.data,
                3 => {}
                _ => {
                    self.say(Line::Odd(format!("{args:?}: {}", answer.stdout)));
                    return Value::Null;
                }
            }
        }
        self.say(Line::Odd(format!("{args:?} is busy for ever")));
        Value::Null
    }

    /// Sends an event of the tool and returns the hook's output.
    pub(super) fn hook(&self, event: &str, fields: Value) -> String {
        let mut payload = json!({ "session_id": self.order.id, "cwd": self.order.ground.repo() });
        payload.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let answer = self.call_with(&["hook", "claude", event], &payload.to_string());
        if answer.exit != 0 {
            self.say(Line::Odd(format!("the hook {event} ended with {}: {}", answer.exit, answer.stdout)));
        }
        answer.stdout
    }

    pub(super) fn edit_event(&self, event: &str, file: &str) -> String {
        let path = self.order.ground.repo().join(file);
        let input = json!({ "file_path": path, "old_string": "a", "new_string": "b" });
        self.hook(event, json!({ "tool_name": "Edit", "tool_input": input, "tool_response": {} }))
    }

    pub(super) fn guard(&mut self, file: &str) -> Reply {
        let start = Instant::now();
        let printed = self.edit_event("PreToolUse", file);
        if !printed.contains("\"deny\"") {
            self.granted = start;
            return Reply::Granted;
        }
        // The guard also refuses if it cannot check; only a holder makes it a conflict.
        if self.call(&["check", file]).data["free"] == true { Reply::Busy } else { Reply::Held }
    }

    /// Requests paths.
    pub(super) fn reserve(&mut self, paths: &[String], wait: bool, shared: bool) -> Reply {
        let ttl = format!("{}s", TTL.as_secs());
        let mut args = vec!["reserve", "--ttl", &ttl, "--reason", "an update"];
        args.extend(wait.then_some(PATIENCE));
        args.extend(shared.then_some("--shared"));
        args.extend(paths.iter().map(String::as_str));
        let start = Instant::now();
        let answer = self.call(&args);
        match (answer.exit, answer.code.as_str()) {
            (0, _) => {
                self.granted = start;
                Reply::Granted
            }
            (1, "path_held") => Reply::Held,
            (1, "waits_in_circle") => Reply::Circle,
            (3, "still_waiting") => Reply::Waiting,
            (3, _) => Reply::Busy,
            _ => {
                self.say(Line::Odd(format!("{args:?}: {}", answer.stdout)));
                Reply::Busy
            }
        }
    }

    /// Whether the grant is certainly still live. An agent that is too slow for that must not write.
    pub(super) fn is_in_time(&self) -> bool {
        self.granted.elapsed() < TTL / 2
    }

    /// Releases paths that must be held.
    pub(super) fn release(&self, paths: &[String]) {
        let args: Vec<&str> = std::iter::once("release").chain(paths.iter().map(String::as_str)).collect();
        for _ in 0..TRIES {
            let answer = self.call(&args);
            let slow = !self.is_in_time() && matches!(answer.code.as_str(), "stale" | "not_held" | "hold_over");
            match answer.exit {
                0 => return,
                3 => {}
                _ if slow || self.order.ignores => return,
                _ => return self.say(Line::Odd(format!("{args:?}, just granted: {}", answer.stdout))),
            }
        }
    }

    /// Releases a hold, if it still exists.
    pub(super) fn give_back(&self, hold: &str) -> bool {
        (0..TRIES).map(|_| self.call(&["release", hold]).exit).find(|exit| *exit != 3) == Some(0)
    }

    /// Releases all paths of this agent, including those that earlier processes of it took, and its tasks.
    pub(super) fn tidy(&self, tasks: bool) {
        let me = self.order.name();
        let held = self.must(&["holds", "--limit", "1000"]);
        for hold in held["items"].as_array().into_iter().flatten().filter(|hold| hold["holder"] == me.as_str()) {
            let is_task = hold["kind"] == "task";
            if is_task && !tasks {
                continue;
            }
            let named = if is_task { &hold["subject"] } else { &hold["id"] };
            self.give_back(named.as_str().unwrap_or_default());
        }
    }
}
