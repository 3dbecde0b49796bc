//! The notice that two agents hold one file in two checkouts. Neither is refused.

use tenure_core::text::quote;
use tenure_core::{Span, Time};
use tenure_kernel::answer::Elsewhere;

/// A session is told something between two prompts at most this often.
const EVERY: Span = Span::minutes(2);
/// Most characters that it is told.
const MOST: usize = 300;
/// How a remark on several ends.
const END: &str = ". This does not block you, but the changes will meet when they are merged.";

/// Whether a session may be told something, by when it last was.
pub(super) fn is_due(told_at: Time, now: Time) -> bool {
    told_at.0 == 0 || told_at.age(now) >= EVERY || told_at > now
}

/// At most as many characters as a session is told between two prompts.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(MOST).collect()
}

/// Those that came to be since the session was last told something. What arises while it may be told nothing is kept for
/// the next remark, and that one names or counts all of them: none is dropped.
fn news(elsewhere: &[Elsewhere], told_at: Time, now: Time) -> Vec<&Elsewhere> {
    let is_news = |one: &&Elsewhere| Time::parse(&one.since).is_ok_and(|since| since > told_at || told_at > now);
    elsewhere.iter().filter(is_news).collect()
}

/// That files are held in other checkouts too, if that came to be since the session was last told something.
pub(super) fn sentence(elsewhere: &[Elsewhere], told_at: Time, now: Time) -> Option<String> {
    let news = news(elsewhere, told_at, now);
    if !is_due(told_at, now) {
        return None;
    }
    match news.as_slice() {
        [] => None,
        [one] => Some(cut(&format!(
            "Tenure: {} also holds {} in another checkout ({}). Neither blocks the other, but the changes will meet \
             when they are merged.",
            one.holder,
            quote(&one.pattern, 80),
            quote(&one.checkout, 60),
        ))),
        several => Some(cut(&all(several))),
    }
}

/// As many as fit, and how many there are besides.
fn all(news: &[&Elsewhere]) -> String {
    let mut text = "Tenure: also held in another checkout: ".to_owned();
    let mut named = 0;
    for one in news {
        let next = format!("{} by {} ({})", quote(&one.pattern, 60), one.holder, quote(&one.checkout_name, 40));
        let comma = if named == 0 { "" } else { ", " };
        let more = format!(" and {} more (`tenure holds`)", news.len());
        let length =
            [&text, comma, next.as_str(), more.as_str(), END].iter().map(|part| part.chars().count()).sum::<usize>();
        if length > MOST && named > 0 {
            break;
        }
        text.push_str(comma);
        text.push_str(&next);
        named += 1;
    }
    if named < news.len() {
        text.push_str(&format!(" and {} more (`tenure holds`)", news.len() - named));
    }
    text + END
}

/// How many there are, in a few words that fit behind another remark.
pub(super) fn also(elsewhere: &[Elsewhere], told_at: Time, now: Time) -> Option<String> {
    let count = news(elsewhere, told_at, now).len();
    (count > 0).then(|| format!(" Also held in another checkout: {count} of your paths (`tenure holds`)."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(path: &str, since: Time) -> Elsewhere {
        Elsewhere {
            pattern: path.to_owned(),
            holder: "b".repeat(64).into(),
            hold: "h-1".into(),
            checkout: "/other".to_owned(),
            checkout_id: "c-1".into(),
            checkout_name: "other".to_owned(),
            since: since.to_string(),
        }
    }

    #[test]
    fn inv_r2_what_is_news_is_told_once_and_not_too_often() {
        let since = Time(1_000_000_000);
        let one = |path: &str| [one(path, since)];
        let later = since + Span::minutes(10);
        assert!(sentence(&one("a.rs"), Time(0), later).unwrap().contains("“a.rs”"));
        assert_eq!(sentence(&one("a.rs"), since + Span::seconds(1), later), None, "it was told since");
        assert_eq!(sentence(&one("a.rs"), since - Span::seconds(1), since + Span::minutes(1)), None, "too soon");
        assert!(sentence(&one("a.rs"), since - Span::seconds(1), since + Span::minutes(2)).is_some());
        assert_eq!(sentence(&[], Time(0), later), None);
        let hostile = sentence(&one(&"”\n$(x)`\u{2028}".repeat(99)), Time(0), later).unwrap();
        assert!(hostile.chars().count() <= MOST && !hostile.contains(['\n', '\u{2028}']), "{hostile}");
    }

    #[test]
    fn inv_r2_what_arose_between_two_remarks_is_told_together() {
        let begun = Time(1_000_000_000);
        let met: Vec<Elsewhere> = (1..=9).rev().map(|n| one(&format!("{n}.rs"), begun + Span::seconds(n))).collect();
        // The first was told when it arose; the others came within two minutes after that.
        let told_at = begun + Span::seconds(1);
        assert_eq!(sentence(&met, told_at, begun + Span::seconds(60)), None);
        let told = sentence(&met, told_at, begun + Span::minutes(3)).unwrap();
        assert!(told.contains("“9.rs”") && told.contains("“other”"), "{told}");
        let named = (1..=9).filter(|n| told.contains(&format!("“{n}.rs”"))).count();
        assert!(told.contains(&format!("and {} more", 8 - named)) && told.ends_with(END), "{told}");
        assert!(told.chars().count() <= MOST, "{told}");
        let two = sentence(&met[..2], told_at, begun + Span::minutes(3)).unwrap();
        assert!(two.chars().count() <= MOST && two.contains("“9.rs”"), "{two}");
        assert!(also(&met, told_at, begun + Span::minutes(3)).unwrap().contains("8 of your paths"));
        assert_eq!(also(&met, begun + Span::minutes(1), begun + Span::minutes(3)), None);
    }
}
