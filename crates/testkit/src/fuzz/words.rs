//! Fuzzes ids, times, names, texts and store URLs: everything parsed from text alone.

use serde_json::json;
use tenure_client::phrasing::Commands;
use tenure_core::event::{self, Event};
use tenure_core::text::{LABEL_MAX, LABELS_MAX, TEXT_MAX, TITLE_MAX};
use tenure_core::{Error, Kind, Span, Time, id, name, text};
use tenure_store::{Location, Options, Store, redact};

/// Checks a refusal: of kind usage or not found, in one line without terminal control characters.
pub(super) fn refused(error: &Error) {
    assert!(matches!(error.kind(), Kind::Usage | Kind::NotFound), "{error:?}");
    readable(error);
}

/// The requirements for every error message.
pub(super) fn readable(error: &Error) {
    assert_eq!(text::hidden(error.message()).next(), None, "{:?}", error.message());
    assert!(error.message().len() < 4_000, "{} bytes of message", error.message().len());
    assert!(error.attempts(&Commands).len() <= 3, "{error:?}");
    assert!(!error.to_json(&Commands)["message"].is_null());
}

/// A typed id is valid or not as a prefix and as a whole. A whole id is a prefix of itself.
pub(super) fn ids(input: &[u8]) {
    let words = String::from_utf8_lossy(input);
    let mut lines = words.split('\n').map(str::to_owned);
    let typed = lines.next().unwrap_or_default();
    for sort in [id::Sort::Task, id::Sort::Hold, id::Sort::Note] {
        match id::check(&typed, sort) {
            Ok(whole) => assert!(id::is_prefix(whole) && whole.len() <= id::LONGEST + 2),
            Err(error) => refused(&error),
        }
        let candidates: Vec<String> = lines.clone().filter(|candidate| candidate.starts_with(&typed)).collect();
        match id::resolve(&typed, sort, candidates.clone()) {
            Ok(found) => assert!(found == typed || candidates == [found]),
            Err(error) => assert!(matches!(error.kind(), Kind::Usage | Kind::NotFound), "{error:?}"),
        }
    }
    if id::is_prefix(&typed) {
        assert!(typed.is_ascii() && typed.len() <= id::LONGEST + 2);
    }
    refused(&id::unknown(&typed, id::Sort::Task));
}

/// A parsed value is formatted and parsed back to the same value; nothing overflows.
pub(super) fn times(input: &[u8]) {
    let words = String::from_utf8_lossy(input);
    match Span::parse(&words) {
        Ok(span) => {
            assert_eq!(Span::parse(&format!("{}s", span.as_seconds())).unwrap(), span);
            assert!(!span.to_string().is_empty());
        }
        Err(error) => refused(&error),
    }
    match Time::parse(&words) {
        Ok(time) => {
            assert_eq!(Time::parse(&time.to_string()).unwrap(), time, "{time}");
            assert_eq!(serde_json::from_value::<Time>(json!(time)).unwrap(), time);
        }
        Err(error) => refused(&error),
    }
    // Two arbitrary instants, as a damaged row may contain them.
    let number = |at: usize| input.get(at..at + 8).map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap()));
    if let (Some(a), Some(b)) = (number(0), number(8)) {
        let (at, other, span) = (Time(a), Time(b), Span(b));
        let _ = (at + span, at - span, at - other, at.age(other), Span::days(a), Span::seconds(b));
        assert!(!at.to_string().is_empty() && !span.to_string().is_empty());
        assert!(at.age(other).0 >= 0);
        let (now, _) = tenure_core::time::reading(at, Some(other));
        assert!(now == at || now == other);
        assert_eq!(tenure_core::hold::lapsed(at, other), at >= other);
    }
}

/// A discovered name is adapted until it is valid; a given name is valid or refused.
pub(super) fn names(input: &[u8]) {
    let words = String::from_utf8_lossy(input);
    match name::check(&words) {
        Ok(fitting) => assert_eq!(name::fit(fitting), fitting),
        Err(error) => refused(&error),
    }
    let bent = name::fit(&words);
    // The prefix of people's names alone is not a valid name; the door appends the user name.
    assert!(name::check(&bent).is_ok() || bent == name::PERSON, "{bent:?}");
}

/// An accepted text is within its limits, contains no terminal control characters, and is accepted again unchanged.
pub(super) fn texts(input: &[u8]) {
    let words = String::from_utf8_lossy(input);
    let plain = |text: &str, allowed: &[char]| {
        assert!(text::hidden(text).all(|(_, c)| allowed.contains(&c)), "{text:?}");
    };
    match text::title(&words) {
        Ok(title) => {
            plain(&title, &[]);
            assert!((1..=TITLE_MAX).contains(&title.chars().count()));
            assert_eq!(text::title(&title).unwrap(), title);
        }
        Err(error) => refused(&error),
    }
    match text::body(&words, "note") {
        Ok(body) => {
            plain(&body, &['\n', '\t']);
            assert!(body.len() <= TEXT_MAX);
            assert_eq!(text::body(&body, "note").unwrap(), body);
        }
        Err(error) => refused(&error),
    }
    let labels: Vec<String> = words.split('\n').map(str::to_owned).collect();
    match text::labels(&labels) {
        Ok(kept) => {
            assert!(kept.len() <= LABELS_MAX && kept.is_sorted());
            assert!(kept.iter().all(|label| (1..=LABEL_MAX).contains(&label.chars().count())));
            assert_eq!(text::labels(&kept).unwrap(), kept);
        }
        Err(error) => refused(&error),
    }
    for most in [0, 1, 40] {
        let cut = text::cut(&words, most);
        plain(&cut, &[]);
        assert!(cut.chars().count() <= most.max(1));
    }
    for &kind in event::kind::ALL {
        let data =
            json!({ "title": words, "text": words, "reason": words, "imported": labels.len().is_multiple_of(2) });
        plain(&Event::read(kind, &data).sentence("a", "t-00000"), &[]);
    }
}

/// A URL is accepted or refused; neither reveals a password.
pub(super) fn urls(input: &[u8]) {
    let words = String::from_utf8_lossy(input).into_owned();
    let secret = "hunter2";
    // If a password is in its regular position, and only there, no output may repeat it.
    let at_its_place = ["postgres://", "postgresql://"].iter().any(|scheme| {
        words.strip_prefix(scheme).and_then(|rest| rest.split_once(':')).is_some_and(|(user, rest)| {
            user.bytes().all(|byte| byte.is_ascii_alphanumeric()) && rest.starts_with("hunter2@")
        })
    });
    let told_once = at_its_place && words.matches(secret).count() == 1;
    if told_once {
        assert!(!redact(&words).contains(secret), "{}", redact(&words));
    }
    let options = Options { user: Some("u".into()), ..Options::default() };
    if let Err(error) = Store::new(Location::Postgres(words), options) {
        assert_eq!(error.kind(), Kind::Usage, "{error:?}");
        readable(&error);
        assert!(!told_once || !format!("{error:?} {}", error.to_json(&Commands)).contains(secret), "{error:?}");
    }
}
