//! The types of answers. Doors serialise them and stored responses contain them, so fields are added but never removed
//! or renamed.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use tenure_core::agent::{Liveness, liveness};
use tenure_core::choice::ChoiceRule;
use tenure_core::error::Detail;
use tenure_core::id::{AnyId, CheckoutId, HoldId, NoteId, PlaceId, TaskId};
use tenure_core::name::AgentName;
use tenure_core::number::{EventNumber, Fence};
use tenure_core::search::MatchedText;
use tenure_core::task::{TaskState, TaskStatus};
use tenure_core::text::cut;
use tenure_core::{Time, hold as rule};
use tenure_store::table::{agent, dep, hold, task};

mod access;
mod commit;
pub mod export;
mod guards;
mod memory;
pub(crate) mod merged;
mod message;
mod place;
mod project;
mod report;
mod resume;
mod session;

pub use access::{Denied, LoginOffered, LoginTaken, LoginsClosed, Member, Membership, Principal, Token, TokenState};
pub use commit::{CommitRecorded, Committing, Late, LostFile, Pushing, TakenFile};
pub use guards::{Elsewhere, GuardState, Guarded};
pub use memory::{Memory, MemoryOutcome, Remembered, RememberedItem};
pub use message::{InboxPage, Message, MessageEnded, Overdue, Recipient, Sent};
pub use place::{Place, PlaceTurn};
pub use project::{Forgotten, Joined, ProjectName, ProjectSwitchedOn};
pub use report::{
    Agent, Hindered, HookRun, LoggedEvent, NoteView, Overview, ProjectOverview, Sentence, Shown, Story, span,
};
pub use resume::{Brief, Confirmed, News, OfferedEvents, Resumed};
pub use session::{LeftBehind, SessionEnded, SessionStarted, ToolUseRecorded};

/// An RFC 3339 time in UTC.
pub type Instant = String;

/// A list, one page of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Page<T> {
    /// The page.
    pub items: Vec<T>,
    /// The total number, if it is known without counting.
    pub total: Option<i64>,
    /// Whether there are more.
    pub more: bool,
    /// The position of the next page, if there is one.
    pub next: Option<String>,
    /// In logs: the end of this page, as the position for later events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// In logs: the oldest event, if older ones were removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<EventNumber>,
    /// In lists of holds: the waiting agents in the order of the line; on the first page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Place>,
    /// In lists of holds: which of the patterns that were asked about are globs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globs: Vec<String>,
}

impl<T> Page<T> {
    /// A page of a list other than the log.
    pub(crate) fn of(items: Vec<T>, total: Option<i64>, next: Option<String>) -> Page<T> {
        Page {
            items,
            total,
            more: next.is_some(),
            next,
            cursor: None,
            kept_from: None,
            waiting: Vec::new(),
            globs: Vec::new(),
        }
    }
}

/// A task.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// Its creation number.
    pub number: i64,
    /// One line.
    pub title: String,
    /// More lines.
    pub description: String,
    /// 0 is first, 4 is last.
    pub priority: i64,
    /// Sorted.
    pub labels: Vec<String>,
    /// The acceptance criteria.
    pub acceptance: String,
    /// The stored status, as a write would find it.
    pub status: TaskStatus,
    /// What follows from status, dependencies and hold.
    pub state: TaskState,
    /// The dependencies.
    pub after: Vec<TaskId>,
    /// The dependencies that are not done.
    pub unmet: Vec<TaskId>,
    /// The number of grants so far.
    pub attempt: i64,
    /// Increases with each visible change.
    pub version: i64,
    /// The assignee.
    pub assignee: Option<AgentName>,
    /// Why it is blocked or was cancelled.
    pub reason: Option<String>,
    /// The task that blocks it.
    pub blocked_on: Option<TaskId>,
    /// The holder.
    pub holder: Option<Holder>,
    /// The agent whose hold expired, if no agent has taken over.
    pub lapsed_from: Option<AgentName>,
    /// The agent that finished or cancelled it.
    pub finished_by: Option<AgentName>,
    /// When that was.
    pub finished_at: Option<Instant>,
    /// When it was added.
    pub created_at: Instant,
    /// When what a person sees last changed.
    pub updated_at: Instant,
    /// The time until which it is withheld; null when it has passed.
    #[serde(default)]
    pub not_before: Option<Instant>,
    /// In a list by words: the first text with each word.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<MatchedText>,
}

