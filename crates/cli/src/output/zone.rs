//! The time zone of the person at the terminal: what `TZ` names, else what the system is set to.
//!
//! A zone that cannot be found is no zone: times are then in UTC and say so.

use std::ffi::OsStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::zone;

#[derive(Debug)]
pub(super) struct Zone(TimeZone);

impl Zone {
    /// The zone that `TZ` names, else that of the system.
    pub(super) fn of(tz: Option<&OsStr>) -> Option<Zone> {
        zone::of(tz).map(Zone)
    }

    /// The local date and time of day of a stored time.
    pub(super) fn local(&self, rfc3339: &str) -> Option<(String, String)> {
        let at: Timestamp = rfc3339.parse().ok()?;
        let local = self.0.to_datetime(at);
        Some((local.date().to_string(), local.strftime("%H:%M:%S").to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_the_zone_of_the_person() {
        let local = |zone: &str| Zone::of(Some(OsStr::new(zone)))?.local("2030-01-31T23:30:00.000000Z");
        assert_eq!(local("CET-1"), Some(("2030-02-01".to_owned(), "00:30:00".to_owned())));
        assert_eq!(local("EST5EDT,M3.2.0,M11.1.0"), Some(("2030-01-31".to_owned(), "18:30:00".to_owned())));
    }
}
