//! The time zone of the person at the terminal: what `TZ` names, else what the system is set to.
//!
//! Only files of the system are read, and only when a time is shown. A zone that cannot be found is no zone: times are
//! then in UTC and say so.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Where systems keep their time zones.
const FILES: [&str; 3] = ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];

#[derive(Debug)]
pub(super) struct Zone(TimeZone);

impl Zone {
    /// The zone that `TZ` names, else that of the system.
    pub(super) fn of(tz: Option<&OsStr>) -> Option<Zone> {
        match tz {
            Some(named) => Zone::named(named.to_str()?.trim_start_matches(':')),
            None => Zone::read(Path::new("/etc/localtime")),
        }
    }

    /// A zone as `TZ` names it: a file, a name below the files of the system, or a rule of POSIX.
    fn named(name: &str) -> Option<Zone> {
        let path = Path::new(name);
        if path.is_absolute() {
            return Zone::read(path);
        }
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        let files = FILES.iter().map(|dir| PathBuf::from(dir).join(path)).filter(|_| is_plain);
        files.into_iter().find_map(|file| Zone::read(&file)).or_else(|| TimeZone::posix(name).ok().map(Zone))
    }

    #[expect(clippy::disallowed_methods, reason = "a file of the system")]
    fn read(file: &Path) -> Option<Zone> {
        let bytes = std::fs::read(file).ok()?;
        TimeZone::tzif("", &bytes).ok().map(Zone)
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
    fn a_zone_is_a_rule_or_a_file_and_what_is_neither_is_none() {
        let local = |zone: &str| Zone::of(Some(OsStr::new(zone)))?.local("2030-01-31T23:30:00.000000Z");
        assert_eq!(local("CET-1"), Some(("2030-02-01".to_owned(), "00:30:00".to_owned())));
        assert_eq!(local("EST5EDT,M3.2.0,M11.1.0"), Some(("2030-01-31".to_owned(), "18:30:00".to_owned())));
        for none in ["No/Such", "../../etc/passwd", "/etc/passwd"] {
            assert_eq!(local(none), None, "{none}");
        }
    }
}
