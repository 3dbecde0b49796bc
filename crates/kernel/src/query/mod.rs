//! Queries: they read one snapshot, settle nothing, and show the same view that a write would find.

pub mod access;
pub mod agents;
pub mod answer;
pub mod asked;
pub mod check;
pub mod commit;
pub mod export;
pub mod fired;
pub mod guard;
pub mod health;
pub mod holds;
pub mod ids;
pub mod list;
pub mod lock;
pub mod log;
pub mod mail;
pub mod memory;
pub mod next;
pub mod peek;
pub mod projects;
pub mod question;
pub mod role;
pub mod session;
pub mod show;
pub mod status;
pub mod thing;
pub mod why;
pub mod why_path;

use tenure_core::{Code, Error, Result, Stage, Time, hold as rule};
use tenure_store::table::{hold, project, task};
use tenure_store::{Identity, Tx};

use crate::call::{Call, Words};
use crate::checkouts::Checkouts;
use crate::line::Sight;
use crate::locks;

/// What a query looks at.
pub struct Scene<'a> {
    /// Who asks.
    pub call: &'a Call,
    /// The store.
    pub identity: &'a Identity,
    /// The project's row, if anything happened in it.
    pub project: Option<&'a project::Row>,
    /// The time of the snapshot, by the step rule.
    pub now: Time,
    /// The clock as it was read.
    pub clock: Time,
    /// Agents whom the door has proven dead: what they hold is over, as it is for a claim.
    pub dead: Vec<String>,
    /// The words of the doors.
    pub words: Words,
}

impl Scene<'_> {
    /// The project's id; of a project that does not exist, one that no row has.
    pub(crate) fn project_id(&self) -> &str {
        self.project.map_or("", |project| project.id.as_str())
    }

    /// What holds and the waiting line of a project are looked at with.
    pub(crate) fn sight<'b>(&'b self, project: &'b project::Row) -> Sight<'b> {
        let Scene { call, now, clock, dead, .. } = self;
        Sight { project, now: *now, clock: *clock, dead, call, is_write: false }
    }

    /// The checkouts of the project, as whoever asks says where they are.
    pub(crate) fn checkouts(&self, tx: &mut dyn Tx) -> Result<Checkouts> {
        let host = self.call.checkout.as_ref().map_or("", |here| here.host.as_str());
        Checkouts::load(tx, self.project_id(), host)
    }

    /// Whether a hold that is not ended is over all the same: its time has passed, or its holder is dead.
    pub(crate) fn is_over(&self, held: &task::Held) -> bool {
        rule::lapsed(self.now, held.expires_at) || self.dead.contains(&held.holder)
    }

    /// When a hold on a task ends, as far as that is known now.
    pub(crate) fn end_of(&self, holder: &str, expires_at: Time) -> Time {
        if self.dead.iter().any(|dead| dead == holder) { expires_at.min(self.now) } else { expires_at }
    }

    /// Whether a hold is over because its holder is dead.
    pub(crate) fn died(&self, hold: &hold::Row) -> bool {
        self.dead.contains(&hold.holder) && !locks::outlives_holder(hold)
    }
}

/// Most rows on a page.
pub const LIMIT_MAX: usize = 1_000;

/// Most bytes of the rows of a page, which ends early where they have more. A row with more is a page of its own. A client
/// chooses how many rows it asks for, and other clients how long each of them is.
pub(crate) const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// How many rows make a page, from the first on: at most so many, whose bytes fit; and one at the least.
pub(crate) fn fitting(sizes: impl Iterator<Item = usize>, limit: usize) -> usize {
    let mut left = PAGE_BYTES;
    let fits = |(at, size): &(usize, usize)| {
        let fits = *at == 0 || *size <= left;
        left = left.saturating_sub(*size);
        fits
    };
    sizes.take(limit).enumerate().take_while(fits).count()
}

/// The page size where none is given.
fn usual() -> usize {
    50
}

/// Checks a page size.
pub fn limit(rows: usize) -> Result<usize> {
    if (1..=LIMIT_MAX).contains(&rows) {
        return Ok(rows);
    }
    Err(Error::usage(Code::BadLimit, format!("{rows} is not a page size")).hint("Give 1 to 1000."))
}

/// The refusal of a cursor that this program did not make.
pub(crate) fn bad_cursor(text: &str) -> Error {
    Error::new(Code::BadCursor, format!("`{}` is not a cursor", tenure_core::text::excerpt(text)))
        .at(Stage::Arguments)
        .hint("Take `next` of the page before.")
}
