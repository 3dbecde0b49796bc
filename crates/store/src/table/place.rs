//! The `place` table: places in the waiting line.

use tenure_core::hold::{HoldKind, Mode};
use tenure_core::id::{CheckoutId, PlaceId};
use tenure_core::name::AgentName;
use tenure_core::number::EventNumber;
use tenure_core::{Result, Span, Time};

use crate::error::corrupt;
use crate::statement::{self, Statement};
use crate::tx::{Sql, Tx, Value, first, ids, list};

/// The state of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceState {
    /// The agent waits.
    Waiting,
    /// The wanted thing is held for the agent until the agent takes it.
    Offered,
    /// The place has ended.
    Ended,
}

impl PlaceState {
    /// The word in the store and in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            PlaceState::Waiting => "waiting",
            PlaceState::Offered => "offered",
            PlaceState::Ended => "ended",
        }
    }

    fn read(word: &str) -> Result<PlaceState> {
        [PlaceState::Waiting, PlaceState::Offered, PlaceState::Ended]
            .into_iter()
            .find(|state| state.as_str() == word)
            .ok_or_else(|| corrupt("a place is in no state that there is"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The place's id.
    pub id: PlaceId,
    /// The number of the event that queued it.
    pub ticket: EventNumber,
    /// The waiting agent.
    pub agent: AgentName,
    /// The kind of thing it waits for: paths or a named lock.
    pub kind: HoldKind,
    /// Exclusive or shared.
    pub mode: Mode,
    /// The checkout of the patterns; `None` for all checkouts.
    pub checkout: Option<CheckoutId>,
    /// Whether the patterns are case-insensitive.
    pub folded: bool,
    /// The wanted patterns or the lock's name, sorted and without duplicates.
    pub wanted: Vec<String>,
    /// The agent's reason.
    pub reason: String,
    /// When it was queued.
    pub queued_at: Time,
    /// When the place expires unless it is renewed, or the offer unless it is taken.
    pub expires_at: Time,
    /// The time to live that a renewal grants.
    pub ttl: Span,
    /// The time to live of an offer to it.
    pub offer_ttl: Span,
    pub state: PlaceState,
}

/// The columns of a place, in the order of [`decode`].
macro_rules! columns {
    ($prefix:literal) => {
        listed!($prefix;
            id, ticket, agent, kind, mode, checkout, folded, wanted, reason, queued_at, expires_at, ttl, offer_ttl,
            state)
    };
}

fn decode(mut row: crate::Row) -> Result<Row> {
    let (kind, wanted) = (row.text(3)?, row.text(7)?);
    Ok(Row {
        id: row.id(0)?,
        ticket: row.event_number(1)?,
        agent: row.id(2)?,
        kind: HoldKind::from_stored(&kind).ok_or_else(|| corrupt(format!("unknown kind of place {kind}")))?,
        mode: if row.text(4)? == Mode::Shared.as_str() { Mode::Shared } else { Mode::Exclusive },
        checkout: row.optional_id(5)?,
        folded: row.flag(6)?,
        wanted: serde_json::from_str(&wanted).map_err(|error| corrupt("a place wants no list").cause(error))?,
        reason: row.text(8)?,
        queued_at: row.time(9)?,
        expires_at: row.time(10)?,
        ttl: Span(row.int(11)?),
        offer_ttl: Span(row.int(12)?),
        state: PlaceState::read(&row.text(13)?)?,
    })
}

fn many(rows: Vec<crate::Row>) -> Result<Vec<Row>> {
    rows.into_iter().map(decode).collect()
}

/// All places that were not ended, in ticket order.
pub fn line(project: &str) -> Statement<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM place WHERE project = $1 AND ended_at = 0 AND ticket > 0 ORDER BY ticket"
    ));
    Statement::new(sql, vec![project.into()], many)
}

/// Expired places that were not ended, in settling order.
pub fn due(project: &str, now: Time) -> Statement<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM place WHERE project = $1 AND ended_at = 0 AND expires_at <= $2 ORDER BY expires_at, id"
    ));
    Statement::new(sql, vec![project.into(), now.into()], many)
}

