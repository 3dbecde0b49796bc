//! Holds: exclusive or shared rights for a limited time.

use serde::{Deserialize, Serialize};

use crate::action::{Action, Advice};
use crate::error::{Code, Error, Result};
use crate::number::Fence;
use crate::time::{Span, Time};

/// The shortest time to live.
pub const TTL_MIN: Span = Span::seconds(1);
/// The longest time to live. Every hold expires.
pub const TTL_MAX: Span = Span::hours(24);
/// The default time to live of a task hold.
pub const TASK_TTL: Span = Span::minutes(60);

/// The default time to live of a path hold that is not taken for a task.
pub const PATH_TTL: Span = Span::hours(1);

/// The time to live of a path hold that the edit guard takes without a task.
pub const GUARD_TTL: Span = Span::minutes(30);

/// Whether other agents can hold the same thing at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Other agents can hold it too, in shared mode.
    Shared,
    /// No other agent can hold it.
    #[default]
    Exclusive,
}

impl Mode {
    /// The word in the store and in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Shared => "shared",
            Mode::Exclusive => "exclusive",
        }
    }
}

/// The kind of thing that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    /// A task.
    Task,
    /// The files that a pattern matches.
    Path,
    /// A named lock.
    Name,
}

impl HoldKind {
    /// All kinds.
    pub const ALL: [HoldKind; 3] = [HoldKind::Task, HoldKind::Path, HoldKind::Name];

    /// The word in the store and in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            HoldKind::Task => "task",
            HoldKind::Path => "path",
            HoldKind::Name => "name",
        }
    }

    /// Parses the stored word.
    pub fn from_stored(word: &str) -> Option<HoldKind> {
        HoldKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// What renews a hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Renewal {
    /// Any op of its holder.
    #[default]
    Session,
    /// Only an explicit request for it.
    Explicit,
}

impl Renewal {
    /// The word in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Renewal::Session => "session",
            Renewal::Explicit => "explicit",
        }
    }
}

/// Checks a time to live.
pub fn ttl(span: Span) -> Result<Span> {
    if (TTL_MIN..=TTL_MAX).contains(&span) {
        return Ok(span);
    }
    Err(Error::usage(Code::BadTtl, format!("the time to live of {} seconds is out of range", span.as_seconds()))
        .hint("Give 1s to 24h; the holder's own writes renew the hold."))
}

/// When a live hold expires as far as is known now: never later than its time to live from `now`. This matters only
/// after the clock was set back and before a write has noticed it.
pub fn until(now: Time, expires_at: Time, ttl: Span) -> Time {
    expires_at.min(now + ttl)
}

/// When a hold that belongs to a task expires: with the task's own hold if that expires earlier. Writers end the two
/// together, so readers must see them end together.
pub fn ends(expires_at: Time, task_ends: Option<Time>) -> Time {
    task_ends.map_or(expires_at, |task| task.min(expires_at))
}

/// The only expiry test. Conditions on expiry in SQL must agree with it.
pub fn lapsed(now: Time, expires_at: Time) -> bool {
    now >= expires_at
}

/// How a hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Its time to live passed.
    Expired,
    /// Its holder released it.
    Released,
    /// Its task was finished, blocked or cancelled.
    Finished,
    /// It was transferred to another agent.
    Transferred,
    /// A person ended it.
    Forced,
}

impl Ending {
    /// All endings.
    pub const ALL: [Ending; 5] =
        [Ending::Expired, Ending::Released, Ending::Finished, Ending::Transferred, Ending::Forced];

    /// Parses the stored word.
    pub fn from_stored(word: &str) -> Option<Ending> {
        Ending::ALL.into_iter().find(|ending| ending.as_str() == word)
    }

    /// The word in the store and in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Ending::Expired => "expired",
            Ending::Released => "released",
            Ending::Finished => "finished",
            Ending::Transferred => "transferred",
            Ending::Forced => "forced",
        }
    }
}

/// When and how a hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When it ended.
    pub at: Time,
    /// How it ended.
    pub how: Ending,
}

/// A live hold on a task, as input of [`right`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldState<'a> {
    /// The holder.
    pub holder: &'a str,
    /// The number of the event that granted it.
    pub fence: Fence,
}

/// The history of a task's holds, and the fence that the actor was last shown.
#[derive(Clone, Debug)]
pub struct HoldHistory<'a> {
    /// The task's id.
    pub task: &'a str,
    /// The live hold, if there is one.
    pub live: Option<HoldState<'a>>,
    /// The newest fence ever granted on the task. An override counts as one.
    pub last_fence: Option<Fence>,
    /// The agent that had that fence, if any.
    pub last_holder: Option<&'a str>,
    /// Whether that hold ended by expiry.
    pub lapsed: bool,
    /// The fence last shown to the actor for this task, or presented by it; `None` if it never had one.
    pub shown: Option<Fence>,
}

impl HoldHistory<'_> {
    fn stale(&self, text: String) -> Error {
        Error::new(Code::StaleFence, text)
            .entity(self.task)
            .attempt(Action::show(self.task))
            .attempt(Action::NextTask)
            .detail("fence", self.shown)
            .detail("current_fence", self.last_fence.map_or(0, |fence| fence.0))
    }

    /// The refusal of a holder whose hold a person ended.
    pub fn overridden(&self, end: &ForcedEnd<'_>) -> Error {
        let ForcedEnd { by, how, at } = end;
        let now = match &self.live {
            Some(live) => format!("; {} has it now", live.holder),
            None => String::new(),
        };
        self.stale(format!("your hold on {} is over: {by} {how} at {at}{now}", self.task))
            .detail("ended_by", *by)
            .detail("ended_at", at.to_string())
    }
}

