//! Two agents hold one file in two checkouts: neither stands in the other's way, and both are told.

use tenure_core::text::quote;
use tenure_core::{Span, Time};
use tenure_kernel::shape::Elsewhere;

/// A session is told something between two prompts at most this often.
const EVERY: Span = Span::minutes(2);
/// Most characters that it is told.
const MOST: usize = 300;

/// Whether a session may be told something, by when it last was.
pub(super) fn is_due(told_at: Time, now: Time) -> bool {
    told_at.0 == 0 || told_at.age(now) >= EVERY || told_at > now
}

/// At most as many characters as a session is told between two prompts.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(MOST).collect()
}

/// That a file is held in another checkout too, if that came to be since the session was last told something.
pub(super) fn sentence(elsewhere: &[Elsewhere], told_at: Time, now: Time) -> Option<String> {
    let is_news = |one: &&Elsewhere| Time::parse(&one.since).is_ok_and(|since| since > told_at || told_at > now);
    let one = elsewhere.iter().find(is_news).filter(|_| is_due(told_at, now))?;
    Some(cut(&format!(
        "Tenure: {} also holds {} in another checkout ({}). Neither stands in the other's way, but the changes will meet \
         when they are merged.",
        one.holder,
        quote(&one.path, 80),
        quote(&one.checkout, 60),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_r2_what_is_news_is_told_once_and_not_too_often() {
        let since = Time(1_000_000_000);
        let one = |path: &str| {
            let (path, checkout) = (path.to_owned(), "/other".to_owned());
            [Elsewhere { path, holder: "b".repeat(64), checkout, since: since.to_string() }]
        };
        let later = since + Span::minutes(10);
        assert!(sentence(&one("a.rs"), Time(0), later).unwrap().contains("“a.rs”"));
        assert_eq!(sentence(&one("a.rs"), since + Span::seconds(1), later), None, "it was told since");
        assert_eq!(sentence(&one("a.rs"), since - Span::seconds(1), since + Span::minutes(1)), None, "too soon");
        assert!(sentence(&one("a.rs"), since - Span::seconds(1), since + Span::minutes(2)).is_some());
        assert_eq!(sentence(&[], Time(0), later), None);
        let hostile = sentence(&one(&"”\n$(x)`\u{2028}".repeat(99)), Time(0), later).unwrap();
        assert!(hostile.chars().count() <= MOST && !hostile.contains(['\n', '\u{2028}']), "{hostile}");
    }
}
