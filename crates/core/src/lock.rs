//! Named locks: what a name is, and who gets a lock.

use crate::error::{Code, Error, Result};
use crate::number::Fence;
use crate::text::{excerpt, hidden, is_invisible};
use crate::time::Span;

/// Longest name of a lock, in characters.
pub const NAME_MAX: usize = 128;

/// Time to live of a lock that its holder's calls renew, when nothing else is said.
pub const TTL: Span = Span::minutes(10);

/// Time to live of a lock that a runner renews while its command runs, when nothing else is said.
pub const RUNNER_TTL: Span = Span::seconds(60);

/// Most live locks of a project. Few enough to be counted before each grant.
pub const LIVE_PROJECT: i64 = 1_000;
/// Most of those of one agent.
pub const LIVE_AGENT: i64 = 256;

/// How long a runner waits between two renewals of a lock.
pub fn renew_every(ttl: Span) -> Span {
    Span(ttl.0 / 4)
}

/// How long before a lock can end its runner begins to end the command, and by which half of that it is gone.
pub fn margin(ttl: Span) -> Span {
    Span(ttl.0 / 4).min(Span::seconds(10))
}

/// Checks the name of a lock: 1 to 128 characters on one line, no blank at either end, no dash at the beginning, where a
/// command line would take it for a flag.
pub fn name(text: &str) -> Result<&str> {
    let length = text.chars().count();
    let shown = !text.chars().all(is_invisible);
    let odd = hidden(text).next();
    if (1..=NAME_MAX).contains(&length) && shown && odd.is_none() && text.trim() == text && !text.starts_with('-') {
        return Ok(text);
    }
    let odd = odd.map_or_else(String::new, |(at, c)| format!(": U+{:04X} at byte {at}", c as u32));
    Err(Error::usage(Code::BadLockName, format!("`{}` is not a name of a lock{odd}", excerpt(text))).hint(format!(
        "A lock has a name of 1 to {NAME_MAX} characters on one line, without a dash or a blank at its beginning."
    )))
}

/// A live lock.
#[derive(Clone, Copy, Debug)]
pub struct LiveLock<'a> {
    /// Who has it.
    pub holder: &'a str,
    /// The number of the event that granted it.
    pub fence: Fence,
}

/// What becomes of a request for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockDecision {
    /// It is free.
    Grant,
    /// The asker has shown the fence of the lock it holds.
    Renew,
    /// Somebody has it: another, or the asker in another process.
    Held,
    /// The fence shown is not that of the live lock, or there is none: what lapsed is never revived.
    Stale,
}

/// Decides a request by `agent` that shows `fence`, or none. The name of the asker alone opens nothing: two runs of one
/// agent exclude each other like those of two.
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
