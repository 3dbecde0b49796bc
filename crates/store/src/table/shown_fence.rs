//! The `shown` table: the fence that an agent was last shown for a task.

use tenure_core::Result;
use tenure_core::number::Fence;

use crate::statement::Statement;
use crate::tx::{Sql, Tx, first};

/// The fence that an agent was last shown for a task, if any.
pub fn get(project: &str, agent: &str, task: &str) -> Statement<Option<Fence>> {
    let sql = Sql::same("SELECT fence FROM shown WHERE project = $1 AND agent = $2 AND task = $3");
    let read = |rows| first(rows).map(|row| row.fence(0)).transpose();
    Statement::new(sql, vec![project.into(), agent.into(), task.into()], read)
}

/// Deletes the fences of tasks that do not exist.
pub(crate) fn forget_unknown(tx: &mut dyn Tx) -> Result<()> {
    let sql = Sql::same(
        "DELETE FROM shown WHERE NOT EXISTS
             (SELECT 1 FROM task WHERE task.project = shown.project AND task.id = shown.task)",
    );
    tx.execute(sql, &[]).map(|_| ())
}

/// Records the fence that a response shows.
pub fn put(tx: &mut dyn Tx, project: &str, agent: &str, task: &str, fence: Fence) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO shown (project, agent, task, fence) VALUES ($1, $2, $3, $4)
         ON CONFLICT (project, agent, task) DO UPDATE SET fence = excluded.fence",
    );
    tx.defer(sql, vec![project.into(), agent.into(), task.into(), fence.into()])
}
