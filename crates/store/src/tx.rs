//! The transaction trait that both engines implement, and its parameter and column values.

use tenure_core::id::{Id, IdKind};
use tenure_core::number::{EventNumber, Fence};
use tenure_core::{Error, Result, Time};

use crate::error::corrupt_row;

/// A statement in the dialect of each engine. One text for both is the normal case.
#[derive(Clone, Copy, Debug)]
pub struct Sql {
    /// For SQLite. Parameters are `$1`, `$2`, …, bound by that name.
    pub sqlite: &'static str,
    /// For PostgreSQL.
    pub postgres: &'static str,
}

impl Sql {
    /// The text of a deferred statement on an engine that has nothing to do for it.
    pub const NOTHING: &'static str = "";

    /// One text with the same meaning on both engines.
    pub const fn same(text: &'static str) -> Sql {
        Sql { sqlite: text, postgres: text }
    }

    /// A text for each engine, where they have no common syntax.
    pub const fn pair(sqlite: &'static str, postgres: &'static str) -> Sql {
        Sql { sqlite, postgres }
    }
}

/// A parameter of a statement or a column of a row. A null has a type because PostgreSQL needs one.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text. It never contains NUL: the doors refuse it.
    Text(String),
    /// Any number, flag or time.
    Int(i64),
    /// A null number.
    NullInt,
}

impl Value {
    /// A text column that is empty for `None`; read by [`Row::optional_text`] or [`Row::optional_id`].
    pub fn optional_text<T: AsRef<str>>(text: &Option<T>) -> Value {
        Value::Text(text.as_ref().map_or("", AsRef::as_ref).to_owned())
    }

    /// A time column that is 0 for `None`; read by [`Row::optional_time`].
    pub fn optional_time(time: Option<Time>) -> Value {
        time.unwrap_or(Time(0)).into()
    }
}