/// The holder of a task.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Holder {
    /// The agent.
    pub agent: AgentName,
    /// The hold.
    pub hold: HoldId,
    /// Its fence.
    pub fence: Fence,
    /// The time at which it ends without renewal.
    pub expires_at: Instant,
    /// Whether the agent is alive.
    pub liveness: Liveness,
}

/// `None` for an empty text.
fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn holder_liveness(held: &task::TaskHold, now: Time) -> Liveness {
    if rule::lapsed(now, held.expires_at) { Liveness::Gone } else { liveness(now, &held.sign) }
}

impl Task {
    /// A task as seen at an instant. A lapsed hold is over, settled or not.
    pub(crate) fn of(full: &task::Full, edges: &[dep::Edge], now: Time) -> Task {
        let row = &full.task;
        let live = full.held.as_ref().filter(|held| !rule::lapsed(now, held.expires_at));
        let (status, state) = row.conditions().view(live.is_some(), now);
        let own = || edges.iter().filter(|edge| edge.task == row.id);
        let lapsed_from = match &full.held {
            Some(held) if live.is_none() => Some(held.holder.clone()),
            None if row.lapsed && !row.status.is_closed() => row.last_holder.clone(),
            _ => None,
        };
        Task {
            id: row.id.clone(),
            number: row.number,
            title: row.title.clone(),
            description: row.description.clone(),
            priority: row.priority,
            labels: row.labels.clone(),
            acceptance: row.acceptance.clone(),
            status,
            state,
            after: own().map(|edge| edge.after.clone()).collect(),
            unmet: own().filter(|edge| edge.status != TaskStatus::Done).map(|edge| edge.after.clone()).collect(),
            attempt: row.attempt,
            version: row.version,
            assignee: row.assignee.clone(),
            reason: some(&row.reason),
            blocked_on: row.blocked_on.clone(),
            holder: live.map(|held| Holder {
                agent: held.holder.clone(),
                hold: held.id.clone(),
                fence: held.fence,
                expires_at: rule::until(now, held.expires_at, held.ttl).to_string(),
                liveness: holder_liveness(held, now),
            }),
            lapsed_from,
            finished_by: row.finished_by.clone(),
            finished_at: row.finished_at.map(|at| at.to_string()),
            created_at: row.created_at.to_string(),
            updated_at: row.updated_at.to_string(),
            not_before: row.conditions().at(now).not_before.map(|until| until.to_string()),
            matched: Vec::new(),
        }
    }
}

/// A hold.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hold {
    /// Its id.
    pub id: HoldId,
    /// `task`, `path`, `name` or `slot`.
    pub kind: String,
    /// What is held.
    pub subject: String,
    /// The holder.
    pub holder: AgentName,
    /// The number of the grant that the holder works under.
    pub fence: Fence,
    /// `exclusive` or `shared`.
    pub mode: String,
    /// The purpose.
    pub reason: String,
    /// When it was granted.
    pub granted_at: Instant,
    /// The time at which it ends without renewal.
    pub expires_at: Instant,
    /// How long that is from now.
    pub expires_in_s: i64,
    /// The time that a renewal adds.
    pub ttl_s: i64,
    /// `live`, `offered` (until its holder accepts it), `lapsed` (expired, not yet recorded) or the way in which it
    /// ended.
    pub state: String,
    /// Whether the holder is alive.
    pub liveness: Liveness,
    /// The task that a path is held for; the hold ends with the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The top of the checkout that a path is held in, with its machine where that is another; none for a hold over all
    /// of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
    /// The id of that checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout_id: Option<CheckoutId>,
    /// The name: the shortest unique end of its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout_name: Option<String>,
    /// The name of its project, if it is not the requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

impl Hold {
    pub(crate) fn of(row: &hold::Row, holder: Option<&agent::Row>, now: Time) -> Hold {
        let over = rule::lapsed(now, row.expires_at);
        let state = match (row.ended, over) {
            (None, false) if row.place.is_some() => "offered",
            (None, false) => "live",
            (None, true) => "lapsed",
            (Some(ended), _) => ended.how.as_str(),
        };
        let sign = holder.map(|agent| tenure_core::agent::Sign { ttl: row.ttl, ..agent.sign() });
        let until = if matches!(state, "live" | "offered") {
            rule::until(now, row.expires_at, row.ttl)
        } else {
            // A hold that was cut short, or that ended with its task, did not last until its expiry.
            row.ended.map_or(row.expires_at, |ended| row.expires_at.min(ended.at))
        };
        Hold {
            id: row.id.clone(),
            kind: row.kind.as_str().to_owned(),
            subject: row.subject.clone(),
            holder: row.holder.clone(),
            fence: row.fence,
            mode: row.mode.as_str().to_owned(),
            reason: row.reason.clone(),
            granted_at: row.granted_at.to_string(),
            expires_at: until.to_string(),
            expires_in_s: (until - now).as_seconds().max(0),
            ttl_s: row.ttl.as_seconds(),
            state: state.to_owned(),
            liveness: match sign {
                Some(sign) if matches!(state, "live" | "offered") => liveness(now, &sign),
                _ => Liveness::Gone,
            },
            task: row.task.clone(),
            checkout: row.checkout.as_ref().map(CheckoutId::to_string),
            checkout_id: None,
            checkout_name: None,
            project: None,
        }
    }

