//! Turns on PostgreSQL: writers of a project are served in order of arrival, and each sees the changes of its
//! predecessor.

use std::sync::{Mutex, mpsc};
use std::thread;

use tenure_core::number::EventNumber;
use tenure_kernel::Kernel;
use tenure_store::table::project;
use tenure_store::{CommitDecision, Entered, Sql, Tx};

use super::Case;
use crate::fixture::{Engine, World};

pub(super) const CASES: &[Case] = &[
    Case::only(&[Engine::Postgres], "inv_t2_writers_are_served_in_the_order_they_came", in_order),
    Case::only(&[Engine::Postgres], "inv_t2_who_waited_sees_what_the_writer_before_committed", sees_the_newest),
    Case::only(&[Engine::Postgres], "projects_of_one_name_in_two_schemas_do_not_wait_for_each_other", apart),
];

fn name() -> project::NamedProject {
    project::NamedProject { key: "name:p".into(), label: "p".into() }
}

/// The number of transactions that wait for this one, directly or transitively.
const WAITING: Sql = Sql::same(
    "WITH RECURSIVE queue (pid) AS (
         SELECT pid FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))
         UNION
         SELECT l.pid FROM pg_locks l JOIN queue ON NOT l.granted AND queue.pid = ANY (pg_blocking_pids(l.pid)))
     SELECT COUNT(*) FROM queue",
);

/// There is no notification when another transaction starts to wait, so this polls. It polls inside the awaited
/// transaction, because the server ends one that is idle for long.
fn until_waiting(tx: &mut dyn Tx, wanted: usize) {
    while tx.query(WAITING, &[]).unwrap()[0].int(0).unwrap() < i64::try_from(wanted).unwrap() {
        thread::yield_now();
    }
}

/// Takes a turn of the project and changes its row, as every op does.
fn turn(kernel: &Kernel, body: impl Fn(&mut dyn Tx, &Entered)) {
    let write = |tx: &mut dyn Tx, entered: Entered| {
        body(tx, &entered);
        tx.execute(Sql::same("UPDATE project SET holds_issued = holds_issued + 1"), &[])?;
        Ok(CommitDecision::Commit(()))
    };
    kernel.store().write(&name(), write).unwrap();
}

/// Six writers arrive one after the other while a seventh has its turn; each returns as soon as it was served. No
/// writer is served twice before all were served once, and they are served in order of arrival.
fn in_order(world: &World) {
    const WRITERS: usize = 6;
    world.add("so that the project exists");
    let served = Mutex::new(Vec::new());
    thread::scope(|scope| {
        turn(&world.kernel, |tx, _| {
            for n in 0..WRITERS {
                let served = &served;
                scope.spawn(move || {
                    let kernel = world.another();
                    for _ in 0..2 {
                        turn(&kernel, |_, _| served.lock().unwrap().push(n));
                    }
                });
                until_waiting(tx, n + 1);
            }
        });
    });
    let served = served.into_inner().unwrap();
    assert_eq!(served.len(), 2 * WRITERS);
    assert_eq!(served[..WRITERS], (0..WRITERS).collect::<Vec<_>>(), "{served:?}");
}

/// The snapshot of a statement is taken before it waits. Every row that a writer gets at its turn must be current at
/// that time.
fn sees_the_newest(world: &World) {
    world.add("so that the project exists");
    let second = world.another();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        turn(&world.kernel, |tx, _| {
            let (second, tell) = (&second, tell.clone());
            scope.spawn(move || {
                turn(second, |_, entered| {
                    let project = entered.project.as_ref().unwrap();
                    tell.send((project.last_event, project.label.clone(), entered.identity.incarnation.clone()))
                        .unwrap();
                });
            });
            until_waiting(tx, 1);
            tx.execute(Sql::same("UPDATE project SET last_event = 4711, label = 'newer'"), &[]).unwrap();
            tx.execute(Sql::same("UPDATE store SET incarnation = 'newer'"), &[]).unwrap();
        });
    });
    assert_eq!(told.recv().unwrap(), (EventNumber::new(4711), "newer".to_owned(), "newer".into()));
}

/// Lock numbers are per database; a store is a schema.
fn apart(world: &World) {
    let other = World::new(Engine::Postgres);
    turn(&world.kernel, |_, _| turn(&other.kernel, |_, _| {}));
}
