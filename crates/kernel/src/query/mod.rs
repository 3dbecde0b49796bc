//! Queries: a trait and a list. They read one snapshot, settle nothing, and show the same view that a write would find.
//! One query is one file, named for the query; its description is its `impl Query`.

pub mod agents;
pub mod any_id;
pub mod beginning;
pub mod check;
pub mod export;
pub mod fired;
pub mod graph;
pub mod guards;
pub mod health;
pub mod holds;
pub mod import_plan;
pub mod in_the_way;
pub mod last_time;
pub mod list;
pub mod lock_of;
pub mod log;
pub mod look_up;
pub mod mail;
pub mod may_commit;
pub mod may_push;
pub mod members;
pub mod memories;
pub mod memory;
pub mod memory_id;
pub mod message_id;
pub mod next;
pub mod others_here;
pub mod outlook;
pub mod own_files;
pub mod peek;
pub mod principals;
pub mod project_called;
pub mod projects;
#[expect(clippy::module_inception, reason = "the trait of a query")]
mod query;
pub mod read_through;
pub mod recall;
pub mod session_of;
pub mod show;
pub mod show_hold;
pub mod standing;
pub mod status;
pub mod suspects;
pub mod switched_on;
pub mod task_id;
pub mod token_id;
pub mod tokens;
pub mod turn;
pub mod unread;
pub mod why;
pub mod why_lock;
pub mod why_path;

use self::query::ErasedQuery;
pub use self::query::{Query, QueryEntry};
use crate::answer::Page;
use crate::call::{Call, Words, checkout_id};
use crate::checkouts::Checkouts;
use crate::kernel::Kernel;
use crate::locks;
use crate::waiting::LineView;
use tenure_core::id::CheckoutId;
use tenure_core::name::AgentName;
use tenure_core::text::excerpt;
use tenure_core::{Code, Error, Result, Stage, Time, hold as rule};
use tenure_store::table::{checkout, hold, project, task};
use tenure_store::{StoreIdentity, Tx};

/// All queries.
pub const QUERIES: &[QueryEntry] = &[
    QueryEntry::of::<list::List>(),
    QueryEntry::of::<look_up::LookUp>(),
    QueryEntry::of::<show::Show>(),
    QueryEntry::of::<show_hold::ShowHold>(),
    QueryEntry::of::<graph::Graph>(),
    QueryEntry::of::<status::Status>(),
    QueryEntry::of::<why::Why>(),
    QueryEntry::of::<why_lock::WhyLock>(),
    QueryEntry::of::<why_path::WhyPath>(),
    QueryEntry::of::<holds::Holds>(),
    QueryEntry::of::<lock_of::LockOf>(),
    QueryEntry::of::<check::Check>(),
    QueryEntry::of::<turn::Turn>(),
    QueryEntry::of::<log::Log>(),
    QueryEntry::of::<mail::Mail>(),
    QueryEntry::of::<unread::Unread>(),
    QueryEntry::of::<message_id::ResolveMessage>(),
    QueryEntry::of::<recall::Recall>(),
    QueryEntry::of::<memories::Memories>(),
    QueryEntry::of::<memory_id::ResolveMemory>(),
    QueryEntry::of::<memory::ShowMemory>(),
    QueryEntry::of::<next::Next>(),
    QueryEntry::of::<peek::Peek>(),
    QueryEntry::of::<agents::Agents>(),
    QueryEntry::of::<projects::Projects>(),
    QueryEntry::of::<project_called::ProjectCalled>(),
    QueryEntry::of::<task_id::ResolveTask>(),
    QueryEntry::of::<any_id::ResolveAny>(),
    QueryEntry::of::<guards::Guards>(),
    QueryEntry::of::<switched_on::SwitchedOn>(),
    QueryEntry::of::<last_time::LastTime>(),
    QueryEntry::of::<fired::Fired>(),
    QueryEntry::of::<health::Health>(),
    QueryEntry::of::<read_through::ReadThrough>(),
    QueryEntry::of::<import_plan::ImportPlan>(),
    QueryEntry::of::<export::Export>(),
    QueryEntry::of::<others_here::OthersHere>(),
    QueryEntry::of::<in_the_way::InTheWay>(),
    QueryEntry::of::<may_commit::MayCommit>(),
    QueryEntry::of::<may_push::MayPush>(),
    QueryEntry::of::<own_files::OwnFiles>(),
    QueryEntry::of::<outlook::Outlook>(),
    QueryEntry::of::<standing::Standing>(),
    QueryEntry::of::<beginning::Beginning>(),
    QueryEntry::of::<session_of::SessionOf>(),
    QueryEntry::of::<suspects::Suspects>(),
    QueryEntry::of::<tokens::Tokens>(),
    QueryEntry::of::<token_id::ResolveToken>(),
    QueryEntry::of::<members::Members>(),
    QueryEntry::of::<principals::Principals>(),
];

/// A query of any type, for code that carries queries without inspecting them: the wire format, servers, tests.
#[derive(Debug)]
pub struct AnyQuery(Box<dyn ErasedQuery>);

impl Clone for AnyQuery {
    fn clone(&self) -> AnyQuery {
        AnyQuery(self.0.boxed())
    }
}

impl AnyQuery {
    /// Wraps a request.
    pub fn new<Q: Query>(request: Q) -> AnyQuery {
        AnyQuery(Box::new(request))
    }

    /// Parses the request of a query by name. Unknown fields are refused by name.
    pub fn read(name: &str, json: &str) -> Result<AnyQuery> {
        find(name).and_then(|entry| (entry.read)(json))
    }

