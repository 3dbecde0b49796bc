//! Named locks: the rules for names, and the decision on a request for a lock.

use crate::error::{Code, Error, Result};
use crate::number::Fence;
use crate::text::{excerpt, hidden, is_invisible};
use crate::time::Span;

/// The longest name of a lock, in characters.
pub const NAME_MAX: usize = 128;

/// The default time to live of a lock that its holder's calls renew.
pub const TTL: Span = Span::minutes(10);

/// The default time to live of a lock that a runner renews while its command runs.
pub const RUNNER_TTL: Span = Span::seconds(60);

/// The most live locks of a project: few enough to count before each grant.
pub const LIVE_PROJECT: i64 = 1_000;
/// The most live locks of one agent.
pub const LIVE_AGENT: i64 = 256;

/// The interval between two renewals by a runner.
pub fn renew_every(ttl: Span) -> Span {
    Span(ttl.0 / 4)
}

/// The margin before the lock can expire. The runner starts to terminate the command when the margin begins, and the
/// command must be gone after half of it.
pub fn margin(ttl: Span) -> Span {
    Span(ttl.0 / 4).min(Span::seconds(10))
}

/// Checks the name of a lock: 1 to 128 characters on one line, no blank at either end, and no leading dash, because a
/// command line would parse it as a flag.
pub fn name(text: &str) -> Result<&str> {
    let length = text.chars().count();
    let shown = !text.chars().all(is_invisible);
    let odd = hidden(text).next();
    if (1..=NAME_MAX).contains(&length) && shown && odd.is_none() && text.trim() == text && !text.starts_with('-') {
        return Ok(text);
    }
    let odd = odd.map_or_else(String::new, |(at, c)| format!(": U+{:04X} at byte {at}", c as u32));
    Err(Error::usage(Code::BadLockName, format!("`{}` is not a valid lock name{odd}", excerpt(text))).hint(format!(
        "A lock name has 1 to {NAME_MAX} characters on one line and does not begin with a dash or a space."
    )))
}

/// A live lock.
#[derive(Clone, Copy, Debug)]
pub struct LiveLock<'a> {
    /// The holder.
    pub holder: &'a str,
    /// The number of the event that granted it.
    pub fence: Fence,
}

/// The decision on a request for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockDecision {
    /// The lock is free.
    Grant,
    /// The caller presented the fence of the lock it holds.
    Renew,
    /// The lock is held, by another agent or by the caller in another process.
    Held,
    /// The presented fence is not that of the live lock, or there is no live lock: an expired lock is never revived.
    Stale,
}

/// Decides a request by `agent` that presents `fence`, or none. The agent's name alone grants nothing: two runs of one
/// agent exclude each other like runs of two agents.
pub fn decide(agent: &str, fence: Option<Fence>, live: Option<LiveLock<'_>>) -> LockDecision {
    match (live, fence) {
        (None, None) => LockDecision::Grant,
        (Some(_), None) => LockDecision::Held,
        (Some(live), Some(fence)) if live.fence == fence => {
            if live.holder == agent {
                LockDecision::Renew
            } else {
                LockDecision::Held
            }
        }
        (_, Some(_)) => LockDecision::Stale,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_r4_a_name_is_one_line_that_no_flag_looks_like() {
        let long = "ü".repeat(NAME_MAX);
        for good in ["deploy", "db migration", "src/lib.rs", "t-7k3fq", "./x", "glob:*", "a-", "$(x)", &long] {
            assert_eq!(name(good).unwrap(), good);
        }
        let longer = "x".repeat(NAME_MAX + 1);
        for bad in ["", " ", "-x", "--", "a\nb", "a\0", " a", "a ", "\u{200b}", "a\u{2028}b", "a\u{202e}b", &longer] {
            assert_eq!(name(bad).unwrap_err().code(), "bad_lock_name", "{bad:?}");
        }
    }

    #[test]
    fn inv_r14_a_command_is_ended_before_its_lock_and_after_a_renewal_was_due() {
        for seconds in [1, 2, 60, 3_600, 86_400] {
            let ttl = Span::seconds(seconds);
            assert!(margin(ttl) > Span(0) && renew_every(ttl).0 * 2 <= ttl.0 - margin(ttl).0, "{seconds}");
        }
        assert_eq!((renew_every(RUNNER_TTL), margin(RUNNER_TTL)), (Span::seconds(15), Span::seconds(10)));
    }

    #[test]
    fn inv_r5_only_the_fence_opens_a_lock_again() {
        let live = Some(LiveLock { holder: "a", fence: Fence(7) });
        for (agent, fence, live, step) in [
            ("a", None, None, LockDecision::Grant),
            ("a", None, live, LockDecision::Held),
            ("b", None, live, LockDecision::Held),
            ("a", Some(7), live, LockDecision::Renew),
            ("b", Some(7), live, LockDecision::Held),
            ("a", Some(6), live, LockDecision::Stale),
            ("b", Some(6), live, LockDecision::Stale),
            ("a", Some(7), None, LockDecision::Stale),
        ] {
            assert_eq!(decide(agent, fence.map(Fence), live), step, "{agent} {fence:?} {live:?}");
        }
    }
}
