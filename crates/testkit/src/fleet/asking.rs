//! How an agent acquires paths: immediately, or after a conflict by waiting in line or by a request to the holder.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::calls::{Reply, Session};
use super::checker::size;
use super::{By, Line};

/// The agent's first attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Guard,
    Reserve,
    Line,
    /// Waits in line for a shared hold.
    Shared,
}

/// The pending requests of an agent and those that other agents sent to it.
pub(super) struct Desk {
    pub(super) session: Session,
    conflicts: usize,
    /// Its own open requests.
    open: BTreeSet<String>,
    /// Holds that others requested while they were in use.
    owed: Vec<String>,
}

/// How long an agent waits for an answer before it asks again.
const ANSWER: Duration = Duration::from_millis(1_500);
/// The interval between two reads of the mail.
const LOOK: Duration = Duration::from_millis(40);

impl Desk {
    pub(super) fn new(session: Session) -> Desk {
        Desk { session, conflicts: 0, open: BTreeSet::new(), owed: Vec::new() }
    }

    /// Acquires paths, however long it takes.
    pub(super) fn acquire(&mut self, paths: &[String], first: Way) {
        let mut way = first;
        let mut conflict: Option<Instant> = None;
        let mut by = None;
        loop {
            let reply = match way {
                Way::Guard => self.session.guard(&paths[0]),
                _ => self.session.reserve(paths, matches!(way, Way::Line | Way::Shared), first == Way::Shared),
            };
            match reply {
                Reply::Granted if way == Way::Line && first == Way::Guard => {
                    // Like a tool that was told to wait and retries its edit: its own hold lets it pass.
                    way = Way::Guard;
                    continue;
                }
                Reply::Granted => break,
                _ if self.session.order.ignores => break,
                Reply::Busy => {
                    self.session.say(Line::Blind);
                    self.mind_mail(false);
                    continue;
                }
                Reply::Held | Reply::Waiting | Reply::Circle => {}
            }
            if conflict.is_none() {
                conflict = Some(Instant::now());
                self.conflicts += 1;
                self.session.say(Line::Conflict(self.conflicts));
            }
            if reply == Reply::Circle {
                self.session.say(Line::Circle);
                self.session.tidy(false);
            } else if reply == Reply::Held && by.is_none() && self.session.dice.once_in(2) && self.request(paths) {
                by = Some(By::Request);
                continue;
            }
            if way != Way::Shared {
                way = Way::Line;
            }
            by = Some(By::Waiting);
            self.session.say(Line::Waits);
            self.mind_mail(false);
        }
        self.session.say(Line::Granted { guard: first == Way::Guard });
        if let (Some(since), Some(by)) = (conflict, by) {
            self.hear_out();
            let ms = u64::try_from(since.elapsed().as_millis()).unwrap();
            self.session.say(Line::Settled { conflict: self.conflicts, by, ms });
        }
    }

    /// Asks the holder to release the blocking hold, and waits a while for the answer. Sends nothing if the paths are
    /// free by now.
    fn request(&mut self, paths: &[String]) -> bool {
        let me = self.session.order.name();
        let mut args = vec!["check"];
        args.extend(paths.iter().map(String::as_str));
        let seen = self.session.call(&args).data;
        let blockers = seen["blockers"].as_array().cloned().unwrap_or_default();
        let held = blockers.iter().find(|blocker| blocker["state"] == "held" && blocker["holder"] != me.as_str());
        let Some(hold) = held.and_then(|blocker| blocker["id"].as_str()) else { return false };
        let sent = self.session.call(&["send", "--about", hold, "--request", "please release it when you can"]);
        if sent.exit != 0 {
            if sent.exit != 3 && sent.code != "hold_over" {
                self.session.say(Line::Odd(format!("a request about {hold}: {}", sent.stdout)));
            }
            return false;
        }
        let message = sent.data["id"].as_str().unwrap_or_default().to_owned();
        self.session.say(Line::Asked(message.clone()));
        self.open.insert(message.clone());
        let start = Instant::now();
        while self.open.contains(&message) && start.elapsed() < ANSWER {
            std::thread::sleep(LOOK);
            self.mind_mail(false);
        }
        true
    }

    /// The agent holds the paths now, so the blocking holds have ended. It must have been told the end of every request
    /// about them.
    fn hear_out(&mut self) {
        self.mind_mail(true);
        for message in std::mem::take(&mut self.open) {
            self.session.say(Line::Odd(format!("nobody said how {message} ended, though its hold is over")));
        }
    }

    /// Reads new mail: answers to its own requests, and requests of others. It releases requested holds, those in use
    /// later.
    pub(super) fn mind_mail(&mut self, in_use: bool) {
        loop {
            let page = self.session.must(&["inbox"]);
            let items = page["items"].as_array().cloned().unwrap_or_default();
            let (count, bytes) = size(&items);
            let is_new = |item: &&serde_json::Value| item["again"] != true;
            let named = |item: &serde_json::Value| format!("{} {}", item["id"], item["what"]);
            let new = items.iter().filter(is_new).map(named).collect();
            if !items.is_empty() {
                self.session.say(Line::Inbox { items: count, bytes, new });
            }
            for item in &items {
                let id = item["id"].as_str().unwrap_or_default();
                if item["what"] == "ending" {
                    self.open.remove(id);
                    let how = item["ended"]["how"].as_str().unwrap_or_default().to_owned();
                    self.session.say(Line::Answered { message: id.to_owned(), how });
                } else if let (Some(hold), true) = (item["hold"].as_str(), item["ended"].is_null()) {
                    self.owed.push(hold.to_owned());
                }
            }
            if page["more"] != true {
                break;
            }
        }
        if !in_use {
            self.oblige();
        }
    }

    /// Releases the holds that others requested.
    pub(super) fn oblige(&mut self) {
        for hold in std::mem::take(&mut self.owed) {
            if self.session.give_back(&hold) {
                self.session.say(Line::Obliged);
            }
        }
    }
}
