//! Compares a library op with raw SQLite: the same process, disk and durability.
//!
//! The raw side is another store with the same schema and a plain connection: `BEGIN IMMEDIATE`, one prepared statement
//! for each row that the op writes, with values of the same length, then `COMMIT`. It reads nothing, decides nothing
//! and never waits. The bare commit is the lower bound: one row into a table without an index.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use tempfile::TempDir;
use tenure_kernel::Op;
use tenure_store::Location;

use crate::WARM_UP;
use crate::caller::{Caller, adding, claiming, finishing, noting};
use crate::table::{Table, quantile};

const EVENT: &str = "INSERT INTO event (project, number, at, kind, actor, subject, hold, op, request_id, cause, data)
    VALUES ('p', ?1, ?2, 'task.noted', 'agent', ?3, ?4, 'note', ?5, NULL, ?6)";
const REQUEST: &str = "INSERT INTO request (project, actor, op, request_id, fingerprint, response, expires_at)
    VALUES ('p', 'agent', 'note', ?1, ?2, ?3, ?4)";
const SEEN: &str = "UPDATE agent SET last_seen = ?1, ended_at = 0, gone = 0 WHERE project = 'p' AND name = 'agent'";
const FOCUS: &str = "UPDATE agent SET focus = ?1 WHERE project = 'p' AND name = 'agent'";
const PROJECT: &str = "UPDATE project SET last_event = ?1, last_time = ?2, last_task = ?1 WHERE key = 'name:p'";
const NOTE: &str = "INSERT INTO note (project, id, task, number, agent, at, text, data, late)
    VALUES ('p', ?1, ?2, ?3, 'agent', ?4, 'half way', '', 0)";
const TASK: &str = "INSERT INTO task (project, id, number, title, description, acceptance, priority, labels, assignee, status,
        ready, reason, blocked_on, deps, unmet, cancelled_deps, attempt, version, last_fence, last_holder, lapsed,
        created_by, created_at, updated_at, finished_by, finished_at)
    VALUES ('p', ?1, ?2, 'one more', '', '', 2, '[]', '', 'open', 1, '', '', 0, 0, 0, 0, 1, 0, '', 0, 'agent', ?3, ?3, '', 0)";
const MOVE: &str = "UPDATE task SET status = ?2, ready = 0, version = version + 1, last_fence = ?3, updated_at = ?4
    WHERE project = 'p' AND id = ?1";
const HOLD: &str = "INSERT INTO hold (project, id, kind, subject, mode, holder, fence, granted_at, expires_at, ttl, renewal,
        reason, ended_at, ended_how)
    VALUES ('p', ?1, 'task', ?2, 'exclusive', 'agent', ?3, ?4, ?4 + 3600000000, 3600000000, 'session', 'one more', 0, '')";
const END: &str = "UPDATE hold SET ended_at = ?2, ended_how = 'finished' WHERE project = 'p' AND id = ?1";
const SHOWN: &str = "INSERT INTO shown (project, agent, task, fence) VALUES ('p', 'agent', ?1, ?2)";

/// A store written without a kernel.
struct Raw {
    connection: Connection,
    number: i64,
    _dir: TempDir,
}

impl Raw {
    fn new() -> Raw {
        let (dir, location) = place();
        // The kernel creates the file, so that the schema is the same. After that only this connection uses it.
        Caller::new(&location, "p", "agent").kernel.store().create().unwrap();
        let Location::File(path) = location else { unreachable!() };
        let connection = Connection::open(path).unwrap();
        connection.execute_batch("PRAGMA synchronous = FULL; CREATE TABLE bare (text TEXT)").unwrap();
        connection.set_prepared_statement_cache_capacity(64);
        connection
            .execute_batch(
                "INSERT INTO project (id, key, label, schema_version, first_event, last_event, last_time, last_task, holds_issued,
                     tasks_ready, tasks_waiting, tasks_stuck, tasks_started, tasks_blocked, tasks_done, tasks_cancelled, created_at)
                 VALUES ('p', 'name:p', 'p', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
                 INSERT INTO agent (project, name, tool, registered_at, last_seen, ended_at, gone, focus, host, boot, pidns, pid, started)
                 VALUES ('p', 'agent', '', 0, 0, 0, 0, '', '', '', '', 0, 0)",
            )
            .unwrap();
        Raw { connection, number: 0, _dir: dir }
    }

    fn run(&self, sql: &str, values: impl rusqlite::Params) {
        self.connection.prepare_cached(sql).unwrap().execute(values).unwrap();
    }

