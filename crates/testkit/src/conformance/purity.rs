//! Queries change nothing: not a row, not a byte, for any caller and any state that the last writer left.

use std::path::Path;
use std::process::Command;

use tenure_core::number::EventNumber;
use tenure_core::task::TaskState;
use tenure_core::{Span, Stage};
use tenure_kernel::query;
use tenure_kernel::query::{check, holds, list, log, memories};
use tenure_kernel::{Actor, Call, Kernel};
use tenure_store::table::project;
use tenure_store::{CommitDecision, Location, Sql};

use super::Case;
use super::walk::every_op;
use crate::fixture::{Engine, World};
use crate::raw::{self, TABLES, bytes, dump};

pub(super) const CASES: &[Case] = &[
    Case::only(&[Engine::File], "inv_t5_ten_thousand_queries_leave_the_files_as_they_are", files_stay),
    Case::only(&[Engine::File], "inv_t5_queries_leave_the_files_of_a_killed_writer_as_they_are", killed_files_stay),
    Case::only(&[Engine::Memory, Engine::Postgres], "inv_t5_queries_leave_every_row_as_it_is", rows_stay),
    Case::shared("inv_t5_a_query_where_there_is_no_store_makes_none", makes_none),
    Case::shared("inv_t5_a_query_neither_waits_for_a_writer_nor_sees_half_of_it", beside_a_writer),
    Case::everywhere("inv_t5_a_query_cannot_write", cannot_write),
];

/// The environment variable that makes the test binary a process that writes and dies; its value is the store's file.
const DIES: &str = "TENURE_TESTKIT_DIES";

/// In a process started for it: writes a store and dies without closing it. In any other: returns.
pub fn die_if_asked() {
    if let Some(path) = std::env::var_os(DIES) {
        die(Path::new(&path));
    }
}

fn die(path: &Path) -> ! {
    let mut world = World::new(Engine::Memory);
    // In the directory of the waiting test, which no other process removes.
    world.dir = tempfile::tempdir_in(path.parent().unwrap()).unwrap();
    world.engine = Engine::File;
    world.location = Location::File(path.to_owned());
    world.kernel = world.another();
    prepare(&world);
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}

/// A project in which everything is due: an expired hold, a hold to renew, an agent that is gone.
fn prepare(world: &World) {
    every_op(world, |call, op| world.kernel.run(call, op));
    let task = world.add("lapses");
    world.claim_for("c", &task, 60).unwrap();
    world.advance(Span::minutes(50));
}

