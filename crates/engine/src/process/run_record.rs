//! Records of runs. A runner writes one file per run before it starts the keeper. Runner and keeper remove it when the
//! run is over. A file that still exists when a runner holds the lock under a newer fence belongs to a run that was
//! never proved to have ended. Runs under the same fence would share the lock and are left alone; `tenure lock` takes
//! the lock for each run, so each run has a fence of its own.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use tenure_core::name::fnv1a;

/// The records of all runs under one lock on this machine.
#[derive(Clone, Debug)]
pub struct RunRecords {
    dir: PathBuf,
    /// A hash of the lock and the host. Several hosts may share the directory.
    lock: String,
    /// The fence under which the caller holds the lock.
    fence: i64,
    boot: String,
    /// The pid namespace. Processes in another namespace are not visible from here.
    namespace: String,
}

#[derive(Debug)]
pub(super) struct RunRecord {
    pub(super) file: PathBuf,
    pub(super) mark: String,
}

impl RunRecords {
    /// Returns the records for one lock. `lock` is a text that differs for each lock of each store. `None` on systems
    /// that do not expose the environment of processes.
    pub fn of(dir: PathBuf, lock: &str, fence: i64) -> Option<RunRecords> {
        let boot = system_text("/proc/sys/kernel/random/boot_id")?;
        let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
        let host = rustix::system::uname();
        let key = [host.nodename().to_bytes(), lock.as_bytes()].join(&0);
        Some(RunRecords {
            dir,
            lock: format!("{:016x}", fnv1a(&key)),
            fence,
            boot: boot.chars().filter(char::is_ascii_hexdigit).take(12).collect(),
            namespace: namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect(),
        })
    }

    /// Records a run. Returns `None` if the file cannot be written; the next runner does not find such a run.
    #[expect(clippy::disallowed_methods, reason = "a new file of its own")]
    pub(super) fn add(&self, mark: &str) -> Option<RunRecord> {
        let file = self.dir.join(format!("{}.{}.{}.{}.{mark}", self.lock, self.boot, self.namespace, self.fence));
        let open = || File::options().write(true).create_new(true).mode(0o600).open(&file);
        open()
            .or_else(|_| {
                DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
                open()
            })
            .ok()?;
        Some(RunRecord { file, mark: mark.to_owned() })
    }

    /// The runs under older fences that have not ended as far as their records show. Removes records from before the
    /// last boot, whose processes cannot be alive.
    pub(super) fn unfinished(&self) -> Vec<RunRecord> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let parts: Vec<&str> = name.split('.').collect();
            let [lock, boot, namespace, fence, mark] = parts[..] else { continue };
            let Ok(fence) = fence.parse::<i64>() else { continue };
            if lock != self.lock {
                continue;
            }
            let record = RunRecord { file: entry.path(), mark: mark.to_owned() };
            if boot != self.boot {
                record.remove();
            } else if namespace == self.namespace && fence < self.fence {
                found.push(record);
            }
        }
        found
    }
}

impl RunRecord {
    pub(super) fn remove(&self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

#[expect(clippy::disallowed_methods, reason = "a file of the system")]
fn system_text(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_found_for_its_lock_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let of = |lock: &str, fence: i64| RunRecords::of(dir.path().join("runs"), lock, fence).unwrap();
        let (one, other) = (of("store project deploy", 7), of("store project migrate", 9));
        assert!(one.unfinished().is_empty());
        let record = one.add("1-2-3").unwrap();
        assert!(one.add("1-2-3").is_none(), "a mark is used once");
        assert!(other.unfinished().is_empty());
        assert!(one.unfinished().is_empty(), "a run under the same fence shares the lock");
        assert!(of("store project deploy", 6).unfinished().is_empty(), "a run under a newer fence has the lock");
        let next = of("store project deploy", 8);
        let marks: Vec<String> = next.unfinished().into_iter().map(|run| run.mark).collect();
        assert_eq!(marks, ["1-2-3"]);
        record.remove();
        assert!(next.unfinished().is_empty());
    }

    #[test]
    fn records_of_another_boot_are_removed_and_those_of_another_namespace_left() {
        let dir = tempfile::tempdir().unwrap();
        let here = RunRecords::of(dir.path().to_owned(), "deploy", 7).unwrap();
        let before = RunRecords { boot: "0".into(), ..here.clone() }.add("1-1-1").unwrap();
        let outside = RunRecords { namespace: "0".into(), fence: 6, ..here.clone() }.add("2-2-2").unwrap();
        assert!(here.unfinished().is_empty());
        assert!(!before.file.exists() && outside.file.exists());
    }

    #[test]
    fn where_nothing_can_be_written_there_is_no_record() {
        let here = RunRecords::of("/proc/nowhere".into(), "deploy", 7).unwrap();
        assert!(here.add("1-2-3").is_none() && here.unfinished().is_empty());
    }
}
