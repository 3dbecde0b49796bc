//! Lists processes from `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::stat::{Stat, stat};

/// All visible processes.
pub(super) fn table() -> BTreeMap<i64, Stat> {
    pids().into_iter().filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

/// All visible pids, in ascending order.
pub(super) fn pids() -> Vec<i64> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<i64> = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// The pid that was assigned last, to a process or a thread.
#[expect(clippy::disallowed_methods, reason = "a file of the system")]
pub(super) fn newest() -> Option<i64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().nth(4)?.parse().ok()
}

/// Whether the kernel provides `/proc/PID/task/TID/children`. Reading it takes a twentieth of the time of a scan of
/// `/proc`, which matters because a process that starts the next one and exits is visible only briefly.
pub(super) fn has_children_files() -> bool {
    Path::new("/proc/self/task").join(std::process::id().to_string()).join("children").exists()
}

/// All descendants of a process. The table may contain a cycle, because processes start and end while it is read.
pub(super) fn below(table: &BTreeMap<i64, Stat>, root: i64) -> BTreeSet<i64> {
    let mut children: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    table.iter().for_each(|(pid, stat)| children.entry(stat.parent).or_default().push(*pid));
    let mut found = BTreeSet::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        open.extend(children.remove(&pid).unwrap_or_default().into_iter().filter(|child| found.insert(*child)));
    }
    found
}

/// The children of all threads of a process.
#[expect(clippy::disallowed_methods, reason = "files of the system")]
pub(super) fn children(pid: i64) -> Vec<i64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Whether a process was started with a mark in its environment. Returns false if this process may not read it.
#[expect(clippy::disallowed_methods, reason = "a file of the system")]
pub(super) fn is_marked(pid: i64, mark: &str) -> bool {
    let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
    let of = |variable: &[u8]| {
        let value = variable.strip_prefix(super::MARKER.as_bytes())?.strip_prefix(b"=")?;
        Some(value.split(|&byte| byte == b':').any(|part| part == mark.as_bytes()))
    };
    environment.split(|&byte| byte == 0).any(|variable| of(variable) == Some(true))
}

#[expect(clippy::disallowed_methods, reason = "a file of the system")]
pub(super) fn name(pid: i64) -> Option<String> {
    let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use super::*;
    use crate::process::MARKER;
    use crate::process::descendants::rest;

    fn sleeper(mark: &str) -> (Child, i64) {
        let mut command = Command::new("sleep");
        command.arg("600").env(MARKER, mark).stdin(Stdio::null());
        let child = command.spawn().unwrap();
        let pid = i64::from(child.id());
        (child, pid)
    }

    #[test]
    fn marks_are_found_whole_and_among_others() {
        let (mut child, pid) = sleeper("1-2-3:44-5-6");
        // The environment is visible once `exec` has finished.
        while !is_marked(pid, "1-2-3") {
            rest(Duration::from_millis(1));
        }
        assert!(is_marked(pid, "44-5-6"));
        assert!(!is_marked(pid, "1-2") && !is_marked(pid, "4-5-6") && !is_marked(pid, ""));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn children_are_listed_alike_by_both_looks() {
        let (mut child, pid) = sleeper("");
        let me = i64::from(std::process::id());
        assert!(children(me).contains(&pid) && below(&table(), me).contains(&pid));
        assert_eq!(stat(pid).unwrap().parent, me);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_circle_in_what_was_read_ends() {
        let of = |parent| Stat { state: b'S', parent, threads: 1, started: 1 };
        let table = BTreeMap::from([(1, of(3)), (2, of(1)), (3, of(2))]);
        assert_eq!(below(&table, 1), BTreeSet::from([1, 2, 3]));
    }

    #[test]
    fn the_newest_number_is_that_of_the_process_that_started_last() {
        let (mut child, pid) = sleeper("");
        // Other tests start processes at the same time. Pids wrap around at the maximum.
        assert!(newest().is_some_and(|newest| newest >= pid || newest < pid / 2));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
