//! A worker process of the fleet: it edits files as the tool of an agent does, round after round.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use super::asking::{Desk, Way};
use super::calls::Session;
use super::{Line, Order};

/// The number of rounds that an agent keeps a hold that no other agent requests.
const KEPT: usize = 3;
/// The number of directories that all agents prefer.
const HOT: usize = 4;

/// Plays an agent until its standard input ends.
pub(super) fn play() -> i32 {
    let mut input = BufReader::new(std::io::stdin());
    let mut line = String::new();
    input.read_line(&mut line).unwrap();
    let order: Order = serde_json::from_str(&line).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&over);
    std::thread::spawn(move || {
        let _ = input.read_to_end(&mut Vec::new());
        tell.store(true, Ordering::SeqCst);
    });
    let mut agent = Agent { desk: Desk::new(Session::new(order)), updates: 0, kept: 0 };
    agent.begin();
    while !over.load(Ordering::SeqCst) {
        agent.round();
    }
    agent.end();
    0
}

struct Agent {
    desk: Desk,
    updates: usize,
    /// The number of rounds that the agent has kept holds; 0 if it keeps none.
    kept: usize,
}

impl Agent {
    fn begin(&mut self) {
        let session = &self.desk.session;
        if session.order.hooks {
            session.hook("SessionStart", json!({ "source": "startup" }));
            // A second event, so that the death of this process can be proven.
            session.hook("UserPromptSubmit", json!({ "prompt": "go on" }));
        }
        // A killed predecessor with the same name may have left holds.
        session.tidy(true);
        self.introduce();
    }

    fn introduce(&self) {
        let me = self.desk.session.must(&["whoami"])["agent"].as_str().unwrap_or_default().to_owned();
        self.desk.session.say(Line::Am(me));
    }

    fn end(&mut self) {
        self.desk.mind_mail(false);
        self.desk.session.tidy(true);
        self.introduce();
        if self.desk.session.order.hooks {
            self.desk.session.hook("SessionEnd", json!({ "reason": "exit" }));
        }
        self.desk.session.say(Line::Bye);
    }

    fn round(&mut self) {
        self.desk.mind_mail(false);
        if self.desk.session.dice.once_in(4) {
            self.chat();
        }
        let hooks = self.desk.session.order.hooks;
        match self.desk.session.dice.below(10) {
            0..=3 if hooks => self.guarded(),
            4 if hooks => self.under_a_task(),
            5 => self.whole_directory(),
            6 => self.read_only(),
            _ => self.reserved(),
        }
        self.desk.oblige();
    }

    /// Sends a long message to another agent, so that inboxes fill: also those of waiting agents and of dead ones,
    /// which never read it.
    fn chat(&self) {
        let session = &self.desk.session;
        let friend = session.dice.one(&session.order.friends);
        if *friend != session.order.name() {
            // An agent that has not started yet is unknown; the failure is expected.
            session.call(&["send", friend, &"what I am doing now ".repeat(60)]);
        }
    }

    /// A random directory, biased towards the preferred ones.
    fn directory(&self) -> usize {
        let dice = &self.desk.session.dice;
        let all = self.desk.session.order.ground.directories;
        if dice.once_in(3) { dice.below(all.min(HOT)) } else { dice.below(all) }
    }

    fn file(&self) -> String {
        let files = self.desk.session.order.ground.files_in(self.directory());
        self.desk.session.dice.one(&files).clone()
    }

    /// One to three different files in any directories.
    fn files(&self) -> Vec<String> {
        let mut files: Vec<String> = (0..1 + self.desk.session.dice.below(3)).map(|_| self.file()).collect();
        files.sort();
        files.dedup();
        files
    }

    /// An edit through the hooks of the tool.
    fn guarded(&mut self) {
        let file = self.file();
        self.desk.acquire(std::slice::from_ref(&file), Way::Guard);
        self.update(&file);
        self.desk.session.edit_event("PostToolUse", &file);
        self.leave(&[file]);
    }

    /// Reserves files before changing them, all or none.
    fn reserved(&mut self) {
        let files = self.files();
        let way = if self.desk.session.dice.once_in(2) { Way::Line } else { Way::Reserve };
        self.desk.acquire(&files, way);
        files.iter().for_each(|file| self.update(file));
        self.leave(&files);
    }

    /// Reserves a whole directory by one pattern.
    fn whole_directory(&mut self) {
        let directory = self.directory();
        let pattern = match self.desk.session.dice.once_in(2) {
            true => format!("d{directory:02}/"),
            false => format!("glob:d{directory:02}/*.txt"),
        };
        self.desk.acquire(std::slice::from_ref(&pattern), Way::Line);
        for file in self.desk.session.order.ground.files_in(directory) {
            self.update(&file);
        }
        self.leave(&[pattern]);
    }

    /// Reserves files bound to a task, which end with it.
    fn under_a_task(&mut self) {
        let added = self.desk.session.must(&["add", "an update of some files"]);
        let Some(task) = added["id"].as_str().map(str::to_owned) else { return };
        self.desk.session.must(&["claim", &task]);
        let files = self.files();
        self.desk.acquire(&files, Way::Reserve);
        files.iter().for_each(|file| self.update(file));
        self.desk.session.must(&["done", &task]);
    }

    /// Reserves files shared: others may read them, and no agent may change them meanwhile.
    fn read_only(&mut self) {
        let directory = self.directory();
        let pattern = format!("d{directory:02}/");
        self.desk.acquire(std::slice::from_ref(&pattern), Way::Shared);
        let ground = &self.desk.session.order.ground;
        let read = || ground.files_in(directory).iter().map(|file| content(&ground.repo().join(file))).collect();
        let before: Vec<String> = read();
        self.linger();
        let after: Vec<String> = read();
        if !self.desk.session.is_in_time() {
            self.desk.session.say(Line::TooSlow);
        } else if before != after {
            self.desk.session.say(Line::Odd(format!("{pattern} was changed while it was held to be read")));
        }
        self.leave(&[pattern]);
    }

    /// Appends a line to a file: reads it, lingers, and writes it again under the same name. Deliberately not atomic.
    fn update(&mut self, file: &str) {
        let session = &self.desk.session;
        let path = session.order.ground.repo().join(file);
        self.updates += 1;
        let update = format!("{}.{}", session.order.number, self.updates);
        let mut text = content(&path);
        session.say(Line::Read);
        self.linger();
        text += &format!("{} {update}\n", text.lines().count() + 1);
        let scratch = session.order.ground.scratch(&update);
        std::fs::write(&scratch, text).unwrap();
        if !session.is_in_time() {
            session.say(Line::TooSlow);
            return;
        }
        session.say(Line::Writing { file: file.to_owned(), update: update.clone() });
        std::fs::rename(&scratch, &path).unwrap();
        session.say(Line::Wrote { file: file.to_owned(), update });
    }

    /// Takes as long as an edit does, so that two concurrent edits become visible.
    fn linger(&self) {
        let ms = 2 + self.desk.session.dice.below(8);
        std::thread::sleep(Duration::from_millis(u64::try_from(ms).unwrap()));
    }

    /// Releases the paths, or keeps them until another agent requests them, for a few rounds at most.
    fn leave(&mut self, paths: &[String]) {
        if self.kept > 0 || self.desk.session.dice.once_in(3) {
            self.kept += 1;
            if self.kept > KEPT {
                self.kept = 0;
                self.desk.session.tidy(false);
            }
            return;
        }
        self.desk.session.release(paths);
    }
}

fn content(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
