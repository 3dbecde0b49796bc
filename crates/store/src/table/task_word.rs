//! The `task_word` table: the words of tasks and of their notes, for searches.

use std::collections::BTreeSet;

use tenure_core::id::TaskId;
use tenure_core::search::TaskTexts;
use tenure_core::{Error, Result, words};

use crate::statement::Statement;
use crate::tx::{BulkRows, RowsWithin, Sql, Tx, Value, ids, list};

/// Whether a word is one of the task's own texts or of its notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// Title, description and acceptance criteria.
    Task,
    /// Any note.
    Notes,
}

impl Source {
    fn value(self) -> i64 {
        i64::from(self == Source::Notes)
    }
}

/// Removes words of a task's own texts.
pub fn remove<'w>(tx: &mut dyn Tx, project: &str, task: &str, words: impl Iterator<Item = &'w String>) -> Result<()> {
    let words: Vec<&String> = words.collect();
    if words.is_empty() {
        return Ok(());
    }
    // PostgreSQL finds the rows one by one first: without statistics it would look through all words of the project.
    let sql = Sql::pair(
        "DELETE FROM task_word WHERE project = $1 AND task = $3 AND noted = 0
         AND word IN (SELECT value FROM json_each($2))",
        "DELETE FROM task_word WHERE ctid = ANY (ARRAY(
             SELECT f.ctid FROM json_array_elements_text(CAST($2 AS JSON)) j
             CROSS JOIN LATERAL (SELECT ctid FROM task_word
                                 WHERE project = $1 AND word = j.value AND task = $3 AND noted = 0 OFFSET 0) f))",
    );
    tx.defer(sql, vec![project.into(), list(&words), task.into()])
}

/// TaskWords of tasks and notes, in the order of the key: each page of the table is written once.
#[derive(Debug, Default)]
pub struct TaskWords {
    rows: BTreeSet<(String, TaskId, Source)>,
}

impl TaskWords {
    /// Adds the words of a task's own texts.
    pub fn of_task(&mut self, task: &TaskId, texts: TaskTexts<'_>) {
        self.add(task, texts.words());
    }

    /// Adds some words of a task's own texts.
    pub fn add(&mut self, task: &TaskId, words: impl IntoIterator<Item = String>) {
        self.rows.extend(words.into_iter().map(|word| (word, task.clone(), Source::Task)));
    }

    /// Adds the words of a note.
    pub fn of_note(&mut self, task: &TaskId, text: &str) {
        self.rows.extend(words::distinct(text).into_iter().map(|word| (word, task.clone(), Source::Notes)));
    }

    /// Stores them. Those that are stored already stay.
    pub fn insert(self, tx: &mut dyn Tx, project: &str) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let sql = Sql::pair(
            "INSERT OR IGNORE INTO task_word (project, word, task, noted) VALUES ($1, $2, $3, $4)",
            "INSERT INTO task_word (project, word, task, noted)
             SELECT $1, value->>0, value->>1, CAST(value->>2 AS BIGINT) FROM json_array_elements(CAST($2 AS JSON))
             ON CONFLICT DO NOTHING",
        );
        let json = || {
            let rows: Vec<_> = self.rows.iter().map(|(word, task, source)| (word, task, source.value())).collect();
            serde_json::to_string(&rows).map_err(|error| Error::bug(error.to_string()))
        };
        let rows: Vec<&(String, TaskId, Source)> = self.rows.iter().collect();
        let mut each = rows.iter().map(|(word, task, source)| vec![word.into(), task.into(), source.value().into()]);
        tx.insert_rows(sql, BulkRows { common: vec![project.into()], each: &mut each, json: &json })
    }
}

/// The tasks that have a word that begins so, from at most `limit` rows of the index. Fewer rows are all there are.
pub fn beginning(project: &str, beginning: &str, limit: usize) -> Statement<Vec<TaskId>> {
    let sql = Sql::same(
        "SELECT task FROM task_word WHERE project = $1 AND word >= $2 AND word < $3 ORDER BY word, task, noted LIMIT $4",
    );
    // No word has this last of all characters: it is neither a letter nor a digit.
    let end = format!("{beginning}{}", char::MAX);
    Statement::new(sql, vec![project.into(), beginning.into(), end.into(), limit.into()], ids)
}

/// The number of rows that are gathered before they are written.
const GATHERED: usize = 100_000;
/// The size of texts in memory at once.
const PAGE_BYTES: usize = 8 << 20;

/// Fills the table from the tasks and notes of a store whose schema had no such table.
pub(crate) fn fill(tx: &mut dyn Tx) -> Result<()> {
    let projects = tx.query(Sql::same("SELECT id FROM project ORDER BY id"), &[])?;
    for mut project in projects {
        let project = project.text(0)?;
        let mut words = TaskWords::default();
        let tasks = Sql::same(
            "SELECT id, id, title, description, acceptance FROM task WHERE project = $1 AND id > $2 ORDER BY id LIMIT $3",
        );
        let notes = Sql::same("SELECT id, task, text FROM note WHERE project = $1 AND id > $2 ORDER BY id LIMIT $3");
        fill_from(tx, &project, tasks, &mut words, |words, row| {
            let (task, title) = (row.id(1)?, row.text(2)?);
            let (description, acceptance) = (row.text(3)?, row.text(4)?);
            words.of_task(&task, TaskTexts { title: &title, description: &description, acceptance: &acceptance });
            Ok(())
        })?;
        fill_from(tx, &project, notes, &mut words, |words, row| {
            let task = row.id(1)?;
            words.of_note(&task, &row.text(2)?);
            Ok(())
        })?;
        words.insert(tx, &project)?;
    }
    Ok(())
}

/// Reads a table page by page in the order of its ids.
fn fill_from(
    tx: &mut dyn Tx,
    project: &str,
    sql: Sql,
    words: &mut TaskWords,
    add: impl Fn(&mut TaskWords, &mut crate::Row) -> Result<()>,
) -> Result<()> {
    let mut after = String::new();
    loop {
        let args = [project.into(), Value::from(&after), 1_000_i64.into()];
        let RowsWithin { mut rows, cut } = tx.query_within(sql, &args, PAGE_BYTES)?;
        let more = cut || rows.len() == 1_000;
        for row in &mut rows {
            add(words, row)?;
            after = row.text(0)?;
        }
        if words.rows.len() >= GATHERED {
            std::mem::take(words).insert(tx, project)?;
        }
        if !more {
            return Ok(());
        }
    }
}
