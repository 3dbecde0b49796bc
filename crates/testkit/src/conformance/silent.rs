//! An unresponsive PostgreSQL: stopped processes, and answers lost on an open connection. No error signals such a
//! server, so every wait has a timeout. The timeouts are short here; the cases check that calls return, what they
//! report, and what happens to the connection.

use std::sync::Mutex;
use std::time::Duration;

use tenure_client::phrasing::Commands;
use tenure_core::{Error, Stage};
use tenure_kernel::op::note;
use tenure_kernel::query;
use tenure_kernel::{Kernel, Op};
use tenure_store::table::project;
use tenure_store::{CommitDecision, Location, Options, Sql, Tx};

use super::Case;
use crate::fixture::{Engine, World, code_of, refusal};
use crate::pg::Own;
use crate::raw::{differing, dump};
use crate::relay::Relay;
use crate::stopped::Stopped;

const HERE: &[Engine] = &[Engine::Postgres];

pub(super) const CASES: &[Case] = &[
    Case::only(HERE, "inv_t2_a_session_that_stops_answering_is_busy_and_left_behind", left_behind),
    Case::only(
        HERE,
        "inv_t2_a_session_that_stops_inside_a_turn_changes_nothing_and_frees_it_when_it_wakes",
        inside_a_turn,
    ),
    Case::only(HERE, "inv_t6_a_commit_that_is_never_answered_is_answered_from_its_record", commit_unanswered),
    Case::only(HERE, "inv_t6_a_commit_that_is_never_answered_in_time_is_unknown_and_the_same_call_finds_out", unknown),
    Case::only(HERE, "inv_t2_a_server_that_stops_altogether_is_busy_for_all_who_share_a_pool", stopped_altogether),
];

fn noting(task: &str) -> Op {
    Op::new(note::Note { task: Some(task.into()), text: "once".into(), ..note::Note::default() })
}

/// A kernel with short timeouts.
fn hasty(location: &Location, world: &World, patience: Duration) -> Kernel {
    let options = Options { patience, answer: Duration::from_secs(1), ..world.options.clone() };
    Kernel::new(location.clone(), options, tenure_client::phrasing::of).unwrap()
}

fn project() -> project::NamedProject {
    project::NamedProject { key: "name:p".into(), label: "p".into() }
}

fn backend(tx: &mut dyn Tx) -> i32 {
    let rows = tx.query(Sql::same("SELECT CAST(pg_backend_pid() AS BIGINT)"), &[]).unwrap();
    rows[0].int(0).unwrap().try_into().unwrap()
}

/// Stops the session that the next call of a kernel would use.
fn stop_session(kernel: &Kernel) -> Stopped {
    Stopped::one(kernel.store().write(&project(), |tx, _| Ok(CommitDecision::Undo(backend(tx)))).unwrap())
}

fn is_silence(error: &Error) {
    assert_eq!((error.kind().as_str(), error.code().as_str(), error.retryable()), ("busy", "connection_lost", true));
    assert!(error.message().contains("did not answer"), "{error:?}");
}

fn left_behind(world: &World) {
    let task = world.add("first");
    let kernel = hasty(&world.location, world, Duration::from_secs(1));
    let call = world.call("a");
    let before = dump(&world.kernel);
    let read = stop_session(&kernel);
    let error = refusal(kernel.ask(&call, &query::show::Show { id: task.clone() }));
    is_silence(&error);
    assert!(
        error.stage() == Stage::Read && error.advice().unwrap().say(&Commands).contains("Nothing was changed"),
        "{error:?}"
    );
    // The session is still stopped, and the kernel no longer uses it.
    assert_eq!(kernel.ask(&call, &query::show::Show { id: task.clone() }).unwrap().task.title, "first");
    let written = stop_session(&kernel);
    let error = refusal(kernel.run(&call, &noting(&task)));
    is_silence(&error);
    assert_ne!(error.stage(), Stage::Commit);
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    assert!(!kernel.run(&call, &noting(&task)).unwrap().replayed, "the first had done nothing");
    drop((read, written));
    assert_eq!(world.show(&task)["notes"].as_array().unwrap().len(), 1);
}