impl<K: IdKind> From<&Id<K>> for Value {
    fn from(id: &Id<K>) -> Value {
        Value::Text(id.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<EventNumber> for Value {
    fn from(number: EventNumber) -> Value {
        Value::Int(number.get())
    }
}

impl From<Option<EventNumber>> for Value {
    fn from(number: Option<EventNumber>) -> Value {
        number.map(EventNumber::get).into()
    }
}

impl From<Fence> for Value {
    fn from(fence: Fence) -> Value {
        Value::Int(fence.0)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Value {
        Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Int(i64::from(flag))
    }
}

impl From<Time> for Value {
    fn from(time: Time) -> Value {
        Value::Int(time.0)
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Value {
        number.map_or(Value::NullInt, Value::Int)
    }
}

/// One row of a result. Columns are read by position, in the order of the statement.
#[derive(Clone, Debug)]
pub struct Row(pub(crate) Vec<Value>);

impl Row {
    /// A text column, moved out of the row.
    pub fn text(&mut self, column: usize) -> Result<String> {
        match self.0.get_mut(column) {
            Some(Value::Text(text)) => Ok(std::mem::take(text)),
            other => Err(corrupt_row(column, "a text", other.as_deref())),
        }
    }

    /// A text column that is empty for `None`.
    pub fn optional_text(&mut self, column: usize) -> Result<Option<String>> {
        self.text(column).map(|text| (!text.is_empty()).then_some(text))
    }

    pub fn id<K: IdKind>(&mut self, column: usize) -> Result<Id<K>> {
        self.text(column).map(Id::new)
    }

    /// An id column that is empty for `None`.
    pub fn optional_id<K: IdKind>(&mut self, column: usize) -> Result<Option<Id<K>>> {
        self.text(column).map(Id::non_empty)
    }

    pub fn int(&self, column: usize) -> Result<i64> {
        match self.0.get(column) {
            Some(Value::Int(number)) => Ok(*number),
            other => Err(corrupt_row(column, "a number", other)),
        }
    }

    pub fn event_number(&self, column: usize) -> Result<EventNumber> {
        self.int(column).map(EventNumber::new)
    }

    pub fn fence(&self, column: usize) -> Result<Fence> {
        self.int(column).map(Fence)
    }

    /// A number column that may be null.
    pub fn int_or_null(&self, column: usize) -> Result<Option<i64>> {
        match self.0.get(column) {
            Some(Value::Int(number)) => Ok(Some(*number)),
            Some(Value::NullInt) => Ok(None),
            other => Err(corrupt_row(column, "a number or nothing", other)),
        }
    }

    pub fn flag(&self, column: usize) -> Result<bool> {
        Ok(self.int(column)? != 0)
    }

    pub fn time(&self, column: usize) -> Result<Time> {
        self.int(column).map(Time)
    }

    /// A time column that is 0 for `None`.
    pub fn optional_time(&self, column: usize) -> Result<Option<Time>> {
        self.time(column).map(|time| (time != Time(0)).then_some(time))
    }

    /// The size of its values in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let size = |value: &Value| match value {
            Value::Text(text) => text.len(),
            Value::Int(_) | Value::NullInt => 8,
        };
        self.0.iter().map(size).sum()
    }

    pub fn is_null(&self, column: usize) -> bool {
        matches!(self.0.get(column), Some(Value::NullInt))
    }
}

/// The rows of a bulk insert, in the fastest form for each engine.
///
/// SQLite binds the values of many rows to one statement. Reading every column out of a JSON text takes several times as
/// long, and all projects of the file wait meanwhile. PostgreSQL takes the rows as one JSON parameter, in one round trip.
pub struct BulkRows<'a> {
    /// The first parameters of the statement, the same for all rows.
    pub common: Vec<Value>,
    /// The other parameters on SQLite, row by row.
    pub each: &'a mut dyn ExactSizeIterator<Item = Vec<Value>>,
    /// The last parameter on PostgreSQL.
    pub json: &'a dyn Fn() -> Result<String>,
}

/// Rows that were read up to a limit in bytes.
#[derive(Clone, Debug)]
pub struct RowsWithin<T> {
    /// The rows that fit, in order.
    pub rows: Vec<T>,
    /// Whether there is at least one more row.
    pub cut: bool,
}

impl<T> RowsWithin<T> {
    /// Converts each row.
    pub fn try_map<U>(self, make: impl FnMut(T) -> Result<U>) -> Result<RowsWithin<U>> {
        Ok(RowsWithin { rows: self.rows.into_iter().map(make).collect::<Result<_>>()?, cut: self.cut })
    }
}

/// Counts the bytes of rows up to a limit.
pub(crate) struct Room {
    bytes: usize,
    taken: usize,
}

impl Room {
    pub(crate) fn of(bytes: usize) -> Room {
        Room { bytes, taken: 0 }
    }

    /// Whether a row still fits; the first row always does.
    pub(crate) fn takes(&mut self, row: usize) -> bool {
        // An empty row counts one byte: otherwise every row after it would count as the first.
        let after = self.taken.saturating_add(row.max(1));
        let fits = self.taken == 0 || after <= self.bytes;
        if fits {
            self.taken = after;
        }
        fits
    }
}

/// One transaction.
///
/// Statements take effect in the order of the calls, including deferred ones. After an error, callers may assume
/// nothing about the transaction except that `undo` or a rollback restores a consistent state.
pub trait Tx {
    /// Runs a statement and returns the number of rows it changed.
    fn execute(&mut self, sql: Sql, args: &[Value]) -> Result<u64>;

    /// Runs a query. Rows come in the order of its ORDER BY, which ends in a unique key.
    fn query(&mut self, sql: Sql, args: &[Value]) -> Result<Vec<Row>>;

    /// Runs a query and stops before the row that would exceed `bytes` bytes in total; the first row is always read.
    /// The remaining rows are never all in memory at once.
    fn query_within(&mut self, sql: Sql, args: &[Value], bytes: usize) -> Result<RowsWithin<Row>>;

    /// Runs several queries over the same state, in one round trip on an engine that has round trips.
    fn query_all(&mut self, calls: Vec<(Sql, Vec<Value>)>) -> Result<Vec<Vec<Row>>>;

    /// Runs a statement whose row count is not needed. The engine may send it with the next call, so an error may
    /// surface there; it never surfaces after commit.
    fn defer(&mut self, sql: Sql, args: Vec<Value>) -> Result<()>;

    /// Inserts many rows. The engine may send them later, as with `defer`; after an error some of the rows may be
    /// inserted.
    fn insert_rows(&mut self, sql: Sql, rows: BulkRows<'_>) -> Result<()>;

    /// Begins the part of the transaction that `undo` rolls back. Only one savepoint is open at a time.
    fn savepoint(&mut self) -> Result<()>;

    /// Rolls back everything since `savepoint`; earlier changes remain.
    fn undo(&mut self) -> Result<()>;
}

/// The first row of a query that returns at most one.
pub(crate) fn first(rows: Vec<Row>) -> Option<Row> {
    rows.into_iter().next()
}

/// A list as a single JSON parameter.
pub(crate) fn list<T: AsRef<str>>(items: &[T]) -> Value {
    let items: Vec<serde_json::Value> = items.iter().map(|item| item.as_ref().into()).collect();
    Value::Text(serde_json::Value::Array(items).to_string())
}

/// Decodes rows whose only column is an id.
pub(crate) fn ids<K: IdKind>(rows: Vec<Row>) -> Result<Vec<Id<K>>> {
    rows.into_iter().map(|mut row| row.id(0)).collect()
}

/// Checks that the parameters of a statement are `$1` to `$n`, all of them bound.
pub(crate) fn check_bindings(highest: usize, given: usize, text: &str) -> Result<()> {
    if highest == given {
        return Ok(());
    }
    Err(Error::bug(format!("a statement has {highest} parameters and {given} values: {text}")))
}
