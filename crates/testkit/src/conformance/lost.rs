//! An unreachable PostgreSQL: connections lost at the worst moment, and servers that do not answer or have no TLS.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tenure_client::phrasing::Commands;
use tenure_core::Stage;
use tenure_kernel::op::note;
use tenure_kernel::query;
use tenure_kernel::{Kernel, Op};
use tenure_store::table::project;
use tenure_store::{CommitDecision, Location, Options, Sql};

use super::Case;
use super::shorthand::claiming;
use crate::fixture::{Engine, World, code_of, refusal};
use crate::pg::server;
use crate::raw::{self, TABLES, both, differing, dump, execute};
use crate::relay::Relay;

const HERE: &[Engine] = &[Engine::Postgres];

pub(super) const CASES: &[Case] = &[
    Case::only(HERE, "inv_t4_a_session_killed_at_any_statement_leaves_nothing_and_the_call_goes_on", killed_at_any),
    Case::only(HERE, "inv_t4_a_session_killed_between_calls_is_not_noticed", killed_between),
    Case::only(HERE, "inv_t6_a_commit_whose_answer_was_lost_is_answered_from_its_record", answer_lost),
    Case::only(HERE, "inv_t6_a_commit_whose_answer_stays_lost_is_unknown_and_the_same_call_finds_out", stays_lost),
    Case::only(HERE, "a_schema_that_the_login_may_not_use_is_an_error_and_no_empty_store", hidden_schema),
    Case::only(HERE, "a_table_that_the_login_may_not_write_is_told_with_what_to_grant", ungranted_table),
    Case::only(HERE, "inv_t2_a_writer_that_waits_too_long_is_busy_and_changes_nothing", waits_too_long),
    Case::only(HERE, "inv_t2_a_writer_that_stops_inside_its_turn_is_thrown_out", stopped_writer),
    Case::only(HERE, "a_server_that_is_not_there_is_busy", not_there),
    Case::only(HERE, "a_server_that_never_answers_is_busy_in_time", never_answers),
    Case::only(HERE, "a_server_without_tls_is_refused_where_tls_is_required", no_tls),
    Case::only(HERE, "a_broken_handshake_is_refused_and_not_tried_again", bad_handshake),
];

fn noting(task: &str) -> Op {
    Op::new(note::Note { task: Some(task.into()), text: "once".into(), ..note::Note::default() })
}

/// A trigger ends its own session at the n-th statement of a transaction, once: sequences are not rolled back.
fn killed_at_any(world: &World) {
    let task = world.add("first");
    world.note("a", &task, "known").unwrap();
    let kernel = &world.kernel;
    execute(kernel, "", "CREATE SEQUENCE fuse").unwrap();
    let function = "CREATE FUNCTION fuse() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN
        IF nextval(''fuse'') = 1000 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END'";
    execute(kernel, "", function).unwrap();
    for (table, _) in TABLES {
        let each = format!(
            "CREATE TRIGGER fuse BEFORE INSERT OR UPDATE OR DELETE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION fuse()"
        );
        execute(kernel, "", &each).unwrap();
    }
    // Fires at COMMIT: the client waits for an answer that never comes.
    let at_commit = "CREATE CONSTRAINT TRIGGER fuse_commit AFTER INSERT ON event DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION fuse()";
    execute(kernel, "", at_commit).unwrap();
    let set = |n: i64| server().batch(&format!("SELECT setval('{}.fuse', {})", raw::schema(world), 1_000 - n));
    let position = || raw::number(kernel, "SELECT last_value FROM fuse", &[]);
    let mut killed = 0;
    for n in 1.. {
        let (before, last) = (dump(kernel)["note"].len(), world.last_event());
        set(n);
        let call = world.call("a");
        let reply = kernel.run(&call, &noting(&task)).unwrap();
        // The first attempt was killed and left nothing, so the successful one ran again, once.
        assert!(!reply.replayed);
        assert_eq!((dump(kernel)["note"].len(), world.last_event()), (before + 1, last.next()));
        if position() < 1_000 {
            break;
        }
        killed += 1;
    }
    assert!(killed >= 5, "agent, hold, event, note, request, project, commit: {killed}");
    set(0);
    world.sound();
}

fn killed_between(world: &World) {
    let task = world.add("first");
    for n in 0..3 {
        let kill = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE pid <> pg_backend_pid() AND query LIKE '%{}%'",
            raw::schema(world)
        );
        // The last statement of a session names the schema, so only the sessions of this world are ended.
        raw::query(&world.kernel, "", &format!("SELECT '{}'", raw::schema(world)));
        server().batch(&kill);
        world.note("a", &task, &format!("note {n}")).unwrap();
        server().batch(&kill);
        assert_eq!(world.show(&task)["notes"].as_array().unwrap().len(), n + 1);
    }
}

