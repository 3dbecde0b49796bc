//! Opening a store: concurrent first calls create it once, an up-to-date store is unchanged, and a newer one is not
//! written.

use std::collections::BTreeSet;
use std::sync::Barrier;

use tenure_kernel::Op;
use tenure_kernel::op::{add, note};
use tenure_kernel::query;
use tenure_kernel::query::log;
use tenure_kernel::{Call, Kernel};
use tenure_store::migrate::{STEPS, VERSION};
use tenure_store::table::project;
use tenure_store::{CommitDecision, Location, Options, Sql, Store};

use super::Case;
use crate::fixture::{Engine, World, refusal};
use crate::raw::{self, BACK_TO_THE_FIRST, TABLES, both, bytes, dump, execute};

pub(super) const CASES: &[Case] = &[
    Case::shared("inv_t11_opening_an_up_to_date_store_writes_nothing", opening_writes_nothing),
    Case::shared("inv_t11_twenty_first_opens_make_one_store", twenty_first_opens),
    Case::only(&[Engine::File], "inv_t11_twenty_first_opens_make_one_store_without_the_turnstile", |_| {
        twenty_first_opens(&World::with(Engine::File, |options| options.turnstile = false));
    }),
    Case::shared("inv_t11_twenty_first_ops_are_all_there", twenty_first_ops),
    Case::everywhere("inv_t11_a_newer_schema_is_read_and_not_written", newer_schema),
    Case::shared("inv_t11_an_older_store_is_brought_up_to_date_by_whoever_comes", older_store),
    Case::only(&[Engine::Postgres], "inv_t11_both_engines_have_one_schema", one_schema),
    Case::everywhere("inv_t11_a_migration_that_fails_leaves_nothing_and_can_be_repeated", failed_migration),
    Case::shared("inv_c2_two_kernels_in_one_process_do_not_meet", kernels_do_not_meet),
];

fn opening_writes_nothing(world: &World) {
    world.add("first");
    match world.engine {
        Engine::Postgres => {
            let places = || {
                let read = |(table, _): &(&str, &str)| {
                    raw::query(
                        &world.kernel,
                        "",
                        &format!("SELECT CAST(ctid AS TEXT), CAST(xmin AS TEXT) FROM {table}"),
                    )
                };
                TABLES.iter().flat_map(read).collect::<Vec<_>>()
            };
            let before = places();
            open_all_ways(&world.another());
            assert_eq!(places(), before);
        }
        _ => {
            let inner = World::new(Engine::File);
            inner.add("first");
            let World { kernel, dir: _dir, location, options, .. } = inner;
            drop(kernel);
            let Location::File(path) = &location else { unreachable!() };
            let meta = || std::fs::metadata(path).unwrap().modified().unwrap();
            let names = || {
                let dir = std::fs::read_dir(path.parent().unwrap()).unwrap();
                dir.map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>()
            };
            let before = (bytes(path), meta(), names());
            open_all_ways(&Kernel::new(location.clone(), options, tenure_client::phrasing::of).unwrap());
            assert_eq!((bytes(path), meta(), names()), before);
        }
    }
}

fn open_all_ways(kernel: &Kernel) {
    let store = kernel.store();
    let identity = store.create().unwrap();
    assert_eq!(store.identity().unwrap(), Some(identity));
    assert_eq!((store.schema_version().unwrap(), store.integrity().unwrap()), (VERSION, Vec::new()));
}

fn twenty_first_opens(world: &World) {
    let barrier = Barrier::new(20);
    let identities: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    let store = Store::new(world.location.clone(), world.options.clone()).unwrap();
                    barrier.wait();
                    store.create().unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(!identities[0].id.is_empty() && identities[0].id != identities[0].incarnation);
    assert!(identities.iter().all(|identity| *identity == identities[0]), "{identities:?}");
    let dump = dump(&world.kernel);
    assert_eq!((dump["store"].len(), dump["project"].len()), (1, 0));
    assert_eq!(world.kernel.store().schema_version().unwrap(), VERSION);
}

