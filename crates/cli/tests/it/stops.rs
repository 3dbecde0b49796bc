//! A server that is stopped while it has the turn, or in a transaction: direct access is refused, and the continued
//! server does nothing for clients that have left.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tenure_client::wire::WireRequest;
use tenure_client::{Expected, Socket, socket_path};
use tenure_kernel::op::lock;
use tenure_kernel::{Actor, Call, Condition, Op, RequestId};
use tenure_store::table::project;

use crate::client::{Up, bearer, home, token};
use crate::home::{Engine, Home, Output};

/// Waits for a condition. It polls every millisecond, because the state in which the server must be stopped may last
/// only a few, and `wait_until` polls less often.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..60_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{what} never came");
}

fn beside(home: &Home, end: &str) -> PathBuf {
    let mut path = home.database().into_os_string();
    path.push(end);
    path.into()
}

/// Whether another process holds a lock of the turnstile.
fn is_taken(home: &Home, end: &str) -> bool {
    File::open(beside(home, end)).unwrap().try_lock().is_err()
}

fn begin(home: &Home, agent: &str, args: &[&str]) -> Child {
    let mut command = home.call(args).json().agent(agent).into_command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A metric of a server.
fn figure(up: &Up, admin: &str, name: &str) -> f64 {
    let said = up.ask("GET", "/metrics", &[("Authorization", admin)], None).body;
    let line = said.as_str().unwrap().lines().find(|line| line.starts_with(&format!("tenure_{name} "))).unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

/// A socket client that announces a wait of a minute, and disconnects soon.
fn leaves(home: &Home, agent: &str, name: &str) {
    let path = socket_path::socket_path(&home.database(), None).unwrap();
    let expected = Expected { store: None, file: socket_path::file_identity(&home.database()) };
    let socket = Socket::connect(&path, &expected, Duration::from_secs(60)).unwrap();
    let call = Call {
        project: project::NamedProject { key: "name:web".into(), label: "web".into() },
        actor: Actor::named(agent),
        request_id: RequestId::given("r1").unwrap(),
        checkout: None,
        pinned_store: None,
        keep_events: None,
        proven_dead: Vec::new(),
        condition: Condition::None,
    };
    let op = Op::new(lock::Lock { name: name.into(), ..lock::Lock::default() });
    let request = WireRequest::op(&call, &op, Some(60_000)).unwrap();
    assert!(socket.send_within(&request, Duration::from_millis(100)).is_err());
}

#[test]
fn inv_s11_a_server_stopped_in_the_line_for_its_turn_does_nothing_for_those_who_left() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let admin = bearer(&token(&home, "person:ann", "admin", "*"));
    let turn = File::open(beside(&home, "-turn-b")).unwrap();
    turn.lock().unwrap();
    // With the first request the server reaches the front of the line and waits for the turn; the second waits behind
    // it.
    leaves(&home, "claude-1", "deploy");
    until("the server", || is_taken(&home, "-turn-a"));
    leaves(&home, "claude-2", "deploy");
    up.signal(Signal::STOP);
    drop(turn);
    up.signal(Signal::CONT);
    home.add("after it");
    let actors: Vec<_> = home.events().into_iter().map(|event| event.actor).collect();
    assert!(actors.iter().all(|actor| !actor.starts_with("claude")), "{actors:?}");
    until("the count of those who left", || figure(&up, &admin, "ops_not_run_total") == 2.0);
    home.ok_as("claude-3", &["lock", "deploy"]);
    home.replayed();
}

#[test]
fn inv_s11_a_server_stopped_inside_a_transaction_takes_it_back_for_those_who_left() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let admin = bearer(&token(&home, "person:ann", "admin", "*"));
    let size = || std::fs::metadata(beside(&home, "-wal")).map_or(0, |meta| meta.len());
    // So many rows that writing them takes far longer than the signal. They stay in memory until the commit, so the log of
    // the database grows only then.
    let item = format!("{{\"title\":\"one of many\",\"description\":\"{}\"}}\n", "word ".repeat(400));
    let before = size();
    let mut adding = begin(&home, "claude-1", &["add", "--stdin"]);
    let mut input = adding.stdin.take().unwrap();
    std::thread::spawn(move || drop(input.write_all(item.repeat(5_000).as_bytes())));
    until("the turn of the server", || is_taken(&home, "-turn-b"));
    up.signal(Signal::STOP);
    assert!(is_taken(&home, "-turn-b"), "the server was stopped in its turn");
    assert_eq!(size(), before, "the server was stopped before the commit");
    let refused = Output::of(&adding.wait_with_output().unwrap());
    assert_eq!(refused.code, 3, "{refused:?}");
    assert_eq!(refused.refusal().code, "turnstile");
    up.signal(Signal::CONT);
    home.add("after it");
    assert_eq!(home.ok(&["list"])["total"], 2);
    until("the count of those who left", || figure(&up, &admin, "ops_not_run_total") == 1.0);
    home.replayed();
}
