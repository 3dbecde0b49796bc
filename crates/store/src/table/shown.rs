//! The fence that an agent was last shown for a task.

use tenure_core::Result;

use crate::tx::{Sql, Tx, Value, first};

/// The statement that reads it; see [`decode`].
pub fn get_call(project: &str, agent: &str, task: &str) -> (Sql, Vec<Value>) {
    let sql = Sql::same("SELECT fence FROM shown WHERE project = $1 AND agent = $2 AND task = $3");
    (sql, vec![project.into(), agent.into(), task.into()])
}

/// Decodes the answer to [`get_call`].
pub fn decode(rows: Vec<crate::Row>) -> Result<Option<i64>> {
    first(rows).map(|row| row.int(0)).transpose()
}

/// Forgets what was shown of tasks that there are none of.
pub(crate) fn forget_unknown(tx: &mut dyn Tx) -> Result<()> {
    let sql = Sql::same(
        "DELETE FROM shown WHERE NOT EXISTS
             (SELECT 1 FROM task WHERE task.project = shown.project AND task.id = shown.task)",
    );
    tx.execute(sql, &[]).map(|_| ())
}

/// Remembers what a response shows.
pub fn put(tx: &mut dyn Tx, project: &str, agent: &str, task: &str, fence: i64) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO shown (project, agent, task, fence) VALUES ($1, $2, $3, $4)
         ON CONFLICT (project, agent, task) DO UPDATE SET fence = excluded.fence",
    );
    tx.defer(sql, vec![project.into(), agent.into(), task.into(), fence.into()])
}
