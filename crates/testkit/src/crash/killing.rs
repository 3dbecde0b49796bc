//! Starts processes, reads their output, and kills them at random moments.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

use super::process::{Line, SEED, STORE};
use crate::wander::Dice;
use crate::worker;

/// The number of concurrent processes.
const PROCESSES: usize = 4;
/// The longest allowed silence of a process. Waiting for a lock that a killed process still holds would never end.
const SILENCE: Duration = Duration::from_secs(30);

/// The output of processes that are all dead now.
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

/// Runs processes on a store until the given number was killed, then kills the rest.
pub(super) fn kill(store: &str, seed: u64, kills: usize) -> Heard {
    let dice = Dice::new(seed);
    let mut heard = Heard::default();
    // Every process has its own seed, and so its own request ids.
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
        // Sometimes all at once, so that no process keeps the store open.
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
            // A line truncated by the kill is not valid JSON and is ignored.
            for line in out.lines().map_while(Result::ok) {
                if let Ok(line) = serde_json::from_str(&line) {
                    let _ = say.send(line);
                }
            }
        });
        Process { child, lines, listener: Some(listener) }
    }

    /// Waits for a few answers and a short random time, or only for the time.
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
        // Not a wait for an event: the moment of the kill is random, in the middle of the process's work.
        let longest = if dice.once_in(4) { 20_000 } else { 2_000 };
        std::thread::sleep(Duration::from_micros(u64::try_from(dice.below(longest)).unwrap()));
        Ok(())
    }

    /// Kills the process if it is alive, and reads its remaining output.
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