/// The server commits, and the connection is cut before the answer.
fn answer_lost(world: &World) {
    let task = world.add("first");
    let relay = Relay::to(&world.location);
    let kernel =
        Kernel::new(relay.location(), Options { ..world.options.clone() }, tenure_client::phrasing::of).unwrap();
    kernel.run(&world.call("a"), &noting(&task)).unwrap();
    let last = world.last_event();
    relay.swallow_next_commit();
    let call = world.call("a");
    let reply = kernel.run(&call, &noting(&task)).unwrap();
    assert!(relay.has_swallowed());
    assert!(reply.replayed, "the second try finds the record of the first");
    assert_eq!(world.last_event(), last.next());
    assert_eq!(world.show(&task)["notes"].as_array().unwrap().len(), 2);
    let again = world.kernel.run(&call, &noting(&task)).unwrap();
    assert_eq!(again, reply);
}

/// The server commits, the connection is cut before the answer, and stays cut: the retry cannot find out either.
fn stays_lost(world: &World) {
    let task = world.add("first");
    let relay = Relay::to(&world.location);
    let kernel =
        Kernel::new(relay.location(), Options { ..world.options.clone() }, tenure_client::phrasing::of).unwrap();
    kernel.run(&world.call("a"), &noting(&task)).unwrap();
    let last = world.last_event();
    relay.swallow_next_commit_and_stay_cut();
    let call = world.call("a");
    let error = refusal(kernel.run(&call, &noting(&task)));
    assert!(relay.has_swallowed());
    // The error must not claim that nothing was changed: it was, and the client cannot know.
    assert_eq!(world.last_event(), last.next());
    assert_eq!(
        (error.kind().as_str(), error.code().as_str(), error.stage()),
        ("busy", "connection_lost", Stage::Commit)
    );
    assert!(error.retryable() && error.advice().unwrap().say(&Commands).contains("unknown"), "{error:?}");
    assert_eq!(code_of(kernel.run(&world.call("a"), &noting(&task))), "unreachable", "this one never got there");
    relay.mend();
    let reply = kernel.run(&call, &noting(&task)).unwrap();
    assert!(reply.replayed, "the same call finds out");
    assert_eq!(world.last_event(), last.next());
}

/// PostgreSQL hides a schema from a login without rights. Treating it as an empty store would tell an agent that all
/// its tasks are gone.
fn hidden_schema(world: &World) {
    let task = world.add("first");
    let before = dump(&world.kernel);
    let login = server().fresh_schema();
    server().batch(&format!("CREATE ROLE {login} LOGIN PASSWORD 'x'"));
    let Location::Postgres(url) = &world.location else { panic!("this is about PostgreSQL") };
    let (_, place) = url.split_once("://").and_then(|(_, rest)| rest.split_once('@')).unwrap();
    let stranger = open(&format!("postgres://{login}:x@{place}"));
    let call = world.call("a");
    for error in [
        refusal(stranger.ask(&call, &query::status::Status {})),
        refusal(stranger.ask(&call, &query::show::Show { id: task.clone() })),
        refusal(stranger.run(&call, &claiming(&task))),
        refusal(stranger.store().identity()),
        refusal(stranger.store().create()),
        refusal(stranger.store().schema_version()),
        refusal(stranger.store().integrity()),
    ] {
        assert_eq!(
            (error.kind().as_str(), error.code().as_str(), error.retryable()),
            ("denied", "postgres_privilege", false)
        );
        assert!(error.about() == Some(raw::schema(world)) && error.advice().is_some(), "{error:?}");
    }
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    // A schema that really does not exist is still an empty store.
    let fresh = open(&format!("postgres://{login}:x@{}", place.replace(raw::schema(world), &server().fresh_schema())));
    assert_eq!(fresh.store().identity().unwrap(), None);
    server().batch(&format!("DROP ROLE {login}"));
}

fn ungranted_table(world: &World) {
    let task = world.add("first");
    let (login, schema) = (server().fresh_schema(), raw::schema(world));
    server().batch(&format!(
        "CREATE ROLE {login} LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA {schema} TO {login};
         GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {login}"
    ));
    let Location::Postgres(url) = &world.location else { panic!("this is about PostgreSQL") };
    let (_, place) = url.split_once("://").and_then(|(_, rest)| rest.split_once('@')).unwrap();
    let reader = open(&format!("postgres://{login}:x@{place}"));
    let call = world.call("a");
    reader.ask(&call, &query::show::Show { id: task.clone() }).unwrap();
    let error = refusal(reader.run(&call, &claiming(&task)));
    assert_eq!((error.kind().as_str(), error.code().as_str()), ("storage", "not_writable"));
    let advice = error.advice().map(|advice| advice.say(&Commands)).unwrap_or_default();
    assert!(advice.contains("Grant the login") && !advice.contains("sandbox"), "{advice}");
    server().batch(&format!("DROP OWNED BY {login}; DROP ROLE {login}"));
}

