//! Typed statements: queries that know how to decode their rows.
//!
//! The module of a table creates a [`Statement`]. Statements that are needed together form a [`Batch`], which `fetch`
//! sends in one round trip. The result has the shape of the batch: a tuple of statements yields a tuple. Statements
//! only read. A write uses the transaction itself.

use std::vec;

use tenure_core::{Error, Result};

use crate::tx::{Row, RowsWithin, Sql, Tx, Value};

/// A query with its arguments and the function that decodes its rows.
#[derive(Clone, Debug)]
#[must_use = "a statement reads nothing until it is fetched"]
pub struct Statement<T> {
    sql: Sql,
    args: Vec<Value>,
    read: fn(Vec<Row>) -> Result<T>,
}

impl<T> Statement<T> {
    pub(crate) fn new(sql: Sql, args: Vec<Value>, read: fn(Vec<Row>) -> Result<T>) -> Statement<T> {
        Statement { sql, args, read }
    }
}

/// Statements that are sent together.
///
/// `receive` takes exactly as many answers as `send` added calls, in the same order: nothing else assigns an answer to
/// its statement.
pub trait Batch: Sized {
    /// The decoded result.
    type Output;

    /// Adds its statements to the calls.
    fn send(&mut self, calls: &mut Vec<(Sql, Vec<Value>)>);

    /// Takes the answers to its statements and decodes them.
    fn receive(self, answers: &mut vec::IntoIter<Vec<Row>>) -> Result<Self::Output>;

    /// The same statements, with a function applied to the result.
    fn map<T, F: FnOnce(Self::Output) -> T>(self, make: F) -> Map<Self, F> {
        Map { batch: self, make }
    }
}

impl<T> Batch for Statement<T> {
    type Output = T;

    fn send(&mut self, calls: &mut Vec<(Sql, Vec<Value>)>) {
        calls.push((self.sql, std::mem::take(&mut self.args)));
    }

    fn receive(self, answers: &mut vec::IntoIter<Vec<Row>>) -> Result<T> {
        let rows = answers.next().ok_or_else(|| Error::bug("a statement without an answer"))?;
        (self.read)(rows)
    }
}

/// An optional statement.
impl<B: Batch> Batch for Option<B> {
    type Output = Option<B::Output>;

    fn send(&mut self, calls: &mut Vec<(Sql, Vec<Value>)>) {
        if let Some(batch) = self {
            batch.send(calls);
        }
    }

    fn receive(self, answers: &mut vec::IntoIter<Vec<Row>>) -> Result<Self::Output> {
        self.map(|batch| batch.receive(answers)).transpose()
    }
}

/// Any number of batches of the same type.
impl<B: Batch> Batch for Vec<B> {
    type Output = Vec<B::Output>;

    fn send(&mut self, calls: &mut Vec<(Sql, Vec<Value>)>) {
        self.iter_mut().for_each(|batch| batch.send(calls));
    }

    fn receive(self, answers: &mut vec::IntoIter<Vec<Row>>) -> Result<Self::Output> {
        self.into_iter().map(|batch| batch.receive(answers)).collect()
    }
}

/// The result of [`Batch::map`].
#[derive(Clone, Debug)]
#[must_use = "a statement reads nothing until it is fetched"]
pub struct Map<B, F> {
    batch: B,
    make: F,
}

impl<B: Batch, T, F: FnOnce(B::Output) -> T> Batch for Map<B, F> {
    type Output = T;

    fn send(&mut self, calls: &mut Vec<(Sql, Vec<Value>)>) {
        self.batch.send(calls);
    }

    fn receive(self, answers: &mut vec::IntoIter<Vec<Row>>) -> Result<T> {
        self.batch.receive(answers).map(self.make)
    }
}

macro_rules! tuple {
    ($($batch:ident $field:tt),+) => {
        impl<$($batch: Batch),+> Batch for ($($batch,)+) {
            type Output = ($($batch::Output,)+);

            fn send(&mut self, calls: &mut Vec<(Sql, Vec<Value>)>) {
                $(self.$field.send(calls);)+
            }

            fn receive(self, answers: &mut vec::IntoIter<Vec<Row>>) -> Result<Self::Output> {
                Ok(($(self.$field.receive(answers)?,)+))
            }
        }
    };
}

tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);

impl dyn Tx + '_ {
    /// Runs the statements of a batch over the same state, in one round trip on an engine that has round trips. An
    /// empty batch costs none.
    pub fn fetch<B: Batch>(&mut self, mut batch: B) -> Result<B::Output> {
        let mut calls = Vec::new();
        batch.send(&mut calls);
        let answers = if calls.is_empty() { Vec::new() } else { self.query_all(calls)? };
        batch.receive(&mut answers.into_iter())
    }

    /// Runs a statement as far as its rows fit into `bytes` bytes; see [`Tx::query_within`].
    pub fn fetch_within<T>(&mut self, statement: Statement<Vec<T>>, bytes: usize) -> Result<RowsWithin<T>> {
        let Statement { sql, args, read } = statement;
        let RowsWithin { rows, cut } = self.query_within(sql, &args, bytes)?;
        Ok(RowsWithin { rows: read(rows)?, cut })
    }
}

