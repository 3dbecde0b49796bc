//! Places in the waiting line.

use tenure_core::hold::{HoldKind, Mode};
use tenure_core::id::{CheckoutId, PlaceId};
use tenure_core::name::AgentName;
use tenure_core::{Result, Span, Time};

use crate::error::corrupt;
use crate::statement::{self, Statement};
use crate::tx::{Sql, Tx, Value, first, ids, list};

/// Where a place is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceState {
    /// Its agent waits.
    Waiting,
    /// What it waits for is held for its agent, until that takes it.
    Offered,
    /// It is over.
    Ended,
}

impl PlaceState {
    /// The word stored and shown.
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

/// A place's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its id.
    pub id: PlaceId,
    /// The number of the event that queued it.
    pub ticket: i64,
    /// The agent that waits.
    pub agent: AgentName,
    /// What kind of thing it waits for: paths or a named lock.
    pub kind: HoldKind,
    /// Whether others may have it too.
    pub mode: Mode,
    /// The checkout that patterns are about; none for all checkouts.
    pub checkout: Option<CheckoutId>,
    /// Whether case does not count in them.
    pub folded: bool,
    /// What is wanted, each once, sorted.
    pub wanted: Vec<String>,
    /// What for.
    pub reason: String,
    /// Since when.
    pub queued_at: Time,
    /// When it ends unless it is renewed, or the offer unless it is taken.
    pub expires_at: Time,
    /// By how much a renewal lengthens it from then.
    pub ttl: Span,
    /// How long an offer to it lives.
    pub offer_ttl: Span,
    /// Where it is in its life.
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
        ticket: row.int(1)?,
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

/// All places that have not been ended, in the order of their tickets.
pub fn line(project: &str) -> Statement<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM place WHERE project = $1 AND ended_at = 0 AND ticket > 0 ORDER BY ticket"
    ));
    Statement::new(sql, vec![project.into()], many)
}

/// Those whose time is over, in the order they are settled in.
pub fn due(project: &str, now: Time) -> Statement<Vec<Row>> {
    let sql = Sql::same(concat!(
        "SELECT ",
        columns!(""),
        " FROM place WHERE project = $1 AND ended_at = 0 AND expires_at <= $2 ORDER BY expires_at, id"
    ));
    Statement::new(sql, vec![project.into(), now.into()], many)
}

/// Those of one agent that have not been ended.
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

/// Ids of places, ended or not, that begin with a text.
pub fn beginning(tx: &mut dyn Tx, project: &str, prefix: &str, limit: usize) -> Result<Vec<PlaceId>> {
    let sql = Sql::same("SELECT id FROM place WHERE project = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4");
    let end = format!("{prefix}{{");
    ids(tx.query(sql, &[project.into(), prefix.into(), end.into(), limit.into()])?)
}

/// Whether an id is taken.
pub fn exists(project: &str, id: &str) -> Statement<bool> {
    let sql = Sql::same("SELECT 1 FROM place WHERE project = $1 AND id = $2");
    Statement::new(sql, vec![project.into(), id.into()], statement::exists)
}

/// Puts a place at the end of the line.
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

/// Stores what a renewal or an offer made of a place.
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

/// Ends a place.
pub fn end(tx: &mut dyn Tx, project: &str, id: &str, at: Time, how: &str) -> Result<()> {
    let sql = Sql::same(
        "UPDATE place SET state = 'ended', ended_at = $3, ended_how = $4
         WHERE project = $1 AND id = $2 AND ended_at = 0",
    );
    tx.defer(sql, vec![project.into(), id.into(), at.into(), how.into()])
}

/// Ends all places of a project: those of before a restore wait for nothing.
pub fn end_all(tx: &mut dyn Tx, project: &str, at: Time, how: &str) -> Result<()> {
    let sql = Sql::same(
        "UPDATE place SET state = 'ended', ended_at = $2, ended_how = $3 WHERE project = $1 AND ended_at = 0",
    );
    tx.defer(sql, vec![project.into(), at.into(), how.into()])
}

/// After the clock was set back: no place may outlast its time from now.
pub fn cap(tx: &mut dyn Tx, project: &str, now: Time) -> Result<()> {
    let sql = Sql::same(
        "UPDATE place SET queued_at = CASE WHEN queued_at > $2 THEN $2 ELSE queued_at END,
             expires_at = CASE WHEN expires_at > $2 + ttl THEN $2 + ttl ELSE expires_at END
         WHERE project = $1 AND ended_at = 0 AND (queued_at > $2 OR expires_at > $2 + ttl)",
    );
    tx.defer(sql, vec![project.into(), now.into()])
}
