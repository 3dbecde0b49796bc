//! Fault injection: a failed statement, a panicking clock or random source, and an aborted body leave no trace.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tenure_core::{Code, Error, Result, Time};
use tenure_kernel::{Kernel, Reply};
use tenure_store::table::project;
use tenure_store::{Clock, CommitDecision, Entropy, Sql};

use super::Case;
use super::walk::every_op;
use crate::fixture::{Seeded, TestClock, World};
use crate::raw::{TABLES, both, differing, dump, execute};

pub(super) const CASES: &[Case] = &[
    Case::everywhere("inv_t4_an_op_that_fails_at_any_write_leaves_nothing", |world| fails_at_any_write(world, "ABORT")),
    Case::everywhere("inv_t4_a_transaction_that_the_engine_ends_leaves_nothing", |world| {
        fails_at_any_write(world, "ROLLBACK");
    }),
    Case::everywhere("inv_t4_an_op_that_panics_anywhere_leaves_nothing", panics_anywhere),
    Case::everywhere("inv_t4_a_body_that_gives_up_or_panics_leaves_nothing", bodies_that_fail),
];

/// Counts down at every write and fails the one at zero. The counter is rolled back with the transaction, so a fault
/// stays in place until it is moved.
fn set_traps(kernel: &Kernel, how: &str) {
    both(kernel, "CREATE TABLE fault (n BIGINT NOT NULL)");
    both(kernel, "INSERT INTO fault VALUES (1000000)");
    let function = "CREATE FUNCTION fault() RETURNS TRIGGER LANGUAGE plpgsql AS 'DECLARE left_over BIGINT; BEGIN
        UPDATE fault SET n = n - 1 RETURNING n INTO left_over;
        IF left_over = 0 THEN RAISE EXCEPTION ''a fault''; END IF; RETURN NULL; END'";
    execute(kernel, "SELECT 1 WHERE 0", function).unwrap();
    for (table, _) in TABLES {
        for verb in ["INSERT", "UPDATE", "DELETE"] {
            let sqlite = format!(
                "CREATE TRIGGER fault_{table}_{verb} BEFORE {verb} ON {table} BEGIN
                     UPDATE fault SET n = n - 1; SELECT RAISE({how}, 'a fault') FROM fault WHERE n = 0; END"
            );
            let postgres = format!(
                "CREATE TRIGGER fault_{verb} BEFORE {verb} ON {table} FOR EACH STATEMENT EXECUTE FUNCTION fault()"
            );
            execute(kernel, &sqlite, &postgres).unwrap();
        }
    }
}

fn set_fault(kernel: &Kernel, at: i64) {
    both(kernel, &format!("UPDATE fault SET n = {at}"));
}

/// Fails an op at its first write, then at its second, until it succeeds: each failure leaves nothing, and the same
/// request can be retried.
fn fails_at_any_write(world: &World, how: &str) {
    let world = &World::with(world.engine, |options| options.any_schema = true);
    world.kernel.store().create().unwrap();
    both(&world.kernel, "UPDATE project SET label = label");
    set_traps(&world.kernel, how);
    let mut faults = 0;
    every_op(world, |call, op| {
        let before = dump(&world.kernel);
        for at in 1.. {
            set_fault(&world.kernel, at);
            match world.kernel.run(call, op) {
                Ok(reply) => {
                    set_fault(&world.kernel, 1_000_000);
                    assert!(at > 3, "{} writes at least its rows, its event and its record", op.name());
                    assert!(!reply.replayed);
                    faults += at - 1;
                    return Ok(reply);
                }
                Err(error) => {
                    assert!(!error.is_refusal(), "{error:?}");
                    set_fault(&world.kernel, 1_000_000);
                    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0], "{} at write {at}", op.name());
                }
            }
        }
        unreachable!()
    });
    assert!(faults > 100, "{faults}");
    world.sound();
}

/// A clock and random source that panic at a chosen call. The panic bypasses the hook, so nothing is printed.
struct Tripwire {
    left: AtomicI64,
    random: Seeded,
}

impl Tripwire {
    fn step(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            resume_unwind(Box::new("the world ended"));
        }
    }

    fn set(&self, at: i64) {
        self.left.store(at, Ordering::SeqCst);
    }
}

impl Clock for Tripwire {
    fn now(&self) -> Time {
        self.step();
        TestClock::START
    }
}

impl Entropy for Tripwire {
    fn fill(&self, buffer: &mut [u8]) {
        self.step();
        self.random.fill(buffer);
    }
}

fn panics_anywhere(world: &World) {
    let trip = Arc::new(Tripwire { left: AtomicI64::new(0), random: Seeded::new(5) });
    let world = World::with(world.engine, |options| {
        options.clock = trip.clone();
        options.entropy = trip.clone();
    });
    // Creating the store is a separate transaction.
    world.kernel.store().create().unwrap();
    let mut panics = 0;
    every_op(&world, |call, op| {
        let before = dump(&world.kernel);
        for at in 1.. {
            trip.set(at);
            let ended = catch_unwind(AssertUnwindSafe(|| world.kernel.run(call, op)));
            trip.set(0);
            match ended {
                Ok(reply) => return reply,
                Err(_) => {
                    panics += 1;
                    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0], "{} at call {at}", op.name());
                }
            }
        }
        unreachable!()
    });
    assert!(panics > 20, "{panics}");
    world.sound();
}

fn bodies_that_fail(world: &World) {
    let name = project::NamedProject { key: "name:p".into(), label: "p".into() };
    world.add("first");
    let before = dump(&world.kernel);
    let half = Sql::same("UPDATE task SET title = 'half'");
    let store = world.kernel.store();
    let given_up: Result<Reply> = store.write(&name, |tx, _| {
        tx.execute(half, &[])?;
        tx.defer(Sql::same("DELETE FROM event"), Vec::new())?;
        Err(Error::new(Code::Internal, "no more"))
    });
    given_up.unwrap_err();
    assert_eq!(dump(&world.kernel), before);
    let undone = store.write(&name, |tx, _| tx.execute(half, &[]).map(CommitDecision::Undo)).unwrap();
    assert_eq!((undone, dump(&world.kernel)), (1, before.clone()));
    // More panics than a pool has connections to lose, and also in a read.
    for _ in 0..5 {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            store.write(&name, |tx, _| -> Result<CommitDecision<()>> {
                tx.execute(half, &[]).unwrap();
                resume_unwind(Box::new("a body ended"))
            })
        }));
        assert!(panicked.is_err());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            store.read("name:p", |_, _| -> Result<()> { resume_unwind(Box::new("a look ended")) })
        }));
        assert!(panicked.is_err());
    }
    assert_eq!(dump(&world.kernel), before);
    world.add("second");
    world.sound();
}
