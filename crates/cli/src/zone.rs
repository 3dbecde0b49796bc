//! The time zone of the person who types: what `TZ` names, else what the system is set to, else UTC.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use jiff::tz::TimeZone;

/// Where systems keep their time zones.
const FILES: [&str; 3] = ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"];

/// The zone that `TZ` names, else that of the system. None if it cannot be found.
pub(crate) fn of(tz: Option<&OsStr>) -> Option<TimeZone> {
    match tz {
        Some(named) => named_so(named.to_str()?.trim_start_matches(':')),
        None => read(Path::new("/etc/localtime")),
    }
}

/// A zone as `TZ` names it: a file, a name below the files of the system, or a rule of POSIX.
fn named_so(name: &str) -> Option<TimeZone> {
    let path = Path::new(name);
    if path.is_absolute() {
        return read(path);
    }
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let mut files = FILES.iter().map(|dir| PathBuf::from(dir).join(path)).filter(|_| is_plain);
    files.find_map(|file| read(&file)).or_else(|| TimeZone::posix(name).ok())
}

#[expect(clippy::disallowed_methods, reason = "a file of the system")]
fn read(file: &Path) -> Option<TimeZone> {
    TimeZone::tzif("", &std::fs::read(file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_a_rule_or_a_file_and_what_is_neither_is_none() {
        let at = jiff::Timestamp::from_second(1_895_959_800).unwrap();
        let hour = |zone: &str| Some(of(Some(OsStr::new(zone)))?.to_datetime(at).hour());
        let utc = TimeZone::UTC.to_datetime(at).hour();
        assert_eq!(hour("CET-1"), Some((utc + 1) % 24));
        assert_eq!(hour("EST5"), Some((utc + 19) % 24));
        for none in ["No/Such", "../../etc/passwd", "/etc/passwd"] {
            assert_eq!(hour(none), None, "{none}");
        }
    }
}
