//! Messages between agents, and the page size of an inbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Code, Error, Result};
use crate::time::{Span, Time};

/// The longest message, in bytes: two fit on one page of an inbox.
pub const TEXT_MAX: usize = 8 * 1024;
/// The most recipients of one message.
pub const RECIPIENTS_MAX: usize = 20;
/// The most recipients of a message to everyone.
pub const EVERYONE_MAX: usize = 200;
/// The name that stands for all agents of the project that are not gone, in place of a recipient.
pub const EVERYONE: &str = "all";
/// The most messages acknowledged by one call.
pub const ACKS_MAX: usize = 100;
/// The default number of messages that an inbox offers.
pub const PAGE: usize = 20;
/// The most messages that an inbox offers at once.
pub const PAGE_MAX: usize = 100;
/// The most bytes of text that an inbox offers at once. A single message always fits.
pub const PAGE_BYTES: usize = 16 * 1024;

/// The urgency of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// At the next reading.
    #[default]
    Normal,
    /// The author cannot continue.
    Urgent,
}

impl Urgency {
    /// The word in the store and in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Urgency::Normal => "normal",
            Urgency::Urgent => "urgent",
        }
    }

    /// Parses the stored word.
    pub fn parse(word: &str) -> Option<Urgency> {
        [Urgency::Normal, Urgency::Urgent].into_iter().find(|urgency| urgency.as_str() == word)
    }

    /// How long a request may stay open before it is overdue.
    pub const fn patience(self) -> Span {
        match self {
            Urgency::Normal => Span::minutes(30),
            Urgency::Urgent => Span::minutes(5),
        }
    }
}

/// Whether an open request is overdue.
pub fn overdue(now: Time, sent: Time, urgency: Urgency) -> bool {
    now >= sent + urgency.patience()
}

/// Checks the text of a message.
pub fn text(given: &str) -> Result<String> {
    let text = crate::text::required(given, "message")?;
    if text.len() > TEXT_MAX {
        return Err(Error::usage(
            Code::MessageTooLong,
            format!("the message has {} bytes; the limit is {TEXT_MAX}", text.len()),
        )
        .hint("Keep long material in a file of the repository and name the file in the message."));
    }
    Ok(text)
}

/// Checks the number of messages requested.
pub fn limit(asked: Option<usize>) -> Result<usize> {
    match asked.unwrap_or(PAGE) {
        rows @ 1..=PAGE_MAX => Ok(rows),
        rows => Err(Error::usage(Code::BadLimit, format!("{rows} is not a number of messages to show"))
            .hint(format!("Give 1 to {PAGE_MAX}."))),
    }
}

/// The number of messages that one page offers: in order, at most `limit`, and at most [`PAGE_BYTES`] of text. The
/// first message always fits.
pub fn fitting(sizes: impl IntoIterator<Item = usize>, limit: usize) -> usize {
    let mut bytes = 0;
    sizes
        .into_iter()
        .take(limit)
        .enumerate()
        .take_while(|(at, size)| {
            bytes += size;
            *at == 0 || bytes <= PAGE_BYTES
        })
        .count()
}

/// The subject prefix of a commit notice. No caller can name a subject with this prefix, so no other message has it.
const COMMIT: &str = "commit ";

/// The subject of a commit notice.
pub fn about_commit(commit: &str) -> String {
    format!("{COMMIT}{commit}")
}

/// Whether a message is a notice. A notice has no author who is told how it ended.
pub fn is_notice(about: &str) -> bool {
    about.starts_with(COMMIT)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_message_is_short_and_says_something() {
        assert_eq!(text("a\r\nb").unwrap(), "a\nb");
        assert!(text(&"x".repeat(TEXT_MAX)).is_ok());
        assert_eq!(text(&"x".repeat(TEXT_MAX + 1)).unwrap_err().code(), "message_too_long");
        assert_eq!(text(" ").unwrap_err().code(), "text_empty");
        assert_eq!(text("a\u{1b}[1m").unwrap_err().code(), "control_character");
        assert_eq!(limit(None).unwrap(), PAGE);
        assert_eq!(limit(Some(0)).unwrap_err().code(), "bad_limit");
        assert_eq!(limit(Some(PAGE_MAX + 1)).unwrap_err().code(), "bad_limit");
    }

    #[test]
    fn a_request_is_overdue_once_its_patience_is_over() {
        let sent = Time(1_000_000);
        for urgency in [Urgency::Normal, Urgency::Urgent] {
            assert_eq!(Urgency::parse(urgency.as_str()), Some(urgency));
            assert!(!overdue(sent + urgency.patience() - Span(1), sent, urgency));
            assert!(overdue(sent + urgency.patience(), sent, urgency));
        }
    }

    proptest! {
        #[test]
        fn inv_m6_a_page_is_bounded_and_never_empty(sizes in prop::collection::vec(1..=TEXT_MAX, 1..60), limit in 1..=PAGE_MAX) {
            let taken = fitting(sizes.iter().copied(), limit);
            let bytes: usize = sizes[..taken].iter().sum();
            prop_assert!(taken >= 1 && taken <= limit && bytes <= PAGE_BYTES);
            // One more message would exceed the page.
            prop_assert!(taken == limit || taken == sizes.len() || bytes + sizes[taken] > PAGE_BYTES);
        }
    }
}
