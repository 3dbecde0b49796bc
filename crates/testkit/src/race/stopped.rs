//! A client that stops while it holds the project's lock: a closed laptop, a debugger, a frozen container.
//!
//! Ids are drawn under the lock, so a random source that stops its own process stops it there.

use std::io::BufReader;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};
use serde_json::{Value, json};
use tenure_client::phrasing::Commands;
use tenure_kernel::op::add;
use tenure_kernel::query;
use tenure_kernel::{Call, Kernel, Op, RequestId};
use tenure_store::{Entropy, Options, OsEntropy};

use super::{Order, call, claiming, events, heard, location, say};
use crate::report::{Budget, Section};

/// The longest time that a stopped client may block a project.
const AT_MOST: Duration = Duration::from_secs(6);
/// The longest time that another project may wait meanwhile.
const ALLOWED: Duration = Duration::from_secs(2);

/// Stops the process at the first random byte requested.
struct Stops(AtomicBool);

impl Entropy for Stops {
    fn fill(&self, buffer: &mut [u8]) {
        if self.0.swap(false, Ordering::SeqCst) {
            kill_process(getpid(), Signal::STOP).unwrap();
        }
        OsEntropy.fill(buffer);
    }
}

fn stopping(project: &str) -> Call {
    Call { request_id: RequestId::given("stopped").unwrap(), ..call(project, "stopped") }
}

/// The client: claims a task, stops in the middle, and reports the outcome after it is continued.
pub(super) fn play(store: &str, project: &str, task: &str) -> i32 {
    let options = Options { entropy: Arc::new(Stops(AtomicBool::new(true))), ..Options::default() };
    let kernel = Kernel::new(location(store), options, tenure_client::phrasing::of).unwrap();
    let answer = match kernel.run(&stopping(project), &claiming(task)) {
        Ok(reply) => json!({ "body": reply.body, "replayed": reply.replayed }),
        Err(error) => error.to_json(&Commands),
    };
    say(&mut std::io::stdout().lock(), &answer);
    0
}

struct Client {
    child: Child,
    out: BufReader<ChildStdout>,
}

