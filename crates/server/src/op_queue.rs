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

/// The maximum number of ops in one transaction.
const MOST: usize = 64;
/// How long a transaction starts new ops: writers beside the server wait for it.
const LONGEST: Duration = Duration::from_millis(5);
/// The maximum length of the queue. A full queue answers `busy` at once, instead of a wait that no client would stay
/// for.
const LINE: usize = 4_096;
/// The number of rows from which an op has its own transaction, so that no other op waits for it or is repeated with
/// it.
const LARGE: usize = 256;
/// The number of threads on PostgreSQL. Each keeps one connection busy.
const THREADS: usize = 8;

/// Whether a client still waits for the answer. It is called under the write lock, so it must not block.
pub type Asker = Arc<dyn Fn() -> bool + Send + Sync>;

/// Counters of the queue.
#[derive(Debug, Default)]
pub struct QueueCounts {
    /// Ops that were answered, including refusals.
    pub ops: AtomicU64,
    /// Transactions, or kernel calls if each op has its own.
    pub batches: AtomicU64,
    /// Ops that did not run because their client had left.
    pub unwanted: AtomicU64,
    /// Ops that were refused because the queue was full.
    pub turned_away: AtomicU64,
}

/// The queue. Dropping it stops its threads after they have run what is queued.
pub struct OpQueue {
    shared: Arc<QueueShared>,
    threads: Vec<JoinHandle<()>>,
}

struct QueueShared {
    kernel: Arc<Kernel>,
    state: Mutex<QueueState>,
    /// An op was queued, or a project became free.
    changed: Condvar,
    counts: QueueCounts,
    /// Rises with every round, as a signal for readers that show new state.
    rounds: watch::Sender<u64>,
    /// How many ops a thread takes at once.
    most: usize,
}

#[derive(Default)]
struct QueueState {
    line: VecDeque<QueuedOp>,
    /// The projects that a thread is working on, if each thread takes one op.
    busy: HashSet<ProjectKey>,
    closed: bool,
}

struct QueuedOp {
    call: Call,
    ready: ReadyOp,
    asker: Asker,
    /// The deadline by which it must have started.
    deadline: Instant,
    /// Whether it has started. From then on it is wanted as long as its client stays, however long the work takes.
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
    /// A queue in front of a kernel, with its threads.
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
        // Preparation happens before queuing, so that no queued op waits for it.
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
        // A stopped thread has dropped the sender. Threads do not stop while ops are queued.
        answered.await.unwrap_or_else(|_| Err(closing()))
    }

    /// A number that rises whenever ops have run. It is only a hint: other processes also write to the store.
    pub fn rounds(&self) -> watch::Receiver<u64> {
        self.shared.rounds.subscribe()
    }

    pub fn counts(&self) -> &QueueCounts {
        &self.shared.counts
    }

    /// The number of queued ops.
    pub fn len(&self) -> usize {
        self.shared.state().line.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stops accepting ops. Queued ops still run.
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
                // A client that has left has closed the other end.
                let _ = one.answer.send(answer);
            }
            debug_assert!(taken.len() < before, "a round answers at least one");
        }
    }

    /// Fills `taken` from the queue, in order, and waits for the first op. Ops left over from the last round come
    /// first. Returns false if the queue is closed and empty.
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

/// How many of the next ops share a transaction. A large op has its own.
fn together(taken: &[QueuedOp]) -> usize {
    let large = taken.iter().position(|one| one.ready.op().items() >= LARGE);
    large.map_or(taken.len(), |at| at.max(1))
}

/// Checks and prepares the op. A large one is prepared on another thread, so that the current one stays free.
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
        .hint("Nothing was done. Repeat the request with the same request id.")
}

fn full() -> Error {
    Error::new(Code::Overloaded, "the server has too many waiting requests")
        .at(Stage::Lock)
        .hint("Nothing was done. Retry in a moment with the same request id.")
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
