//! Instants and spans, in microseconds. This module never reads a clock: time is an argument.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, Sub};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Code, Error, Result};

const SECOND: i64 = 1_000_000;

/// An instant: microseconds since 1970-01-01T00:00:00Z. Always UTC; Tenure uses no time zones internally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// A duration in microseconds, also in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub i64);

impl Span {
    /// Whole seconds. Requests supply such numbers, so the multiplication saturates: a too large value stays too large
    /// instead of wrapping into a small one.
    pub const fn seconds(n: i64) -> Span {
        Span(n.saturating_mul(SECOND))
    }

    /// Whole minutes.
    pub const fn minutes(n: i64) -> Span {
        Span::seconds(n.saturating_mul(60))
    }

    /// Whole hours.
    pub const fn hours(n: i64) -> Span {
        Span::minutes(n.saturating_mul(60))
    }

    /// Whole days.
    pub const fn days(n: i64) -> Span {
        Span::hours(n.saturating_mul(24))
    }

    /// Whole seconds, rounded towards zero.
    pub const fn as_seconds(self) -> i64 {
        self.0 / SECOND
    }

    /// Parses `90s`, `10m`, `2h` or `7d`: one number and one unit, nothing else.
    pub fn parse(text: &str) -> Result<Span> {
        let bad = || {
            Error::usage(Code::BadDuration, format!("`{}` is not a duration", crate::text::excerpt(text)))
                .hint("Write a whole number and a unit: 90s, 10m, 2h or 7d.")
        };
        let (number, unit) = text.split_at_checked(text.len().wrapping_sub(1)).ok_or_else(bad)?;
        let unit = match unit {
            "s" => SECOND,
            "m" => 60 * SECOND,
            "h" => 3_600 * SECOND,
            "d" => 86_400 * SECOND,
            _ => return Err(bad()),
        };
        // `+5s` would parse as an integer, but is refused. A negative value is left to the limit check of the caller.
        if number.starts_with('+') {
            return Err(bad());
        }
        let number: i64 = number.parse().map_err(|_| bad())?;
        number.checked_mul(unit).map(Span).ok_or_else(bad)
    }
}

impl fmt::Display for Span {
    /// Formats the shortest readable form: `0s`, `45s`, `12m`, `3h 5m`, `2d 4h`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.as_seconds().max(0);
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
        match (days, hours, minutes) {
            (0, 0, 0) => write!(f, "{seconds}s"),
            (0, 0, _) => write!(f, "{minutes}m"),
            (0, _, 0) => write!(f, "{hours}h"),
            (0, _, _) => write!(f, "{hours}h {minutes}m"),
            (_, 0, _) => write!(f, "{days}d"),
            (_, _, _) => write!(f, "{days}d {hours}h"),
        }
    }
}

impl Time {
    /// Parses an RFC 3339 instant. An offset is converted; a missing one is refused, because the machine's time zone
    /// never counts.
    pub fn parse(text: &str) -> Result<Time> {
        // The last second that can be parsed is longer than the last that can be formatted. Every accepted value must
        // round-trip.
        let read = text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_microsecond);
        let writable = |micros: &i64| jiff::Timestamp::from_microsecond(*micros).is_ok();
        read.filter(writable).map(Time).ok_or_else(|| {
            Error::usage(Code::BadTime, format!("`{}` is not a time", crate::text::excerpt(text)))
                .hint("Write RFC 3339 with an offset, such as 2030-01-31T09:00:00Z.")
        })
    }

    /// The age of this instant at `now`; never negative.
    pub fn age(self, now: Time) -> Span {
        Span(now.0.saturating_sub(self.0).max(0))
    }
}

impl fmt::Display for Time {
    /// Formats RFC 3339 in UTC with six decimals, so that texts sort like the instants.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(at) => write!(f, "{at:.6}"),
            // Only a corrupt row is beyond the year 9999. The raw number is then better than a wrong date.
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, other: Time) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        Time::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// How far the clock may be behind the last time used before it counts as set back.
pub const STEP: Span = Span::seconds(60);

