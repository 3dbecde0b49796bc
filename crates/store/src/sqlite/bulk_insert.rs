//! Bulk inserts: one INSERT writes many rows.
//!
//! SQLite opens the cursors of a table and all its indexes anew for every statement. Within one statement they stay where
//! the row before was written, so a row of a task costs half as much. All writers of the file wait for the transaction.

use std::fmt::Write as _;

use rusqlite::Connection;
use rusqlite::Statement;
use tenure_core::{Error, Result};

use crate::tx::Value;

/// Fewer rows use the statement for one row, which is often prepared already.
pub(super) const FEW: usize = 16;
/// Most rows of one statement: more make no difference (0.42 s at 50, 0.40 s at 500 for 100,000 tasks and their events).
const ROWS: usize = 256;
/// Most parameters of one statement. SQLite accepts 32,766.
const PARAMETERS: usize = 8_192;

/// An INSERT for one row, taken apart.
pub(super) struct BulkInsert {
    /// The text up to the values.
    head: &'static str,
    /// The parameters of a row, in the order of the columns.
    parameters: Vec<usize>,
    /// How many parameters are the same for all rows. They come first.
    common: usize,
    /// How many parameters each row has of its own.
    width: usize,
}

impl BulkInsert {
    /// Takes `INSERT … VALUES ($1, $2, …)` apart.
    pub(super) fn of(text: &'static str, common: usize) -> Result<BulkInsert> {
        let parts = text.split_once("VALUES").and_then(|(head, values)| {
            let list = values.trim().strip_prefix('(')?.strip_suffix(')')?;
            let number = |parameter: &str| parameter.trim().strip_prefix('$')?.parse().ok();
            Some((head, list.split(',').map(number).collect::<Option<Vec<usize>>>()?))
        });
        let Some((head, parameters)) = parts else {
            return Err(Error::bug(format!("a bulk insert is not INSERT … VALUES ($1, …): {text}")));
        };
        let width = parameters.iter().filter(|parameter| **parameter > common).count();
        Ok(BulkInsert { head, parameters, common, width })
    }

    /// How many rows the next statement writes, of so many that are left.
    pub(super) fn rows(&self, left: usize) -> usize {
        left.min(ROWS).min(PARAMETERS / self.width.max(1)).max(1)
    }

    /// The statement for so many rows. Its parameters are numbered and have no names: SQLite searches names one by one.
    pub(super) fn prepare<'c>(&self, connection: &'c Connection, rows: usize) -> rusqlite::Result<Statement<'c>> {
        connection.prepare(&self.text(rows))
    }

    fn text(&self, rows: usize) -> String {
        let mut text = format!("{}VALUES ", self.head);
        for row in 0..rows {
            text.push_str(if row == 0 { "(" } else { ", (" });
            for (at, parameter) in self.parameters.iter().enumerate() {
                let number = if *parameter > self.common { parameter + row * self.width } else { *parameter };
                // Writing to a text cannot fail.
                let _ = write!(text, "{}?{number}", if at == 0 { "" } else { ", " });
            }
            text.push(')');
        }
        text
    }

    /// Binds the values that all rows share.
    pub(super) fn bind_common(&self, statement: &mut Statement<'_>, values: &[Value]) -> rusqlite::Result<()> {
        values.iter().enumerate().try_for_each(|(at, value)| statement.raw_bind_parameter(at + 1, value))
    }

    /// Binds the values of a row, counted from 0.
    pub(super) fn bind_row(
        &self,
        statement: &mut Statement<'_>,
        row: usize,
        values: &[Value],
    ) -> rusqlite::Result<Result<()>> {
        if values.len() != self.width {
            let (given, width) = (values.len(), self.width);
            return Ok(Err(Error::bug(format!("a row has {given} values and {width} parameters: {}", self.head))));
        }
        let first = self.common + row * self.width + 1;
        for (at, value) in values.iter().enumerate() {
            statement.raw_bind_parameter(first + at, value)?;
        }
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_statement_share_the_common_parameters() {
        let insert = BulkInsert::of("INSERT INTO t (a, b, c, d) VALUES ($1, $3, $2, $4)", 2).unwrap();
        assert_eq!(insert.text(1), "INSERT INTO t (a, b, c, d) VALUES (?1, ?3, ?2, ?4)");
        assert_eq!(insert.text(2), "INSERT INTO t (a, b, c, d) VALUES (?1, ?3, ?2, ?4), (?1, ?5, ?2, ?6)");
        assert!(BulkInsert::of("INSERT INTO t SELECT 1", 0).is_err());
    }

    #[test]
    fn a_statement_stays_within_the_parameters_of_sqlite() {
        let wide =
            format!("INSERT INTO t VALUES ({})", (1..=100).map(|n| format!("${n}")).collect::<Vec<_>>().join(","));
        let insert = BulkInsert::of(wide.leak(), 0).unwrap();
        assert_eq!((insert.rows(100_000), insert.rows(3)), (81, 3));
        let narrow = BulkInsert::of("INSERT INTO t (a, b) VALUES ($1, $2)", 1).unwrap();
        assert_eq!(narrow.rows(100_000), ROWS);
    }
}
