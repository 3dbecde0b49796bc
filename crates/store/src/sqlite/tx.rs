//! A transaction on a SQLite connection.

use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, Statement, StatementStatus, ToSql};
use tenure_core::{Result, Stage};

use super::bulk_insert::{self, BulkInsert};
use super::large_transaction::LargeTransaction;
use crate::error::{self, corrupt};
use crate::tx::{BulkRows, Room, Row, RowsWithin, Sql, Tx, Value, check_bindings};

/// How long a prepared statement is kept.
#[derive(Clone, Copy)]
pub(crate) enum Keep {
    /// As long as the connection: a process with many calls prepares it once.
    Connection,
    /// As long as the transaction: SQLite prepares a short-lived statement with memory it has at hand, which saves a
    /// process that reads once 6 % of its instructions.
    Transaction,
}

enum PreparedStatement<'c> {
    Lasting(CachedStatement<'c>),
    Passing(Statement<'c>),
}

pub(crate) struct SqliteTx<'c> {
    pub(crate) connection: &'c Connection,
    steps: &'c AtomicU64,
    /// What a transaction with many rows changes of the connection, where that is one of a store.
    large: Option<&'c LargeTransaction>,
    keep: Keep,
    /// The statements that this transaction has run. Texts are static, so equal texts have equal addresses.
    prepared: Vec<(&'static str, PreparedStatement<'c>)>,
}

