//! The engine for many machines: PostgreSQL.
//!
//! The writers of a project are serialised by a lock on its row. Statements are unnamed and typed, so that each needs
//! one round trip and works through a transaction pooler. Statements whose results are not needed at once are pipelined
//! with the next one (see `docs/design/0001-pipelined-postgres.md`).

mod notify;
mod redact;
mod tls;
mod tx;
mod url;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenure_core::{Code, Result, Span, Stage, id};

pub(crate) use notify::Listener;
pub use redact::redact;
pub use url::{Reached, reached};

use self::tx::{PostgresConnection, PostgresTx};
use self::url::{PostgresTarget, UrlDefaults};
use crate::copy;
use crate::error::{self, ABSENT, OLDER, absent};
use crate::migrate::{self, STEPS, VERSION};
use crate::sqlite::Sqlite;
use crate::store::{Body, CommitDecision, Entered, Options, Present, Size, StoreIdentity};
use crate::table::project;
use crate::tx::{Sql, Tx, Value};

/// The number of attempts of a call whose connection is lost.
const ATTEMPTS: usize = 4;

/// The advisory lock that serialises all migrations of Tenure on one server.
const MIGRATION_LOCK: i64 = 0x5445_4E55_5245;

/// The queue in which the writers of a project wait before they lock its row. Waiters on a changing row are not served
/// in order: a waiter that wakes must follow the row to its newest version and queue there again, behind newcomers.
/// This advisory lock does not change under its waiters, so they are served in order of arrival.
///
/// It provides order and freshness: the statement after it begins when the wait is over, so it reads the store's row as
/// fresh as the project's. (A restore takes the table lock instead, before its first snapshot.) Exclusion comes from
/// the row, so projects whose hashes collide only wait for each other. The lock is taken before the row and never after
/// it, so the two cannot deadlock. It ends with the transaction, so it works through a pooler. It is a statement of its
/// own, because a statement that locks and reads would read the state before its wait; pipelined with the next one, it
/// costs no round trip.
const QUEUE: Sql = Sql::same("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))");

/// Forces index plans. Every statement on a hot path is an ordered index range, with joins row by row. Left to its
/// statistics, which are missing right after a bulk insert, the planner chooses other plans (three to six times slower
/// with 100,000 tasks not yet analysed). Joins run in the order in which they are written. Compiling (JIT) a statement
/// that runs once never pays.
///
/// A page must come out of its index in order, so sorting is a last resort too. A statement that looks up a list and
/// needs order is therefore written as a join from the list to the index: for `= ANY (…) ORDER BY …` PostgreSQL would
/// scan the whole index that provides the order.
const BY_INDEX: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off; \
     SET LOCAL enable_mergejoin = off; SET LOCAL enable_sort = off; SET LOCAL enable_incremental_sort = off; \
     SET LOCAL enable_material = off; SET LOCAL join_collapse_limit = 1; SET LOCAL jit = off; \
     SET LOCAL plan_cache_mode = force_custom_plan";

pub(crate) struct Postgres {
    target: PostgresTarget,
    options: Options,
    pool: Mutex<Vec<PostgresConnection>>,
    trips: Arc<AtomicU64>,
    /// The longest wait for a turn or an answer, in milliseconds.
    hurry: AtomicU64,
}

/// The server's time limit for a statement over the whole store: a restore, a migration.
const LONG_ANSWER: Duration = Duration::from_secs(600);

impl Postgres {
    pub(crate) fn new(url: &str, options: Options) -> Result<Postgres> {
        let defaults = UrlDefaults { user: options.user.clone(), password: options.password.clone() };
        let target = PostgresTarget::parse(url, &defaults)?;
        let (pool, trips) = (Mutex::new(Vec::new()), Arc::new(AtomicU64::new(0)));
        Ok(Postgres { target, options, pool, trips, hurry: AtomicU64::new(u64::MAX) })
    }