    /// A hold that was just granted or renewed.
    pub(crate) fn granted(row: &hold::Row, now: Time) -> Hold {
        Hold { liveness: Liveness::Alive, ..Hold::of(row, None, now) }
    }
}

/// A hold or a place that blocks a request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Blocker {
    /// The hold.
    pub id: AnyId,
    /// `held`, or `waiting` for a place in the line.
    pub state: String,
    /// The holder.
    pub holder: AgentName,
    /// The pattern, for paths.
    pub pattern: Option<String>,
    /// `exclusive` or `shared`.
    pub mode: String,
    /// The purpose.
    pub reason: String,
    /// How long it has been held.
    pub age_s: i64,
    /// How long until it ends unless renewed.
    pub expires_in_s: i64,
    /// How long ago the holder did something.
    pub last_seen_s: i64,
    /// Whether the holder is alive.
    pub liveness: Liveness,
    /// The place in the waiting line.
    pub place: Option<i64>,
    /// The top of its checkout, if that is around or inside the checkout of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<String>,
    /// The name of that project, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

impl Blocker {
    pub(crate) fn of(held: &task::TaskHold, now: Time) -> Blocker {
        Blocker {
            id: held.id.as_str().into(),
            state: "held".to_owned(),
            holder: held.holder.clone(),
            pattern: None,
            mode: "exclusive".to_owned(),
            reason: held.reason.clone(),
            age_s: held.granted_at.age(now).as_seconds(),
            expires_in_s: (rule::until(now, held.expires_at, held.ttl) - now).as_seconds().max(0),
            last_seen_s: held.sign.last_seen.age(now).as_seconds(),
            liveness: holder_liveness(held, now),
            place: None,
            checkout: None,
            project: None,
        }
    }
}

/// What blocks a request, as a detail of the refusal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Blockers(pub Vec<Blocker>);

impl Detail for Blockers {
    const KEY: &'static str = "blockers";
}

impl Blocker {
    /// The location, as the end of a sentence. It is empty for a blocker in the checkout of the request.
    pub fn whereabouts(&self) -> String {
        match (&self.checkout, &self.project) {
            (Some(top), Some(label)) => format!(" in {}, the repository of {}", cut(top, 120), cut(label, 64)),
            (Some(top), None) => format!(" in {}", cut(top, 120)),
            _ => String::new(),
        }
    }

    /// How a person ends the hold. An id is known only in its own project.
    pub fn override_by_person(&self) -> &'static str {
        match self.project {
            Some(_) => "A person can end the hold in that repository: `release` with its id and --force.",
            None => "A person can end the hold: `release` with its id and --force.",
        }
    }

    /// A live path hold or lock, as shown to an agent that it blocks.
    pub(crate) fn of_path(row: &hold::Row, holder: Option<&agent::Row>, now: Time) -> Blocker {
        let last_seen = holder.map_or(row.granted_at, |agent| agent.last_seen);
        Blocker {
            id: row.id.as_str().into(),
            state: "held".to_owned(),
            holder: row.holder.clone(),
            pattern: row.is_path().then(|| row.subject.clone()),
            mode: row.mode.as_str().to_owned(),
            reason: row.reason.clone(),
            age_s: row.granted_at.age(now).as_seconds(),
            expires_in_s: (rule::until(now, row.expires_at, row.ttl) - now).as_seconds().max(0),
            last_seen_s: last_seen.age(now).as_seconds(),
            liveness: Hold::of(row, holder, now).liveness,
            place: None,
            checkout: None,
            project: None,
        }
    }
}

