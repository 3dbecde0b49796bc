//! Guards, which check an edit, a command or a commit before it happens: how long they can be disabled, and whether
//! they refuse or warn.

use crate::{Code, Error, Result, Span, Time};

/// The default duration for which guards are disabled.
pub const OFF: Span = Span::hours(1);
/// The longest duration for which guards can be disabled. They come back by themselves, because a person may forget to
/// enable them.
pub const OFF_MAX: Span = Span::hours(24);

/// Checks the duration for which guards are to be disabled; zero enables them again.
pub fn off_for(span: Span) -> Result<Span> {
    if (Span(0)..=OFF_MAX).contains(&span) {
        return Ok(span);
    }
    Err(Error::usage(Code::BadOff, format!("guards cannot be switched off for {} seconds", span.as_seconds()))
        .hint("Give up to 24h, or 0s to switch them on again."))
}

/// Until when guards are disabled, if they are. An end further ahead than any call could request is ignored: only a
/// clock that was set back leads to one.
pub fn off_until(now: Time, until: Option<Time>) -> Option<Time> {
    until.filter(|until| now < *until && *until - now <= OFF_MAX)
}

/// What a guard does with a call that another agent's hold blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It refuses the call.
    Refuse,
    /// It prints a one-line warning and lets the call through.
    Warn,
}

/// Decides between refusing and warning, for an agent or a person.
pub fn treatment(is_person: bool, refuses_people: bool) -> Treatment {
    if is_person && !refuses_people { Treatment::Warn } else { Treatment::Refuse }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_come_back_by_themselves() {
        let now = Time(1_000_000_000_000);
        assert_eq!(off_until(now, None), None);
        assert_eq!(off_until(now, Some(now)), None);
        assert_eq!(off_until(now, Some(now + OFF)), Some(now + OFF));
        assert_eq!(off_until(now, Some(now + OFF_MAX + Span(1))), None, "the clock was set back");
        assert!(off_for(Span(0)).is_ok() && off_for(OFF_MAX).is_ok());
        assert!(off_for(Span(-1)).is_err() && off_for(Span::hours(25)).is_err());
    }

    #[test]
    fn people_are_warned_unless_the_project_says_otherwise() {
        assert_eq!(treatment(true, false), Treatment::Warn);
        assert_eq!(treatment(true, true), Treatment::Refuse);
        assert_eq!(treatment(false, false), Treatment::Refuse);
    }
}