impl<'c> SqliteTx<'c> {
    pub(crate) fn new(connection: &'c Connection, steps: &'c AtomicU64, keep: Keep) -> SqliteTx<'c> {
        SqliteTx { connection, steps, large: None, keep, prepared: Vec::new() }
    }

    /// The same for a store, where other writers wait for the transaction.
    pub(crate) fn of_store(self, large: &'c LargeTransaction) -> SqliteTx<'c> {
        SqliteTx { large: Some(large), ..self }
    }

    fn prepared(&mut self, text: &'static str) -> rusqlite::Result<&mut Statement<'c>> {
        let known = self.prepared.iter().position(|(known, _)| std::ptr::eq(*known, text));
        let at = match known {
            Some(at) => at,
            None => {
                let prepared = match self.keep {
                    Keep::Connection => PreparedStatement::Lasting(self.connection.prepare_cached(text)?),
                    Keep::Transaction => PreparedStatement::Passing(self.connection.prepare(text)?),
                };
                self.prepared.push((text, prepared));
                self.prepared.len() - 1
            }
        };
        Ok(match &mut self.prepared[at].1 {
            PreparedStatement::Lasting(statement) => statement,
            PreparedStatement::Passing(statement) => statement,
        })
    }

    fn run(&mut self, sql: Sql, args: &[Value]) -> rusqlite::Result<Result<u64>> {
        let steps = self.steps;
        let statement = self.prepared(sql.sqlite)?;
        if let Err(error) = bind(statement, sql.sqlite, args)? {
            return Ok(Err(error));
        }
        let changed = statement.raw_execute()?;
        count_steps(steps, statement);
        Ok(Ok(changed as u64))
    }

    fn insert_bulk(&mut self, sql: Sql, rows: &mut BulkRows<'_>) -> rusqlite::Result<Result<()>> {
        let insert = match BulkInsert::of(sql.sqlite, rows.common.len()) {
            Ok(insert) => insert,
            Err(error) => return Ok(Err(error)),
        };
        let mut prepared: Option<(usize, Statement<'_>)> = None;
        if let Some(large) = self.large {
            large.grow(self.connection, rows.each.len())?;
        }
        while rows.each.len() > 0 {
            let count = insert.rows(rows.each.len());
            let mut statement = match prepared.take() {
                Some((of, statement)) if of == count => statement,
                _ => {
                    let mut statement = insert.prepare(self.connection, count)?;
                    insert.bind_common(&mut statement, &rows.common)?;
                    statement
                }
            };
            for row in 0..count {
                let Some(values) = rows.each.next() else { break };
                if let Err(error) = insert.bind_row(&mut statement, row, &values)? {
                    return Ok(Err(error));
                }
            }
            statement.raw_execute()?;
            count_steps(self.steps, &statement);
            prepared = Some((count, statement));
        }
        Ok(Ok(()))
    }

    fn rows(&mut self, sql: Sql, args: &[Value], mut room: Room) -> rusqlite::Result<Result<RowsWithin<Row>>> {
        let steps = self.steps;
        let statement = self.prepared(sql.sqlite)?;
        if let Err(error) = bind(statement, sql.sqlite, args)? {
            return Ok(Err(error));
        }
        let columns = statement.column_count();
        let mut out = RowsWithin { rows: Vec::new(), cut: false };
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let mut values = Vec::with_capacity(columns);
            for column in 0..columns {
                values.push(match row.get_ref(column)? {
                    ValueRef::Null => Value::NullInt,
                    ValueRef::Integer(number) => Value::Int(number),
                    ValueRef::Text(text) => match std::str::from_utf8(text) {
                        Ok(text) => Value::Text(text.to_owned()),
                        Err(_) => return Ok(Err(corrupt("a stored text is not UTF-8"))),
                    },
                    ValueRef::Real(_) | ValueRef::Blob(_) => {
                        return Ok(Err(corrupt("a stored value has a type that is never written")));
                    }
                });
            }
            let row = Row(values);
            if !room.takes(row.bytes()) {
                out.cut = true;
                break;
            }
            out.rows.push(row);
        }
        drop(rows);
        count_steps(steps, statement);
        Ok(Ok(out))
    }
}

fn count_steps(steps: &AtomicU64, statement: &Statement<'_>) {
    let run = statement.reset_status(StatementStatus::VmStep);
    steps.fetch_add(u64::try_from(run).unwrap_or(0), Ordering::Relaxed);
}

impl Tx for SqliteTx<'_> {
    fn execute(&mut self, sql: Sql, args: &[Value]) -> Result<u64> {
        self.run(sql, args).map_err(|error| error::sqlite(error, Stage::Write))?
    }

    fn query(&mut self, sql: Sql, args: &[Value]) -> Result<Vec<Row>> {
        self.query_within(sql, args, usize::MAX).map(|found| found.rows)
    }

    fn query_within(&mut self, sql: Sql, args: &[Value], bytes: usize) -> Result<RowsWithin<Row>> {
        self.rows(sql, args, Room::of(bytes)).map_err(|error| error::sqlite(error, Stage::Read))?
    }

    fn query_all(&mut self, calls: Vec<(Sql, Vec<Value>)>) -> Result<Vec<Vec<Row>>> {
        calls.into_iter().map(|(sql, args)| self.query(sql, &args)).collect()
    }

    fn defer(&mut self, sql: Sql, args: Vec<Value>) -> Result<()> {
        if sql.sqlite == Sql::NOTHING {
            return Ok(());
        }
        self.execute(sql, &args).map(|_| ())
    }

    fn insert_rows(&mut self, sql: Sql, mut rows: BulkRows<'_>) -> Result<()> {
        if rows.each.len() >= bulk_insert::FEW {
            return self.insert_bulk(sql, &mut rows).map_err(|error| error::sqlite(error, Stage::Write))?;
        }
        let common = rows.common.len();
        let mut args = rows.common;
        for row in rows.each {
            args.truncate(common);
            args.extend(row);
            self.execute(sql, &args)?;
        }
        Ok(())
    }

    fn savepoint(&mut self) -> Result<()> {
        self.execute(Sql::same("SAVEPOINT op"), &[]).map(|_| ())
    }

    fn undo(&mut self) -> Result<()> {
        // After some errors (including a full disk) SQLite rolls back the whole transaction; continuing would then
        // write outside any transaction.
        if self.connection.is_autocommit() {
            return Err(error::disk_full().cause("the transaction was rolled back by the engine"));
        }
        self.execute(Sql::same("ROLLBACK TO op"), &[])?;
        self.execute(Sql::same("RELEASE op"), &[]).map(|_| ())
    }
}

/// Binds `$n` by name: SQLite numbers named parameters by first occurrence, not by their digits.
fn bind(statement: &mut Statement<'_>, text: &str, args: &[Value]) -> rusqlite::Result<Result<()>> {
    let mut highest = 0;
    for index in 1..=statement.parameter_count() {
        let number = statement.parameter_name(index).and_then(|name| name[1..].parse::<usize>().ok()).unwrap_or(0);
        highest = highest.max(number);
        let Some(value) = number.checked_sub(1).and_then(|at| args.get(at)) else {
            return Ok(check_bindings(usize::MAX, args.len(), text));
        };
        statement.raw_bind_parameter(index, value)?;
    }
    Ok(check_bindings(highest, args.len(), text))
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Int(number) => ValueRef::Integer(*number),
            Value::NullInt => ValueRef::Null,
        }))
    }
}

/// The plan of a statement, one line per step.
pub(super) fn explain(connection: &Connection, sql: Sql, args: &[Value]) -> Result<String> {
    let read = |error| error::sqlite(error, Stage::Read);
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", sql.sqlite)).map_err(read)?;
    bind(&mut statement, sql.sqlite, args).map_err(read)??;
    let mut lines = Vec::new();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(read)? {
        lines.push(row.get::<_, String>(3).map_err(read)?);
    }
    Ok(lines.join("\n"))
}
