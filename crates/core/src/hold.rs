//! Holds: an exclusive or shared right for a limited time.

use serde::{Deserialize, Serialize};

use crate::action::{Action, Advice};
use crate::error::{Code, Error, Result};
use crate::number::Fence;
use crate::time::{Span, Time};

/// Shortest time to live.
pub const TTL_MIN: Span = Span::seconds(1);
/// Longest time to live. No hold is without an end.
pub const TTL_MAX: Span = Span::hours(24);
/// Time to live of a task hold when nothing else is said.
pub const TASK_TTL: Span = Span::minutes(60);

/// Time to live of a path hold that is not taken for a task, when nothing else is said.
pub const PATH_TTL: Span = Span::hours(1);

/// Time to live of a path hold that the edit guard takes without a task.
pub const GUARD_TTL: Span = Span::minutes(30);

/// Whether others may have the same at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// They may, if they share it too.
    Shared,
    /// Nobody else may.
    #[default]
    Exclusive,
}

impl Mode {
    /// The word stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Shared => "shared",
            Mode::Exclusive => "exclusive",
        }
    }
}

/// What kind of thing is held.
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
    /// All of them.
    pub const ALL: [HoldKind; 3] = [HoldKind::Task, HoldKind::Path, HoldKind::Name];

    /// The word stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            HoldKind::Task => "task",
            HoldKind::Path => "path",
            HoldKind::Name => "name",
        }
    }

    /// Reads the stored word.
    pub fn from_stored(word: &str) -> Option<HoldKind> {
        HoldKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// What makes a hold live on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Renewal {
    /// Any op of its holder.
    #[default]
    Session,
    /// Only a request for it.
    Explicit,
}

impl Renewal {
    /// The word stored.
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
    Err(Error::usage(Code::BadTtl, format!("a time to live of {} seconds is outside the limits", span.as_seconds()))
        .hint("Give 1s to 24h; a holder's own calls renew its hold."))
}

/// When a live hold ends as far as anybody can say now: never later than its time to live from here. Only a clock that
/// was set back, and that no write has taken notice of yet, makes a difference.
pub fn until(now: Time, expires_at: Time, ttl: Span) -> Time {
    expires_at.min(now + ttl)
}

/// When a hold ends that goes with a task: with the task's own hold, if that ends sooner. Whoever writes ends them
/// together, so whoever looks sees them end together.
pub fn ends(expires_at: Time, task_ends: Option<Time>) -> Time {
    task_ends.map_or(expires_at, |task| task.min(expires_at))
}

/// The only test for expiry anywhere.
pub fn lapsed(now: Time, expires_at: Time) -> bool {
    now >= expires_at
}

/// How a hold came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Its time ran out.
    Expired,
    /// Its holder gave it back.
    Released,
    /// Its task was finished, blocked or cancelled.
    Finished,
    /// It was handed to another agent.
    Transferred,
    /// A person ended it.
    Forced,
}

impl Ending {
    /// All of them.
    pub const ALL: [Ending; 5] =
        [Ending::Expired, Ending::Released, Ending::Finished, Ending::Transferred, Ending::Forced];

    /// Reads the stored word.
    pub fn from_stored(word: &str) -> Option<Ending> {
        Ending::ALL.into_iter().find(|ending| ending.as_str() == word)
    }

    /// The word stored and shown.
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
    /// When.
    pub at: Time,
    /// How.
    pub how: Ending,
}

/// A live hold on a task as the right to act sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldState<'a> {
    /// Who has it.
    pub holder: &'a str,
    /// The number of the event that granted it.
    pub fence: Fence,
}

/// What a task remembers of its holds, and what the actor was last shown.
#[derive(Clone, Debug)]
pub struct HoldHistory<'a> {
    /// The task.
    pub task: &'a str,
    /// The live hold, if there is one.
    pub live: Option<HoldState<'a>>,
    /// The newest fence ever granted on the task. An override counts as one.
    pub last_fence: Option<Fence>,
    /// The agent that had it, if any.
    pub last_holder: Option<&'a str>,
    /// Whether that hold ended by running out of time.
    pub lapsed: bool,
    /// The fence last shown to the actor for this task, or given by it; `None` if it never had one.
    pub shown: Option<Fence>,
}

/// With what right an actor may act on a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// It holds the task.
    Holder,
    /// It held the task until its time ran out, and nobody took it since.
    Late,
    /// Nobody holds the task and the actor never did.
    Free,
}

/// Decides whether `actor` may act on a task: the heart of fencing.
///
/// A fence shown to a process is proof of which grant it works under; the row of the hold is never asked what fence
/// the actor *should* have. So a holder that lapsed and was replaced, even by itself in another process, is stale.
pub fn right(actor: &str, claim: &HoldHistory<'_>) -> Result<Right> {
    let stale = |text: String| {
        Err(Error::new(Code::StaleFence, text)
            .entity(claim.task)
            .attempt(Action::show(claim.task))
            .attempt(Action::NextTask)
            .detail("fence", claim.shown)
            .detail("current_fence", claim.last_fence.map_or(0, |fence| fence.0)))
    };
    match (&claim.live, claim.shown) {
        (Some(live), shown) if live.holder == actor => match shown {
            Some(fence) if fence == live.fence => Ok(Right::Holder),
            Some(_) => stale(format!("your hold on {} was replaced by a newer one", claim.task)).map_err(|error| {
                error.hint(Advice::from(Action::claim(claim.task)).text(" shows the fence of the one you have now."))
            }),
            None => stale(format!("{} is held in your name, but you have not been shown its fence", claim.task))
                .map_err(|error| error.hint(Advice::from(Action::claim(claim.task)).text(" shows it."))),
        },
        (Some(live), Some(_)) => stale(format!("your hold on {} is over and {} has it now", claim.task, live.holder)),
        (Some(live), None) => {
            Err(Error::new(Code::TaskHeld, format!("{} is held by {}", claim.task, live.holder)).entity(claim.task))
        }
        // On a task that was imported no fence was ever granted, whichever is shown.
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
        // The holder with its fence.
        assert_eq!(kind(right("a", &claim(Some(("a", 5)), ("a", 5), false, Some(5)))), Ok(Right::Holder));
        // The same agent with an older fence, or none.
        assert_eq!(kind(right("a", &claim(Some(("a", 9)), ("a", 9), false, Some(5)))), Err(Kind::Stale));
        assert_eq!(kind(right("a", &claim(Some(("a", 9)), ("a", 9), false, None))), Err(Kind::Stale));
        // Lapsed and taken over; lapsed, taken over and finished.
        assert_eq!(kind(right("a", &claim(Some(("b", 9)), ("b", 9), false, Some(5)))), Err(Kind::Stale));
        assert_eq!(kind(right("a", &claim(None, ("b", 9), false, Some(5)))), Err(Kind::Stale));
        // Lapsed and not taken over.
        assert_eq!(kind(right("a", &claim(None, ("a", 5), true, Some(5)))), Ok(Right::Late));
        // Somebody else's fence does not help.
        assert_eq!(kind(right("c", &claim(None, ("a", 5), true, Some(5)))), Err(Kind::Stale));
        // Strangers: free if nobody holds it, conflict otherwise.
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
