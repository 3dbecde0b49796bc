//! The calls of `tenure` that an agent makes.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::ground::Answer;
use super::{Line, Order};
use crate::wander::Dice;

/// How long a hold lives without a call of its holder; the dead without a proof stand in the way for as long.
const TTL: Duration = Duration::from_secs(8);
/// How long a call of one that waits in line takes at the most: then it looks at its mail.
const PATIENCE: &str = "--wait=2s";
/// How often something is tried that was only busy.
const TRIES: usize = 20;

/// How a request for paths was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Granted,
    Held,
    Waiting,
    Circle,
    /// Nobody stands in the way, but it could not be looked at.
    Busy,
}

/// An agent as its tool sees it.
pub(super) struct Session {
    pub(super) order: Order,
    pub(super) dice: Dice,
    /// When the last call began that granted something: holds live at least their time from then on.
    granted: Instant,
}

impl Session {
    pub(super) fn new(order: Order) -> Session {
        let dice = Dice::new(order.seed);
        Session { order, dice, granted: Instant::now() }
    }

    pub(super) fn say(&self, line: Line) {
        let mut out = std::io::stdout().lock();
        // Where nobody listens any more there is nothing left to do.
        if writeln!(out, "{}", serde_json::to_string(&line).unwrap()).and_then(|()| out.flush()).is_err() {
            std::process::exit(1);
        }
    }

    pub(super) fn call(&self, args: &[&str]) -> Answer {
        self.call_with(args, "")
    }

    fn call_with(&self, args: &[&str], input: &str) -> Answer {
        // Who it is inside of its tool is found by the process that a hook registered.
        let who = if self.order.hooks { ("CLAUDECODE", "1") } else { ("TENURE_AGENT", self.order.id.as_str()) };
        self.order.ground.call(&[who], args, input)
    }

    /// A call that can only be busy; anything else is said.
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

    /// Sends an event of the tool; what is printed.
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

    /// Asks the edit guard.
    pub(super) fn guard(&mut self, file: &str) -> Reply {
        let start = Instant::now();
        let printed = self.edit_event("PreToolUse", file);
        if !printed.contains("\"deny\"") {
            self.granted = start;
            return Reply::Granted;
        }
        // Refused are also those that could not be looked at; only a holder makes it a conflict.
        if self.call(&["check", file]).data["free"] == true { Reply::Busy } else { Reply::Held }
    }

    /// Asks for paths.
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

    /// Whether what was granted is still held for certain: whoever is so slow that it might not be must not write.
    pub(super) fn is_in_time(&self) -> bool {
        self.granted.elapsed() < TTL / 2
    }

    /// Gives paths back that are held, and must be.
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

    /// Gives a hold back, if it is still there.
    pub(super) fn give_back(&self, hold: &str) -> bool {
        (0..TRIES).map(|_| self.call(&["release", hold]).exit).find(|exit| *exit != 3) == Some(0)
    }

    /// Gives all paths back that are held by this agent, whoever of its processes took them, and its tasks.
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
