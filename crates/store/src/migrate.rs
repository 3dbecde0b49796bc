//! The schema and its migrations: numbered steps, each applied once in a transaction.

/// One migration step.
pub struct Migration {
    /// The schema version after the step.
    pub version: i64,
    /// The SQL common to both engines.
    text: &'static str,
}

/// All steps in order. Within a minor version, steps only add.
pub const STEPS: [Migration; 10] = [
    Migration { version: 1, text: include_str!("schema/0001_kernel.sql") },
    Migration { version: 2, text: include_str!("schema/0002_kept.sql") },
    Migration { version: 3, text: include_str!("schema/0003_continuity.sql") },
    Migration { version: 4, text: include_str!("schema/0004_paths.sql") },
    Migration { version: 5, text: include_str!("schema/0005_exclusion.sql") },
    Migration { version: 6, text: include_str!("schema/0006_server.sql") },
    Migration { version: 7, text: include_str!("schema/0007_nested.sql") },
    Migration { version: 8, text: include_str!("schema/0008_look_ups.sql") },
    Migration { version: 9, text: include_str!("schema/0009_own_file.sql") },
    Migration { version: 10, text: include_str!("schema/0010_not_before.sql") },
];

/// The schema version that this program knows.
pub const VERSION: i64 = STEPS[STEPS.len() - 1].version;

/// Marks a SQLite file as a store of Tenure (`PRAGMA application_id`): the letters `TENU`.
pub const APPLICATION_ID: i64 = 0x5445_4E55;

/// Marks a SQLite file as a backup: the letters `TENB`. A backup that is written to is no longer a backup, and
/// restoring a store's database file would lose the content of its log, so neither is accepted as the other.
pub const BACKUP_ID: i64 = 0x5445_4E42;

impl Migration {
    /// Whether the step contains exactly this statement, which is the same on both engines.
    pub(crate) fn has_statement(&self, statement: &str) -> bool {
        self.text.split_once(statement).is_some_and(|(_, rest)| rest.starts_with(';'))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_rise_by_one() {
        assert!(STEPS.iter().zip(1..).all(|(step, version)| step.version == version));
    }

    #[test]
    fn one_text_makes_both_schemas() {
        let step = &STEPS[0];
        assert!(step.sqlite().contains("WITHOUT ROWID") && !step.sqlite().contains("BIGINT"));
        assert!(step.postgres().contains("id TEXT COLLATE \"C\" NOT NULL"));
    }
}