/// The answer to `reserve`, and to `release` of paths and locks.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reserved {
    /// The holds, in the order of the request, each once.
    pub holds: Vec<Hold>,
    /// Whether nothing was granted and the agent waits in line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
    /// The number in the waiting line, if the agent waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<i64>,
    /// The id of the place, if the agent waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<PlaceId>,
    /// How long the place is kept without renewal, if the agent waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<i64>,
    /// The blockers, at most 50, if the agent waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
    /// The total number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// The agents that the further blockers belong to, if there are more than 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<AgentName>,
    /// What others hold of the same files in other checkouts, at most 50: nobody stands in the way, and the changes meet
    /// when they are merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Elsewhere>,
    /// The total number, if there are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere_total: Option<usize>,
    /// The places in the line that were left by a release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<PlaceId>,
    /// Which of the requested patterns are globs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globs: Vec<String>,
}

/// The answer to `lock`: the lock, or the caller's place in the waiting line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Locked {
    /// It is held.
    Held(Hold),
    /// Another agent holds it, and the caller has a place in the waiting line.
    Waiting(Reserved),
}

impl<'de> Deserialize<'de> for Locked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Locked, D::Error> {
        merged::either(deserializer, Locked::Held, Locked::Waiting)
    }
}

/// The answer to `release`: the task as it is now, or the holds that ended.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Released {
    /// A task was released.
    Task(Box<Task>),
    /// Paths or a lock were released.
    Paths(Box<Reserved>),
}

impl<'de> Deserialize<'de> for Released {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Released, D::Error> {
        merged::either(deserializer, Released::Task, Released::Paths)
    }
}

/// The answer to `check`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Whether a request for all of them would be granted now.
    pub free: bool,
    /// What stands in the way, at most 50.
    pub blockers: Vec<Blocker>,
    /// The total number.
    pub total: usize,
    /// The agents that the further blockers belong to, if there are more than 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<AgentName>,
    /// What others hold of the same files in other checkouts, at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Elsewhere>,
    /// Which of the requested patterns are globs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub globs: Vec<String>,
}

/// The answer to `claim`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Claimed {
    /// The task; null if none is available.
    pub task: Option<Task>,
    /// The hold on it.
    pub hold: Option<Hold>,
    /// The rule that chose it.
    pub rule: ChoiceRule,
    /// The rule in words, or the reason why no task is available.
    pub reason: String,
    /// Paths that were held for the task when its hold expired, and are now held again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Hold>,
    /// The blockers of the paths that are not free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_paths: Vec<Blocker>,
}

impl Claimed {
    /// The answer when nothing was claimed.
    pub(crate) fn nothing(reason: String) -> Claimed {
        Claimed { task: None, hold: None, rule: ChoiceRule::None, reason, paths: Vec::new(), lost_paths: Vec::new() }
    }
}

/// The answer to `next`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Next")]
pub struct NextChoice {
    /// What `claim` would choose now.
    pub task: Option<Task>,
    /// The rule that chose it.
    pub rule: ChoiceRule,
    /// The rule in words, or the reason why no task is available.
    pub reason: String,
}

/// The answer to `done`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Done")]
pub struct Finished {
    /// The task.
    #[serde(flatten)]
    pub task: Task,
    /// Whether the hold had expired, and no agent had taken over.
    pub late: bool,
    /// The tasks that this made ready, at most 1,000.
    pub unlocked: Vec<TaskId>,
}

impl<'de> Deserialize<'de> for Finished {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Finished, D::Error> {
        #[derive(Deserialize)]
        struct Rest {
            late: bool,
            unlocked: Vec<TaskId>,
        }
        let (task, Rest { late, unlocked }) = merged::both(deserializer)?;
        Ok(Finished { task, late, unlocked })
    }
}

/// The answer to `note`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Noted {
    /// The note.
    pub id: NoteId,
    /// The task it is on.
    pub task: TaskId,
    /// Whether the author's hold had expired, and no agent had taken over.
    pub late: bool,
    /// The memories stored with it.
    #[serde(default)]
    pub memories: Vec<RememberedItem>,
    /// How many files it names.
    #[serde(default)]
    pub artifacts: usize,
}

/// The answer to `transfer`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Transferred {
    /// The holds as they are now; with `all`, the first 100.
    pub holds: Vec<Hold>,
    /// With `all`: how many more were handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<usize>,
    /// With `all`: the locks of running commands, which stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stays: Vec<Hold>,
}

/// The answer to a bulk `add`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// How many tasks were added.
    pub count: usize,
    /// The first 1,000 ids, in the order of the input.
    pub ids: Vec<TaskId>,
    /// Whether there are more than that.
    pub more: bool,
}
