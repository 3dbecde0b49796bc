//! Checkouts: where a project's working trees have been seen, host by host.

use tenure_core::checkout::Known;
use tenure_core::{Result, Time};

use crate::tx::{Sql, Tx};

/// One working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The machine.
    pub host: String,
    /// Top of the working tree.
    pub path: String,
    /// Its id.
    pub id: String,
    /// The common git directory, empty without git.
    pub common_path: String,
    /// Its device.
    pub common_device: i64,
    /// Its inode.
    pub common_inode: i64,
}

/// The statement that reads the checkouts of a project on a host; see [`decode`].
pub const OF_HOST: Sql = Sql::same(
    "SELECT host, path, id, common_path, common_device, common_inode FROM checkout
     WHERE project = $1 AND host = $2 ORDER BY path LIMIT 1000",
);

/// Decodes a row of [`OF_HOST`].
pub fn decode(mut row: crate::Row) -> Result<Row> {
    Ok(Row {
        host: row.text(0)?,
        path: row.text(1)?,
        id: row.text(2)?,
        common_path: row.text(3)?,
        common_device: row.int(4)?,
        common_inode: row.int(5)?,
    })
}

/// The working trees on a host, of any project, whose common directory has an inode.
pub fn of_inode(tx: &mut dyn Tx, host: &str, inode: i64) -> Result<Vec<Row>> {
    let sql = Sql::same(
        "SELECT host, path, id, common_path, common_device, common_inode FROM checkout
         WHERE host = $1 AND common_inode = $2 ORDER BY project, path LIMIT 1000",
    );
    tx.query(sql, &[host.into(), inode.into()])?.into_iter().map(decode).collect()
}

/// Remembers a working tree, or what its common directory now is.
pub fn put(tx: &mut dyn Tx, project: &str, row: &Row, now: Time) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO checkout (project, host, path, id, common_path, common_device, common_inode, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (project, host, path) DO UPDATE SET common_path = excluded.common_path,
             common_device = excluded.common_device, common_inode = excluded.common_inode",
    );
    let args = vec![
        project.into(),
        (&row.host).into(),
        (&row.path).into(),
        (&row.id).into(),
        (&row.common_path).into(),
        row.common_device.into(),
        row.common_inode.into(),
        now.into(),
    ];
    tx.defer(sql, args)
}

/// Remembers where a working tree is now, and what its common directory is: it keeps its id.
pub fn follow(tx: &mut dyn Tx, project: &str, old_path: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "UPDATE checkout SET path = $4, common_path = $5, common_device = $6, common_inode = $7
         WHERE project = $1 AND host = $2 AND path = $3",
    );
    let args = vec![
        project.into(),
        (&row.host).into(),
        old_path.into(),
        (&row.path).into(),
        (&row.common_path).into(),
        row.common_device.into(),
        row.common_inode.into(),
    ];
    tx.defer(sql, args)
}

/// Forgets a working tree in whose place another is known.
pub fn forget(tx: &mut dyn Tx, project: &str, host: &str, path: &str) -> Result<()> {
    let sql = Sql::same("DELETE FROM checkout WHERE project = $1 AND host = $2 AND path = $3");
    tx.defer(sql, vec![project.into(), host.into(), path.into()])
}

/// All checkouts of a project, by machine and top.
pub fn all(tx: &mut dyn Tx, project: &str) -> Result<Vec<Known>> {
    let sql = Sql::same("SELECT id, host, path FROM checkout WHERE project = $1 ORDER BY host, path LIMIT 10000");
    let rows = tx.query(sql, &[project.into()])?;
    rows.into_iter().map(|mut row| Ok(Known { id: row.text(0)?, host: row.text(1)?, path: row.text(2)? })).collect()
}