    /// One transaction that writes the rows of an op: those common to all ops, and its own.
    fn commit(&mut self, answer: &str, subject: &str, own: impl Fn(&Raw, i64, i64)) -> Duration {
        let start = Instant::now();
        self.number += 1;
        let (number, now) = (self.number, 2_000_000_000_000_000 + self.number);
        // The values are as long as the kernel's ids, hashes and texts.
        let request = format!("{number:026}");
        let data = format!("{{\"text\":\"half way\",\"late\":false,\"note\":\"{number:07}\"}}");
        self.run("BEGIN IMMEDIATE", []);
        self.run(SEEN, [now]);
        own(self, number, now);
        self.run(EVENT, params![number, now, subject, "", request, data]);
        self.run(REQUEST, params![request, format!("{number:064}"), answer, now]);
        self.run(PROJECT, [number, now]);
        self.run("COMMIT", []);
        start.elapsed()
    }

    fn add(&mut self, answer: &str, task: &str) -> Duration {
        self.commit(answer, task, |raw, number, now| raw.run(TASK, params![task, number, now]))
    }

    fn note(&mut self, answer: &str, task: &str) -> Duration {
        self.commit(answer, task, |raw, number, now| {
            raw.run(NOTE, params![format!("n-{number:05}"), task, number, now]);
        })
    }

    fn claim(&mut self, answer: &str, task: &str) -> Duration {
        self.commit(answer, task, |raw, number, now| {
            raw.run(HOLD, params![format!("h-{task}"), task, number, now]);
            raw.run(MOVE, params![task, "started", number, now]);
            raw.run(FOCUS, [task]);
            raw.run(SHOWN, params![task, number]);
        })
    }

    fn finish(&mut self, answer: &str, task: &str) -> Duration {
        self.commit(answer, task, |raw, number, now| {
            raw.run(END, params![format!("h-{task}"), now]);
            raw.run(MOVE, params![task, "done", number, now]);
            raw.run(FOCUS, [""]);
        })
    }

    fn bare(&self) -> Duration {
        let start = Instant::now();
        self.run("INSERT INTO bare (text) VALUES ('one row')", []);
        start.elapsed()
    }
}

pub(crate) fn place() -> (TempDir, Location) {
    let dir = tempfile::Builder::new().prefix("tn-").tempdir().unwrap();
    let location = Location::File(dir.path().join("tenure.db"));
    (dir, location)
}

/// The times of an op, of the same rows raw, and of a bare row.
type Three = (Duration, Duration, Duration);

pub(crate) fn against_sqlite(runs: usize) -> Table {
    let mut table = Table::new(
        "An op of the library against raw SQLite, one thread, full sync",
        &["op", "rows", "ops per second", "raw", "op / raw", "op / raw by p50", "bare", "op / bare"],
    );
    let (_dir, location) = place();
    let caller = Caller::new(&location, "p", "agent");
    let (mut raw, bare) = (Raw::new(), Raw::new());
    let own = caller.add();
    let timed = |op: &Op| {
        let start = Instant::now();
        let answer = caller.run(op);
        (start.elapsed(), answer)
    };
    let (mut noted, mut added, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..WARM_UP + runs {
        let (time, answer) = timed(&noting(&own));
        noted.push((time, raw.note(&answer, &own), bare.bare()));
        let (time, answer) = timed(&adding());
        let task = serde_json::from_str::<serde_json::Value>(&answer).unwrap()["id"].as_str().unwrap().to_owned();
        added.push((time, raw.add(&answer, &task), bare.bare()));
        let (claimed, answer) = timed(&claiming(&task));
        let raw_claimed = raw.claim(&answer, &task);
        let (finished, answer) = timed(&finishing(&task));
        let raw_finished = raw.finish(&answer, &task);
        pairs.push((claimed + finished, raw_claimed + raw_finished, bare.bare() + bare.bare()));
    }
    row(&mut table, "`note`", "5", 1.0, &noted);
    row(&mut table, "`add`", "5", 1.0, &added);
    row(&mut table, "`claim`, `done`", "8, 7", 2.0, &pairs);
    table
}

/// Rates are commits over the total time, including checkpoints.
fn row(table: &mut Table, name: &str, rows: &str, commits: f64, times: &[Three]) {
    let times = &times[WARM_UP..];
    let rate = |pick: fn(&Three) -> Duration| {
        commits * times.len() as f64 / times.iter().map(pick).sum::<Duration>().as_secs_f64()
    };
    let p50 = |pick: fn(&Three) -> Duration| quantile(times.iter().map(pick).collect(), 0.5);
    let (op, raw, bare) = (rate(|t| t.0), rate(|t| t.1), rate(|t| t.2));
    table.rows.push(vec![
        name.to_owned(),
        rows.to_owned(),
        format!("{op:.0}"),
        format!("{raw:.0}"),
        format!("{:.2}", op / raw),
        format!("{:.2}", p50(|t| t.1) / p50(|t| t.0)),
        format!("{bare:.0}"),
        format!("{:.2}", op / bare),
    ]);
}
