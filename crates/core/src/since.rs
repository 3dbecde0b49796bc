//! Times in the past as people type them: `1h`, `yesterday`, `18:00`, `2026-11-16`.

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;

use crate::error::{Code, Error, Result};
use crate::text::excerpt;
use crate::time::{Span, Time};

/// Parses a time at or before `now`, in the time zone of the person who typed it.
///
/// A length of time counts back from now. A time of day is the last one that was so. A day begins at its midnight.
pub fn parse(text: &str, now: Time, zone: &TimeZone) -> Result<Time> {
    let typed = text.trim();
    let ago = typed.strip_suffix(" ago").unwrap_or(typed).trim_end();
    if let Some(span) = Span::parse(ago).ok().filter(|span| span.0 >= 0) {
        return Ok(now - span);
    }
    if let Ok(time) = Time::parse(typed) {
        return Ok(time);
    }
    local(&typed.to_ascii_lowercase(), now, zone).ok_or_else(|| {
        Error::usage(Code::BadTime, format!("`{}` is not a time", excerpt(text))).hint(
            "Write how long ago (1h), a time of day (18:00), a day (yesterday, 2030-01-31, 2030-01-31 18:00), or RFC 3339.",
        )
    })
}

fn local(typed: &str, now: Time, zone: &TimeZone) -> Option<Time> {
    let here = zone.to_datetime(Timestamp::from_microsecond(now.0).ok()?);
    let today = here.date();
    let at = match typed {
        "now" => here,
        "today" => today.to_datetime(civil::Time::midnight()),
        "yesterday" => today.yesterday().ok()?.to_datetime(civil::Time::midnight()),
        _ => match typed.parse::<civil::DateTime>() {
            Ok(at) => at,
            Err(_) => {
                let time: civil::Time = typed.parse().ok().filter(|_| typed.contains(':'))?;
                let day = if time <= here.time() { today } else { today.yesterday().ok()? };
                day.to_datetime(time)
            }
        },
    };
    zone.to_timestamp(at).ok().map(|at| Time(at.as_microsecond()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(text: &str, zone: &str) -> Result<String> {
        let now = Time::parse("2030-01-31T09:30:00Z").unwrap();
        parse(text, now, &TimeZone::posix(zone).unwrap()).map(|at| at.to_string())
    }

    #[test]
    fn times_are_those_of_the_person() {
        for (text, at) in [
            ("1h", "2030-01-31T08:30:00.000000Z"),
            ("90m ago", "2030-01-31T08:00:00.000000Z"),
            ("2d", "2030-01-29T09:30:00.000000Z"),
            ("today", "2030-01-30T23:00:00.000000Z"),
            ("Yesterday", "2030-01-29T23:00:00.000000Z"),
            ("10:00", "2030-01-31T09:00:00.000000Z"),
            ("18:00", "2030-01-30T17:00:00.000000Z"),
            ("2030-01-15", "2030-01-14T23:00:00.000000Z"),
            ("2030-07-15 18:30", "2030-07-15T16:30:00.000000Z"),
            ("2030-01-15T18:30:00+05:00", "2030-01-15T13:30:00.000000Z"),
        ] {
            assert_eq!(told(text, "CET-1CEST,M3.5.0,M10.5.0/3").unwrap(), at, "{text}");
        }
        assert_eq!(told("18:00", "EST5").unwrap(), "2030-01-30T23:00:00.000000Z");
        for bad in ["", "soon", "25:00", "2030-02-30", "tomorrow", "18"] {
            assert_eq!(told(bad, "CET-1").unwrap_err().code(), "bad_time", "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_time_or_is_refused(text in "\\PC{0,30}", now in 0_i64..4_000_000_000_000_000) {
            let refused = parse(&text, Time(now), &TimeZone::UTC).err();
            prop_assert!(refused.is_none_or(|error| error.code() == Code::BadTime));
        }
    }
}