/// Asks every query once and returns the number.
fn ask_all(kernel: &Kernel, call: &Call, task: &str, hold: &str) -> usize {
    let list = |filter: list::List| kernel.ask(call, &filter).map(drop);
    let log = |filter: log::Log| kernel.ask(call, &filter).map(drop);
    let person = Call { actor: Actor::named("person:ann"), ..call.clone() };
    let answers = [
        kernel.ask(call, &query::status::Status {}).map(drop),
        kernel.ask(call, &query::show::Show { id: task.into() }).map(drop),
        kernel.ask(call, &query::show_hold::ShowHold { id: hold.into() }).map(drop),
        kernel.ask(call, &query::graph::Graph { id: task.into() }).map(drop),
        kernel.ask(call, &query::why::Why { id: task.into() }).map(drop),
        kernel.ask(call, &query::next::Next { labels: Vec::new() }).map(drop),
        kernel.ask(call, &query::next::Next { labels: vec!["x".into()] }).map(drop),
        kernel.ask(call, &holds::Holds::of(None, 10)).map(drop),
        kernel.ask(call, &check::Check { paths: vec!["src/".into()], ..Default::default() }).map(drop),
        kernel.ask(call, &query::agents::Agents { within_us: None, limit: 10, cursor: None }).map(drop),
        kernel.ask(call, &query::suspects::Suspects { host: "host".into() }).map(drop),
        kernel.ask(call, &query::task_id::ResolveTask { typed: task[..4].into() }).map(drop),
        kernel.ask(call, &query::health::Health {}).map(drop),
        kernel.ask(call, &query::switched_on::SwitchedOn {}).map(drop),
        list(list::List { limit: 3, ..list::List::default() }),
        list(list::List { states: vec![TaskState::Ready, TaskState::Stuck], ..list::List::default() }),
        list(list::List { labels: vec!["x".into()], all: true, ..list::List::default() }),
        log(log::Log { limit: 5, ..log::Log::default() }),
        log(log::Log { since: Some(log::Since::Number(EventNumber::new(3))), limit: 5, ..log::Log::default() }),
        log(log::Log { subject: Some(task.to_owned()), limit: 5, ..log::Log::default() }),
        kernel.store().identity().map(drop),
        kernel
            .ask(
                call,
                &query::recall::Recall {
                    question: "task".into(),
                    filter: memories::Memories { limit: 5, ..memories::Memories::default() },
                },
            )
            .map(drop),
        kernel.ask(call, &memories::Memories { limit: 5, ..memories::Memories::default() }).map(drop),
        kernel.export(call, true, &mut Vec::new()).map(drop),
        kernel.store().size().map(drop),
        kernel.store().rows().map(drop),
        kernel.store().clock_ahead().map(drop),
        kernel.ask(&person, &query::tokens::Tokens { principal: None, limit: 5, cursor: None }).map(drop),
        kernel
            .ask(&person, &query::members::Members { principal: None, project: None, limit: 5, cursor: None })
            .map(drop),
        kernel.ask(&person, &query::principals::Principals { limit: 5, cursor: None }).map(drop),
        kernel.who_is(&"1a".repeat(32)).map(drop),
        kernel.who_is_session(&"3c".repeat(32)).map(drop),
        // Another case may hold the turn, so this may be refused, which is a valid answer too.
        kernel.store().queue(std::time::Duration::ZERO).map(drop),
    ];
    assert!(kernel.ask(call, &query::show::Show { id: "t-00000".into() }).is_err());
    let asked = answers.len() + 1;
    for answer in answers {
        answer.unwrap();
    }
    asked
}

fn some_ids(world: &World, kernel: &Kernel) -> (String, String) {
    let call = world.call("person:ann");
    let tasks = holds::Filter { kind: Some("task".into()), ..holds::Filter::default() };
    let hold =
        kernel.ask(&call, &holds::Holds { filter: tasks.clone(), limit: 1, cursor: None }).unwrap().items.remove(0);
    (hold.subject, hold.id.into())
}

fn ask_many(world: &World, kernel: &Kernel, at_least: usize) {
    let (task, hold) = some_ids(world, kernel);
    let mut asked = 0;
    while asked < at_least {
        // A known agent, one that is gone, a person, and an unknown agent.
        for agent in ["a", "c", "person:ann", "nobody-knows-me"] {
            asked += ask_all(kernel, &world.call(agent), &task, &hold);
        }
    }
}

fn files_stay(world: &World) {
    let inner = World::new(Engine::File);
    prepare(&inner);
    let World { kernel, dir: _dir, location, options, .. } = inner;
    drop(kernel);
    let Location::File(path) = &location else { unreachable!() };
    let modified = || std::fs::metadata(path).unwrap().modified().unwrap();
    let (before, at) = (bytes(path), modified());
    assert!(before.0.len() > 4_096 && before.1.is_empty());
    let open = || Kernel::new(location.clone(), options.clone(), tenure_client::phrasing::of).unwrap();
    // Half of them on persistent connections, half with short-lived kernels.
    ask_many(world, &open(), 5_000);
    for _ in 0..60 {
        ask_many(world, &open(), 84);
    }
    assert_eq!(bytes(path), before);
    assert_eq!(modified(), at);
}

