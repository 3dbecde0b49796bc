//! The `memory`, `memory_term` and `memory_scope` tables: memories, their words, and the sums per scope.

use tenure_core::id::{MemoryId, TaskId};
use tenure_core::memory::{MemoryKind, MemoryScope};
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::{Error, Result, Time};

use crate::error::corrupt;
use crate::statement::{self, Statement};
use crate::tx::{Sql, Tx, Value, first, ids, list};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The memory's id.
    pub id: MemoryId,
    /// Its audience.
    pub scope: MemoryScope,
    /// Its canonical key: one live row per scope and key.
    pub key: String,
    /// The kind of memory.
    pub kind: MemoryKind,
    /// The text.
    pub text: String,
    /// Whether it is pinned.
    pub pinned: bool,
    /// The author of the current text.
    pub author: AgentName,
    /// The task that the author had in focus.
    pub task: Option<TaskId>,
    /// The event that last changed it.
    pub number: EventNumber,
    /// Incremented with each change.
    pub version: i64,
    /// The number of words, including repeats.
    pub words: i64,
    /// When it was created.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
    /// When it expires; `None` for never.
    pub expires_at: Option<Time>,
}

impl Row {
    /// Whether it has expired.
    pub fn is_over(&self, now: Time) -> bool {
        self.expires_at.is_some_and(|end| now >= end)
    }
}

/// The columns of a memory, in the order of [`decode`].
macro_rules! columns {
    ($prefix:literal) => {
        listed!($prefix;
            id, scope, subject, key, kind, text, pinned, author, task, number, version, words, created_at, updated_at,
            expires_at)
    };
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(""), " FROM memory WHERE project = $1 AND ", $rest)
    };
}

fn decode(mut row: crate::Row) -> Result<Row> {
    let (word, subject, kind) = (row.text(1)?, row.text(2)?, row.text(4)?);
    Ok(Row {
        id: row.id(0)?,
        scope: MemoryScope::of(&word, &subject).ok_or_else(|| corrupt("a memory has an unknown scope"))?,
        key: row.text(3)?,
        kind: MemoryKind::parse(&kind).ok_or_else(|| corrupt("a memory has an unknown kind"))?,
        text: row.text(5)?,
        pinned: row.flag(6)?,
        author: row.id(7)?,
        task: row.optional_id(8)?,
        number: row.event_number(9)?,
        version: row.int(10)?,
        words: row.int(11)?,
        created_at: row.time(12)?,
        updated_at: row.time(13)?,
        expires_at: row.optional_time(14)?,
    })
}

fn many(rows: Vec<crate::Row>) -> Result<Vec<Row>> {
    rows.into_iter().map(decode).collect()
}

fn place(project: &str, scope: &MemoryScope) -> Vec<Value> {
    vec![project.into(), scope.word().into(), scope.subject().into()]
}

/// The memory of a scope under a key, expired or not.
pub fn under(tx: &mut dyn Tx, project: &str, scope: &MemoryScope, key: &str) -> Result<Option<Row>> {
    // A range in key order: without statistics, PostgreSQL considers any index that begins with the scope as good as
    // the one on keys, unless that one saves a sort.
    let sql = Sql::same(select!("scope = $2 AND subject = $3 AND key >= $4 AND key <= $4 ORDER BY key LIMIT 1"));
    let mut args = place(project, scope);
    args.push(key.into());
    first(tx.query(sql, &args)?).map(decode).transpose()
}

pub fn get(tx: &mut dyn Tx, project: &str, id: &str) -> Result<Option<Row>> {
    first(tx.query(Sql::same(select!("id = $2")), &[project.into(), id.into()])?).map(decode).transpose()
}

/// Memories by their ids, unordered.
pub fn get_many(tx: &mut dyn Tx, project: &str, ids: &[MemoryId]) -> Result<Vec<Row>> {
    // One lookup per id: with the list as a condition, PostgreSQL may read all memories of the project instead.
    let sql = Sql::pair(
        select!("id IN (SELECT value FROM json_each($2)) ORDER BY id"),
        concat!(
            "SELECT ",
            columns!("m."),
            " FROM json_array_elements_text(CAST($2 AS JSON)) j
         CROSS JOIN LATERAL (SELECT * FROM memory WHERE project = $1 AND id = j.value OFFSET 0) m ORDER BY m.id"
        ),
    );
    many(tx.query(sql, &[project.into(), list(ids)])?)
}

