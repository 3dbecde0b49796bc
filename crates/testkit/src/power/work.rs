//! Runs a workload on a store whose files are recorded: the answers, their positions, and the state after each.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tenure_core::{Span, Time};
use tenure_kernel::{Actor, Call, Checkout, Condition, Kernel, Op, RequestId, Trust, WorkingTree};
use tenure_store::table::project;
use tenure_store::{Clock, Durability, Location, Options};

use super::disk::Disk;
use super::shim::{Shim, Syncs};
use super::tape::Entry;
use crate::fixture::{Engine, Seeded, TestClock, World};
use crate::raw::{self, Dump};
use crate::wander::{AGENTS, Dice, added, any_op};

/// When an op counts as acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// When the kernel returned.
    AfterCommit,
    /// After the writes of the commit and before its sync: a kernel that answers too early. It proves that the checker
    /// detects this.
    BeforeSync,
    /// Before the op began.
    BeforeCommit,
}

/// The configuration of a workload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) ops: usize,
    pub(super) durability: Durability,
    pub(super) syncs: Syncs,
    pub(super) answers: Answers,
    pub(super) between: Between,
    /// What becomes of the log when the last connection closes.
    pub(super) at_rest: AtRest,
}

/// What becomes of the log when the last connection closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtRest {
    /// It is copied into the database and removed.
    NoLog,
    /// A log up to this length, in bytes, is left to the next connection.
    ShortLog(u64),
}

/// The activity between ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    /// Connections open and close, and checkpoints run at any moment.
    Much,
    /// All connections close, as between calls on the command line.
    Closing,
    /// None, so that the log grows until SQLite's automatic checkpoint.
    Nothing,
}

pub(super) struct Sent {
    pub(super) call: Call,
    pub(super) op: Op,
    /// The response; `None` for a refusal.
    pub(super) answer: Option<String>,
}

/// A request with its answer.
pub(super) struct Step {
    /// The op; `None` for the creation of the store.
    pub(super) sent: Option<Sent>,
    /// The position of the recording when the answer was available.
    pub(super) answered: usize,
    /// All rows after it.
    pub(super) state: Dump,
}

/// A finished workload.
pub(super) struct Recorded {
    pub(super) plan: Plan,
    pub(super) entries: Vec<Entry>,
    /// All rows before the first step: none.
    pub(super) empty: Dump,
    pub(super) steps: Vec<Step>,
    /// The clock at the end.
    pub(super) now: Time,
}

impl Recorded {
    /// The number of answers before a position of the recording.
    pub(super) fn answered_by(&self, position: usize) -> usize {
        self.steps.iter().take_while(|step| step.answered <= position).count()
    }

    /// The rows after a number of answers.
    pub(super) fn state(&self, answers: usize) -> &Dump {
        match answers {
            0 => &self.empty,
            n => &self.steps[n - 1].state,
        }
    }
}

struct Work {
    world: World,
    shim: Shim,
    dice: Dice,
    kernels: Vec<Kernel>,
    tasks: Vec<String>,
    plan: Plan,
    steps: Vec<Step>,
}

/// Runs a workload, from an empty directory until every connection is closed.
pub(super) fn record(plan: Plan) -> Recorded {
    let shim = Shim::register(plan.syncs);
    let world = World::with(Engine::File, |options| {
        options.vfs = Some(shim.name.clone());
        options.durability = plan.durability;
        options.entropy = Arc::new(Seeded::new(plan.seed));
        options.leave_log = match plan.at_rest {
            AtRest::NoLog => 0,
            AtRest::ShortLog(bytes) => bytes,
        };
    });
    let empty = raw::dump(&world.kernel);
    let mut work = Work {
        world,
        shim,
        dice: Dice::new(plan.seed),
        kernels: Vec::new(),
        tasks: Vec::new(),
        plan,
        steps: Vec::new(),
    };
    work.create();
    for n in 0..plan.ops {
        work.interlude();
        work.step(n);
    }
    work.kernels.clear();
    let Work { world, shim, steps, .. } = work;
    let now = world.clock.now();
    let entries = shim.tape.take();
    drop(world.kernel);
    assert_recorded_all(&entries, world.dir.path());
    Recorded { plan, entries, empty, steps, now }
}

