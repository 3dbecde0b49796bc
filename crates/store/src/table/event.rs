//! The `event` table: the log of a project.

use serde_json::json;
use tenure_core::id::HoldId;
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::{Error, Result, Time};

use crate::statement::Statement;
use crate::tx::{BulkRows, Sql, Tx, Value, first};

/// The range of all events.
pub const ALL: (EventNumber, EventNumber) = (EventNumber::START, EventNumber::MAX);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The number: commit order, no gaps.
    pub number: EventNumber,
    /// The time of the transaction.
    pub at: Time,
    /// The event kind.
    pub kind: String,
    /// The agent that caused it.
    pub actor: AgentName,
    /// The subject.
    pub subject: String,
    /// The hold it is about.
    pub hold: Option<HoldId>,
    /// The op that appended it.
    pub op: String,
    /// The request that ran the op.
    pub request_id: String,
    /// The event that caused it.
    pub cause: Option<EventNumber>,
    /// The payload, as JSON.
    pub data: String,
}

fn decode(mut row: crate::Row) -> Result<Row> {
    Ok(Row {
        number: row.event_number(0)?,
        at: row.time(1)?,
        kind: row.text(2)?,
        actor: row.id(3)?,
        subject: row.text(4)?,
        hold: row.optional_id(5)?,
        op: row.text(6)?,
        request_id: row.text(7)?,
        cause: row.int_or_null(8)?.map(EventNumber::new),
        data: row.text(9)?,
    })
}

fn many(rows: Vec<crate::Row>) -> Result<Vec<Row>> {
    rows.into_iter().map(decode).collect()
}

pub fn insert(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO event (project, number, at, kind, actor, subject, hold, op, request_id, cause, data)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    );
    let args = vec![
        project.into(),
        row.number.into(),
        row.at.into(),
        (&row.kind).into(),
        (&row.actor).into(),
        (&row.subject).into(),
        Value::optional_text(&row.hold),
        (&row.op).into(),
        (&row.request_id).into(),
        row.cause.into(),
        (&row.data).into(),
    ];
    tx.defer(sql, args)
}

/// Appends many events of one op.
pub fn insert_many(tx: &mut dyn Tx, project: &str, rows: &[Row]) -> Result<()> {
    let Some(head) = rows.first() else { return Ok(()) };
    let sql = Sql::pair(
        "INSERT INTO event (project, number, at, kind, actor, subject, hold, op, request_id, cause, data)
         VALUES ($1, $6, $2, $7, $3, $8, $9, $4, $5, $10, $11)",
        "INSERT INTO event (project, number, at, kind, actor, subject, hold, op, request_id, cause, data)
         SELECT $1, CAST(value->>0 AS BIGINT), $2, value->>1, $3, value->>2, value->>3, $4, $5,
                CAST(value->>4 AS BIGINT), value->>5
         FROM json_array_elements(CAST($6 AS JSON))",
    );
    let common =
        vec![project.into(), head.at.into(), (&head.actor).into(), (&head.op).into(), (&head.request_id).into()];
    let json = || {
        let item = |row: &'_ Row| {
            let hold = row.hold.as_deref().unwrap_or_default();
            json!([row.number, row.kind, row.subject, hold, row.cause, row.data])
        };
        Ok(serde_json::Value::Array(rows.iter().map(item).collect()).to_string())
    };
    let mut each = rows.iter().map(|row| {
        let (number, kind, subject) = (row.number.into(), (&row.kind).into(), (&row.subject).into());
        vec![number, kind, subject, Value::optional_text(&row.hold), row.cause.into(), (&row.data).into()]
    });
    tx.insert_rows(sql, BulkRows { common, each: &mut each, json: &json })
}

/// A filter of events. The first field that is given selects the index; the others are checked per row.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Only events about this subject.
    pub subject: Option<String>,
    /// Only events by this agent.
    pub actor: Option<AgentName>,
    /// Only events of this kind.
    pub kind: Option<String>,
    /// Only events about this hold.
    pub hold: Option<HoldId>,
}