/// Whether there is any row.
pub(crate) fn exists(rows: Vec<Row>) -> Result<bool> {
    Ok(rows.into_iter().next().is_some())
}

/// The number in the only row; 0 without one.
pub(crate) fn number(rows: Vec<Row>) -> Result<i64> {
    rows.into_iter().next().map_or(Ok(0), |row| row.int(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers each query with its own arguments as a row, and counts the round trips.
    #[derive(Default)]
    struct Echo {
        trips: usize,
        sent: Vec<&'static str>,
    }

    impl Tx for Echo {
        fn execute(&mut self, _: Sql, _: &[Value]) -> Result<u64> {
            Err(Error::bug("nothing is written"))
        }

        fn query(&mut self, sql: Sql, args: &[Value]) -> Result<Vec<Row>> {
            self.query_within(sql, args, usize::MAX).map(|found| found.rows)
        }

        fn query_within(&mut self, sql: Sql, args: &[Value], bytes: usize) -> Result<RowsWithin<Row>> {
            self.trips += 1;
            self.sent.push(sql.sqlite);
            Ok(RowsWithin { rows: vec![Row(args.to_vec())], cut: bytes == 0 })
        }

        fn query_all(&mut self, calls: Vec<(Sql, Vec<Value>)>) -> Result<Vec<Vec<Row>>> {
            self.trips += 1;
            self.sent.extend(calls.iter().map(|(sql, _)| sql.sqlite));
            Ok(calls.into_iter().map(|(_, args)| vec![Row(args)]).collect())
        }

        fn defer(&mut self, _: Sql, _: Vec<Value>) -> Result<()> {
            Err(Error::bug("nothing is written"))
        }

        fn insert_rows(&mut self, _: Sql, _: crate::tx::BulkRows<'_>) -> Result<()> {
            Err(Error::bug("nothing is written"))
        }

        fn savepoint(&mut self) -> Result<()> {
            Ok(())
        }

        fn undo(&mut self) -> Result<()> {
            Ok(())
        }
    }

    fn int(value: i64) -> Statement<i64> {
        Statement::new(Sql::same("int"), vec![value.into()], number)
    }

    fn texts(value: &str) -> Statement<Vec<String>> {
        let read = |rows: Vec<Row>| rows.into_iter().map(|mut row| row.text(0)).collect();
        Statement::new(Sql::same("text"), vec![value.into()], read)
    }

    fn fetch<B: Batch>(batch: B) -> (Result<B::Output>, Echo) {
        let mut echo = Echo::default();
        let tx: &mut dyn Tx = &mut echo;
        let answer = tx.fetch(batch);
        (answer, echo)
    }

    #[test]
    fn a_batch_is_one_round_trip_and_answers_in_its_own_shape() {
        let batch = (int(1), Some(texts("a")), None::<Statement<i64>>, vec![int(2), int(3)], (texts("b"), int(4)));
        let (answer, echo) = fetch(batch);
        let text = |text: &str| vec![text.to_owned()];
        assert_eq!(answer.unwrap(), (1, Some(text("a")), None, vec![2, 3], (text("b"), 4)));
        assert_eq!(echo.trips, 1);
        assert_eq!(echo.sent, ["int", "text", "int", "int", "text", "int"], "in the order of the batch");
    }

    #[test]
    fn a_mapped_batch_takes_its_own_answers_alone() {
        let sum = vec![int(1), int(2)].map(|numbers| numbers.into_iter().sum::<i64>());
        assert_eq!(fetch((sum, int(7))).0.unwrap(), (3, 7));
    }

    #[test]
    fn a_batch_without_statements_costs_no_round_trip() {
        let (answer, echo) = fetch((Vec::<Statement<i64>>::new(), None::<Statement<i64>>));
        assert_eq!(answer.unwrap(), (Vec::new(), None));
        assert_eq!(echo.trips, 0);
    }

    #[test]
    fn a_row_that_cannot_be_read_fails_the_batch() {
        let unreadable = Statement::new(Sql::same("int"), vec!["text".into()], number);
        assert_eq!(fetch((int(1), unreadable)).0.unwrap_err().code().as_str(), "corrupt_store");
    }

    #[test]
    fn rows_are_read_as_far_as_they_fit() {
        let mut echo = Echo::default();
        let tx: &mut dyn Tx = &mut echo;
        let found = tx.fetch_within(texts("a"), 0).unwrap();
        assert_eq!((found.rows, found.cut), (vec!["a".to_owned()], true));
    }
}
