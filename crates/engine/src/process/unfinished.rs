//! Ends the processes that earlier commands under a lock have left running, before the next command starts under it.
//!
//! A lock can end while processes of its command live: the runner and the keeper were killed or stopped together, or
//! the machine was too busy for both. The next runner that gets the lock on the same machine finds their records and
//! ends them. Exclusion between two commands on one machine therefore does not depend on the clock.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::cgroup::{self, Cgroup};
use super::clock::since_boot;
use super::descendants::{Descendants, rest};
use super::end::CommandProcess;
use super::end::Processes;
use super::listing::name;
use super::run_record::{RunRecord, RunRecords};
use super::stat::stat;
use super::system;

/// How long killed processes may take to end. A process in uninterruptible sleep may never end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends all processes of runs under older fences of the lock. The caller holds the lock under a newer fence, so those
/// runs have lost it. The processes are killed without SIGTERM. The keepers are killed too, because a keeper that is
/// stopped now and continued later could still start its command. A run that contains the caller itself is left to its
/// own keeper.
///
/// # Errors
/// The processes that are still alive at `until`, or 10 s after they were killed.
pub fn end_unfinished(records: &RunRecords, own_marks: Option<&OsStr>, until: Duration) -> Result<(), Processes> {
    let until = until.min(since_boot() + PATIENCE);
    for record in records.unfinished() {
        let is_mark = |own: &[u8]| own == record.mark.as_bytes();
        if !own_marks.is_some_and(|marks| marks.as_bytes().split(|&byte| byte == b':').any(is_mark)) {
            // On a separate thread, because the next command must not inherit the priority.
            let ended = std::thread::scope(|scope| scope.spawn(|| end(&record, until)).join());
            ended.unwrap_or_else(|_| Err(Processes::default()))?;
        }
    }
    Ok(())
}

fn end(record: &RunRecord, until: Duration) -> Result<(), Processes> {
    system::raise_priority();
    let mut processes = Descendants {
        command: None,
        own_group: false,
        cgroup: cgroup::of_run(&record.mark),
        mark: record.mark.clone(),
        is_reaper: false,
        status: None,
    };
    // Killing the parents of a process that cannot be killed removes the link to it, so every process found is
    // remembered.
    let mut found = BTreeSet::new();
    loop {
        found.retain(|&(pid, started)| stat(pid).is_some_and(|stat| stat.started == started && stat.lives()));
        if found.is_empty() && processes.are_gone() {
            break;
        }
        if since_boot() >= until {
            return Err(surviving(&processes, &found));
        }
        found.extend(processes.kill());
        rest(Duration::from_millis(2));
    }
    // A runner that is still alive removes the cgroup itself.
    processes.cgroup.iter().for_each(Cgroup::remove);
    record.remove();
    Ok(())
}

/// The processes of a run that are alive, including those found earlier.
fn surviving(processes: &Descendants, found: &BTreeSet<(i64, i64)>) -> Processes {
    let mut surviving = processes.named();
    for &(pid, started) in found {
        if surviving.named.iter().all(|process| process.pid != pid) {
            surviving.count += 1;
            surviving.named.push(CommandProcess { pid, started, name: name(pid).unwrap_or_default() });
        }
    }
    surviving
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::process::MARKER;

    fn sleeper(mark: &str) -> Child {
        let mut command = Command::new("sleep");
        command.arg("600").env(MARKER, mark).stdin(Stdio::null());
        command.spawn().unwrap()
    }

    fn lives(child: &Child) -> bool {
        stat(i64::from(child.id())).is_some_and(|stat| stat.lives())
    }

    #[test]
    fn inv_r14_processes_of_an_unfinished_run_are_ended_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let at = |lock: &str, fence: i64| RunRecords::of(dir.path().to_owned(), lock, fence).unwrap();
        let of = |lock: &str| at(lock, 2);
        let now = since_boot().as_nanos();
        let mark = |number: u32| format!("{}-unfinished-{now}{number}", std::process::id());
        let [one, other, over] = [0, 1, 2].map(mark);
        let [mut outer, mut nested] = [sleeper(&one), sleeper(&format!("{one}:9-9-9"))];
        let [mut elsewhere, mut left] = [sleeper(&other), sleeper(&over)];
        at("deploy", 1).add(&one).unwrap();
        at("migrate", 1).add(&other).unwrap();
        let until = since_boot() + Duration::from_secs(60);
        // A process of the run must not end the run that it belongs to.
        let own = format!("1-1-1:{one}");
        assert_eq!(end_unfinished(&of("deploy"), Some(OsStr::new(&own)), until), Ok(()));
        assert!(lives(&outer));
        assert_eq!(end_unfinished(&of("deploy"), None, until), Ok(()));
        assert_eq!([&mut outer, &mut nested].map(|child| child.wait().unwrap().signal()), [Some(9); 2]);
        assert!(lives(&elsewhere) && lives(&left));
        assert!(of("deploy").unfinished().is_empty() && of("migrate").unfinished().len() == 1);
        for child in [&mut elsewhere, &mut left] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn inv_r14_processes_that_do_not_end_in_time_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let [before, records] = [1, 2].map(|fence| RunRecords::of(dir.path().to_owned(), "deploy", fence).unwrap());
        let mark = format!("{}-late-{}", std::process::id(), since_boot().as_nanos());
        let mut child = sleeper(&mark);
        while !crate::process::listing::is_marked(i64::from(child.id()), &mark) {
            rest(Duration::from_millis(1));
        }
        before.add(&mark).unwrap();
        let late = end_unfinished(&records, None, Duration::ZERO).unwrap_err();
        assert_eq!(late.named.first().map(|process| process.pid), Some(i64::from(child.id())));
        assert_eq!(records.unfinished().len(), 1, "the next runner tries again");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