/// Ids of memories that begin with a prefix.
pub fn beginning(tx: &mut dyn Tx, project: &str, prefix: &str, limit: usize) -> Result<Vec<MemoryId>> {
    // Ids use no character above `z`, so `{` ends the range.
    let sql = Sql::same("SELECT id FROM memory WHERE project = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4");
    let end = format!("{prefix}{{");
    ids(tx.query(sql, &[project.into(), prefix.into(), end.into(), limit.into()])?)
}

/// The live memories of a scope, newest first, before a position in that order.
pub fn newest(
    tx: &mut dyn Tx,
    project: &str,
    scope: &MemoryScope,
    now: Time,
    before: (Time, &str),
    limit: usize,
) -> Result<Vec<Row>> {
    let sql = Sql::same(select!(
        "scope = $2 AND subject = $3 AND (updated_at, id) < ($4, $5) AND (expires_at = 0 OR expires_at > $7)
         ORDER BY updated_at DESC, id DESC LIMIT $6"
    ));
    let mut args = place(project, scope);
    args.extend([before.0.into(), before.1.into(), limit.into(), now.into()]);
    many(tx.query(sql, &args)?)
}

/// The live pinned memories of a scope, by id.
pub fn pinned(tx: &mut dyn Tx, project: &str, scope: &MemoryScope, now: Time, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(select!(
        "scope = $2 AND subject = $3 AND pinned = 1 AND (expires_at = 0 OR expires_at > $5) ORDER BY id LIMIT $4"
    ));
    let mut args = place(project, scope);
    args.extend([limit.into(), now.into()]);
    many(tx.query(sql, &args)?)
}

/// The live directives of a scope, newest first.
pub fn directives(tx: &mut dyn Tx, project: &str, scope: &MemoryScope, now: Time, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(select!(
        "scope = $2 AND subject = $3 AND kind = 'directive' AND (expires_at = 0 OR expires_at > $5)
         ORDER BY updated_at DESC, id DESC LIMIT $4"
    ));
    let mut args = place(project, scope);
    args.extend([limit.into(), now.into()]);
    many(tx.query(sql, &args)?)
}

/// The inputs of the ranking except the words. Nothing else is read of a memory that may not be shown.
#[derive(Clone, Debug)]
pub struct Weight {
    /// The memory's id.
    pub id: MemoryId,
    /// The kind of memory.
    pub kind: MemoryKind,
    /// Whether it is pinned.
    pub pinned: bool,
    /// The number of words, including repeats.
    pub words: i64,
    /// When it was last changed.
    pub updated_at: Time,
    /// When it expires; `None` for never.
    pub expires_at: Option<Time>,
}

impl Weight {
    /// Whether it has expired.
    pub fn is_over(&self, now: Time) -> bool {
        self.expires_at.is_some_and(|end| now >= end)
    }
}

fn decode_weight(mut row: crate::Row) -> Result<Weight> {
    let kind = row.text(1)?;
    Ok(Weight {
        id: row.id(0)?,
        kind: MemoryKind::parse(&kind).ok_or_else(|| corrupt("a memory has an unknown kind"))?,
        pinned: row.flag(2)?,
        words: row.int(3)?,
        updated_at: row.time(4)?,
        expires_at: row.optional_time(5)?,
    })
}

/// The ranking inputs of memories by their ids, unordered.
pub fn weights(project: &str, ids: &[MemoryId]) -> Statement<Vec<Weight>> {
    let sql = Sql::pair(
        "SELECT id, kind, pinned, words, updated_at, expires_at FROM memory
         WHERE project = $1 AND id IN (SELECT value FROM json_each($2))",
        "SELECT id, kind, pinned, words, updated_at, expires_at FROM memory
         WHERE project = $1 AND id = ANY (ARRAY(SELECT value FROM json_array_elements_text(CAST($2 AS JSON))))",
    );
    Statement::new(sql, vec![project.into(), list(ids)], |rows| rows.into_iter().map(decode_weight).collect())
}

/// The memories of a scope that contain a word, at most `limit`, with the count of the word in each.
pub fn having(project: &str, scope: &MemoryScope, term: &str, limit: usize) -> Statement<Vec<(MemoryId, u32)>> {
    let sql = Sql::same(
        "SELECT memory, count FROM memory_term
         WHERE project = $1 AND scope = $2 AND subject = $3 AND term = $4 ORDER BY memory LIMIT $5",
    );
    let mut args = place(project, scope);
    args.extend([term.into(), limit.into()]);
    let read = |rows: Vec<crate::Row>| {
        let count = |mut row: crate::Row| Ok((row.id(0)?, u32::try_from(row.int(1)?).unwrap_or(u32::MAX)));
        rows.into_iter().map(count).collect()
    };
    Statement::new(sql, args, read)
}

