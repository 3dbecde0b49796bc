//! Checks what must hold after a power cut, whatever was lost.

use std::collections::HashSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use tenure_core::number::EventNumber;
use tenure_kernel::op::add;
use tenure_kernel::query::log;
use tenure_kernel::{Kernel, Op};
use tenure_store::Durability;

use super::disk::{Disk, Image, print_of};
use super::work::{Recorded, Sent, call, stock};
use crate::raw::{differing, try_dump};
use crate::replay::replay;
use crate::wander::Dice;

/// Which cuts are checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// One in so many cuts is checked at random; 1 checks every cut.
    pub(super) one_in: usize,
    /// The number of torn images per cut.
    pub(super) torn: usize,
    /// Stop after this many violations.
    pub(super) enough: usize,
}

/// The results of a check.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) cuts: usize,
    pub(super) images: usize,
    /// Images whose store had lost acknowledged ops; allowed only with durability `fast`.
    pub(super) behind: usize,
    pub(super) violations: Vec<String>,
}

/// Cuts the power at every point of a recording and checks the result.
pub(super) fn check(recorded: &Recorded, effort: Effort) -> Findings {
    let place = Place::new();
    let dice = Dice::new(recorded.plan.seed ^ 0xC0FFEE);
    let mut findings = Findings::default();
    let mut disk = Disk::default();
    // The same image at two cuts is checked once for each number of answers that it must contain.
    let mut seen = HashSet::new();
    for position in 0..=recorded.entries.len() {
        if let Some(last) = position.checked_sub(1) {
            disk.play(&recorded.entries[last]);
        }
        if effort.one_in > 1 && !dice.once_in(effort.one_in) {
            continue;
        }
        findings.cuts += 1;
        let mut images = vec![("nothing else", disk.least()), ("everything", disk.most())];
        images.extend((0..effort.torn).map(|_| ("a torn part", disk.torn(&dice))));
        let answers = recorded.answered_by(position);
        for (left, image) in images {
            if !seen.insert((print_of(&image), answers)) {
                continue;
            }
            findings.images += 1;
            match caught(|| place.look(recorded, answers, &image)) {
                Ok(behind) => findings.behind += usize::from(behind),
                Err(why) => findings.violations.push(format!(
                    "power cut at {position} of {}, {answers} answers given, {left} of what was not synced left: {why}\n\
                     {:?}",
                    recorded.entries.len(),
                    recorded.plan
                )),
            }
            if findings.violations.len() >= effort.enough {
                return findings;
            }
        }
    }
    findings
}

/// Turns the panic of the log replay into a violation.
fn caught(look: impl FnOnce() -> Result<bool, String>) -> Result<bool, String> {
    catch_unwind(AssertUnwindSafe(look)).unwrap_or_else(|panic| {
        Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic without words".into()))
    })
}

/// The directory of the images.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        // Thousands of images are written and discarded, so they are kept in memory if possible.
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Place { dir: tempfile::Builder::new().prefix("tn-cut-").tempdir_in(base).unwrap() }
    }

    /// Checks an image. Returns whether answers are missing that durability `fast` may lose.
    fn look(&self, recorded: &Recorded, answers: usize, image: &Image) -> Result<bool, String> {
        let dir = tempfile::Builder::new().prefix("i-").tempdir_in(self.dir.path()).unwrap();
        for (name, bytes) in image {
            fs::write(dir.path().join(name), bytes).unwrap();
        }
        // A stale index beside the file must not be used, so it is filled with garbage.
        if image.contains_key("tenure.db-wal") {
            fs::write(dir.path().join("tenure.db-shm"), [0x5A; 32_768]).unwrap();
        }
        Opened { path: dir.path().join("tenure.db"), recorded, answers }.look()
    }
}

struct Opened<'a> {
    path: PathBuf,
    recorded: &'a Recorded,
    answers: usize,
}

impl Opened<'_> {
    fn look(&self) -> Result<bool, String> {
        let kernel = stock(self.path.clone(), self.recorded.now);
        let reached = self.state(&kernel)?;
        let damage = kernel.store().integrity().map_err(|error| format!("integrity: {error:?}"))?;
        if !damage.is_empty() {
            return Err(format!("the store is damaged: {damage:?}"));
        }
        self.ask_again(&kernel, reached)?;
        self.go_on(&kernel)?;
        Ok(reached < self.answers)
    }

    /// The store matches its state after one of the answers, in every row: no op is half applied. That answer is the
    /// last one given, or the one about to be given.
    fn state(&self, kernel: &Kernel) -> Result<usize, String> {
        let found = try_dump(kernel).map_err(|error| format!("it cannot be read: {error:?}"))?;
        let most = (self.answers + 1).min(self.recorded.steps.len());
        let least = match self.recorded.plan.durability {
            Durability::Full => self.answers,
            Durability::Fast => 0,
        };
        let reached = (0..=most).rev().find(|answers| *self.recorded.state(*answers) == found);
        match reached {
            Some(reached) if reached >= least => Ok(reached),
            Some(reached) => {
                Err(format!("answers were lost: the store is as it was after {reached} of {}", self.answers))
            }
            None => Err(format!(
                "the store is as it never was; it differs from the last answer in {:?}",
                differing(self.recorded.state(self.answers), &found)
            )),
        }
    }

    /// The newest request in the store is replayed byte for byte, and the next one succeeds.
    fn ask_again(&self, kernel: &Kernel, reached: usize) -> Result<(), String> {
        for (n, step) in self.recorded.steps.iter().enumerate().skip(reached.saturating_sub(1)).take(2) {
            let Some(Sent { call, op, answer }) = &step.sent else { continue };
            match (kernel.run(call, op), answer) {
                (Ok(reply), Some(answer)) if n < reached => {
                    if !reply.replayed || reply.body != *answer {
                        return Err(format!("{} was answered with {answer} and is now {}", op.name(), reply.body));
                    }
                }
                (Ok(_), Some(_)) => {}
                (Err(error), _) if !error.is_refusal() => {
                    return Err(format!("{} asked again: {error:?}", op.name()));
                }
                // The clock differs from the first attempt, so a refusal may succeed now, and the reverse.
                (Ok(_), None) | (Err(_), None) => {}
                (Err(_), Some(_)) if n >= reached => {}
                (Err(error), Some(_)) => return Err(format!("{} was answered and is now {error:?}", op.name())),
            }
        }
        Ok(())
    }

    /// The next op succeeds and is in the log, and the whole log is sound.
    fn go_on(&self, kernel: &Kernel) -> Result<(), String> {
        let op = Op::new(add::Add::titled("after the cut"));
        let call = call("person:ann", "after-the-cut", &op);
        kernel.run(&call, &op).map_err(|error| format!("the next op fails: {error:?}"))?;
        let mut events = Vec::new();
        let mut since = log::Since::Number(EventNumber::START);
        loop {
            let filter = log::Log { since: Some(since), limit: 1_000, ..log::Log::default() };
            let page = kernel.ask(&call, &filter).map_err(|error| format!("the log: {error:?}"))?;
            events.extend(page.items);
            match page.next {
                Some(next) => since = log::Since::Cursor(next),
                None => break,
            }
        }
        if !events.iter().any(|event| event.request_id == "after-the-cut") {
            return Err("the next op left no event".into());
        }
        replay(&events);
        Ok(())
    }
}
