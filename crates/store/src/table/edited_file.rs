//! The `touched` table: files that agents' tools changed, by task and checkout.

use tenure_core::id::{CheckoutId, TaskId};
use tenure_core::name::AgentName;
use tenure_core::{Result, Time};

use crate::tx::{Sql, Tx, Value, list};

/// The checkout, agent and task of changed files.
#[derive(Clone, Copy, Debug)]
pub struct EditedFile<'a> {
    /// The task in focus.
    pub task: Option<&'a TaskId>,
    /// The checkout of the files.
    pub checkout: Option<&'a CheckoutId>,
    /// The agent that changed them.
    pub agent: &'a AgentName,
}

/// Records changed files.
pub fn put(tx: &mut dyn Tx, project: &str, place: &EditedFile<'_>, paths: &[String], now: Time) -> Result<()> {
    let sql = Sql::pair(
        "INSERT INTO touched (project, task, checkout, path, agent, first_at, last_at)
         SELECT $1, $2, $3, value, $4, $6, $6 FROM json_each($5) WHERE true
         ON CONFLICT (project, task, checkout, path, agent) DO UPDATE SET last_at = excluded.last_at",
        "INSERT INTO touched (project, task, checkout, path, agent, first_at, last_at)
         SELECT $1, $2, $3, value, $4, $6, $6 FROM json_array_elements_text(CAST($5 AS JSON))
         ON CONFLICT (project, task, checkout, path, agent) DO UPDATE SET last_at = excluded.last_at",
    );
    let (task, checkout) = (Value::optional_text(&place.task), Value::optional_text(&place.checkout));
    let args = vec![project.into(), task, checkout, place.agent.into(), list(paths), now.into()];
    tx.defer(sql, args)
}

/// Those of the given files that were changed after an instant, unordered.
pub fn since(
    tx: &mut dyn Tx,
    project: &str,
    place: &EditedFile<'_>,
    paths: &[String],
    since: Time,
) -> Result<Vec<String>> {
    let sql = Sql::pair(
        "SELECT t.path FROM json_each($5) j CROSS JOIN touched t
           ON t.project = $1 AND t.task = $2 AND t.checkout = $3 AND t.path = j.value AND t.agent = $4
         WHERE t.last_at > $6",
        "SELECT t.path FROM json_array_elements_text(CAST($5 AS JSON)) j CROSS JOIN LATERAL
           (SELECT path, last_at FROM touched
            WHERE project = $1 AND task = $2 AND checkout = $3 AND path = j.value AND agent = $4 OFFSET 0) t
         WHERE t.last_at > $6",
    );
    let (task, checkout) = (Value::optional_text(&place.task), Value::optional_text(&place.checkout));
    let args = [project.into(), task, checkout, place.agent.into(), list(paths), since.into()];
    tx.query(sql, &args)?.into_iter().map(|mut row| row.text(0)).collect()
}

/// Changes of the given files in a checkout by other agents after an instant, the latest first: path, agent and time.
pub fn by_others(
    tx: &mut dyn Tx,
    project: &str,
    (checkout, agent): (&str, &str),
    paths: &[String],
    since: Time,
) -> Result<Vec<(String, AgentName, Time)>> {
    let sql = Sql::pair(
        "SELECT t.path, t.agent, t.last_at FROM json_each($4) j CROSS JOIN touched t
           ON t.project = $1 AND t.path = j.value AND t.last_at > $5
         WHERE t.checkout = $2 AND t.agent <> $3 ORDER BY t.last_at DESC, t.path, t.agent, t.task LIMIT 1000",
        "SELECT t.path, t.agent, t.last_at FROM json_array_elements_text(CAST($4 AS JSON)) j CROSS JOIN LATERAL
           (SELECT path, agent, last_at, task, checkout FROM touched
            WHERE project = $1 AND path = j.value OFFSET 0) t
         WHERE t.last_at > $5 AND t.checkout = $2 AND t.agent <> $3 ORDER BY t.last_at DESC, t.path, t.agent, t.task LIMIT 1000",
    );
    let args = [project.into(), checkout.into(), agent.into(), list(paths), since.into()];
    tx.query(sql, &args)?.into_iter().map(|mut row| Ok((row.text(0)?, row.id(1)?, row.time(2)?))).collect()
}

/// The files that were changed for a task in a checkout, the latest first: path, agent and time.
pub fn of_task(
    tx: &mut dyn Tx,
    project: &str,
    task: &str,
    checkout: &str,
    limit: usize,
) -> Result<Vec<(String, AgentName, Time)>> {
    let sql = Sql::same(
        "SELECT path, agent, last_at FROM touched WHERE project = $1 AND task = $2 AND checkout = $3
         ORDER BY last_at DESC, path, agent LIMIT $4",
    );
    let rows = tx.query(sql, &[project.into(), task.into(), checkout.into(), limit.into()])?;
    rows.into_iter().map(|mut row| Ok((row.text(0)?, row.id(1)?, row.time(2)?))).collect()
}

/// The files that were changed for a task, the latest first, each with its checkout.
pub fn for_task(tx: &mut dyn Tx, project: &str, task: &str, limit: usize) -> Result<Vec<(String, Option<CheckoutId>)>> {
    let sql = Sql::same(
        "SELECT path, checkout, MAX(last_at) FROM touched WHERE project = $1 AND task = $2
         GROUP BY path, checkout ORDER BY MAX(last_at) DESC, path, checkout LIMIT $3",
    );
    let rows = tx.query(sql, &[project.into(), task.into(), limit.into()])?;
    rows.into_iter().map(|mut row| Ok((row.text(0)?, row.optional_id(1)?))).collect()
}

/// A change of a file by an agent.
#[derive(Clone, Debug)]
pub struct Row {
    /// The file's path.
    pub path: String,
    /// The agent that changed it.
    pub agent: AgentName,
    /// The task it had in focus.
    pub task: Option<TaskId>,
    /// The time of its last change.
    pub last_at: Time,
}

/// The columns of a change, in the order of [`decode`].
macro_rules! columns {
    ($prefix:literal) => {
        listed!($prefix; path, agent, task, last_at)
    };
}

fn decode(mut row: crate::Row) -> Result<Row> {
    Ok(Row { path: row.text(0)?, agent: row.id(1)?, task: row.optional_id(2)?, last_at: row.time(3)? })
}

/// The changes of a file, the latest first.
pub fn of_path(tx: &mut dyn Tx, project: &str, path: &str, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM touched WHERE project = $1 AND path = $2
         ORDER BY last_at DESC, checkout DESC, task DESC, agent DESC LIMIT $3"
    ));
    tx.query(sql, &[project.into(), path.into(), limit.into()])?.into_iter().map(decode).collect()
}

/// Changes of files whose paths extend a prefix; an arbitrary part of them if there are more than `limit`.
pub fn below(tx: &mut dyn Tx, project: &str, begin: &str, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM touched WHERE project = $1 AND path > $2 AND path < $3
         ORDER BY path, last_at, checkout, task, agent LIMIT $4"
    ));
    let end = format!("{begin}\u{10ffff}");
    tx.query(sql, &[project.into(), begin.into(), end.into(), limit.into()])?.into_iter().map(decode).collect()
}

/// The newest changes to files, newest first.
pub fn newest(tx: &mut dyn Tx, project: &str, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM touched WHERE project = $1
         ORDER BY last_at DESC, path DESC, task DESC, checkout DESC, agent DESC LIMIT $2"
    ));
    let rows = tx.query(sql, &[project.into(), limit.into()])?;
    rows.into_iter().map(decode).collect()
}