/// A failing test must not leave stopped processes behind.
impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Client {
    /// Starts a client and waits until it has stopped.
    fn stopped(store: &str, project: &str, task: &str) -> Client {
        let mut child = crate::worker::command("race").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let order = Order::Stop { store: store.to_owned(), project: project.to_owned(), task: task.to_owned() };
        say(&mut child.stdin.take().unwrap(), &order);
        let out = BufReader::new(child.stdout.take().unwrap());
        let client = Client { child, out };
        let (_, status) = waitpid(Some(client.pid()), WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(status.stopped(), "{status:?}");
        client
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap()
    }

    /// Continues the client and reads the outcome of its call.
    fn go_on(mut self) -> Value {
        kill_process(self.pid(), Signal::CONT).unwrap();
        let answer = heard(&mut self.out);
        assert!(self.child.wait().unwrap().success());
        answer
    }
}

fn add(kernel: &Kernel, project: &str) -> String {
    let reply = kernel.run(&call(project, "person:ann"), &Op::new(add::Add::titled("a task"))).unwrap();
    let task: Value = serde_json::from_str(&reply.body).unwrap();
    task["id"].as_str().unwrap().to_owned()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let answer = work();
    (answer, begun.elapsed())
}

fn grants(kernel: &Kernel, project: &str) -> Vec<(String, String)> {
    let claimed = |event: &tenure_kernel::answer::LoggedEvent| event.kind == tenure_core::event::kind::TASK_CLAIMED;
    let events = events(kernel, project).unwrap();
    events.into_iter().filter(claimed).map(|event| (event.actor.into(), event.request_id)).collect()
}

pub(super) fn postgres() {
    hold_up();
}

/// Two clients stop, each in its own project. One finds its task taken when it continues, the other does not. Returns
/// how long others had to wait.
fn hold_up() -> Duration {
    let server = crate::pg::server();
    let store = server.url(&server.fresh_schema());
    let kernel = Kernel::new(location(&store), Options::default(), tenure_client::phrasing::of).unwrap();
    let (contested, free) = (add(&kernel, "p"), add(&kernel, "r"));
    let other = add(&kernel, "q");
    let beaten = Client::stopped(&store, "p", &contested);
    let begun = Instant::now();
    let unbeaten = Client::stopped(&store, "r", &free);

    let (answer, waited) = timed(|| kernel.run(&call("q", "b"), &claiming(&other)));
    answer.unwrap();
    assert!(waited < ALLOWED, "another project was held up for {waited:?}");
    let winner = call("p", "b");
    let (answer, _) = timed(|| kernel.run(&winner, &claiming(&contested)));
    let held_up = begun.elapsed();
    answer.unwrap();
    assert!(held_up <= AT_MOST, "the project was held up for {held_up:?}");

    // Its transaction was rolled back, so its call starts again and is answered by the current state.
    let refused = beaten.go_on();
    assert_eq!((&refused["code"], &refused["details"]["blockers"][0]["holder"]), (&"task_held".into(), &"b".into()));
    assert_eq!(grants(&kernel, "p"), [("b".to_owned(), winner.request_id.as_str().to_owned())]);
    let granted = unbeaten.go_on();
    assert_eq!(granted["replayed"], false, "{granted}");
    assert_eq!(grants(&kernel, "r"), [("stopped".to_owned(), "stopped".to_owned())]);
    let again = kernel.run(&stopping("r"), &claiming(&free)).unwrap();
    assert!(again.replayed);
    assert_eq!(granted["body"], again.body.as_str());
    held_up
}

pub(super) fn sqlite() {
    make_busy();
}

/// The stopped client is the only writer of the file. All others are told in time that the store is busy, and nothing
/// breaks; when it continues, they succeed. Returns how long the others waited to be told.
fn make_busy() -> Duration {
    let dir = tempfile::Builder::new().prefix("tn-").tempdir().unwrap();
    let store = dir.path().join("tenure.db").display().to_string();
    let options = |turnstile| Options { patience: Duration::from_millis(200), turnstile, ..Options::default() };
    let kernel = Kernel::new(location(&store), options(true), tenure_client::phrasing::of).unwrap();
    // The turnstile provides order, SQLite provides exclusion: without the turnstile, exclusion still holds.
    let disorderly = Kernel::new(location(&store), options(false), tenure_client::phrasing::of).unwrap();
    let (task, other) = (add(&kernel, "p"), add(&kernel, "q"));
    let client = Client::stopped(&store, "p", &task);

    let (call_p, call_q) = (call("p", "b"), call("q", "b"));
    let mut longest = Duration::ZERO;
    for (kernel, code) in [(&kernel, "turnstile"), (&disorderly, "store_busy")] {
        for (call, task) in [(&call_p, &task), (&call_q, &other)] {
            let (answer, waited) = timed(|| kernel.run(call, &claiming(task)));
            let error = answer.unwrap_err();
            assert_eq!((error.kind().as_str(), error.code().as_str(), error.retryable()), ("busy", code, true));
            longest = longest.max(waited);
        }
    }
    let seen = serde_json::to_value(kernel.ask(&call_p, &query::show::Show { id: task.clone() }).unwrap()).unwrap();
    assert_eq!((&seen["state"], &seen["version"]), (&"ready".into(), &1.into()), "queries see what was committed");

    let granted = client.go_on();
    assert_eq!(granted["replayed"], false, "{granted}");
    assert_eq!(kernel.run(&call_p, &claiming(&task)).unwrap_err().code(), "task_held");
    assert!(!kernel.run(&call_q, &claiming(&other)).unwrap().replayed);
    assert_eq!(grants(&kernel, "p"), [("stopped".to_owned(), "stopped".to_owned())]);
    longest
}

pub(super) fn soak(budget: Budget) -> Section {
    let mut section = Section::new("Stopped clients");
    let begun = Instant::now();
    let mut rounds = 0;
    let mut longest = [Duration::ZERO; 2];
    while rounds < 3 || begun.elapsed() < budget.time {
        rounds += 1;
        for (engine, round) in [hold_up, make_busy].into_iter().enumerate() {
            match std::panic::catch_unwind(round) {
                Ok(waited) => longest[engine] = longest[engine].max(waited),
                Err(panic) => section.violation(format!("round {rounds}: {:?}", panic.downcast_ref::<String>())),
            }
        }
    }
    section.figure("rounds on each engine", rounds);
    section.figure(
        "PostgreSQL: longest delay of the project's other writers",
        format!("{:.2} s", longest[0].as_secs_f64()),
    );
    section.figure(
        "SQLite: longest wait until others were told that it is busy, with a patience of 0.2 s",
        format!("{:.2} s", longest[1].as_secs_f64()),
    );
    section
}
