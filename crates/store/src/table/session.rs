//! The `session` table: sessions of agent tools, with the process, id and agent of each.

use tenure_core::agent::Process;
use tenure_core::name::AgentName;
use tenure_core::session::StoredSession;
use tenure_core::{Result, Time};

use crate::statement::Statement;
use crate::tx::{Sql, Tx, Value, list};

/// A session's row, with the last activity of its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The session as input of the identity decision.
    pub seen: StoredSession,
    /// The tool's name.
    pub tool: String,
    /// When it last got a message between two prompts.
    pub told_at: Option<Time>,
    /// Whether its context was compacted, and the lost part was not shown again.
    pub is_shortened: bool,
    /// Whether its whole context was cleared.
    pub is_cleared: bool,
    /// Whether its process sent a second event: only then is the end of that process evidence.
    pub again: bool,
}

/// The columns of a session, in the order of [`decode`]; the last activity of its agent follows.
macro_rules! columns {
    ($prefix:literal) => {
        listed!($prefix;
            host, boot, pidns, pid, started, tool, session, agent, began_at, ended_at, told_at, shortened_at, again_at)
    };
}

/// On PostgreSQL the tool is compared as an expression: without statistics, an index that begins with it would read
/// every session of the tool.
const OF_PROCESS: Sql = Sql::pair(
    concat!("SELECT ", columns!("s."), ", COALESCE(a.last_seen, 0)
     FROM session s LEFT JOIN agent a ON a.project = s.project AND a.name = s.agent
     WHERE s.project = $1 AND s.host = $2 AND s.boot = $3 AND s.pidns = $4 AND s.pid = $5 AND s.started = $6 AND s.tool = $7
     ORDER BY s.session LIMIT 1000"),
    concat!("SELECT ", columns!("s."), ", COALESCE(a.last_seen, 0)
     FROM session s LEFT JOIN agent a ON a.project = s.project AND a.name = s.agent
     WHERE s.project = $1 AND s.host = $2 AND s.boot = $3 AND s.pidns = $4 AND s.pid = $5 AND s.started = $6 AND s.tool || '' = $7
     ORDER BY s.session LIMIT 1000"),
);

const OF_ID: Sql = Sql::same(concat!(
    "SELECT ",
    columns!("s."),
    ", COALESCE(a.last_seen, 0)
     FROM session s LEFT JOIN agent a ON a.project = s.project AND a.name = s.agent
     WHERE s.project = $1 AND s.tool = $2 AND s.session = $3
     ORDER BY s.began_at, s.agent, s.host, s.boot, s.pidns, s.pid, s.started LIMIT 1000"
));

const OF_AGENT: Sql = Sql::same(concat!(
    "SELECT ",
    columns!("s."),
    ", CAST(0 AS BIGINT)
     FROM session s WHERE s.project = $1 AND s.agent = $2
     ORDER BY s.began_at, s.host, s.boot, s.pidns, s.pid, s.started, s.tool, s.session LIMIT 1000"
));

const AMONG: Sql = Sql::pair(
    concat!("SELECT ", columns!("s."), ", CAST(0 AS BIGINT)
     FROM json_each($5) j CROSS JOIN session s
       ON s.project = $1 AND s.host = $2 AND s.boot = $3 AND s.pidns = $4 AND s.pid = CAST(j.value AS INTEGER)
     ORDER BY s.pid, s.started, s.tool, s.session"),
    concat!("SELECT ", columns!("s."), ", CAST(0 AS BIGINT)
     FROM json_array_elements_text(CAST($5 AS JSON)) j CROSS JOIN LATERAL
       (SELECT * FROM session WHERE project = $1 AND host = $2 AND boot = $3 AND pidns = $4 AND pid = CAST(j.value AS BIGINT)
        OFFSET 0) s
     ORDER BY s.pid, s.started, s.tool, s.session"),
);

fn decode(mut row: crate::Row) -> Result<Row> {
    let process =
        Process { host: row.text(0)?, boot: row.text(1)?, pidns: row.text(2)?, pid: row.int(3)?, started: row.int(4)? };
    Ok(Row {
        tool: row.text(5)?,
        seen: StoredSession {
            process,
            session: row.text(6)?,
            agent: row.id(7)?,
            began_at: row.time(8)?,
            ended: row.int(9)? != 0,
            last_seen: row.time(13)?,
        },
        told_at: row.optional_time(10)?,
        is_shortened: row.int(11)? != 0,
        is_cleared: row.int(11)? < 0,
        again: row.int(12)? != 0,
    })
}

fn many(rows: Vec<crate::Row>) -> Result<Vec<Row>> {
    rows.into_iter().map(decode).collect()
}

/// The sessions of a process.
pub fn of_process(project: &str, process: &Process, tool: &str) -> Statement<Vec<Row>> {
    let mut args = key(project, process);
    args.push(tool.into());
    Statement::new(OF_PROCESS, args, many)
}

/// The sessions with an id, oldest first.
pub fn of_id(project: &str, tool: &str, session: &str) -> Statement<Vec<Row>> {
    Statement::new(OF_ID, vec![project.into(), tool.into(), session.into()], many)
}

/// The sessions of an agent, oldest first.
pub fn of_agent(tx: &mut dyn Tx, project: &str, agent: &str) -> Result<Vec<Row>> {
    many(tx.query(OF_AGENT, &[project.into(), agent.into()])?)
}

/// The sessions of the given pids on one host. `here` supplies everything but the pid and the start time.
pub fn among(tx: &mut dyn Tx, project: &str, here: &Process, pids: &[i64]) -> Result<Vec<Row>> {
    let pids = serde_json::Value::from(pids).to_string();
    let args = [project.into(), (&here.host).into(), (&here.boot).into(), (&here.pidns).into(), pids.into()];
    many(tx.query(AMONG, &args)?)
}

/// The live sessions on one host whose agents hold something: agent, process, and whether the process sent a second
/// event; unordered.
pub fn of_holders(tx: &mut dyn Tx, project: &str, host: &str) -> Result<Vec<(AgentName, Process, bool)>> {
    // Walks from one holder to the next: an agent with thousands of holds is one step. Left to itself, SQLite scans all
    // sessions of the host for each of them, and PostgreSQL all live holds for a MIN.
    let sql = Sql::pair(
        "WITH RECURSIVE found (holder) AS (
             SELECT MIN(holder) FROM hold WHERE project = $1 AND ended_at = 0 AND holder > ''
             UNION ALL
             SELECT (SELECT MIN(n.holder) FROM hold n WHERE n.project = $1 AND n.ended_at = 0 AND n.holder > found.holder)
             FROM found WHERE found.holder IS NOT NULL)
         SELECT s.agent, s.host, s.boot, s.pidns, s.pid, s.started, s.again_at
         FROM (SELECT holder FROM found WHERE holder IS NOT NULL
               UNION SELECT agent FROM place WHERE project = $1 AND ended_at = 0 AND agent > '') w
         CROSS JOIN session s INDEXED BY session_agent
             ON s.project = $1 AND s.agent = w.holder AND s.host = $2 AND s.ended_at = 0 LIMIT 1000",
        "WITH RECURSIVE found (holder) AS (
             SELECT (SELECT holder FROM hold WHERE project = $1 AND ended_at = 0 AND holder > '' ORDER BY holder, id LIMIT 1)
             UNION ALL
             SELECT (SELECT n.holder FROM hold n WHERE n.project = $1 AND n.ended_at = 0 AND n.holder > found.holder
                     ORDER BY n.holder, n.id LIMIT 1)
             FROM found WHERE found.holder IS NOT NULL)
         SELECT s.agent, s.host, s.boot, s.pidns, s.pid, s.started, s.again_at
         FROM (SELECT holder FROM found WHERE holder IS NOT NULL
               UNION SELECT agent FROM place WHERE project = $1 AND ended_at = 0 AND agent > '') w
         CROSS JOIN LATERAL (SELECT * FROM session WHERE project = $1 AND agent = w.holder AND host = $2
                               AND ended_at = 0 OFFSET 0) s LIMIT 1000",
    );
    let rows = tx.query(sql, &[project.into(), host.into()])?;
    rows.into_iter()
        .map(|row| {
            let again = row.int(6)? != 0;
            agent(row).map(|(name, process)| (name, process, again))
        })
        .collect()
}

/// The live sessions of the given agents: agent and process, unordered.
pub fn live_of(tx: &mut dyn Tx, project: &str, names: &[AgentName]) -> Result<Vec<(AgentName, Process)>> {
    let sql = Sql::pair(
        "SELECT s.agent, s.host, s.boot, s.pidns, s.pid, s.started FROM json_each($2) j
         CROSS JOIN session s INDEXED BY session_agent ON s.project = $1 AND s.agent = j.value AND s.ended_at = 0",
        "SELECT s.agent, s.host, s.boot, s.pidns, s.pid, s.started FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT * FROM session WHERE project = $1 AND agent = j.value AND ended_at = 0 OFFSET 0) s",
    );
    tx.query(sql, &[project.into(), list(names)])?.into_iter().map(agent).collect()
}

fn agent(mut row: crate::Row) -> Result<(AgentName, Process)> {
    let process =
        Process { host: row.text(1)?, boot: row.text(2)?, pidns: row.text(3)?, pid: row.int(4)?, started: row.int(5)? };
    Ok((row.id(0)?, process))
}

fn key(project: &str, process: &Process) -> Vec<Value> {
    vec![
        project.into(),
        (&process.host).into(),
        (&process.boot).into(),
        (&process.pidns).into(),
        process.pid.into(),
        process.started.into(),
    ]
}

/// Records the agent of a session; `again` if its process sent an earlier event.
pub fn put(tx: &mut dyn Tx, project: &str, tool: &str, seen: &StoredSession, again: bool) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO session (project, host, boot, pidns, pid, started, tool, session, agent, began_at, ended_at, told_at,
                              shortened_at, again_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, 0, $11)
         ON CONFLICT (project, host, boot, pidns, pid, started, tool, session)
         DO UPDATE SET agent = excluded.agent, began_at = excluded.began_at, ended_at = 0, shortened_at = 0,
             again_at = excluded.again_at",
    );
    let mut args = key(project, &seen.process);
    let again_at = if again { seen.began_at } else { Time(0) };
    args.extend([tool.into(), (&seen.session).into(), (&seen.agent).into(), seen.began_at.into(), again_at.into()]);
    tx.defer(sql, args)
}

