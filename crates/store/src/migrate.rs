//! The schema and its migrations: numbered steps, each applied once in a transaction.

use tenure_core::Result;

use crate::table::task_word;
use crate::tx::Tx;

/// One migration step.
pub struct Migration {
    /// The schema version after the step.
    pub version: i64,
    /// The SQL common to both engines.
    text: &'static str,
    /// Where its view begins, if it makes one; else its end.
    view: usize,
}

/// All steps in order. Within a minor version, steps only add.
pub const STEPS: [Migration; 13] = [
    Migration::new(1, include_str!("schema/0001_kernel.sql")),
    Migration::new(2, include_str!("schema/0002_kept.sql")),
    Migration::new(3, include_str!("schema/0003_continuity.sql")),
    Migration::new(4, include_str!("schema/0004_paths.sql")),
    Migration::new(5, include_str!("schema/0005_exclusion.sql")),
    Migration::new(6, include_str!("schema/0006_server.sql")),
    Migration::new(7, include_str!("schema/0007_nested.sql")),
    Migration::new(8, include_str!("schema/0008_look_ups.sql")),
    Migration::new(9, include_str!("schema/0009_own_file.sql")),
    Migration::new(10, include_str!("schema/0010_not_before.sql")),
    Migration::new(WORDS, include_str!("schema/0011_words.sql")),
    Migration::new(12, include_str!("schema/0012_threads.sql")),
    Migration::new(13, include_str!("schema/0013_view_order.sql")),
];

/// The step that adds the words of tasks.
const WORDS: i64 = 11;

/// Fills the tables that later steps than `from` added, after the steps have run. It is for a store that has rows.
pub(crate) fn fill(tx: &mut dyn Tx, from: i64) -> Result<()> {
    if (1..WORDS).contains(&from) { task_word::fill(tx) } else { Ok(()) }
}

/// The schema version that this program knows.
pub const VERSION: i64 = STEPS[STEPS.len() - 1].version;

/// Marks a SQLite file as a store of Tenure (`PRAGMA application_id`): the letters `TENU`.
pub const APPLICATION_ID: i64 = 0x5445_4E55;

/// Marks a SQLite file as a backup: the letters `TENB`. A backup that is written to is no longer a backup, and
/// restoring a store's database file would lose the content of its log, so neither is accepted as the other.
pub const BACKUP_ID: i64 = 0x5445_4E42;

impl Migration {
    const fn new(version: i64, text: &'static str) -> Migration {
        Migration { version, text, view: find(text.as_bytes(), b"CREATE VIEW ") }
    }

    /// Whether the step makes this view, whose statement is the same on both engines, word for word. Asked whenever a store
    /// is opened, so where it stands is found at build time.
    pub(crate) fn makes_view(&self, statement: &str) -> bool {
        let rest = self.text.get(self.view..).and_then(|made| made.strip_prefix(statement));
        rest.is_some_and(|rest| rest.starts_with(';'))
    }

    /// The step for SQLite. Tables are strict, so that a value of the wrong type is refused on write.
    pub fn sqlite(&self) -> String {
        let mut out = String::with_capacity(self.text.len() + 512);
        for line in self.text.lines().filter(|line| !line.trim_start().starts_with("--")) {
            let line = line.replace("BIGINT", "INTEGER");
            match line.as_str() {
                ");" => out.push_str(") STRICT;"),
                "); -- clustered" => out.push_str(") STRICT, WITHOUT ROWID;"),
                other => out.push_str(other),
            }
            out.push('\n');
        }
        out
    }

    /// The step for PostgreSQL. Every text compares byte by byte, as in SQLite.
    pub fn postgres(&self) -> String {
        self.text.replace(" TEXT", " TEXT COLLATE \"C\"")
    }
}

