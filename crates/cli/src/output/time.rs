//! Times as people read them.

use tenure_core::Span;

/// `2030-01-31 09:00:00Z`: no microseconds, no `T`.
pub(crate) fn short(rfc3339: &str) -> String {
    match (rfc3339.get(..10), rfc3339.get(11..19)) {
        (Some(date), Some(time)) => format!("{date} {time}Z"),
        _ => rfc3339.to_owned(),
    }
}

/// A number of seconds at a glance.
pub(crate) fn span(seconds: i64) -> String {
    Span::seconds(seconds).to_string()
}