/// Deletes a session that another one has replaced.
pub fn forget(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "DELETE FROM session WHERE project = $1 AND host = $2 AND boot = $3 AND pidns = $4 AND pid = $5 AND started = $6
           AND tool = $7 AND session = $8",
    );
    let mut args = key(project, &row.seen.process);
    args.extend([(&row.tool).into(), (&row.seen.session).into()]);
    tx.defer(sql, args)
}

/// Marks the sessions of an agent in a process as ended.
pub fn end(tx: &mut dyn Tx, project: &str, process: &Process, agent: &str, now: Time) -> Result<()> {
    let sql = Sql::same(
        "UPDATE session SET ended_at = $8
         WHERE project = $1 AND host = $2 AND boot = $3 AND pidns = $4 AND pid = $5 AND started = $6 AND agent = $7
           AND ended_at = 0",
    );
    let mut args = key(project, process);
    args.extend([agent.into(), now.into()]);
    tx.defer(sql, args)
}

/// The statement that sets a time of one session: the column, and an additional condition.
macro_rules! set {
    ($column:literal, $only:literal) => {
        Sql::same(concat!(
            "UPDATE session SET ",
            $column,
            " = $9 WHERE project = $1 AND host = $2 AND boot = $3 AND pidns = $4 AND pid = $5 AND started = $6
               AND tool = $7 AND session = $8 AND agent = $10",
            $only
        ))
    };
}