/// Not only opened: each kernel writes at once, and some read.
fn twenty_first_ops(world: &World) {
    world.race(20, |n, kernel| {
        let call = world.call(&format!("agent-{n}"));
        if n % 4 == 0 {
            kernel.ask(&call, &query::status::Status {}).unwrap();
        }
        kernel.run(&call, &Op::new(add::Add::titled(&format!("task {n}")))).unwrap();
    });
    assert_eq!(dump(&world.kernel)["project"].len(), 1);
    assert_eq!(world.count("project.created"), 1);
    assert_eq!(world.count("task.added"), 20);
    world.sound();
}

fn newer_schema(world: &World) {
    let task = world.add("first");
    let newer = VERSION + 1;
    execute(
        &world.kernel,
        &format!("PRAGMA user_version = {newer}"),
        &format!("WITH s AS (UPDATE store SET schema_version = {newer}) UPDATE project SET schema_version = {newer}"),
    )
    .unwrap();
    let before = dump(&world.kernel);
    let elsewhere = project::NamedProject { key: "name:q".into(), label: "q".into() };
    let refused = |kernel: &Kernel| {
        let add = Op::new(add::Add::titled("second"));
        // In an existing project, and in a new one.
        for call in [world.call("a"), Call { project: elsewhere.clone(), ..world.call("a") }] {
            let error = refusal(kernel.run(&call, &add));
            assert_eq!(
                (error.kind().as_str(), error.code().as_str(), error.retryable()),
                ("storage", "newer_schema", false)
            );
            assert_eq!((error.get("found").unwrap(), error.get("known").unwrap()), (&newer.into(), &VERSION.into()));
            assert!(error.advice().is_some());
        }
        assert_eq!(
            kernel.ask(&world.call("a"), &query::show::Show { id: task.clone() }).unwrap().task.title,
            "first",
            "reads still answer"
        );
    };
    // A kernel that had the store open during the migration, and a later one.
    refused(&world.kernel);
    if world.engine != Engine::Memory {
        refused(&world.another());
    }
    assert_eq!(dump(&world.kernel), before);
}

/// A store of an older version is read and written like any other, also if creating a store is not allowed.
fn older_store(world: &World) {
    let task = world.add("first");
    let before = dump(&world.kernel);
    let name = project::NamedProject { key: "name:p".into(), label: "p".into() };
    let age = || {
        let mut statements = vec![Sql::pair("PRAGMA user_version = 1", "SELECT 1")];
        statements.extend(BACK_TO_THE_FIRST.iter().map(|sql| Sql::same(sql)));
        statements.push(Sql::same(raw::first_view()));
        let store = world.kernel.store();
        store.write(&name, |tx, _| {
            statements.iter().try_for_each(|sql| tx.query(*sql, &[]).map(|_| ()))?;
            Ok(CommitDecision::Commit(()))
        })
    };
    let pinned = || {
        Kernel::new(
            world.location.clone(),
            Options { may_create: false, ..world.options.clone() },
            tenure_client::phrasing::of,
        )
        .unwrap()
    };
    let call = world.call("a");
    age().unwrap();
    assert_eq!(pinned().ask(&call, &log::Log { limit: 1, ..log::Log::default() }).unwrap().total, Some(3));
    // The position of an agent in the log is unknown for the time before it was recorded.
    let differ = raw::differing(&before, &dump(&world.kernel));
    assert_eq!(differ, ["delivery"], "a query brings it up to date and changes nothing else");
    age().unwrap();
    let note = note::Note { task: Some(task.into()), text: "here".into(), ..note::Note::default() };
    pinned().run(&call, &Op::new(note)).unwrap();
    assert_eq!(world.kernel.store().schema_version().unwrap(), VERSION);
    world.sound();
}