    /// The request, if the query is of this type.
    pub fn get<Q: Query>(&self) -> Option<&Q> {
        self.0.as_any().downcast_ref()
    }

    pub fn entry(&self) -> &'static QueryEntry {
        self.0.entry()
    }

    pub fn name(&self) -> &'static str {
        self.entry().name
    }

    /// See [`Query::lines`].
    pub fn lines(&self) -> Vec<usize> {
        self.0.lines()
    }

    /// See [`Query::set_lines`].
    pub fn set_lines(&mut self, lines: &[usize]) {
        self.0.set_lines(lines);
    }

    /// The request as JSON, as [`AnyQuery::read`] parses it.
    pub fn to_json(&self) -> Result<String> {
        self.0.to_json()
    }

    /// Asks it like [`Kernel::ask`], with the answer as JSON.
    pub fn ask(&self, kernel: &Kernel, call: &Call) -> Result<String> {
        self.0.ask(kernel, call)
    }
}

/// The description of a query, by name.
pub fn find(name: &str) -> Result<&'static QueryEntry> {
    QUERIES.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let shown = excerpt(name);
        let error = Error::new(Code::UnknownQuery, format!("there is no query `{shown}`")).at(Stage::Arguments);
        match tenure_core::name::nearest(name, QUERIES.iter().map(|entry| entry.name)) {
            Some(near) => error.entity(shown).hint(format!("The nearest is `{near}`.")),
            None => error.entity(shown),
        }
    })
}

/// An id that no checkout has.
const UNSEEN: &str = "-";

/// What a query reads.
pub struct Snapshot<'a> {
    pub call: &'a Call,
    pub identity: &'a StoreIdentity,
    /// The project's row, if the project exists.
    pub project: Option<&'a project::Row>,
    /// The time of the snapshot, by the step rule.
    pub now: Time,
    /// The clock as it was read.
    pub clock: Time,
    /// The checkouts of the project on the caller's machine; empty if the call comes from none.
    pub(crate) places: Vec<checkout::Row>,
    /// Agents that the door has proven dead: their holds are over, as they are for a claim.
    pub dead: Vec<AgentName>,
    /// The phrasing of the doors.
    pub words: Words,
}

impl Snapshot<'_> {
    /// The project's id. For a project that does not exist, an id that no row has.
    pub(crate) fn project_id(&self) -> &str {
        self.project.map_or("", |project| project.id.as_str())
    }

    /// The caller's checkout. One that no op has come from has no id, so only holds on all checkouts apply to it.
    pub(crate) fn here(&self) -> CheckoutId {
        checkout_id(self.call, &self.places).unwrap_or_else(|| UNSEEN.into())
    }

    /// The context for reading the holds and the waiting line of a project.
    pub(crate) fn sight<'b>(&'b self, project: &'b project::Row) -> LineView<'b> {
        let Snapshot { call, now, clock, dead, .. } = self;
        LineView { project, now: *now, clock: *clock, dead, call, is_write: false }
    }

    /// The checkouts of the project, as seen from the caller's machine.
    pub(crate) fn checkouts(&self, tx: &mut dyn Tx) -> Result<Checkouts> {
        let host = self.call.checkout.as_ref().map_or("", |here| here.host.as_str());
        Checkouts::load(tx, self.project_id(), host)
    }

    /// Whether a hold that has not ended yet is over all the same: it has lapsed, or its holder is dead.
    pub(crate) fn is_over(&self, held: &task::TaskHold) -> bool {
        rule::lapsed(self.now, held.expires_at) || self.dead.contains(&held.holder)
    }

    /// When a task hold ends, as far as is known now.
    pub(crate) fn end_of(&self, holder: &AgentName, expires_at: Time) -> Time {
        if self.dead.contains(holder) { expires_at.min(self.now) } else { expires_at }
    }

    /// Whether a hold is over because its holder is dead.
    pub(crate) fn died(&self, hold: &hold::Row) -> bool {
        self.dead.contains(&hold.holder) && !locks::outlives_holder(hold)
    }
}

/// The maximum number of rows on a page.
pub const LIMIT_MAX: usize = 1_000;

/// The maximum size of the rows of a page in bytes. A page with larger rows ends early, and a single larger row is a
/// page of its own. A client chooses the number of rows, but other clients determine the length of each.
pub(crate) const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// How many rows make a page: at most `limit`, as many as fit, and at least one.
pub(crate) fn fitting(sizes: impl Iterator<Item = usize>, limit: usize) -> usize {
    let mut left = PAGE_BYTES;
    let fits = |(at, size): &(usize, usize)| {
        let fits = *at == 0 || *size <= left;
        left = left.saturating_sub(*size);
        fits
    };
    sizes.take(limit).enumerate().take_while(fits).count()
}

/// The default page size.
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
    Error::new(Code::BadCursor, format!("`{}` is not a cursor", excerpt(text)))
        .at(Stage::Arguments)
        .hint("Take `next` of the page before.")
}

/// A page of rows, of which one more was read than the page has. `at` is the cursor after a row.
pub(crate) fn page<R, T>(
    mut found: Vec<R>,
    rows: usize,
    cursor: Option<&str>,
    at: impl Fn(&R) -> String,
    show: impl Fn(&R) -> T,
) -> Page<T> {
    let more = found.len() > rows;
    found.truncate(rows);
    let next = more.then(|| found.last().map(at)).flatten();
    let total = (!more && cursor.is_none()).then_some(i64::try_from(found.len()).unwrap_or(i64::MAX));
    Page::of(found.iter().map(show).collect(), total, next)
}

#[cfg(test)]
mod tests;