/// One session of a process, as one agent.
#[derive(Clone, Copy, Debug)]
pub struct ProcessSession<'a> {
    /// The agent. Sessions of other agents in that process are left unchanged.
    pub agent: &'a AgentName,
    /// The tool's process.
    pub process: &'a Process,
    /// The tool's name.
    pub tool: &'a str,
    /// The session id.
    pub session: &'a str,
}

impl ProcessSession<'_> {
    fn set(&self, tx: &mut dyn Tx, project: &str, sql: Sql, at: Time) -> Result<()> {
        let mut args = key(project, self.process);
        args.extend([self.tool.into(), self.session.into(), at.into(), self.agent.into()]);
        tx.defer(sql, args)
    }

    /// Marks the session as ended.
    pub fn end(&self, tx: &mut dyn Tx, project: &str, now: Time) -> Result<()> {
        self.set(tx, project, set!("ended_at", " AND ended_at = 0"), now)
    }

    /// Records that the session got a message between two prompts.
    pub fn told(&self, tx: &mut dyn Tx, project: &str, now: Time) -> Result<()> {
        self.set(tx, project, set!("told_at", ""), now)
    }

    /// Records that the context is being compacted, or, without a time, that the lost part was shown again. A negative
    /// time means that the context was cleared.
    pub fn shortened(&self, tx: &mut dyn Tx, project: &str, at: Option<Time>) -> Result<()> {
        self.set(tx, project, set!("shortened_at", ""), at.unwrap_or(Time(0)))
    }

    /// Records that its process sent a second event.
    pub fn again(&self, tx: &mut dyn Tx, project: &str, now: Time) -> Result<()> {
        self.set(tx, project, set!("again_at", " AND again_at = 0"), now)
    }
}