    pub(crate) fn hurry(&self, limit: Duration) {
        self.hurry.store(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn hurried(&self) -> Duration {
        Duration::from_millis(self.hurry.load(Ordering::Relaxed))
    }

    /// The server's time limit for one statement.
    fn answer(&self) -> Duration {
        let answer = self.options.answer.min(self.hurried());
        // The client waits a quarter longer than the server's limit, and no longer than its deadline.
        self.options.deadline.map_or(answer, |deadline| answer.min(deadline.remaining() * 4 / 5))
    }

    /// How long a writer waits for its turn.
    fn patience(&self) -> Duration {
        self.options.turn().min(self.hurried())
    }

    pub(crate) fn write<T>(&self, project: &project::NamedProject, body: &Body<'_, T>) -> Result<T> {
        self.retrying(|remaining| {
            self.transact(&self.begin_write(remaining), |tx| {
                // Advisory locks are per database, so the schema is part of the key.
                tx.defer(QUEUE, vec![format!("{}/{}", self.target.schema, project.key).into()])?;
                let mut entered = self.enter(tx, &project.key, project::LockMode::Write)?;
                if entered.project.is_none() {
                    let row = project::Row::new(project, self.draw(8), entered.clock);
                    project::insert(tx, &row)?;
                    // Another writer may have inserted the row first: the row that counts is the one that can be locked
                    // now.
                    entered = self.enter(tx, &project.key, project::LockMode::Write)?;
                }
                let found = entered.project.as_ref().map_or(0, |row| row.schema_version);
                if found > VERSION {
                    return Err(error::newer_schema(found, VERSION));
                }
                if found < VERSION {
                    return Err(error::older_schema());
                }
                body(tx, entered)
            })
        })
    }

    pub(crate) fn read<T>(&self, key: &str, body: &dyn Fn(&mut dyn Tx, Entered) -> Result<T>) -> Result<T> {
        let read = || {
            self.again(|_| {
                self.transact(&self.begin_read(), |tx| {
                    let entered = self.enter(tx, key, project::LockMode::Read)?;
                    // The tables are the current ones, but the rows are those of the snapshot: a snapshot taken just
                    // before a migration sees new columns without values.
                    if entered.project.as_ref().is_some_and(|row| row.schema_version < VERSION) {
                        return Err(error::older_schema());
                    }
                    body(tx, entered).map(CommitDecision::Undo)
                })
            })
        };
        let answer = match read() {
            Err(error) if error.code() == OLDER => {
                self.migrate().map_err(|cause| error.cause(cause))?;
                read()
            }
            answer => answer,
        };
        match answer {
            Err(error) if error.code() == ABSENT => {
                self.check_hidden()?;
                Sqlite::memory(self.options.clone()).read_absent(body)
            }
            answer => answer,
        }
    }

    /// The table lock waits for all writers that have locked a project's row, and the next writers wait for it with
    /// their first statement. A statement that waited for a table lock takes its snapshot afterwards, so it finds the
    /// current rows, whether they were changed, removed or inserted. Plain reads need no lock that conflicts with this
    /// one.
    ///
    /// It is not retried after a lost connection, because no record says whether it was carried out. The client may be
    /// busy with files between two statements, so its idle timeout is longer than that of an op.
    pub(crate) fn rewrite<T>(&self, body: impl FnOnce(&mut dyn Tx, Present) -> Result<CommitDecision<T>>) -> Result<T> {
        self.create()?;
        self.transact_for(&self.begin_write(self.patience()), LONG_ANSWER, |tx| {
            tx.batch(&format!(
                "SET LOCAL statement_timeout = '{}ms'; SET LOCAL idle_in_transaction_session_timeout = '60s'; \
                 LOCK TABLE project IN EXCLUSIVE MODE",
                LONG_ANSWER.as_millis()
            ))?;
            let Entered { identity, clock, .. } = self.enter(tx, "", project::LockMode::Read)?;
            let found = project::schema(tx)?;
            if found > VERSION {
                return Err(error::newer_schema(found, VERSION));
            }
            let projects = copy::projects(tx)?;
            body(tx, Present { identity, projects, clock, is_copied: false })
        })
    }

    pub(crate) fn create(&self) -> Result<StoreIdentity> {
        self.retrying(|_| {
            self.transact(&self.begin_read(), |tx| {
                Ok(CommitDecision::Undo(self.enter(tx, "", project::LockMode::Read)?.identity))
            })
        })
    }

    pub(crate) fn identity(&self) -> Result<Option<StoreIdentity>> {
        let identity = self.read("", &|_, entered| Ok(entered.identity))?;
        Ok(if identity.id.is_empty() { None } else { Some(identity) })
    }

    /// PostgreSQL checks its own pages; the kernel's counters are checked above the store.
    pub(crate) fn integrity(&self) -> Result<Vec<String>> {
        self.read("", &|_, _| Ok(Vec::new()))
    }

    /// By how much the database's clock is ahead of this machine's.
    pub(crate) fn clock_ahead(&self) -> Result<Span> {
        self.again(|_| {
            self.transact(&self.begin_read(), |tx| {
                let (_, _, clock) = project::enter(tx, "", project::LockMode::Read)?;
                let here = self.options.clock.now();
                Ok(CommitDecision::Undo(clock.map_or(Span(0), |clock| clock - here)))
            })
        })
    }

    /// The size of all tables with their indexes, in bytes.
    pub(crate) fn size(&self) -> Result<Size> {
        let sql = Sql::same(
            "SELECT CAST(COALESCE(SUM(pg_total_relation_size(c.oid)), 0) AS BIGINT) FROM pg_class c
             JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'",
        );
        let bytes = self.again(|_| {
            self.transact(&self.begin_read(), |tx| {
                let rows = tx.query(sql, &[(&self.target.schema).into()])?;
                rows.first().map_or(Ok(0), |row| row.int(0)).map(CommitDecision::Undo)
            })
        })?;
        Ok(Size { database: u64::try_from(bytes).unwrap_or(0), log: 0, free: 0 })
    }

    pub(crate) fn schema_version(&self) -> Result<i64> {
        let read =
            self.again(|_| self.transact(&self.begin_read(), |tx| project::schema(tx).map(CommitDecision::Undo)));
        match read {
            Err(error) if error.code() == ABSENT => self.check_hidden().map(|()| 0),
            other => other,
        }
    }

    pub(crate) fn explain(&self, sql: Sql, args: &[Value]) -> Result<String> {
        self.again(|_| self.transact(&self.begin_read(), |tx| tx.explain("", sql, args).map(CommitDecision::Undo)))
    }

    pub(crate) fn explain_run(&self, sql: Sql, args: &[Value]) -> Result<String> {
        const RUN: &str = "(ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)";
        let begin = self.begin_write(self.patience());
        self.again(|_| self.transact(&begin, |tx| tx.explain(RUN, sql, args).map(CommitDecision::Undo)))
    }

    pub(crate) fn round_trips(&self) -> u64 {
        self.trips.load(Ordering::Relaxed)
    }

    fn draw<K: id::Drawn>(&self, length: usize) -> id::Id<K> {
        id::Id::draw(length, &mut |bytes| self.options.entropy.fill(bytes))
    }

    fn enter(&self, tx: &mut dyn Tx, key: &str, lock: project::LockMode) -> Result<Entered> {
        let (identity, project, clock) = project::enter(tx, key, lock)?;
        // Tables are looked up in the newest catalogue, rows in the transaction's snapshot: a snapshot taken just
        // before the store was created sees its tables and none of its rows.
        if identity.id.is_empty() {
            return Err(absent());
        }
        let clock = match clock {
            Some(clock) if !self.options.own_clock => clock,
            _ => self.options.clock.now(),
        };
        Ok(Entered { identity, project, clock })
    }

    /// Reads see one consistent snapshot over several statements.
    fn begin_read(&self) -> String {
        format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path = \"{}\"; \
             SET LOCAL statement_timeout = '{}ms'; SET LOCAL idle_in_transaction_session_timeout = '5s'; {BY_INDEX}",
            self.target.schema,
            self.answer().as_millis().max(1)
        )
    }

    /// READ COMMITTED: at a stricter level, the statement that waits for the project's row would fail instead of seeing
    /// the changes of the previous writer. The server disconnects a client that is idle in the transaction for 5 s.
    fn begin_write(&self, remaining: Duration) -> String {
        format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL search_path = \"{}\"; \
             SET LOCAL lock_timeout = '{}ms'; SET LOCAL statement_timeout = '{}ms'; \
             SET LOCAL idle_in_transaction_session_timeout = '5s'; {BY_INDEX}",
            self.target.schema,
            remaining.as_millis().max(1),
            self.answer().as_millis().max(1)
        )
    }