fn killed_files_stay(world: &World) {
    let path = raw::file(world).to_owned();
    let ended = Command::new(std::env::current_exe().unwrap()).env(DIES, &path).status().unwrap();
    assert!(!ended.success());
    world.advance(Span::minutes(50));
    let before = bytes(&path);
    assert!(!before.1.is_empty(), "the killed process left its changes in the -wal");
    let reader = world.another();
    ask_many(world, &reader, 1_000);
    let call = world.call("person:ann");
    assert!(
        reader.ask(&call, &query::status::Status {}).unwrap().last_event > EventNumber::new(20),
        "what was acknowledged is there"
    );
    drop(reader);
    assert_eq!(bytes(&path), before);
    // The next writer continues from there.
    world.add("after the kill");
    world.sound();
}

fn rows_stay(world: &World) {
    prepare(world);
    let look = || {
        let mut seen = vec![format!("{:?}", dump(&world.kernel))];
        if world.engine == Engine::Postgres {
            // Rows are not even rewritten with the same content: their location and their writer are unchanged.
            for (table, _) in TABLES {
                let sql = format!(
                    "SELECT CAST(ctid AS TEXT), CAST(xmin AS TEXT), CAST(xmax AS TEXT) FROM {table} ORDER BY 1"
                );
                seen.extend(raw::query(&world.kernel, "SELECT 1", &sql));
            }
        }
        seen
    };
    let before = look();
    ask_many(world, &world.kernel, if world.engine == Engine::Postgres { 1_000 } else { 10_000 });
    assert_eq!(look(), before);
}

fn makes_none(world: &World) {
    let call = world.call("a");
    let kernel = &world.kernel;
    assert_eq!(kernel.ask(&call, &query::status::Status {}).unwrap().last_event, 0);
    assert!(kernel.ask(&call, &list::List::default()).unwrap().items.is_empty());
    assert!(kernel.ask(&call, &log::Log { limit: 5, ..log::Log::default() }).unwrap().items.is_empty());
    assert_eq!(kernel.ask(&call, &query::show::Show { id: "t-00000".into() }).unwrap_err().code(), "not_found");
    assert!(kernel.ask(&call, &query::next::Next { labels: Vec::new() }).unwrap().task.is_none());
    assert_eq!((kernel.store().identity().unwrap(), kernel.store().schema_version().unwrap()), (None, 0));
    assert_eq!(kernel.store().integrity().unwrap(), [""; 0]);
    match world.engine {
        Engine::Postgres => {
            let sql = format!("SELECT nspname FROM pg_namespace WHERE nspname = '{}'", raw::schema(world));
            assert!(crate::pg::server().query(&sql).is_empty());
        }
        _ => assert_eq!(std::fs::read_dir(world.dir.path()).unwrap().count(), 0),
    }
}

fn beside_a_writer(world: &World) {
    let task = world.add("first");
    let name = project::NamedProject { key: "name:p".into(), label: "p".into() };
    let reader = world.another();
    let call = world.call("b");
    world
        .kernel
        .store()
        .write(&name, |tx, _| {
            tx.execute(Sql::same("UPDATE task SET title = 'half'"), &[])?;
            // This thread holds the write lock: a query that waited for it would never return.
            assert_eq!(reader.ask(&call, &query::show::Show { id: task.clone() }).unwrap().task.title, "first");
            assert_eq!(reader.ask(&call, &list::List::default()).unwrap().items[0].title, "first");
            Ok(CommitDecision::Commit(()))
        })
        .unwrap();
    assert_eq!(reader.ask(&call, &query::show::Show { id: task.clone() }).unwrap().task.title, "half");
}

fn cannot_write(world: &World) {
    world.add("first");
    let before = dump(&world.kernel);
    if world.engine != Engine::Memory {
        let write = Sql::same("UPDATE task SET title = 'changed by a query'");
        let error = world.kernel.store().read("name:p", |tx, _| tx.execute(write, &[])).unwrap_err();
        assert_eq!((error.code().as_str(), error.stage()), ("not_writable", Stage::Write));
    }
    assert_eq!(dump(&world.kernel), before);
}
