//! Starts the processes of a fleet, reads their reports, kills some in the middle of their work, and ends the others.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::ground::Ground;
use super::{Life, Line, Order, Size, name};
use crate::wander::Dice;
use crate::worker;

/// The longest allowed silence of a process. A waiting process reports every few seconds.
const SILENCE: Duration = Duration::from_secs(60);
/// How long the supervisor waits for the chosen moment of a kill before it kills at any moment.
const MOMENT: Duration = Duration::from_secs(5);

/// The index of a process, and a line of it; `None` at its end.
type Heard = (usize, Option<Line>);

struct Process {
    child: Child,
    /// Closing it tells the process to end.
    orders: Option<ChildStdin>,
    life: usize,
    id: String,
    heard: Instant,
}

/// The next process to kill, and the line at which it dies.
struct Doomed {
    slot: usize,
    moment: fn(&Line) -> bool,
    since: Instant,
}

struct Fleet<'a> {
    ground: &'a Ground,
    size: Size,
    seed: u64,
    dice: Dice,
    say: Sender<Heard>,
    listen: Receiver<Heard>,
    processes: Vec<Process>,
    lives: Vec<Life>,
    reserved: usize,
    asked: usize,
    kills: usize,
}

/// The id of the first agent in a slot.
fn first(slot: usize) -> String {
    format!("fleet{slot}")
}

/// Runs a fleet and returns the reports of all its processes, which have ended.
pub(super) fn lead(ground: &Ground, size: Size, seed: u64) -> Vec<Life> {
    let (say, listen) = mpsc::channel();
    let (dice, processes, lives) = (Dice::new(seed), Vec::new(), Vec::new());
    let mut fleet = Fleet { ground, size, seed, dice, say, listen, processes, lives, reserved: 0, asked: 0, kills: 0 };
    for slot in 0..size.agents {
        let process = fleet.start(slot, first(slot));
        fleet.processes.push(process);
    }
    fleet.work();
    fleet.finish();
    std::mem::take(&mut fleet.lives)
}