/// A page of events with numbers in (`above`, `below`), ascending or descending.
pub fn page(
    project: &str,
    filter: &EventFilter,
    (above, below): (EventNumber, EventNumber),
    newest_first: bool,
    limit: usize,
) -> Statement<Vec<Row>> {
    let mut args = vec![project.into(), above.into(), below.into(), limit.into()];
    args.extend([Value::optional_text(&filter.subject), Value::optional_text(&filter.actor)]);
    args.extend([Value::optional_text(&filter.kind), Value::optional_text(&filter.hold)]);
    Statement::new(page_sql(filter, newest_first), args, many)
}

/// The SQL of a page: the index for SQLite, the condition on the rows, and the order.
macro_rules! text {
    ($index:literal, $rows:literal, $order:literal) => {
        concat!(
            "SELECT number, at, kind, actor, subject, hold, op, request_id, cause, data FROM event ",
            $index,
            " WHERE project = $1 AND number > $2 AND number < $3 AND ",
            $rows,
            " ORDER BY ",
            $order,
            " LIMIT $4"
        )
    };
}

/// A page in ascending and in descending order. SQLite is told the index: without statistics it prefers two bounds on
/// the number to an equality, and would scan the whole log.
macro_rules! page {
    ($index:literal, $rows:literal) => {
        [
            Sql::pair(text!($index, $rows, "number"), text!("", $rows, "number")),
            Sql::pair(text!($index, $rows, "number DESC"), text!("", $rows, "number DESC")),
        ]
    };
}

/// The SQL of [`page`]: the driving column is a plain equality, so that both engines use its index.
fn page_sql(filter: &EventFilter, newest_first: bool) -> Sql {
    let pages = match filter {
        EventFilter { hold: Some(_), .. } => page!(
            "INDEXED BY event_hold",
            "hold = $8 AND hold <> ''
               AND ($5 = '' OR subject = $5) AND ($6 = '' OR actor = $6) AND ($7 = '' OR kind = $7)"
        ),
        EventFilter { subject: Some(_), .. } => page!(
            "INDEXED BY event_subject",
            "subject = $5 AND ($6 = '' OR actor = $6) AND ($7 = '' OR kind = $7) AND ($8 = '' OR hold = $8)"
        ),
        EventFilter { kind: Some(_), .. } => page!(
            "INDEXED BY event_kind",
            "kind = $7 AND ($5 = '' OR subject = $5) AND ($6 = '' OR actor = $6) AND ($8 = '' OR hold = $8)"
        ),
        EventFilter { actor: Some(_), .. } => page!(
            "INDEXED BY event_actor",
            "actor = $6 AND ($5 = '' OR subject = $5) AND ($7 = '' OR kind = $7) AND ($8 = '' OR hold = $8)"
        ),
        _ => page!(
            "",
            "($5 = '' OR subject = $5) AND ($6 = '' OR actor = $6) AND ($7 = '' OR kind = $7) AND ($8 = '' OR hold = $8)"
        ),
    };
    pages[usize::from(newest_first)]
}

/// The numbers and kinds of the events about one subject with numbers in (`above`, `below`), newest first.
pub fn kinds(
    tx: &mut dyn Tx,
    project: &str,
    subject: &str,
    (above, below): (EventNumber, EventNumber),
    limit: usize,
) -> Result<Vec<(EventNumber, String)>> {
    let sql = Sql::pair(
        "SELECT number, kind FROM event INDEXED BY event_subject
         WHERE project = $1 AND subject = $2 AND number > $3 AND number < $4 ORDER BY number DESC LIMIT $5",
        "SELECT number, kind FROM event
         WHERE project = $1 AND subject = $2 AND number > $3 AND number < $4 ORDER BY number DESC LIMIT $5",
    );
    let rows = tx.query(sql, &[project.into(), subject.into(), above.into(), below.into(), limit.into()])?;
    rows.into_iter().map(|mut row| Ok((row.event_number(0)?, row.text(1)?))).collect()
}

/// The numbers and times of the oldest events.
pub fn oldest(tx: &mut dyn Tx, project: &str, limit: usize) -> Result<Vec<(EventNumber, Time)>> {
    let sql = Sql::same("SELECT number, at FROM event WHERE project = $1 ORDER BY number LIMIT $2");
    tx.query(sql, &[project.into(), limit.into()])?.iter().map(|row| Ok((row.event_number(0)?, row.time(1)?))).collect()
}

