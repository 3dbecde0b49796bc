//! The `agent` table: agents of a project.

use tenure_core::agent::{Process, Sign};
use tenure_core::id::TaskId;
use tenure_core::name::AgentName;
use tenure_core::{Result, Time};

use crate::statement::Statement;
use crate::tx::{Sql, Tx, Value, first, ids, list as json_list};

#[derive(Clone, Debug)]
pub struct Row {
    /// The agent's name.
    pub name: AgentName,
    /// The tool; empty if unknown.
    pub tool: String,
    /// The time of its first op.
    pub registered_at: Time,
    /// The time of its last op.
    pub last_seen: Time,
    /// When its session ended, if it has.
    pub ended_at: Option<Time>,
    /// The task it refers to when it names none.
    pub focus: Option<TaskId>,
    /// The process of its tool; the host is empty if unknown.
    pub process: Process,
    /// Whether it calls through MCP.
    pub mcp: bool,
    /// The principal that acts as it through a server.
    pub owner: Option<AgentName>,
}

impl Row {
    /// The evidence for its liveness, apart from any hold.
    pub fn sign(&self) -> Sign {
        Sign::of(self.last_seen, self.ended_at.is_some())
    }
}

/// The columns of an agent, in the order of [`decode`].
macro_rules! columns {
    ($prefix:literal) => {
        listed!($prefix;
            name, tool, registered_at, last_seen, ended_at, focus, host, boot, pidns, pid, started, mcp, owner)
    };
}

const GET: Sql = Sql::same(concat!("SELECT ", columns!(""), " FROM agent WHERE project = $1 AND name = $2"));

const LIST: Sql =
    Sql::same(concat!("SELECT ", columns!(""), " FROM agent WHERE project = $1 AND name > $2 ORDER BY name LIMIT $3"));

const RECENT: Sql = Sql::same(concat!(
    "SELECT ",
    columns!(""),
    " FROM agent WHERE project = $1 AND gone = 0 AND last_seen > $2 ORDER BY last_seen DESC, name LIMIT $3"
));

/// An agent with a live hold counts as present as long as that hold, however long ago its last op was. The offset keeps
/// PostgreSQL from joining the two, which without statistics reads every live hold for each agent.
const DUE: Sql = Sql::same(concat!(
    "SELECT ",
    columns!("a."),
    " FROM agent a WHERE a.project = $1 AND a.gone = 0 AND a.last_seen <= $2
       AND NOT EXISTS (SELECT 1 FROM hold h WHERE h.project = $1 AND h.holder = a.name AND h.ended_at = 0 AND +h.expires_at > $3
                       AND ",
    super::hold::ends!("h"),
    " > $3 LIMIT 1 OFFSET 0)
     ORDER BY a.last_seen, a.name LIMIT 1000"
));

/// Walks the live holds from one holder to the next: former agents remain and far outnumber the holders, and one holder
/// may hold thousands of files. Without statistics, PostgreSQL scans all live holds for a MIN, and all agents for an
/// ordered join.
const HOLDERS: Sql = Sql::pair(
    concat!(
        "WITH RECURSIVE found (holder) AS (
         SELECT MIN(holder) FROM hold WHERE project = $1 AND ended_at = 0 AND holder > ''
         UNION ALL
         SELECT (SELECT MIN(n.holder) FROM hold n WHERE n.project = $1 AND n.ended_at = 0 AND n.holder > found.holder)
         FROM found WHERE found.holder IS NOT NULL)
     SELECT ",
        columns!("a."),
        " FROM found CROSS JOIN agent a ON a.project = $1 AND a.name = found.holder AND a.host = $2 LIMIT 1000"
    ),
    concat!(
        "WITH RECURSIVE found (holder) AS (
         SELECT (SELECT holder FROM hold WHERE project = $1 AND ended_at = 0 AND holder > '' ORDER BY holder, id LIMIT 1)
         UNION ALL
         SELECT (SELECT n.holder FROM hold n WHERE n.project = $1 AND n.ended_at = 0 AND n.holder > found.holder
                 ORDER BY n.holder, n.id LIMIT 1)
         FROM found WHERE found.holder IS NOT NULL)
     SELECT ",
        columns!("a."),
        " FROM found CROSS JOIN LATERAL (SELECT * FROM agent WHERE project = $1 AND name = found.holder AND host = $2
                                     OFFSET 0) a LIMIT 1000"
    ),
);

fn decode(mut row: crate::Row) -> Result<Row> {
    Ok(Row {
        name: row.id(0)?,
        tool: row.text(1)?,
        registered_at: row.time(2)?,
        last_seen: row.time(3)?,
        ended_at: row.optional_time(4)?,
        focus: row.optional_id(5)?,
        process: Process {
            host: row.text(6)?,
            boot: row.text(7)?,
            pidns: row.text(8)?,
            pid: row.int(9)?,
            started: row.int(10)?,
        },
        mcp: row.flag(11)?,
        owner: row.optional_id(12)?,
    })
}

