//! Fault injection in front of both engines, at the same moments on each.

use std::cell::Cell;

use tenure_core::Result;

use crate::store::{Body, CommitDecision, Entered};
use crate::system::{Faults, Moment};
use crate::tx::{BulkRows, Row, RowsWithin, Sql, Tx, Value};

/// Runs a write with fault injection. `write` is the engine's, with its own retries inside: an injected fault is not
/// retried.
pub(crate) fn struck<T>(
    faults: &dyn Faults,
    body: &Body<'_, T>,
    write: impl FnOnce(&Body<'_, T>) -> Result<T>,
) -> Result<T> {
    faults.strike(Moment::Lock)?;
    let committed = Cell::new(false);
    let answer = write(&|tx: &mut dyn Tx, entered: Entered| {
        let verdict = body(&mut Struck { tx, faults }, entered)?;
        committed.set(matches!(verdict, CommitDecision::Commit(_)));
        if committed.get() {
            faults.strike(Moment::Commit)?;
        }
        Ok(verdict)
    })?;
    if committed.get() {
        faults.strike(Moment::Committed)?;
    }
    Ok(answer)
}

/// A transaction whose statements can fail before they reach the engine. A deferred statement fails when it is handed
/// over, so that the n-th statement is the same on every engine.
struct Struck<'a> {
    tx: &'a mut dyn Tx,
    faults: &'a dyn Faults,
}

impl Tx for Struck<'_> {
    fn execute(&mut self, sql: Sql, args: &[Value]) -> Result<u64> {
        self.faults.strike(Moment::Statement)?;
        self.tx.execute(sql, args)
    }

    fn query(&mut self, sql: Sql, args: &[Value]) -> Result<Vec<Row>> {
        self.faults.strike(Moment::Statement)?;
        self.tx.query(sql, args)
    }

    fn query_within(&mut self, sql: Sql, args: &[Value], bytes: usize) -> Result<RowsWithin<Row>> {
        self.faults.strike(Moment::Statement)?;
        self.tx.query_within(sql, args, bytes)
    }

    fn query_all(&mut self, calls: Vec<(Sql, Vec<Value>)>) -> Result<Vec<Vec<Row>>> {
        calls.iter().try_for_each(|_| self.faults.strike(Moment::Statement))?;
        self.tx.query_all(calls)
    }

    fn defer(&mut self, sql: Sql, args: Vec<Value>) -> Result<()> {
        self.faults.strike(Moment::Statement)?;
        self.tx.defer(sql, args)
    }

    fn insert_rows(&mut self, sql: Sql, rows: BulkRows<'_>) -> Result<()> {
        self.faults.strike(Moment::Statement)?;
        self.tx.insert_rows(sql, rows)
    }

    fn savepoint(&mut self) -> Result<()> {
        self.faults.strike(Moment::Statement)?;
        self.tx.savepoint()
    }

    fn undo(&mut self) -> Result<()> {
        self.faults.strike(Moment::Statement)?;
        self.tx.undo()
    }
}