/// One agent's places that were not ended.
pub fn of_agent(tx: &mut dyn Tx, project: &str, agent: &str) -> Result<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM place WHERE project = $1 AND ended_at = 0 AND agent = $2 ORDER BY id"
    ));
    many(tx.query(sql, &[project.into(), agent.into()])?)
}

/// One place, ended or not.
pub fn get(tx: &mut dyn Tx, project: &str, id: &str) -> Result<Option<Row>> {
    let sql = Sql::same(concat!("SELECT ", columns!(""), " FROM place WHERE project = $1 AND id = $2"));
    first(tx.query(sql, &[project.into(), id.into()])?).map(decode).transpose()
}

/// Ids of places, ended or not, that begin with a prefix.
pub fn beginning(tx: &mut dyn Tx, project: &str, prefix: &str, limit: usize) -> Result<Vec<PlaceId>> {
    let sql = Sql::same("SELECT id FROM place WHERE project = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4");
    let end = format!("{prefix}{{");
    ids(tx.query(sql, &[project.into(), prefix.into(), end.into(), limit.into()])?)
}

/// Whether an id is in use.
pub fn exists(project: &str, id: &str) -> Statement<bool> {
    let sql = Sql::same("SELECT 1 FROM place WHERE project = $1 AND id = $2");
    Statement::new(sql, vec![project.into(), id.into()], statement::exists)
}

/// Appends a place to the line.
pub fn insert(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "INSERT INTO place (project, id, ticket, agent, kind, mode, checkout, folded, wanted, reason, queued_at, expires_at,
             ttl, offer_ttl, state, ended_at, ended_how)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'waiting', 0, '')",
    );
    let args = vec![
        project.into(),
        (&row.id).into(),
        row.ticket.into(),
        (&row.agent).into(),
        row.kind.as_str().into(),
        row.mode.as_str().into(),
        Value::optional_text(&row.checkout),
        row.folded.into(),
        list(&row.wanted),
        (&row.reason).into(),
        row.queued_at.into(),
        row.expires_at.into(),
        row.ttl.0.into(),
        row.offer_ttl.0.into(),
    ];
    tx.defer(sql, args)
}

/// Stores a place after a renewal or an offer.
pub fn update(tx: &mut dyn Tx, project: &str, row: &Row) -> Result<()> {
    let sql = Sql::same(
        "UPDATE place SET expires_at = $3, ttl = $4, offer_ttl = $5, state = $6, reason = $7
         WHERE project = $1 AND id = $2 AND ended_at = 0",
    );
    let args = vec![
        project.into(),
        (&row.id).into(),
        row.expires_at.into(),
        row.ttl.0.into(),
        row.offer_ttl.0.into(),
        row.state.as_str().into(),
        (&row.reason).into(),
    ];
    tx.defer(sql, args)
}

pub fn end(tx: &mut dyn Tx, project: &str, id: &str, at: Time, how: &str) -> Result<()> {
    let sql = Sql::same(
        "UPDATE place SET state = 'ended', ended_at = $3, ended_how = $4
         WHERE project = $1 AND id = $2 AND ended_at = 0",
    );
    tx.defer(sql, vec![project.into(), id.into(), at.into(), how.into()])
}

/// Ends all places of a project, because those from before a restore wait for nothing.
pub fn end_all(tx: &mut dyn Tx, project: &str, at: Time, how: &str) -> Result<()> {
    let sql = Sql::same(
        "UPDATE place SET state = 'ended', ended_at = $2, ended_how = $3 WHERE project = $1 AND ended_at = 0",
    );
    tx.defer(sql, vec![project.into(), at.into(), how.into()])
}

/// Corrects the rows after the clock was set back: no place may outlast its time to live from now.
pub fn cap(tx: &mut dyn Tx, project: &str, now: Time) -> Result<()> {
    let sql = Sql::same(
        "UPDATE place SET queued_at = CASE WHEN queued_at > $2 THEN $2 ELSE queued_at END,
             expires_at = CASE WHEN expires_at > $2 + ttl THEN $2 + ttl ELSE expires_at END
         WHERE project = $1 AND ended_at = 0 AND (queued_at > $2 OR expires_at > $2 + ttl)",
    );
    tx.defer(sql, vec![project.into(), now.into()])
}