fn inside_a_turn(world: &World) {
    let task = world.add("first");
    let kernel = hasty(&world.location, world, Duration::from_secs(1));
    let stopped = Mutex::new(None);
    let answer = kernel.store().write(&project(), |tx, _| {
        tx.execute(Sql::same("UPDATE task SET title = 'half'"), &[])?;
        *stopped.lock().unwrap() = Some(Stopped::one(backend(tx)));
        tx.execute(Sql::same("UPDATE task SET title = 'whole'"), &[])?;
        Ok(CommitDecision::Commit(()))
    });
    is_silence(&refusal(answer));
    // The stopped session keeps the turn until it wakes and finds its client gone, so no other writer can run beside
    // it.
    let waiting = hasty(&world.location, world, Duration::from_millis(200));
    assert_eq!(code_of(waiting.run(&world.call("b"), &noting(&task))), "store_busy");
    drop(stopped);
    world.note("b", &task, "goes on").unwrap();
    assert_eq!(world.show(&task)["title"], "first");
}

/// The server commits, and its answer is lost while the connection stays open.
fn commit_unanswered(world: &World) {
    let task = world.add("first");
    let relay = Relay::to(&world.location);
    let kernel = hasty(&relay.location(), world, Duration::from_secs(60));
    kernel.run(&world.call("a"), &noting(&task)).unwrap();
    let last = world.last_event();
    relay.mute_next_commit();
    let reply = kernel.run(&world.call("a"), &noting(&task)).unwrap();
    assert!(relay.has_swallowed());
    assert!(reply.replayed, "the second try finds the record of the first");
    assert_eq!(world.last_event(), last.next());
}

fn unknown(world: &World) {
    let task = world.add("first");
    let relay = Relay::to(&world.location);
    let kernel = hasty(&relay.location(), world, Duration::from_secs(1));
    kernel.run(&world.call("a"), &noting(&task)).unwrap();
    let last = world.last_event();
    relay.mute_next_commit();
    let call = world.call("a");
    let error = refusal(kernel.run(&call, &noting(&task)));
    is_silence(&error);
    assert!(error.stage() == Stage::Commit && error.advice().unwrap().say(&Commands).contains("unknown"), "{error:?}");
    assert_eq!(world.last_event(), last.next());
    let reply = kernel.run(&call, &noting(&task)).unwrap();
    assert!(reply.replayed, "the same call finds out");
    assert_eq!(world.last_event(), last.next());
}

/// Threads that share a kernel, as in a server: all get the error, and all continue when the server does.
fn stopped_altogether(world: &World) {
    let own = Own::start();
    let location = Location::Postgres(own.url("t"));
    let kernel = hasty(&location, world, Duration::from_secs(1));
    let made = Kernel::new(location, world.options.clone(), tenure_client::phrasing::of).unwrap();
    made.store().create().unwrap();
    let everybody = |look: &(dyn Fn() + Sync)| {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(look);
            }
        });
    };
    let call = world.call("a");
    everybody(&|| drop(kernel.ask(&call, &query::status::Status {}).unwrap()));
    let stopped = own.stop();
    everybody(&|| assert_eq!(refusal(kernel.ask(&call, &query::status::Status {})).kind().as_str(), "busy"));
    // All open connections are abandoned; the system accepts a new connection, and the server never answers on it.
    assert_eq!(code_of(kernel.ask(&call, &query::status::Status {})), "unreachable");
    drop(stopped);
    everybody(&|| {
        // The server has nine sessions to end first, and may be slow for a moment.
        while let Err(error) = kernel.ask(&call, &query::status::Status {}) {
            assert_eq!(error.kind().as_str(), "busy");
        }
    });
}