fn many(rows: Vec<crate::Row>) -> Result<Vec<Row>> {
    rows.into_iter().map(decode).collect()
}

/// One agent by its name.
pub fn get(project: &str, name: &str) -> Statement<Option<Row>> {
    Statement::new(GET, vec![project.into(), name.into()], |rows| first(rows).map(decode).transpose())
}

/// Those of the given names that exist, unordered.
pub fn existing(tx: &mut dyn Tx, project: &str, names: &[AgentName]) -> Result<Vec<AgentName>> {
    let sql = Sql::pair(
        "SELECT a.name FROM json_each($2) j CROSS JOIN agent a ON a.project = $1 AND a.name = j.value",
        "SELECT a.name FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT name FROM agent WHERE project = $1 AND name = j.value OFFSET 0) a",
    );
    ids(tx.query(sql, &[project.into(), json_list(names)])?)
}

/// The last known process and the owner of an agent.
pub struct Whereabouts {
    /// The agent's name.
    pub name: AgentName,
    /// The process it was last seen in.
    pub process: Process,
    /// The principal it belongs to.
    pub owner: Option<AgentName>,
}

/// The processes of the given agents, unordered.
pub fn whereabouts(tx: &mut dyn Tx, project: &str, names: &[AgentName]) -> Result<Vec<Whereabouts>> {
    let sql = Sql::pair(
        "SELECT a.name, a.host, a.boot, a.pidns, a.pid, a.started, a.owner
         FROM json_each($2) j CROSS JOIN agent a ON a.project = $1 AND a.name = j.value",
        "SELECT a.name, a.host, a.boot, a.pidns, a.pid, a.started, a.owner
         FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT * FROM agent WHERE project = $1 AND name = j.value OFFSET 0) a",
    );
    let rows = tx.query(sql, &[project.into(), json_list(names)])?;
    rows.into_iter()
        .map(|mut row| {
            let process = Process {
                host: row.text(1)?,
                boot: row.text(2)?,
                pidns: row.text(3)?,
                pid: row.int(4)?,
                started: row.int(5)?,
            };
            Ok(Whereabouts { name: row.id(0)?, process, owner: row.optional_id(6)? })
        })
        .collect()
}

/// A page of agents, sorted by name.
pub fn list(tx: &mut dyn Tx, project: &str, after: &str, limit: usize) -> Result<Vec<Row>> {
    many(tx.query(LIST, &[project.into(), after.into(), limit.into()])?)
}

/// The agents seen after an instant, latest first.
pub fn recent(tx: &mut dyn Tx, project: &str, since: Time, limit: usize) -> Result<Vec<Row>> {
    many(tx.query(RECENT, &[project.into(), since.into(), limit.into()])?)
}

/// The agents not yet marked as gone that were last seen at or before an instant.
pub fn due(project: &str, until: Time, now: Time) -> Statement<Vec<Row>> {
    Statement::new(DUE, vec![project.into(), until.into(), now.into()], many)
}

/// The agents of one host that hold something, unordered: their processes are worth checking.
pub fn holders(tx: &mut dyn Tx, project: &str, host: &str) -> Result<Vec<Row>> {
    many(tx.query(HOLDERS, &[project.into(), host.into()])?)
}

/// The agents of one host that wait for something, unordered.
pub fn waiters(tx: &mut dyn Tx, project: &str, host: &str) -> Result<Vec<Row>> {
    let sql = Sql::pair(
        concat!(
            "SELECT ",
            columns!("a."),
            " FROM (SELECT DISTINCT agent FROM place WHERE project = $1 AND ended_at = 0 AND agent > '') w
         CROSS JOIN agent a ON a.project = $1 AND a.name = w.agent AND a.host = $2 LIMIT 1000"
        ),
        concat!(
            "SELECT ",
            columns!("a."),
            " FROM (SELECT DISTINCT agent FROM place WHERE project = $1 AND ended_at = 0 AND agent > '') w
         CROSS JOIN LATERAL (SELECT * FROM agent WHERE project = $1 AND name = w.agent AND host = $2 OFFSET 0) a LIMIT 1000"
        ),
    );
    many(tx.query(sql, &[project.into(), host.into()])?)
}

/// Records that the agent calls through MCP.
pub fn calls_tools(tx: &mut dyn Tx, project: &str, name: &str) -> Result<()> {
    let sql = Sql::same("UPDATE agent SET mcp = 1 WHERE project = $1 AND name = $2");
    tx.defer(sql, vec![project.into(), name.into()])
}

/// Sets the principal that owns the agent, or none.
pub fn own(tx: &mut dyn Tx, project: &str, name: &str, owner: Option<&AgentName>) -> Result<()> {
    let sql = Sql::same("UPDATE agent SET owner = $3 WHERE project = $1 AND name = $2");
    tx.defer(sql, vec![project.into(), name.into(), Value::optional_text(&owner)])
}

