//! The `message` table: open and ended messages.

use tenure_core::id::{HoldId, MessageId};
use tenure_core::message::Urgency;
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::{Result, Time};

use crate::error::corrupt;
use crate::statement::{self, Statement};
use crate::tx::{Sql, Tx, Value, ids, list};

/// How a message ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageEnding {
    /// When it ended.
    pub at: Time,
    /// How it ended.
    pub how: String,
    /// The agent that ended it.
    pub by: AgentName,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The message's id.
    pub id: MessageId,
    /// The number of the event that sent it.
    pub number: EventNumber,
    /// The author.
    pub author: AgentName,
    /// The recipients, sorted.
    pub recipients: Vec<AgentName>,
    /// The subject, as the author named it.
    pub about: Option<String>,
    /// The hold that it ends with.
    pub hold: Option<HoldId>,
    /// How urgent it is.
    pub urgency: Urgency,
    /// Whether its author asks for an action.
    pub request: bool,
    pub text: String,
    /// When it was sent.
    pub at: Time,
    /// How it ended, if it has.
    pub ended: Option<MessageEnding>,
    /// The message that it answers.
    pub reply_to: Option<MessageId>,
    /// The first message of its thread, if it answers one.
    pub thread: Option<MessageId>,
}

/// The columns of a message under the alias `m`, in the order of [`decode`].
macro_rules! columns {
    () => {
        "m.id, m.number, m.author, m.recipients, m.about, m.hold, m.urgency, m.request, m.text, m.at, m.ended_at,
         m.ended_how, m.ended_by, m.reply_to, m.thread"
    };
}
pub(super) use columns;

/// Decodes a message from a row whose message columns start at `from`.
pub(super) fn decode(row: &mut crate::Row, from: usize) -> Result<Row> {
    let (recipients, urgency) = (row.text(from + 3)?, row.text(from + 6)?);
    let (how, by) = (row.text(from + 11)?, row.id(from + 12)?);
    Ok(Row {
        id: row.id(from)?,
        number: row.event_number(from + 1)?,
        author: row.id(from + 2)?,
        recipients: serde_json::from_str(&recipients)
            .map_err(|error| corrupt("the recipients of a message are not JSON").cause(error))?,
        about: row.optional_text(from + 4)?,
        hold: row.optional_id(from + 5)?,
        urgency: Urgency::parse(&urgency).ok_or_else(|| corrupt("a message has an unknown urgency"))?,
        request: row.flag(from + 7)?,
        text: row.text(from + 8)?,
        at: row.time(from + 9)?,
        ended: row.optional_time(from + 10)?.map(|at| MessageEnding { at, how, by }),
        reply_to: row.optional_id(from + 13)?,
        thread: row.optional_id(from + 14)?,
    })
}

fn many(rows: Vec<crate::Row>) -> Result<Vec<Row>> {
    rows.into_iter().map(|mut row| decode(&mut row, 0)).collect()
}

/// Whether an id is in use.
pub fn exists(project: &str, id: &str) -> Statement<bool> {
    let sql = Sql::same("SELECT 1 FROM message WHERE project = $1 AND id = $2");
    Statement::new(sql, vec![project.into(), id.into()], statement::exists)
}

/// One message, ended or not.
pub fn get(tx: &mut dyn Tx, project: &str, id: &str) -> Result<Option<Row>> {
    let sql = Sql::same(concat!("SELECT ", columns!(), " FROM message m WHERE m.project = $1 AND m.id = $2"));
    Ok(many(tx.query(sql, &[project.into(), id.into()])?)?.pop())
}

/// Ids of messages that begin with a prefix, among those that an agent wrote or received.
pub fn beginning(tx: &mut dyn Tx, project: &str, prefix: &str, agent: &str, limit: usize) -> Result<Vec<MessageId>> {
    // One range for each of the two: as one condition, every message with this prefix would be read.
    let sql = Sql::same(
        "SELECT id FROM (SELECT id FROM message WHERE project = $1 AND author = $4 AND id >= $2 AND id < $3
                         ORDER BY id LIMIT $5) written
         UNION
         SELECT id FROM (SELECT DISTINCT message AS id FROM mail
                         WHERE project = $1 AND recipient = $4 AND message >= $2 AND message < $3
                         ORDER BY message LIMIT $5) received
         ORDER BY id LIMIT $5",
    );
    let end = format!("{prefix}{{");
    ids(tx.query(sql, &[project.into(), prefix.into(), end.into(), agent.into(), limit.into()])?)
}

/// The open messages about a hold, in the order they were sent.
pub fn about_hold(tx: &mut dyn Tx, project: &str, hold: &str) -> Result<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(),
        " FROM message m WHERE m.project = $1 AND m.hold = $2 AND m.ended_at = 0 ORDER BY m.number"
    ));
    many(tx.query(sql, &[project.into(), hold.into()])?)
}

/// The open requests sent at or before an instant, oldest first.
pub fn waiting(tx: &mut dyn Tx, project: &str, until: Time, limit: usize) -> Result<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(),
        " FROM message m WHERE m.project = $1 AND m.ended_at = 0 AND m.request = 1 AND m.at <= $2
          ORDER BY m.at, m.number LIMIT $3"
    ));
    many(tx.query(sql, &[project.into(), until.into(), limit.into()])?)
}

/// Inserts an open message.
pub fn insert(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO message (project, id, number, author, recipients, about, hold, urgency, request, text, at, ended_at,
             ended_how, ended_by, reply_to, thread)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, '', '', $12, $13)",
    );
    let args = vec![
        project.into(),
        (&row.id).into(),
        row.number.into(),
        (&row.author).into(),
        list(&row.recipients),
        Value::optional_text(&row.about),
        Value::optional_text(&row.hold),
        row.urgency.as_str().into(),
        row.request.into(),
        (&row.text).into(),
        row.at.into(),
        Value::optional_text(&row.reply_to),
        Value::optional_text(&row.thread),
    ];
    tx.defer(sql, args)
}

/// Replaces the content of a message, for messages of which only the newest matters.
pub fn renew(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "UPDATE message SET number = $3, author = $4, about = $5, text = $6, at = $7 WHERE project = $1 AND id = $2",
    );
    let args = vec![
        project.into(),
        (&row.id).into(),
        row.number.into(),
        (&row.author).into(),
        Value::optional_text(&row.about),
        (&row.text).into(),
        row.at.into(),
    ];
    tx.defer(sql, args)
}

/// Ends an open message.
pub fn end(tx: &mut dyn Tx, project: &str, id: &str, at: Time, how: &str, by: &str) -> Result<()> {
    let sql = Sql::same(
        "UPDATE message SET ended_at = $3, ended_how = $4, ended_by = $5
         WHERE project = $1 AND id = $2",
    );
    tx.defer(sql, vec![project.into(), id.into(), at.into(), how.into(), by.into()])
}