    /// Runs a call, and creates or migrates the store first if necessary.
    fn retrying<T>(&self, call: impl Fn(Duration) -> Result<T>) -> Result<T> {
        let mut migrated = false;
        loop {
            match self.again(&call) {
                Err(error)
                    if !migrated && (error.code() == OLDER || (error.code() == ABSENT && self.options.may_create)) =>
                {
                    self.migrate()?;
                    migrated = true;
                }
                other => return other,
            }
        }
    }

    /// Retries a call while its connection is lost and time remains. This is safe for writes: the request id is the
    /// same, so if the first commit succeeded unseen, the retry is answered from its record. After a silent server,
    /// most of that time is used up, and the caller gets the error.
    #[expect(clippy::disallowed_methods, reason = "a deadline is a duration of the process, not a time of the domain")]
    fn again<T>(&self, call: impl Fn(Duration) -> Result<T>) -> Result<T> {
        let begun = Instant::now();
        let mut attempt = 0;
        let mut outcome_unknown = false;
        loop {
            attempt += 1;
            let remaining = || self.patience().saturating_sub(begun.elapsed());
            match call(remaining()) {
                Err(error) if error.code() == Code::ConnectionLost && attempt < ATTEMPTS && !remaining().is_zero() => {
                    outcome_unknown |= error.stage() == Stage::Commit;
                }
                // A later error says nothing about the COMMIT whose answer was lost.
                Err(error) if outcome_unknown => return Err(error::outcome_unknown(error)),
                other => return other,
            }
        }
    }

