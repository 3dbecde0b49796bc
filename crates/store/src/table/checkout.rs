//! The `checkout` table: where a project's working trees have been seen, per host.

use std::collections::BTreeMap;

use tenure_core::checkout::KnownCheckout;
use tenure_core::id::{CheckoutId, ProjectId};
use tenure_core::name::ProjectKey;
use tenure_core::site::Top;
use tenure_core::{Result, Time};

use crate::statement::Statement;
use crate::tx::{Sql, Tx};

/// One working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The host.
    pub host: String,
    /// The top of the working tree.
    pub path: String,
    /// The checkout's id.
    pub id: CheckoutId,
    /// The common git directory; empty without git.
    pub common_path: String,
    /// The device of that directory.
    pub common_device: i64,
    /// The inode of that directory.
    pub common_inode: i64,
}

/// The columns of a working tree, in the order of [`decode`].
macro_rules! columns {
    ($prefix:literal) => {
        listed!($prefix; host, path, id, common_path, common_device, common_inode)
    };
}

fn decode(mut row: crate::Row) -> Result<Row> {
    Ok(Row {
        host: row.text(0)?,
        path: row.text(1)?,
        id: row.id(2)?,
        common_path: row.text(3)?,
        common_device: row.int(4)?,
        common_inode: row.int(5)?,
    })
}

fn many(rows: Vec<crate::Row>) -> Result<Vec<Row>> {
    rows.into_iter().map(decode).collect()
}

/// The working trees of a project on a host.
pub fn of_host(project: &str, host: &str) -> Statement<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM checkout WHERE project = $1 AND host = $2 ORDER BY path LIMIT 1000"
    ));
    Statement::new(sql, vec![project.into(), host.into()], many)
}

/// The working trees on a host, of any project, whose common directory has this inode.
pub fn of_inode(tx: &mut dyn Tx, host: &str, inode: i64) -> Result<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM checkout WHERE host = $1 AND common_inode = $2 ORDER BY project, path LIMIT 1000"
    ));
    many(tx.query(sql, &[host.into(), inode.into()])?)
}

/// Inserts a working tree, or updates its common directory.
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

/// Updates the path and common directory of a working tree that moved: it keeps its id.
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

/// Deletes a working tree that another one has replaced.
pub fn forget(tx: &mut dyn Tx, project: &str, host: &str, path: &str) -> Result<()> {
    let sql = Sql::same("DELETE FROM checkout WHERE project = $1 AND host = $2 AND path = $3");
    tx.defer(sql, vec![project.into(), host.into(), path.into()])
}

/// All checkouts of a project, sorted by host and path.
pub fn all(project: &str) -> Statement<Vec<KnownCheckout>> {
    let sql = Sql::same("SELECT id, host, path FROM checkout WHERE project = $1 ORDER BY host, path LIMIT 10000");
    let read = |rows: Vec<crate::Row>| {
        let known = |mut row: crate::Row| Ok(KnownCheckout { id: row.id(0)?, host: row.text(1)?, path: row.text(2)? });
        rows.into_iter().map(known).collect()
    };
    Statement::new(sql, vec![project.into()], read)
}

/// A checkout of any project, found by its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearbyCheckout {
    /// The id of its project.
    pub project: ProjectId,
    /// The project's key.
    pub key: ProjectKey,
    /// The project's display name.
    pub label: String,
    /// The number of open places in the project's waiting line.
    pub waiting: i64,
    /// The checkout's own id.
    pub id: CheckoutId,
    /// The top of the working tree.
    pub top: Top,
}

/// Ranges of locations, compared bytewise: each from a text up to but excluding another.
#[derive(Clone, Debug, Default)]
pub struct Locations {
    /// The end of each range by its beginning. Of two ranges with one beginning, the longer contains the shorter.
    ends: BTreeMap<String, String>,
}

impl Locations {
    /// Adds one location. No path contains the control character that ends the range.
    pub fn only(&mut self, path: &str) {
        self.between(path.to_owned(), format!("{path}\u{1}"));
    }

    /// Adds the locations from `begin` up to but excluding `end`.
    pub fn between(&mut self, begin: String, end: String) {
        let known = self.ends.entry(begin).or_default();
        if *known < end {
            *known = end;
        }
    }
}

/// The checkouts of all projects at some locations on one host, each as often as it is within one of the ranges.
pub fn at(host: &str, locations: &Locations) -> Statement<Vec<NearbyCheckout>> {
    // An object, because both engines read its pairs without parsing each of them again.
    let sql = Sql::pair(
        "SELECT c.project, p.key, p.label, p.waiting, c.id, c.host, c.path
         FROM json_each($2) l CROSS JOIN checkout c JOIN project p ON p.id = c.project
         WHERE c.host = $1 AND c.path >= l.key AND c.path < l.value ORDER BY c.path, c.project",
        // One lookup per range: PostgreSQL expects every list to be long, and would rather scan all checkouts of a host.
        "SELECT c.project, p.key, p.label, p.waiting, c.id, c.host, c.path
         FROM json_each_text(CAST($2 AS JSON)) l(key, value)
         CROSS JOIN LATERAL (SELECT k.project, k.id, k.host, k.path FROM checkout k
                             WHERE k.host = $1 AND k.path >= l.key AND k.path < l.value OFFSET 0) c
         JOIN project p ON p.id = c.project ORDER BY c.path, c.project",
    );
    let pairs = locations.ends.iter().map(|(begin, end)| (begin.clone(), end.as_str().into()));
    let pairs = serde_json::Value::Object(pairs.collect()).to_string();
    Statement::new(sql, vec![host.into(), pairs.into()], near)
}

fn near(rows: Vec<crate::Row>) -> Result<Vec<NearbyCheckout>> {
    let decode = |mut row: crate::Row| {
        Ok(NearbyCheckout {
            project: row.id(0)?,
            key: row.id(1)?,
            label: row.text(2)?,
            waiting: row.int(3)?,
            id: row.id(4)?,
            top: Top { host: row.text(5)?, path: row.text(6)? },
        })
    };
    rows.into_iter().map(decode).collect()
}

/// A lock on a directory: exclusive, or shared with transactions that lock directories inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryLock {
    /// The lock key of the directory.
    pub key: i64,
    /// Whether it is shared.
    pub shared: bool,
}

/// Serialises this transaction, until its end, with writers of other projects whose checkouts lie around or inside the
/// same directories. On SQLite all writers are serialised anyway. All locks are taken in key order, so that two
/// transactions never deadlock.
pub fn take_turns(tx: &mut dyn Tx, mut turns: Vec<DirectoryLock>) -> Result<()> {
    // The exclusive lock sorts first, and is the one that is kept.
    turns.sort();
    turns.dedup_by_key(|turn| turn.key);
    if turns.is_empty() {
        return Ok(());
    }
    let sql = Sql::pair(
        Sql::NOTHING,
        "SELECT CASE WHEN t.shared THEN pg_advisory_xact_lock_shared(t.key) ELSE pg_advisory_xact_lock(t.key) END
         FROM (SELECT CAST(l.value->>0 AS BIGINT) AS key, CAST(l.value->>1 AS BOOLEAN) AS shared
               FROM json_array_elements(CAST($1 AS JSON)) WITH ORDINALITY l(value, at) ORDER BY l.at OFFSET 0) t",
    );
    let turns: Vec<(i64, bool)> = turns.into_iter().map(|turn| (turn.key, turn.shared)).collect();
    tx.defer(sql, vec![serde_json::json!(turns).to_string().into()])
}
