//! The `mail` table: messages to each agent, and notices that an agent's own messages have ended.

use tenure_core::id::MessageId;
use tenure_core::number::EventNumber;
use tenure_core::{Result, Time};

use super::message::{self, columns};
use crate::error::corrupt;
use crate::statement::{self, Statement};
use crate::tx::{Sql, Tx, ids};

/// The kind of a mail row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A message to the recipient.
    Message,
    /// The end of a message that the recipient wrote.
    Ending,
}

impl What {
    /// The word in the store and in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            What::Message => "message",
            What::Ending => "ending",
        }
    }
}

/// One mail row with its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The number of the event that delivered it.
    pub number: EventNumber,
    /// The kind of the row.
    pub what: What,
    /// When the recipient acknowledged it.
    pub acked_at: Option<Time>,
    /// The message in its current state.
    pub message: message::Row,
}

/// Joins from the mail to the messages: SQLite keeps this order only with an explicit CROSS JOIN.
macro_rules! select {
    ($rest:literal) => {
        Sql::pair(
            concat!(
                "SELECT x.number, x.what, x.acked_at, ",
                columns!(),
                " FROM mail x CROSS JOIN message m ON m.project = x.project AND m.id = x.message
                  WHERE x.project = $1 AND x.recipient = $2 AND ",
                $rest
            ),
            concat!(
                "SELECT x.number, x.what, x.acked_at, ",
                columns!(),
                " FROM mail x JOIN message m ON m.project = x.project AND m.id = x.message
                  WHERE x.project = $1 AND x.recipient = $2 AND ",
                $rest
            ),
        )
    };
}

fn many(rows: Vec<crate::Row>) -> Result<Vec<Row>> {
    rows.into_iter()
        .map(|mut row| {
            let what = match row.text(1)?.as_str() {
                "message" => What::Message,
                "ending" => What::Ending,
                _ => return Err(corrupt("mail of an unknown sort")),
            };
            let (number, acked_at) = (row.event_number(0)?, row.optional_time(2)?);
            Ok(Row { number, what, acked_at, message: message::decode(&mut row, 3)? })
        })
        .collect()
}

/// An agent's mail that is not confirmed as shown, in order.
pub fn unread(project: &str, recipient: &str, limit: usize) -> Statement<Vec<Row>> {
    let sql = select!(
        "x.number > COALESCE((SELECT d.mail_confirmed FROM delivery d WHERE d.project = $1 AND d.agent = $2), 0)
         ORDER BY x.number LIMIT $3"
    );
    Statement::new(sql, vec![project.into(), recipient.into(), limit.into()], many)
}

/// The number of such rows, up to a limit.
pub fn count_unread(project: &str, recipient: &str, limit: usize) -> Statement<i64> {
    let sql = Sql::same(
        "SELECT COUNT(*) FROM (SELECT 1 FROM mail x WHERE x.project = $1 AND x.recipient = $2
             AND x.number > COALESCE((SELECT d.mail_confirmed FROM delivery d WHERE d.project = $1 AND d.agent = $2), 0)
             LIMIT $3) unread",
    );
    Statement::new(sql, vec![project.into(), recipient.into(), limit.into()], statement::number)
}

/// An agent's mail rows of a message: the message, its end, both or neither.
pub fn of_message(tx: &mut dyn Tx, project: &str, recipient: &str, message: &str) -> Result<Vec<Row>> {
    let sql = select!("x.message = $3 ORDER BY x.number");
    many(tx.query(sql, &[project.into(), recipient.into(), message.into()])?)
}

/// Ids of messages in an agent's mail that begin with a prefix.
pub fn beginning(
    tx: &mut dyn Tx,
    project: &str,
    recipient: &str,
    prefix: &str,
    limit: usize,
) -> Result<Vec<MessageId>> {
    // Ids use no character above `z`, so `{` ends the range.
    let sql = Sql::same(
        "SELECT DISTINCT message FROM mail
         WHERE project = $1 AND message >= $3 AND message < $4 AND recipient = $2 ORDER BY message LIMIT $5",
    );
    let end = format!("{prefix}{{");
    let args = [project.into(), recipient.into(), prefix.into(), end.into(), limit.into()];
    ids(tx.query(sql, &args)?)
}

/// Adds a row to an agent's mail.
pub fn insert(
    tx: &mut dyn Tx,
    project: &str,
    recipient: &str,
    number: EventNumber,
    message: &str,
    what: What,
) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO mail (project, recipient, number, message, what, acked_at) VALUES ($1, $2, $3, $4, $5, 0)",
    );
    tx.defer(sql, vec![project.into(), recipient.into(), number.into(), message.into(), what.as_str().into()])
}

/// Moves a message to the end of its recipient's mail.
pub fn renew(tx: &mut dyn Tx, project: &str, recipient: &str, message: &str, number: EventNumber) -> Result<()> {
    let sql = Sql::same(
        "UPDATE mail SET number = $4, acked_at = 0
         WHERE project = $1 AND message = $3 AND recipient = $2 AND what = 'message'",
    );
    tx.defer(sql, vec![project.into(), recipient.into(), message.into(), number.into()])
}

/// Records that the recipient acknowledged it.
pub fn ack(tx: &mut dyn Tx, project: &str, recipient: &str, number: EventNumber, at: Time) -> Result<()> {
    let sql = Sql::same("UPDATE mail SET acked_at = $4 WHERE project = $1 AND recipient = $2 AND number = $3");
    tx.defer(sql, vec![project.into(), recipient.into(), number.into(), at.into()])
}