impl Fleet<'_> {
    /// The last slot is for agents without hooks.
    fn has_hooks(&self, slot: usize) -> bool {
        slot + 1 < self.size.agents
    }

    /// Starts the process of a slot in its own process group.
    fn start(&mut self, slot: usize, id: String) -> Process {
        let life = self.lives.len();
        let number = u64::try_from(life).unwrap();
        let order = Order {
            ground: self.ground.clone(),
            id: id.clone(),
            hooks: self.has_hooks(slot),
            number,
            seed: self.seed << 16 | number,
            friends: (0..self.size.agents).map(|slot| name(&first(slot), self.has_hooks(slot))).collect(),
            ignores: self.size.ignores,
        };
        self.lives.push(Life { name: order.name(), lines: Vec::new(), killed: false });
        let mut command = worker::command("fleet");
        let mut child = command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut orders = child.stdin.take().unwrap();
        writeln!(orders, "{}", serde_json::to_string(&order).unwrap()).unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let say = self.say.clone();
        std::thread::spawn(move || {
            // A line truncated by the kill is not valid JSON and is ignored.
            for line in out.lines().map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok()) {
                let _ = say.send((life, Some(line)));
            }
            let _ = say.send((life, None));
        });
        Process { child, orders: Some(orders), life, id, heard: Instant::now() }
    }

    fn work(&mut self) {
        let start = Instant::now();
        let mut doomed: Option<Doomed> = None;
        let mut killed_at = Instant::now();
        while start.elapsed() < self.size.time
            || self.reserved < self.size.reservations
            || self.asked < self.size.requests
            || self.kills < self.size.kills
        {
            if doomed.is_none() && killed_at.elapsed() >= self.size.rest {
                doomed = Some(self.doom());
            }
            let heard = self.listen.recv_timeout(Duration::from_millis(100)).ok();
            if let Some((life, line)) = &heard {
                self.note(*life, line.clone());
            }
            if let Some(Doomed { slot, moment, since }) = &doomed {
                let (slot, life) = (*slot, self.processes[*slot].life);
                let now = matches!(&heard, Some((of, Some(line))) if *of == life && moment(line));
                if now || since.elapsed() > MOMENT {
                    self.kill(slot);
                    doomed = None;
                    killed_at = Instant::now();
                }
            }
            if self.is_stuck() {
                return;
            }
        }
    }

    /// Chooses the next process to kill, and the moment.
    fn doom(&self) -> Doomed {
        let moments: [fn(&Line) -> bool; 6] = [
            |line| matches!(line, Line::Granted { .. }),
            |line| matches!(line, Line::Read),
            |line| matches!(line, Line::Writing { .. }),
            |line| matches!(line, Line::Wrote { .. }),
            |line| matches!(line, Line::Conflict(_) | Line::Waits | Line::Asked(_)),
            |_| true,
        ];
        let slot = self.dice.below(self.processes.len());
        Doomed { slot, moment: *self.dice.one(&moments), since: Instant::now() }
    }

    fn note(&mut self, life: usize, line: Option<Line>) {
        let Some(line) = line else { return };
        self.reserved += usize::from(matches!(line, Line::Granted { .. }));
        self.asked += usize::from(matches!(line, Line::Asked(_)));
        self.lives[life].lines.push(line);
        if let Some(process) = self.processes.iter_mut().find(|process| process.life == life) {
            process.heard = Instant::now();
        }
    }

    /// Kills a process and starts a replacement, under the same id or another.
    ///
    /// If the replacement has another id, the children of the killed process keep running, as those of a tool do. Under
    /// the same id they are killed too, because two processes of one session are not fenced from each other.
    fn kill(&mut self, slot: usize) {
        let same = self.dice.once_in(2);
        let process = &mut self.processes[slot];
        if same {
            kill_process_group(Pid::from_child(&process.child), Signal::KILL).unwrap();
        } else {
            process.child.kill().unwrap();
        }
        process.child.wait().unwrap();
        self.hear_out(self.processes[slot].life);
        let life = self.processes[slot].life;
        self.lives[life].killed = true;
        self.kills += 1;
        let id = if same { self.processes[slot].id.clone() } else { format!("fleet{slot}x{}", self.kills) };
        self.processes[slot] = self.start(slot, id);
    }

    /// Reads the remaining output of a process.
    fn hear_out(&mut self, life: usize) {
        loop {
            match self.listen.recv_timeout(SILENCE) {
                Ok((of, None)) if of == life => return,
                Ok((of, line)) => self.note(of, line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => panic!("a process has no end"),
            }
        }
    }

    /// Whether a process has been silent for too long; records it as a violation.
    fn is_stuck(&mut self) -> bool {
        let silent: Vec<usize> =
            self.processes.iter().filter(|process| process.heard.elapsed() > SILENCE).map(|p| p.life).collect();
        for life in &silent {
            let last = format!("{:?}", self.lives[*life].lines.last());
            self.lives[*life].lines.push(Line::Odd(format!("silent for {} s after {last}", SILENCE.as_secs())));
        }
        !silent.is_empty()
    }

    /// Tells all processes to end, and waits for them.
    fn finish(&mut self) {
        self.processes.iter_mut().for_each(|process| drop(process.orders.take()));
        let mut living: Vec<usize> = self.processes.iter().map(|process| process.life).collect();
        while !living.is_empty() && !self.is_stuck() {
            match self.listen.recv_timeout(Duration::from_millis(100)) {
                Ok((life, None)) => living.retain(|living| *living != life),
                Ok((life, line)) => self.note(life, line),
                Err(_) => {}
            }
        }
    }
}

impl Drop for Fleet<'_> {
    /// No process survives the supervisor, even after a panic.
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = kill_process_group(Pid::from_child(&process.child), Signal::KILL);
            let _ = process.child.wait();
        }
    }
}