/// The end of a hold by a person's force.
#[derive(Clone, Copy, Debug)]
pub struct ForcedEnd<'a> {
    /// The person.
    pub by: &'a str,
    /// What the person did, as a verb with its object.
    pub how: &'a str,
    /// When.
    pub at: Time,
}

/// The right by which an actor acts on a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// The actor holds the task.
    Holder,
    /// The actor held the task until it expired, and no agent has taken it since.
    Late,
    /// No agent holds the task, and the actor never did.
    Free,
}

/// Decides whether `actor` may act on a task. This is the core of fencing.
///
/// The fence shown to a process proves which grant it works under. The hold's row is never asked which fence the actor
/// *should* have. So a holder whose hold expired and was replaced, even by the same agent in another process, is stale.
pub fn right(actor: &str, claim: &HoldHistory<'_>) -> Result<Right> {
    let stale = |text: String| Err(claim.stale(text));
    match (&claim.live, claim.shown) {
        (Some(live), shown) if live.holder == actor => match shown {
            Some(fence) if fence == live.fence => Ok(Right::Holder),
            Some(_) => stale(format!("your hold on {} was replaced by a newer one", claim.task)).map_err(|error| {
                error.hint(Advice::from(Action::claim(claim.task)).text(" shows the fence of the one you have now."))
            }),
            None => stale(format!("{} is held under your name, but this session has not seen its fence", claim.task))
                .map_err(|error| error.hint(Advice::from(Action::claim(claim.task)).text(" shows it."))),
        },
        (Some(live), Some(_)) => {
            stale(format!("your hold on {} is over, and {} holds it now", claim.task, live.holder))
        }
        (Some(live), None) => {
            Err(Error::new(Code::TaskHeld, format!("{} is held by {}", claim.task, live.holder)).entity(claim.task))
        }
        // An imported task never had a fence granted here, so no presented fence matches.
        (None, shown @ Some(_)) if shown == claim.last_fence && claim.last_holder == Some(actor) => {
            Ok(if claim.lapsed { Right::Late } else { Right::Free })
        }
        (None, Some(_)) => stale(format!("your hold on {} is over and another came after it", claim.task)),
        (None, None) => Ok(Right::Free),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn inv_l4_nobody_holds_under_a_fence_that_was_never_granted() {
        let imported = claim(None, ("a", 0), true, Some(0));
        assert_eq!(right("a", &imported).unwrap_err().kind(), Kind::Stale);
    }

    fn claim<'a>(
        live: Option<(&'a str, i64)>,
        last: (&'a str, i64),
        lapsed: bool,
        shown: Option<i64>,
    ) -> HoldHistory<'a> {
        HoldHistory {
            task: "t-1",
            live: live.map(|(holder, fence)| HoldState { holder, fence: Fence(fence) }),
            last_fence: (last.1 > 0).then_some(Fence(last.1)),
            last_holder: Some(last.0),
            lapsed,
            shown: shown.map(Fence),
        }
    }

    #[test]
    fn inv_l4_the_right_to_act_is_the_fence() {
        let kind = |result: Result<Right>| result.map_err(|error| error.kind());
        // The holder presents its fence.
        assert_eq!(kind(right("a", &claim(Some(("a", 5)), ("a", 5), false, Some(5)))), Ok(Right::Holder));
        // The same agent presents an older fence, or none.
        assert_eq!(kind(right("a", &claim(Some(("a", 9)), ("a", 9), false, Some(5)))), Err(Kind::Stale));
        assert_eq!(kind(right("a", &claim(Some(("a", 9)), ("a", 9), false, None))), Err(Kind::Stale));
        // The hold expired and another agent took over; or it also finished.
        assert_eq!(kind(right("a", &claim(Some(("b", 9)), ("b", 9), false, Some(5)))), Err(Kind::Stale));
        assert_eq!(kind(right("a", &claim(None, ("b", 9), false, Some(5)))), Err(Kind::Stale));
        // The hold expired and no agent took over.
        assert_eq!(kind(right("a", &claim(None, ("a", 5), true, Some(5)))), Ok(Right::Late));
        // Another agent's fence does not help.
        assert_eq!(kind(right("c", &claim(None, ("a", 5), true, Some(5)))), Err(Kind::Stale));
        // An agent that never held it: free if no agent holds it, conflict otherwise.
        assert_eq!(kind(right("c", &claim(None, ("a", 5), true, None))), Ok(Right::Free));
        assert_eq!(kind(right("c", &claim(Some(("a", 5)), ("a", 5), false, None))), Err(Kind::Conflict));
    }

    #[test]
    fn inv_l2_a_ttl_is_finite() {
        for bad in [Span(0), Span::seconds(-1), Span(999_999), TTL_MAX + 1] {
            assert_eq!(ttl(bad).unwrap_err().code(), "bad_ttl");
        }
        assert!(ttl(TTL_MIN).is_ok() && ttl(TTL_MAX).is_ok());
    }

    #[test]
    fn inv_l12_a_path_ends_with_its_task_and_never_after_its_own_time() {
        assert_eq!(ends(Time(10), None), Time(10));
        assert_eq!(ends(Time(10), Some(Time(7))), Time(7));
        assert_eq!(ends(Time(10), Some(Time(12))), Time(10));
    }

    #[test]
    fn inv_t9_a_hold_ends_at_its_expiry_and_not_after_it() {
        assert!(!lapsed(Time(9), Time(10)));
        assert!(lapsed(Time(10), Time(10)));
    }

    impl std::ops::Add<i64> for Span {
        type Output = Span;
        fn add(self, us: i64) -> Span {
            Span(self.0 + us)
        }
    }
}