/// Deletes the events below a number and returns their count. An ended hold is deleted with its last event.
pub fn drop_below(tx: &mut dyn Tx, project: &str, number: EventNumber) -> Result<i64> {
    let holds = Sql::same(
        "DELETE FROM hold WHERE project = $1 AND ended_at <> 0
           AND id IN (SELECT hold FROM event WHERE project = $1 AND number < $2 AND hold <> '')
           AND NOT EXISTS (SELECT 1 FROM event later
                           WHERE later.project = $1 AND later.hold = hold.id AND later.hold <> '' AND later.number >= $2)",
    );
    tx.execute(holds, &[project.into(), number.into()])?;
    // A transferred hold has no event of its own after its grant: it is deleted with the event that names its
    // successor.
    let handed_on = Sql::pair(
        "DELETE FROM hold WHERE project = $1 AND ended_at <> 0
           AND id IN (SELECT json_extract(data, '$.ended_hold') FROM event
                      WHERE project = $1 AND kind = 'hold.transferred' AND number < $2)",
        "DELETE FROM hold WHERE project = $1 AND ended_at <> 0
           AND id = ANY (ARRAY(SELECT CAST(data AS JSON)->>'ended_hold' FROM event
                               WHERE project = $1 AND kind = 'hold.transferred' AND number < $2))",
    );
    tx.execute(handed_on, &[project.into(), number.into()])?;
    // A place in the waiting line is deleted with its last event too: its `place.queued` event, if its offer was taken.
    let places = Sql::same(
        "DELETE FROM place WHERE project = $1 AND ended_at <> 0
           AND id IN (SELECT subject FROM event WHERE project = $1 AND number < $2
                        AND kind IN ('place.queued', 'place.left', 'place.lapsed'))
           AND NOT EXISTS (SELECT 1 FROM event later
                           WHERE later.project = $1 AND later.subject = place.id AND later.number >= $2)",
    );
    tx.execute(places, &[project.into(), number.into()])?;
    let events = Sql::same("DELETE FROM event WHERE project = $1 AND number < $2");
    let dropped = tx.execute(events, &[project.into(), number.into()])?;
    i64::try_from(dropped).map_err(|_| Error::bug("more events than numbers"))
}

/// The number of events, and the numbers of the oldest and the newest; zeros for none.
pub fn extent(tx: &mut dyn Tx, project: &str) -> Result<(i64, EventNumber, EventNumber)> {
    let sql =
        Sql::same("SELECT COUNT(*), COALESCE(MIN(number), 0), COALESCE(MAX(number), 0) FROM event WHERE project = $1");
    match first(tx.query(sql, &[project.into()])?) {
        Some(row) => Ok((row.int(0)?, row.event_number(1)?, row.event_number(2)?)),
        None => Ok((0, EventNumber::START, EventNumber::START)),
    }
}

/// The time of the first event at or after a number.
pub fn time_at(tx: &mut dyn Tx, project: &str, number: EventNumber) -> Result<Option<Time>> {
    let sql = Sql::same("SELECT at FROM event WHERE project = $1 AND number >= $2 ORDER BY number LIMIT 1");
    first(tx.query(sql, &[project.into(), number.into()])?).map(|row| row.time(0)).transpose()
}

/// The tool events among an agent's newest events, newest first: kind and data.
pub fn remarks(tx: &mut dyn Tx, project: &str, agent: &str, limit: usize) -> Result<Vec<(String, String)>> {
    // Left to itself, SQLite scans the whole log for an agent with few events.
    let sql = Sql::pair(
        "SELECT kind, data FROM (SELECT number, kind, data FROM event INDEXED BY event_actor
             WHERE project = $1 AND actor = $2 ORDER BY number DESC LIMIT $3) newest
         WHERE kind IN ('tool.failed', 'tool.worked') ORDER BY number DESC",
        "SELECT kind, data FROM (SELECT number, kind, data FROM event
             WHERE project = $1 AND actor = $2 ORDER BY number DESC LIMIT $3) newest
         WHERE kind IN ('tool.failed', 'tool.worked') ORDER BY number DESC",
    );
    let rows = tx.query(sql, &[project.into(), agent.into(), limit.into()])?;
    rows.into_iter().map(|mut row| Ok((row.text(0)?, row.text(1)?))).collect()
}