/// The number of memories of a scope and of their words.
pub fn sums(project: &str, scope: &MemoryScope) -> Statement<(i64, i64)> {
    let sql = Sql::same("SELECT memories, words FROM memory_scope WHERE project = $1 AND scope = $2 AND subject = $3");
    let read = |rows| first(rows).map_or(Ok((0, 0)), |row| Ok((row.int(0)?, row.int(1)?)));
    Statement::new(sql, place(project, scope), read)
}

/// Whether an id is in use.
pub fn exists(project: &str, id: &str) -> Statement<bool> {
    let sql = Sql::same("SELECT 1 FROM memory WHERE project = $1 AND id = $2");
    Statement::new(sql, vec![project.into(), id.into()], statement::exists)
}

/// Writes a new or changed memory with the words of its text.
pub fn put(tx: &mut dyn Tx, project: &str, row: &Row, terms: &[(String, u32)], before: Option<&Row>) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO memory (project, id, scope, subject, key, kind, text, pinned, author, task, number, version, words,
             created_at, updated_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
         ON CONFLICT (project, id) DO UPDATE SET kind = excluded.kind, text = excluded.text, pinned = excluded.pinned,
             author = excluded.author, task = excluded.task, number = excluded.number, version = excluded.version,
             words = excluded.words, created_at = excluded.created_at, updated_at = excluded.updated_at,
             expires_at = excluded.expires_at",
    );
    let args = vec![
        project.into(),
        (&row.id).into(),
        row.scope.word().into(),
        row.scope.subject().into(),
        (&row.key).into(),
        row.kind.as_str().into(),
        (&row.text).into(),
        row.pinned.into(),
        (&row.author).into(),
        Value::optional_text(&row.task),
        row.number.into(),
        row.version.into(),
        row.words.into(),
        row.created_at.into(),
        row.updated_at.into(),
        Value::optional_time(row.expires_at),
    ];
    tx.defer(sql, args)?;
    if before.is_some() {
        clear_terms(tx, project, &row.id)?;
    }
    insert_terms(tx, project, row, terms)?;
    add(tx, project, &row.scope, i64::from(before.is_none()), row.words - before.map_or(0, |before| before.words))
}

pub fn delete(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same("DELETE FROM memory WHERE project = $1 AND id = $2");
    tx.defer(sql, vec![project.into(), (&row.id).into()])?;
    clear_terms(tx, project, &row.id)?;
    add(tx, project, &row.scope, -1, -row.words)
}

/// Pins or unpins a memory.
pub fn set_pinned(tx: &mut dyn Tx, project: &str, id: &str, pinned: bool) -> Result<()> {
    let sql = Sql::same("UPDATE memory SET pinned = $3 WHERE project = $1 AND id = $2");
    tx.defer(sql, vec![project.into(), id.into(), pinned.into()])
}

fn clear_terms(tx: &mut dyn Tx, project: &str, memory: &str) -> Result<()> {
    // Left to itself, SQLite scans all words of the project: it considers the table, which is in primary key order,
    // cheaper than an index into it.
    let sql = Sql::pair(
        "DELETE FROM memory_term INDEXED BY memory_term_memory WHERE project = $1 AND memory = $2",
        "DELETE FROM memory_term WHERE project = $1 AND memory = $2",
    );
    tx.defer(sql, vec![project.into(), memory.into()])
}

fn insert_terms(tx: &mut dyn Tx, project: &str, row: &Row, terms: &[(String, u32)]) -> Result<()> {
    let json = serde_json::to_string(terms).map_err(|error| Error::bug(error.to_string()))?;
    let sql = Sql::pair(
        "INSERT INTO memory_term (project, scope, subject, term, memory, count)
         SELECT $1, $2, $3, json_extract(value, '$[0]'), $4, json_extract(value, '$[1]') FROM json_each($5)",
        "INSERT INTO memory_term (project, scope, subject, term, memory, count)
         SELECT $1, $2, $3, value->>0, $4, CAST(value->>1 AS BIGINT) FROM json_array_elements(CAST($5 AS JSON))",
    );
    let mut args = place(project, &row.scope);
    args.extend([(&row.id).into(), json.into()]);
    tx.defer(sql, args)
}

fn add(tx: &mut dyn Tx, project: &str, scope: &MemoryScope, memories: i64, words: i64) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO memory_scope (project, scope, subject, memories, words) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (project, scope, subject) DO UPDATE
         SET memories = memory_scope.memories + excluded.memories, words = memory_scope.words + excluded.words",
    );
    let mut args = place(project, scope);
    args.extend([memories.into(), words.into()]);
    tx.defer(sql, args)
}
