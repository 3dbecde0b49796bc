//! The queue of ops in front of the kernel.
//!
//! On SQLite one thread takes all queued ops, of any project, and runs them as one transaction. Ops that arrive during
//! its sync form the next batch, so a server under load pays one sync for many ops and an idle server adds no delay. On
//! PostgreSQL several threads run one op each, never two of the same project: they would only wait for its row lock,
//! and delay other projects.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tenure_core::name::ProjectKey;
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::{Call, Kernel, Op, PendingOp, ReadyOp, Reply};
use tenure_store::Location;
use tokio::sync::{oneshot, watch};

/// Most ops in one transaction.
const MOST: usize = 64;
/// How long a transaction goes on beginning ops: writers beside the server wait for it.
const LONGEST: Duration = Duration::from_millis(5);
/// Most ops in line. Beyond it the answer is `busy` at once, instead of a wait that nobody stays for.
const LINE: usize = 4_096;
/// From how many rows on an op has a transaction of its own: no other is to wait for its end, or to be done again with it.
const LARGE: usize = 256;
/// Threads on PostgreSQL: each keeps one connection busy.
const THREADS: usize = 8;

/// Whether somebody still waits for an answer. It is asked under the write lock, so it must not block.
pub type Asker = Arc<dyn Fn() -> bool + Send + Sync>;

/// What has passed through the line so far.
#[derive(Debug, Default)]
pub struct QueueCounts {
    /// Ops that were answered, refusals among them.
    pub ops: AtomicU64,
    /// Transactions, or calls of the kernel where each op has its own.
    pub batches: AtomicU64,
    /// Ops that were not carried out because their asker had left.
    pub unwanted: AtomicU64,
    /// Ops that were turned away because the line was full.
    pub turned_away: AtomicU64,
}

/// The line. Dropping it ends its threads, after what is in line.
pub struct OpQueue {
    shared: Arc<QueueShared>,
    threads: Vec<JoinHandle<()>>,
}

struct QueueShared {
    kernel: Arc<Kernel>,
    state: Mutex<QueueState>,
    /// Somebody came, or a project became free.
    changed: Condvar,
    counts: QueueCounts,
    /// Rises with every round: those who show what happens look then.
    rounds: watch::Sender<u64>,
    /// How many ops a thread takes at once.
    most: usize,
}

#[derive(Default)]
struct QueueState {
    line: VecDeque<QueuedOp>,
    /// Projects that a thread is busy with, where a thread takes one op.
    busy: HashSet<ProjectKey>,
    closed: bool,
}

struct QueuedOp {
    call: Call,
    ready: ReadyOp,
    asker: Asker,
    /// Until when it must have begun.
    deadline: Instant,
    /// Whether it has: from then on it is wanted for as long as its asker stays, however long the work takes.
    has_begun: AtomicBool,
    answer: oneshot::Sender<Result<Reply>>,
}

impl QueuedOp {
    #[expect(clippy::disallowed_methods, reason = "a deadline is a duration of the process, not a time of the domain")]
    fn is_wanted(&self) -> bool {
        let is_in_time = self.has_begun.load(Ordering::Relaxed) || Instant::now() < self.deadline;
        let is_wanted = !self.answer.is_closed() && is_in_time && (self.asker)();
        self.has_begun.fetch_or(is_wanted, Ordering::Relaxed);
        is_wanted
    }
}

impl OpQueue {
    /// A line before a kernel, with its threads.
    pub fn before(kernel: Arc<Kernel>) -> Result<OpQueue> {
        let (threads, most) = match kernel.store().location() {
            Location::Postgres(_) => (THREADS, 1),
            Location::File(_) | Location::Memory => (1, MOST),
        };
        let shared = Arc::new(QueueShared {
            kernel,
            state: Mutex::default(),
            changed: Condvar::new(),
            counts: QueueCounts::default(),
            rounds: watch::Sender::new(0),
            most,
        });
        let start = |_| {
            let shared = shared.clone();
            thread::Builder::new().name("ops".into()).spawn(move || shared.work())
        };
        let threads = (0..threads)
            .map(start)
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(|error| Error::new(Code::Internal, "no thread could be started").at(Stage::Open).cause(error))?;
        Ok(OpQueue { shared, threads })
    }

    /// Runs an op when its turn comes, and answers when it is durable.
    pub async fn run(&self, call: Call, op: Op, asker: Asker, deadline: Instant) -> Result<Reply> {
        // Before the line, so that nobody in it waits for this.
        let (call, ready) = prepared(call, op).await;
        let ready = ready.inspect_err(|_| {
            self.shared.counts.ops.fetch_add(1, Ordering::Relaxed);
        })?;
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.shared.state();
            if state.closed {
                return Err(closing());
            }
            if state.line.len() >= LINE {
                self.shared.counts.turned_away.fetch_add(1, Ordering::Relaxed);
                return Err(full());
            }
            state.line.push_back(QueuedOp { call, ready, asker, deadline, has_begun: AtomicBool::new(false), answer });
        }
        self.shared.changed.notify_one();
        // A thread that is gone has dropped the sender; it never ends while something is in line.
        answered.await.unwrap_or_else(|_| Err(closing()))
    }

    /// A number that rises whenever something was carried out. A hint: others write the store as well.
    pub fn rounds(&self) -> watch::Receiver<u64> {
        self.shared.rounds.subscribe()
    }

    /// What has passed so far.
    pub fn counts(&self) -> &QueueCounts {
        &self.shared.counts
    }

    /// How many are in line.
    pub fn len(&self) -> usize {
        self.shared.state().line.len()
    }

    /// Whether nobody is in line.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes nobody in any more; what is in line is still carried out.
    pub fn close(&self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
    }
}