/// The recording must reproduce the real files; otherwise no image built from it is meaningful. All connections are
/// closed, so the files may be read.
fn assert_recorded_all(entries: &[Entry], dir: &std::path::Path) {
    let mut disk = Disk::default();
    entries.iter().for_each(|entry| disk.play(entry));
    let recorded = disk.most();
    for name in ["tenure.db", "tenure.db-wal", "tenure.db-journal"] {
        let real = std::fs::read(dir.join(name)).ok();
        assert!(recorded.get(name) == real.as_ref(), "the recording of {name} differs from the file");
    }
}

impl Work {
    fn create(&mut self) {
        self.kernels.push(self.world.another());
        self.kernels[0].store().create().unwrap();
        self.answered(None, 0);
    }

    fn answered(&mut self, sent: Option<Sent>, before: usize) {
        let now = self.shim.tape.position();
        let answered = match self.plan.answers {
            Answers::AfterCommit => now,
            Answers::BeforeCommit => before,
            // The last operation of a commit is the sync.
            Answers::BeforeSync => now.saturating_sub(1),
        };
        let state = raw::dump(self.kernels.last().unwrap());
        self.steps.push(Step { sent, answered, state });
    }

    /// The activity between ops: connections open and close, checkpoints run, time passes.
    fn interlude(&mut self) {
        match self.plan.between {
            Between::Nothing => return,
            Between::Closing => {
                self.kernels.clear();
                self.kernels.push(self.world.another());
                return;
            }
            Between::Much => {}
        }
        match self.dice.below(8) {
            // The last connection checkpoints the log and removes it.
            0 if self.dice.once_in(2) => self.kernels.clear(),
            0 | 1 if self.kernels.len() > 1 => drop(self.kernels.remove(0)),
            2 => {
                let how = *self.dice.one(&["PASSIVE", "FULL", "RESTART", "TRUNCATE"]);
                checkpoint(&self.world, &self.shim.name, how);
            }
            3 => self.world.advance(Span::seconds(i64::try_from(self.dice.below(120)).unwrap())),
            _ => {}
        }
        if self.kernels.is_empty() || (self.kernels.len() < 3 && self.dice.once_in(4)) {
            self.kernels.push(self.world.another());
        }
    }

    fn step(&mut self, n: usize) {
        let op = any_op(&self.dice, &self.tasks);
        let agent = *self.dice.one(&AGENTS);
        let call = call(agent, &format!("request-{n}"), &op);
        let before = self.shim.tape.position();
        let kernel = self.dice.one(&self.kernels);
        let answer = match kernel.run(&call, &op) {
            Ok(reply) => Some(reply.body),
            Err(error) if error.is_refusal() => None,
            Err(error) => panic!("{op:?}: {error:?}"),
        };
        if let Some(body) = &answer {
            self.tasks.extend(added(&op, body));
        }
        self.answered(Some(Sent { call, op, answer }), before);
    }
}

/// A call with a given request id, whose record is kept for longer than the workload takes.
pub(super) fn call(agent: &str, request_id: &str, op: &Op) -> Call {
    let common = Some(("/copy/.git".to_owned(), 1, 2));
    let copy = || Checkout {
        host: "h".into(),
        path: "/copy".into(),
        common: common.clone(),
        trust: Trust::Joined,
        tree: WorkingTree::default(),
    };
    Call {
        project: project::NamedProject { key: "name:p".into(), label: "p".into() },
        actor: Actor::named(agent),
        request_id: RequestId::given(request_id).unwrap(),
        checkout: op.get::<tenure_kernel::op::join::Join>().is_some().then(copy),
        pinned_store: None,
        keep_events: None,
        proven_dead: Vec::new(),
        condition: Condition::None,
    }
}

/// Checkpoints the log, as SQLite does by itself every thousand pages.
fn checkpoint(world: &World, vfs: &str, how: &str) {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags_and_vfs(raw::file(world), flags, vfs).unwrap();
    connection.busy_timeout(Duration::ZERO).unwrap();
    let synchronous = match world.options.durability {
        Durability::Full => "FULL",
        Durability::Fast => "NORMAL",
    };
    connection.execute_batch(&format!("PRAGMA synchronous = {synchronous}")).unwrap();
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(())).unwrap();
}

/// A kernel on files with the default VFS, at a given time.
pub(super) fn stock(path: std::path::PathBuf, now: Time) -> Kernel {
    let options = Options {
        clock: Arc::new(TestClock::at(now)),
        entropy: Arc::new(Seeded::new(99)),
        // There is no other process to take turns with.
        turnstile: false,
        // The image is written to new files here; in the simulated world it is the same file.
        any_file: true,
        ..Options::default()
    };
    Kernel::new(Location::File(path), options, tenure_client::phrasing::of).unwrap()
}