/// The time of a transaction, from a clock and the last time that its project used (`None` without events), and by how
/// much the clock was set back.
///
/// Time does not run backwards: while the clock is behind by at most a minute, the last time used replaces it. A clock
/// that is further behind was set back on purpose, or had been wrong before: it is trusted, and the step is reported.
/// The rule is the same for the clock of one machine and for that of a database. Either may have been wrong for one op,
/// and a last time years ahead would otherwise keep every hold alive and every token expired for years.
pub fn reading(clock: Time, last: Option<Time>) -> (Time, Option<Span>) {
    match last {
        Some(last) if last - clock > STEP => (clock, Some(last - clock)),
        Some(last) => (clock.max(last), None),
        None => (clock, None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_read_can_be_written() {
        assert!(Time::parse("9999-12-30T22:00:00Z").is_ok());
        assert_eq!(Time::parse("9999-12-30T22:00:00.1Z").unwrap_err().code(), "bad_time");
    }

    #[test]
    fn an_age_is_never_negative_and_never_overflows() {
        assert_eq!(Time(5).age(Time(7)), Span(2));
        assert_eq!(Time(7).age(Time(5)), Span(0));
        assert_eq!(Time(i64::MIN).age(Time(i64::MAX)), Span(i64::MAX));
        assert_eq!(Time(i64::MAX).age(Time(i64::MIN)), Span(0));
    }

    #[test]
    fn durations_have_one_spelling() {
        assert_eq!(Span::parse("90s").unwrap(), Span::seconds(90));
        assert_eq!(Span::parse("10m").unwrap(), Span::minutes(10));
        assert_eq!(Span::parse("2h").unwrap(), Span::hours(2));
        assert_eq!(Span::parse("7d").unwrap(), Span::days(7));
        for bad in ["", "s", "10", "10 m", "1.5h", "+5s", "5S", "5µ", "٣s", "99999999999999999d", "1h30m"] {
            assert_eq!(Span::parse(bad).unwrap_err().kind(), crate::Kind::Usage, "{bad}");
        }
    }

    #[test]
    fn inv_t9_times_are_utc_and_sort_as_text() {
        let early = Time(1_700_000_000_000_000);
        assert_eq!(early.to_string(), "2023-11-14T22:13:20.000000Z");
        assert_eq!(Time::parse("2023-11-15T00:13:20+02:00").unwrap(), early);
        assert!(Time::parse("2023-11-14T22:13:20").is_err());
        assert!(early.to_string() < (early + Span(1)).to_string());
    }

    #[test]
    fn inv_t9_a_small_step_back_stands_still_and_a_large_one_is_told() {
        let last = Time(1_000_000_000_000);
        assert_eq!(reading(last + Span(5), Some(last)), (last + Span(5), None));
        assert_eq!(reading(last - STEP, Some(last)), (last, None));
        let hour_ago = last - Span::hours(1);
        assert_eq!(reading(hour_ago, Some(last)), (hour_ago, Some(Span::hours(1))));
        assert_eq!(reading(hour_ago, None), (hour_ago, None));
    }

    #[test]
    fn a_span_that_is_too_long_does_not_become_a_short_one() {
        for seconds in [i64::MAX, 18_446_744_073_711] {
            assert_eq!(Span::seconds(seconds), Span(i64::MAX));
        }
        assert_eq!(Span::days(i64::MIN), Span(i64::MIN));
    }

    #[test]
    fn spans_read_at_a_glance() {
        let shown: Vec<_> = [0, 59, 60, 3_599, 3_600, 7_500, 90_000, 180_000]
            .map(|n| Span::seconds(n).to_string())
            .into_iter()
            .collect();
        assert_eq!(shown, ["0s", "59s", "1m", "59m", "1h", "2h 5m", "1d 1h", "2d 2h"]);
    }

    proptest! {
        #[test]
        fn any_text_is_a_span_or_a_usage_error(text in ".{0,24}") {
            if let Err(error) = Span::parse(&text) {
                prop_assert_eq!(error.kind(), crate::Kind::Usage);
            }
        }

        #[test]
        fn a_time_survives_its_text(us in 0i64..253_402_300_799_000_000) {
            prop_assert_eq!(Time::parse(&Time(us).to_string()).unwrap(), Time(us));
        }
    }
}