/// Registers an agent.
pub fn insert(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO agent (project, name, tool, registered_at, last_seen, ended_at, gone, focus, host, boot, pidns, pid, started, mcp, owner)
         VALUES ($1, $2, $3, $4, $4, 0, 0, $5, $6, $7, $8, $9, $10, $11, $12)",
    );
    let args = vec![
        project.into(),
        (&row.name).into(),
        (&row.tool).into(),
        row.registered_at.into(),
        Value::optional_text(&row.focus),
        (&row.process.host).into(),
        (&row.process.boot).into(),
        (&row.process.pidns).into(),
        row.process.pid.into(),
        row.process.started.into(),
        row.mcp.into(),
        Value::optional_text(&row.owner),
    ];
    tx.defer(sql, args)
}

/// Records activity of an agent.
pub fn seen(tx: &mut dyn Tx, project: &str, name: &str, now: Time) -> Result<()> {
    let sql = Sql::same("UPDATE agent SET last_seen = $3, ended_at = 0, gone = 0 WHERE project = $1 AND name = $2");
    tx.defer(sql, vec![project.into(), name.into(), now.into()])
}

/// Records that an agent's tool has a new process, after a resumed session. Evidence about the old one must not count.
pub fn moved(tx: &mut dyn Tx, project: &str, name: &str, process: &Process) -> Result<()> {
    let sql = Sql::same(
        "UPDATE agent SET host = $3, boot = $4, pidns = $5, pid = $6, started = $7 WHERE project = $1 AND name = $2",
    );
    let args = vec![
        project.into(),
        name.into(),
        (&process.host).into(),
        (&process.boot).into(),
        (&process.pidns).into(),
        process.pid.into(),
        process.started.into(),
    ];
    tx.defer(sql, args)
}

/// Records that an agent's session has ended.
pub fn ended(tx: &mut dyn Tx, project: &str, name: &str, now: Time) -> Result<()> {
    let sql = Sql::same("UPDATE agent SET ended_at = $3 WHERE project = $1 AND name = $2");
    tx.defer(sql, vec![project.into(), name.into(), now.into()])
}

/// Corrects the rows after the clock was set back. No agent keeps a last op in the future, because a gone agent would
/// count as alive until the clock catches up. Agents seen after `quiet` are checked again, whether marked as gone or
/// not.
pub fn cap(tx: &mut dyn Tx, project: &str, now: Time, quiet: Time) -> Result<()> {
    let sql = Sql::same(
        "UPDATE agent SET gone = 0, last_seen = CASE WHEN last_seen > $2 THEN $2 ELSE last_seen END
         WHERE project = $1 AND last_seen > $3",
    );
    tx.defer(sql, vec![project.into(), now.into(), quiet.into()])
}

/// Marks an agent as gone, so that it is processed only once.
pub fn mark_gone(tx: &mut dyn Tx, project: &str, name: &str) -> Result<()> {
    let sql = Sql::same("UPDATE agent SET gone = 1 WHERE project = $1 AND name = $2");
    tx.defer(sql, vec![project.into(), name.into()])
}

/// Removes the mark, so that the agent is processed once more.
pub fn look_again(tx: &mut dyn Tx, project: &str, name: &str) -> Result<()> {
    let sql = Sql::same("UPDATE agent SET gone = 0 WHERE project = $1 AND name = $2 AND gone = 1");
    tx.defer(sql, vec![project.into(), name.into()])
}

/// Sets the task an agent refers to when it names none.
pub fn set_focus(tx: &mut dyn Tx, project: &str, name: &str, task: &str) -> Result<()> {
    let sql = Sql::same("UPDATE agent SET focus = $3 WHERE project = $1 AND name = $2");
    tx.defer(sql, vec![project.into(), name.into(), task.into()])
}

/// Sets the focus of an agent that has none.
pub fn offer_focus(tx: &mut dyn Tx, project: &str, name: &str, task: &str) -> Result<()> {
    let sql = Sql::same("UPDATE agent SET focus = $3 WHERE project = $1 AND name = $2 AND focus = ''");
    tx.defer(sql, vec![project.into(), name.into(), task.into()])
}

/// Clears every agent's focus.
pub fn clear_all_focus(tx: &mut dyn Tx, project: &str) -> Result<()> {
    let sql = Sql::same("UPDATE agent SET focus = '' WHERE project = $1 AND focus <> ''");
    tx.defer(sql, vec![project.into()])
}

/// Clears an agent's focus if it is this task.
pub fn clear_focus(tx: &mut dyn Tx, project: &str, name: &str, task: &str) -> Result<()> {
    let sql = Sql::same("UPDATE agent SET focus = '' WHERE project = $1 AND name = $2 AND focus = $3");
    tx.defer(sql, vec![project.into(), name.into(), task.into()])
}