fn waits_too_long(world: &World) {
    let task = world.add("first");
    let patience = Duration::from_millis(30);
    let hasty =
        Kernel::new(world.location.clone(), Options { patience, ..world.options.clone() }, tenure_client::phrasing::of)
            .unwrap();
    let name = project::NamedProject { key: "name:p".into(), label: "p".into() };
    let before = dump(&world.kernel);
    let call = world.call("b");
    world
        .kernel
        .store()
        .write(&name, |_, _| {
            let error = refusal(hasty.run(&call, &claiming(&task)));
            assert_eq!((error.kind().as_str(), error.code().as_str(), error.retryable()), ("busy", "store_busy", true));
            Ok(CommitDecision::Undo(()))
        })
        .unwrap();
    assert_eq!(differing(&before, &dump(&world.kernel)), [""; 0]);
    // The same request again, without contention.
    assert!(!hasty.run(&call, &claiming(&task)).unwrap().replayed);
}

/// A client that stops inside its transaction loses the lock after five seconds; it is told so, and others continue.
/// The server's limit is shortened here, so that the test does not wait for it.
fn stopped_writer(world: &World) {
    let task = world.add("first");
    let name = project::NamedProject { key: "name:p".into(), label: "p".into() };
    let first = AtomicBool::new(true);
    let answer = world.kernel.store().write(&name, |tx, _| {
        tx.execute(Sql::same("UPDATE task SET title = 'half'"), &[])?;
        if first.swap(false, Ordering::SeqCst) {
            tx.execute(Sql::same("SET LOCAL idle_in_transaction_session_timeout = '1ms'"), &[])?;
            // Another writer waits for the row and gets it when the server has ended this session.
            world.another().run(&world.call("b"), &claiming(&task)).unwrap();
        }
        tx.execute(Sql::same("UPDATE task SET title = 'whole'"), &[])?;
        Ok(CommitDecision::Commit(()))
    });
    answer.unwrap();
    assert_eq!(
        (world.show(&task)["title"].clone(), world.show(&task)["state"].clone()),
        ("whole".into(), "held".into())
    );
    both(&world.kernel, "UPDATE task SET title = 'first'");
}

fn open(url: &str) -> Kernel {
    Kernel::new(Location::Postgres(url.to_owned()), Options::default(), tenure_client::phrasing::of).unwrap()
}

fn not_there(world: &World) {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let kernel = open(&format!("postgres://u:secret@127.0.0.1:{port}/d"));
    for error in [
        refusal(kernel.ask(&world.call("a"), &query::status::Status {})),
        refusal(kernel.run(&world.call("a"), &claiming("t-1"))),
        refusal(kernel.store().identity()),
    ] {
        assert_eq!((error.kind().as_str(), error.code().as_str(), error.retryable()), ("busy", "unreachable", true));
        assert!(!format!("{error:?}").contains("secret") && error.advice().is_some());
    }
}

fn never_answers(world: &World) {
    // A listener that accepts connections in its queue and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for tls in ["disable", "require"] {
        let kernel = open(&format!("postgres://u@127.0.0.1:{port}/d?connect_timeout=1&sslmode={tls}"));
        let begun = Instant::now();
        let error = refusal(kernel.ask(&world.call("a"), &query::status::Status {}));
        assert_eq!((error.kind().as_str(), error.code().as_str(), error.retryable()), ("busy", "unreachable", true));
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    }
}

/// A server that reads the request for TLS and answers with these bytes, to any number of clients.
fn answering(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 8];
            let _ = stream.read_exact(&mut request).and_then(|()| stream.write_all(bytes));
            // Until the client disconnects: closing first would be a different failure.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    port
}

fn is_refused(world: &World, port: u16, mode: &str) {
    let kernel = open(&format!("postgres://u@127.0.0.1:{port}/d?sslmode={mode}"));
    let error = refusal(kernel.ask(&world.call("a"), &query::status::Status {}));
    assert_eq!(
        (error.kind().as_str(), error.code().as_str(), error.retryable()),
        ("storage", "tls_refused", false),
        "{error:?}"
    );
    assert!(error.advice().is_some());
    assert_eq!(code_of(kernel.run(&world.call("a"), &claiming("t-1"))), "tls_refused");
}

fn no_tls(world: &World) {
    is_refused(world, answering(b"N"), "require");
}

fn bad_handshake(world: &World) {
    is_refused(world, answering(b"SHTTP/1.1 400 Bad Request\r\n\r\n"), "require");
}
