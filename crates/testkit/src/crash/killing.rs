//! Starts processes, listens to them, and kills them at any moment.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

use super::process::{Line, SEED, STORE};
use crate::wander::Dice;
use crate::worker;

/// How many work at the same time.
const PROCESSES: usize = 4;
/// The longest that a process may be silent. Whoever waits for a lock of the dead waits for ever.
const SILENCE: Duration = Duration::from_secs(30);

/// What was heard from processes that are all dead now.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) kills: usize,
    pub(super) lines: Vec<Line>,
    pub(super) violations: Vec<String>,
}

struct Process {
    child: Child,
    lines: Receiver<Line>,
    listener: Option<JoinHandle<()>>,
}

/// Lets processes work on a store until so many were killed, and kills the rest.
pub(super) fn kill(store: &str, seed: u64, kills: usize) -> Heard {
    let dice = Dice::new(seed);
    let mut heard = Heard::default();
    // Every process has a seed, and so request ids, of its own.
    let mut started = seed << 16;
    let mut start = || {
        started += 1;
        Process::start(store, started)
    };
    let mut living: Vec<Process> = (0..PROCESSES).map(|_| start()).collect();
    while heard.kills < kills && heard.violations.is_empty() {
        let first = dice.below(PROCESSES);
        if let Err(why) = living[first].wait_for_moment(&dice, &mut heard.lines) {
            heard.violations.push(why);
        }
        // Sometimes all at once: nobody is left to keep anything open.
        let count = if dice.once_in(8) { PROCESSES } else { 1 };
        for n in 0..count {
            let process = &mut living[(first + n) % PROCESSES];
            process.kill(&mut heard);
        }
        for n in 0..count {
            living[(first + n) % PROCESSES] = start();
        }
    }
    living.iter_mut().for_each(|process| process.kill(&mut heard));
    heard
}

impl Process {
    fn start(store: &str, seed: u64) -> Process {
        let mut command = worker::command("crash");
        command.env(STORE, store).env(SEED, seed.to_string()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (say, lines) = mpsc::channel();
        let listener = std::thread::spawn(move || {
            // A line that the kill cut off is no JSON: nobody has heard it.
            for line in out.lines().map_while(Result::ok) {
                if let Ok(line) = serde_json::from_str(&line) {
                    let _ = say.send(line);
                }
            }
        });
        Process { child, lines, listener: Some(listener) }
    }

    /// Waits until some answers were heard and a little longer, or only a little.
    fn wait_for_moment(&self, dice: &Dice, heard: &mut Vec<Line>) -> Result<(), String> {
        let mut answers = if dice.once_in(4) { 0 } else { 1 + dice.below(4) };
        while answers > 0 {
            let line = self.lines.recv_timeout(SILENCE).map_err(|error| format!("a process is silent: {error}"))?;
            answers -= usize::from(!matches!(line, Line::Sent(_)));
            if let Line::Failed { id, error } = &line {
                return Err(format!("{id} failed: {error}"));
            }
            heard.push(line);
        }
        // No wait for an event: the moment of death is what is random here, in the midst of whatever the process does.
        let longest = if dice.once_in(4) { 20_000 } else { 2_000 };
        std::thread::sleep(Duration::from_micros(u64::try_from(dice.below(longest)).unwrap()));
        Ok(())
    }

    /// Kills it, if it lives, and hears what it said last.
    fn kill(&mut self, heard: &mut Heard) {
        let ended = self.end();
        assert!(ended.is_none_or(|status| status.signal() == Some(9)), "a process ended by itself: {ended:?}");
        heard.kills += 1;
        heard.lines.extend(self.lines.try_iter());
    }

    fn end(&mut self) -> Option<ExitStatus> {
        let listener = self.listener.take()?;
        // SIGKILL.
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        listener.join().unwrap();
        Some(status)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}