/// Where a word is first found in a text; the text's end where it is not.
const fn find(text: &[u8], word: &[u8]) -> usize {
    let mut at = 0;
    while at + word.len() <= text.len() {
        let mut same = 0;
        while same < word.len() && text[at + same] == word[same] {
            same += 1;
        }
        if same == word.len() {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// All steps at once, for a new SQLite file. Columns that a later step adds stand in their tables from the beginning, in the
/// very text that SQLite makes of `ALTER TABLE`: it reads the whole schema again for each of those, which was nine tenths
/// of the work of making a store.
pub fn sqlite_at_once() -> String {
    let steps: String = STEPS.iter().map(Migration::sqlite).collect();
    let mut whole = String::with_capacity(steps.len());
    for line in steps.split_inclusive('\n') {
        let added = line.strip_prefix("ALTER TABLE ").and_then(|rest| rest.split_once(" ADD COLUMN "));
        let place = added.and_then(|(table, _)| after_columns(&whole, table));
        match (added, place) {
            (Some((_, column)), Some(place)) => {
                whole.insert_str(place, column.trim_end().trim_end_matches(';'));
                whole.insert_str(place, ", ");
            }
            _ => whole.push_str(line),
        }
    }
    whole
}

/// Where the last column of a table ends: before the comma that its primary key follows.
fn after_columns(schema: &str, table: &str) -> Option<usize> {
    let begin = schema.find(&format!("CREATE TABLE {table} ("))?;
    let end = begin + schema[begin..].find("\n)")?;
    Some(begin + schema[begin..end].find(",\n    PRIMARY KEY (")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_steps_at_once_make_what_they_make_one_by_one() {
        let made = |texts: &[String]| {
            let connection = rusqlite::Connection::open_in_memory().unwrap();
            texts.iter().for_each(|text| connection.execute_batch(text).unwrap());
            let mut found =
                connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2").unwrap();
            let rows = found.query_map([], |row| {
                Ok::<(String, String, String, Option<String>), _>((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            });
            rows.unwrap().collect::<Result<Vec<_>, _>>().unwrap()
        };
        let at_once = sqlite_at_once();
        assert!(!at_once.contains("ALTER TABLE"), "a step that costs every new store a reading of its schema");
        assert_eq!(made(&[at_once]), made(&STEPS.iter().map(Migration::sqlite).collect::<Vec<_>>()));
    }

    #[test]
    fn versions_rise_by_one() {
        assert!(STEPS.iter().zip(1..).all(|(step, version)| step.version == version));
    }

    #[test]
    fn a_view_is_known_word_for_word_and_a_step_has_one_at_most() {
        assert!(STEPS.iter().all(|step| step.text.matches("CREATE VIEW ").count() <= 1));
        let step = STEPS.iter().rfind(|step| step.text.contains("CREATE VIEW ")).unwrap();
        let view = &step.text[step.text.find("CREATE VIEW ").unwrap()..];
        let view = &view[..view.find(';').unwrap()];
        assert!(step.makes_view(view));
        assert!(!step.makes_view(&view[..view.len() - 1]) && !step.makes_view(&view.replace("task_full", "task_part")));
        assert!(!STEPS.iter().any(|step| step.makes_view("SELECT 1") || step.makes_view("")));
    }

    /// An older program reads the view by position; see step 13, which corrects step 10.
    #[test]
    fn a_view_grows_at_its_end() {
        let columns = |step: &Migration| -> Option<Vec<String>> {
            let (_, view) = step.text.split_once("CREATE VIEW task_full AS\nSELECT ")?;
            Some(view.split_once("\nFROM ")?.0.split(',').map(|column| column.trim().to_owned()).collect())
        };
        let views: Vec<_> = STEPS.iter().filter(|step| step.version != 10).filter_map(columns).collect();
        assert!(views.len() >= 3 && views.is_sorted_by(|older, newer| newer.starts_with(older)), "{views:?}");
    }

    #[test]
    fn one_text_makes_both_schemas() {
        let step = &STEPS[0];
        assert!(step.sqlite().contains("WITHOUT ROWID") && !step.sqlite().contains("BIGINT"));
        assert!(step.postgres().contains("id TEXT COLLATE \"C\" NOT NULL"));
    }
}