impl Drop for OpQueue {
    fn drop(&mut self) {
        self.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl QueueShared {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut taken = Vec::new();
        while self.take(&mut taken) {
            let before = taken.len();
            let answers = {
                let together = &taken[..together(&taken)];
                let wanted: Vec<_> = together.iter().map(|one| move || one.is_wanted()).collect();
                let orders: Vec<_> = together
                    .iter()
                    .zip(&wanted)
                    .map(|(one, wanted)| PendingOp { call: &one.call, ready: &one.ready, is_wanted: wanted })
                    .collect();
                self.kernel.run_many(&orders, LONGEST)
            };
            self.counts.batches.fetch_add(1, Ordering::Relaxed);
            self.rounds.send_modify(|round| *round += 1);
            self.counts.ops.fetch_add(answers.len() as u64, Ordering::Relaxed);
            if self.most == 1 {
                self.state().busy.remove(&taken[0].call.project.key);
                self.changed.notify_one();
            }
            let answered = answers.len();
            for (one, answer) in taken.drain(..answered).zip(answers) {
                if answer.as_ref().is_err_and(|error| error.code() == Code::NotRun) {
                    self.counts.unwanted.fetch_add(1, Ordering::Relaxed);
                }
                // Whoever left meanwhile has closed the other end.
                let _ = one.answer.send(answer);
            }
            debug_assert!(taken.len() < before, "a round answers at least one");
        }
    }

    /// Fills up with what is in line, in its order, waiting for the first. What is left of the round before comes first.
    /// False: closed, and nothing is left.
    fn take(&self, taken: &mut Vec<QueuedOp>) -> bool {
        let mut state = self.state();
        loop {
            if self.most == 1 {
                let free = state.line.iter().position(|one| !state.busy.contains(&one.call.project.key));
                if let Some(one) = free.and_then(|at| state.line.remove(at)) {
                    state.busy.insert(one.call.project.key.clone());
                    taken.push(one);
                    return true;
                }
            } else {
                let room = (self.most - taken.len()).min(state.line.len());
                taken.extend(state.line.drain(..room));
                if !taken.is_empty() {
                    return true;
                }
            }
            if state.closed && state.line.is_empty() {
                return false;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// How many of those who are next share a transaction: a large op has its own.
fn together(taken: &[QueuedOp]) -> usize {
    let large = taken.iter().position(|one| one.ready.op().items() >= LARGE);
    large.map_or(taken.len(), |at| at.max(1))
}

/// The op, checked and prepared; what takes long does not keep the thread that serves others.
async fn prepared(call: Call, op: Op) -> (Call, Result<ReadyOp>) {
    if op.items() < LARGE {
        let ready = ReadyOp::new(&call, op);
        return (call, ready);
    }
    let kept = call.clone();
    let ready = tokio::task::spawn_blocking(move || ReadyOp::new(&call, op)).await;
    (kept, ready.unwrap_or_else(|_| Err(Error::bug("an op could not be prepared"))))
}

fn closing() -> Error {
    Error::new(Code::NotRun, "the server is shutting down")
        .at(Stage::Lock)
        .hint("Nothing was done. Ask again with the same request id.")
}

fn full() -> Error {
    Error::new(Code::Overloaded, "too many requests wait for this server")
        .at(Stage::Lock)
        .hint("Nothing was done. Ask again in a moment, with the same request id.")
}

#[cfg(test)]
mod tests {
    use tenure_kernel::Actor;
    use tenure_kernel::op::{add, add_many};
    use tenure_store::OsEntropy;
    use tenure_store::table::project;

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a deadline is a duration of the process")]
    fn waiting(op: Op) -> QueuedOp {
        let name = project::NamedProject { key: "name:p".into(), label: "p".into() };
        let call = Call::new(name, Actor::named("ada"), &OsEntropy);
        let ready = ReadyOp::new(&call, op).unwrap();
        let (asker, has_begun) = (Arc::new(|| true), AtomicBool::new(false));
        QueuedOp { call, ready, asker, deadline: Instant::now(), has_begun, answer: oneshot::channel().0 }
    }

    #[test]
    fn a_deadline_is_for_beginning_and_an_op_that_has_begun_is_wanted_while_its_asker_stays() {
        let (answer, asked) = oneshot::channel();
        let past = waiting(Op::new(add::Add::titled("small")));
        let late = past.deadline;
        let mut one = QueuedOp { answer, ..past };
        assert!(!one.is_wanted(), "it has not begun in time");
        one.deadline = late + Duration::from_secs(3_600);
        assert!(one.is_wanted(), "it begins");
        one.deadline = late;
        assert!(one.is_wanted(), "it is at work, and its asker waits");
        one.asker = Arc::new(|| false);
        assert!(!one.is_wanted(), "its asker has hung up");
        one.asker = Arc::new(|| true);
        drop(asked);
        assert!(!one.is_wanted(), "its request was given up");
    }

    fn batch(items: usize) -> Op {
        let lines = "{\"title\":\"one of many\"}\n".repeat(items);
        Op::new(add_many::AddMany::parse(lines.as_bytes()).unwrap())
    }

    #[test]
    fn a_large_op_shares_its_transaction_with_no_other() {
        let small = || waiting(Op::new(add::Add::titled("small")));
        let large = || waiting(batch(LARGE));
        assert_eq!(together(&[small(), small(), waiting(batch(LARGE - 1))]), 3);
        assert_eq!(together(&[large()]), 1);
        assert_eq!(together(&[large(), small(), small()]), 1, "the others come after it");
        assert_eq!(together(&[small(), small(), large(), small()]), 2, "what stands before it does not wait for it");
        assert_eq!(together(&[large(), large()]), 1);
    }
}