    fn transact<T>(
        &self,
        begin: &str,
        body: impl FnOnce(&mut PostgresTx<'_>) -> Result<CommitDecision<T>>,
    ) -> Result<T> {
        self.transact_for(begin, self.answer(), body)
    }

    fn transact_for<T>(
        &self,
        begin: &str,
        answer: Duration,
        body: impl FnOnce(&mut PostgresTx<'_>) -> Result<CommitDecision<T>>,
    ) -> Result<T> {
        let mut connection = self.connection()?;
        let answer = {
            let mut tx = PostgresTx::begin(&mut connection, begin, answer);
            match body(&mut tx) {
                Ok(CommitDecision::Commit(answer)) => tx.commit().map(|()| answer),
                Ok(CommitDecision::Undo(answer)) => tx.rollback().map(|()| answer),
                Err(error) => {
                    // If the rollback fails too, the connection is closed below and the server rolls back.
                    let _ = tx.rollback();
                    Err(error)
                }
            }
        };
        self.keep(connection);
        answer
    }

    /// Returns a connection to the pool. If it was lost, the other pooled connections probably were too, so the pool is
    /// cleared: its users should not each run into a timeout.
    fn keep(&self, connection: PostgresConnection) {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if connection.is_usable() {
            pool.push(connection);
        } else {
            pool.clear();
        }
    }

    fn connection(&self) -> Result<PostgresConnection> {
        let pooled = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match pooled {
            // After the deadline there is no time for any request.
            _ if self.options.deadline.is_some_and(|deadline| deadline.is_over()) => Err(tx::unreachable(&self.target)),
            Some(connection) if connection.is_usable() => Ok(connection),
            _ => {
                let limit = self.options.answer.min(self.hurried());
                PostgresConnection::open(&self.target, self.trips.clone(), limit, self.options.deadline)
            }
        }
    }

    /// A schema that this login may not use looks absent: PostgreSQL leaves it out of the search path.
    fn check_hidden(&self) -> Result<()> {
        let sql = Sql::same(
            "SELECT CASE WHEN has_schema_privilege(oid, 'USAGE') THEN 1 ELSE 0 END FROM pg_namespace WHERE nspname = $1",
        );
        let found = self.transact("BEGIN READ ONLY", |tx| {
            let rows = tx.query(sql, &[(&self.target.schema).into()])?;
            rows.first().map(|row| row.int(0)).transpose().map(CommitDecision::Undo)
        })?;
        if found == Some(0) {
            return Err(error::hidden_schema(&self.target.schema));
        }
        Ok(())
    }

    fn migrate(&self) -> Result<()> {
        self.check_hidden()?;
        let schema = &self.target.schema;
        let begin = format!(
            "BEGIN; SET LOCAL lock_timeout = '{}ms'; SET LOCAL statement_timeout = '{}ms'; \
             SELECT pg_advisory_xact_lock({MIGRATION_LOCK})",
            self.patience().as_millis(),
            LONG_ANSWER.as_millis()
        );
        self.transact_for(&begin, LONG_ANSWER, |tx| {
            let exists = Sql::same("SELECT COUNT(*) FROM pg_namespace WHERE nspname = $1");
            if tx.query(exists, &[schema.into()])?.first().map(|row| row.int(0)).transpose()? == Some(0) {
                tx.batch(&format!("CREATE SCHEMA \"{schema}\""))?;
            }
            tx.batch(&format!("SET LOCAL search_path = \"{schema}\""))?;
            let tables = Sql::same("SELECT COUNT(*) FROM pg_tables WHERE schemaname = $1 AND tablename = 'store'");
            let found = tx.query(tables, &[schema.into()])?.first().map(|row| row.int(0)).transpose()?;
            let version = if found == Some(1) { project::schema(tx)? } else { 0 };
            if version > VERSION {
                return Err(error::newer_schema(version, VERSION));
            }
            for step in STEPS.iter().filter(|step| step.version > version) {
                tx.batch(&step.postgres())?;
                if step.version == 1 {
                    let identity = StoreIdentity { id: self.draw(id::LONGEST), incarnation: self.draw(id::LONGEST) };
                    project::insert_store(tx, &identity, self.options.clock.now())?;
                }
            }
            migrate::fill(tx, version)?;
            project::set_schema(tx, VERSION)?;
            Ok(CommitDecision::Commit(()))
        })
    }
}