fn one_schema(world: &World) {
    let sqlite = World::new(Engine::Memory);
    sqlite.kernel.store().create().unwrap();
    world.kernel.store().create().unwrap();
    let same = |sqlite_sql: &str, postgres_sql: &str| {
        let of_sqlite = raw::query(&sqlite.kernel, sqlite_sql, "");
        assert!(of_sqlite.len() >= TABLES.len());
        assert_eq!(of_sqlite, raw::query(&world.kernel, "", postgres_sql));
        of_sqlite
    };
    // Every column: its table, whether it is nullable, its position in the primary key.
    let columns = same(
        "SELECT m.name || '.' || c.name || ' ' || c.\"notnull\" || ' ' || c.pk AS line
         FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY line",
        "SELECT line FROM (SELECT c.relname || '.' || a.attname || ' ' || CAST(a.attnotnull AS INT) || ' '
                || COALESCE(array_position(CAST(i.indkey AS INT2[]), a.attnum) + 1, 0) AS line
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
         LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
         WHERE c.relkind = 'r' AND c.relnamespace = CAST(current_schema() AS REGNAMESPACE)
        ) l ORDER BY line COLLATE \"C\"",
    );
    let named = |line: &String| line.split(['"', '.']).nth(1).unwrap().to_owned();
    let tables: BTreeSet<String> = columns.iter().map(named).collect();
    assert_eq!(tables, TABLES.iter().map(|(table, _)| (*table).to_owned()).collect(), "every table is dumped");
    // Every index: its columns in order, whether it is unique, whether it is partial.
    same(
        "SELECT i.name || ' ' || i.\"unique\" || i.partial || ' '
                || (SELECT group_concat(c.name, ',') FROM pragma_index_info(i.name) c) AS line
         FROM sqlite_schema m JOIN pragma_index_list(m.name) i WHERE m.type = 'table' AND i.origin = 'c' ORDER BY line",
        "SELECT line FROM (SELECT n.relname || ' ' || CAST(i.indisunique AS INT) || CAST(i.indpred IS NOT NULL AS INT) || ' '
                || (SELECT string_agg(a.attname, ',' ORDER BY k.place)
                    FROM unnest(CAST(i.indkey AS INT2[])) WITH ORDINALITY k (number, place)
                    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number) AS line
         FROM pg_index i JOIN pg_class n ON n.oid = i.indexrelid
         WHERE NOT i.indisprimary AND n.relnamespace = CAST(current_schema() AS REGNAMESPACE)
        ) l ORDER BY line COLLATE \"C\"",
    );
    // Texts compare bytewise on both engines; any other collation would order lists differently.
    let odd = raw::query(
        &world.kernel,
        "",
        "SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
         JOIN pg_collation l ON l.oid = a.attcollation
         WHERE c.relkind = 'r' AND c.relnamespace = CAST(current_schema() AS REGNAMESPACE) AND l.collname <> 'C'",
    );
    assert_eq!(odd, [""; 0]);
}

/// A migration step runs in a transaction: a failed one leaves no trace.
fn failed_migration(world: &World) {
    assert!(STEPS.iter().all(|step| !step.sqlite().contains("COMMIT") && !step.postgres().contains("COMMIT")));
    if world.engine == Engine::Postgres {
        // A table made by hand conflicts with the last index.
        let schema = raw::schema(world);
        let server = crate::pg::server();
        server.batch(&format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.request_expires (x BIGINT)"));
        world.kernel.store().create().unwrap_err();
        let sql = format!("SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'");
        assert_eq!(server.query(&sql), [vec![Some("request_expires".to_owned())]]);
        server.batch(&format!("DROP TABLE {schema}.request_expires"));
    }
    world.kernel.store().create().unwrap();
    world.add("first");
    world.sound();
}

/// The same project, agent and request id in two stores: they share nothing.
fn kernels_do_not_meet(world: &World) {
    let others = [World::new(Engine::Memory), World::new(Engine::File), World::new(Engine::Postgres)];
    let call = world.call("a");
    world.kernel.run(&call, &Op::new(add::Add::titled("here"))).unwrap();
    for other in &others {
        assert_eq!(other.last_event(), 0);
        let reply = other.kernel.run(&call, &Op::new(add::Add::titled("there"))).unwrap();
        assert!(!reply.replayed);
        assert_ne!(other.kernel.store().identity().unwrap(), None);
    }
    assert_eq!(world.last_event(), 3);
    // Two kernels on one store have no private state: each sees the other's changes at once.
    let second = world.another();
    let task = world.add("seen by both");
    assert_eq!(
        second.ask(&world.call("b"), &query::show::Show { id: task.clone() }).unwrap().task.title,
        "seen by both"
    );
    both(&second, "UPDATE task SET title = 'changed'");
    drop(second);
    assert_eq!(world.show(&task)["title"], "changed");
    world.claim("b", &task).unwrap();
}
