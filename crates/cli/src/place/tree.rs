//! What is to be seen in a working tree: the commit it is at and the files that differ from it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tenure_kernel::Tree;

use super::git::Checkout;

/// How long git may take to say what differs. Beyond that the answer is left out.
const PATIENCE: Duration = Duration::from_secs(3);
/// How much of git's answer is read.
const ANSWER_MAX: u64 = 1 << 20;
/// How many files are named.
const FILES: usize = 50;

/// The commit a working tree is at, from git's files; no process is started. Empty where there is none.
#[expect(clippy::disallowed_methods, reason = "files of git")]
pub(crate) fn head(checkout: &Checkout) -> String {
    let dot_git = checkout.top.join(".git");
    let own = match std::fs::read_to_string(&dot_git) {
        Ok(text) => match text.trim().strip_prefix("gitdir: ") {
            Some(path) => checkout.top.join(path),
            None => return String::new(),
        },
        Err(_) => dot_git,
    };
    let read = |path: PathBuf| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let Some(head) = read(own.join("HEAD")) else { return String::new() };
    let found = match head.strip_prefix("ref: ") {
        None => Some(head),
        Some(name) => read(own.join(name)).or_else(|| read(checkout.common.join(name))).or_else(|| {
            let packed = read(checkout.common.join("packed-refs"))?;
            let line = packed.lines().find(|line| line.strip_suffix(name).is_some_and(|rest| rest.ends_with(' ')))?;
            Some(line.split(' ').next()?.to_owned())
        }),
    };
    found.filter(|id| is_commit(id)).unwrap_or_default()
}

fn is_commit(text: &str) -> bool {
    (40..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The commit and the files that differ from it, as git itself tells. Starts git, so hooks do not ask for it.
pub(crate) fn look(checkout: &Checkout) -> Tree {
    let mut tree = Tree { head: head(checkout), ..Tree::default() };
    for path in differing(&checkout.top).unwrap_or_default() {
        // The store's own directory is nobody's work.
        if path.starts_with(".tenure/") {
            continue;
        }
        if tree.uncommitted.len() < FILES {
            tree.uncommitted.push(path);
        } else {
            tree.uncommitted_more += 1;
        }
    }
    tree
}

fn differing(top: &Path) -> Option<Vec<String>> {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(top)
        // A file system monitor is a program that the repository's configuration names.
        .args(["-c", "core.fsmonitor=false", "status", "--porcelain=v1", "-z", "--no-renames"])
        .args(["--untracked-files=all", "--ignore-submodules=dirty"])
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    let mut child = command.spawn().ok()?;
    let mut answer = child.stdout.take()?;
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = answer.by_ref().take(ANSWER_MAX).read_to_end(&mut bytes);
        // Whoever waited may have given up.
        let _ = send.send(read.map(|_| bytes));
    });
    let answered = receive.recv_timeout(PATIENCE);
    end(&mut child);
    let bytes = answered.ok()?.ok()?;
    let mut paths: Vec<String> = bytes
        .split(|byte| *byte == 0)
        .filter_map(|entry| entry.get(3..))
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect();
    paths.sort();
    Some(paths)
}

/// A child that has answered ends by itself; one that has not is ended.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Area, git};
    use super::super::git::locate;
    use super::*;

    #[test]
    fn the_commit_is_found_loose_packed_detached_and_in_worktrees() {
        let area = Area::new();
        let repo = area.repo("repo");
        let at = |path: &Path| head(&locate(path).unwrap().unwrap());
        let first = at(&repo);
        assert_eq!(first.len(), 40, "{first}");
        git(&repo, &["pack-refs", "--all"]);
        assert_eq!(at(&repo), first);
        git(&repo, &["worktree", "add", "-q", "../other"]);
        assert_eq!(at(&area.path("other")), first);
        git(&repo, &["checkout", "-q", "--detach"]);
        assert_eq!(at(&repo), first);
    }

    #[test]
    fn files_that_differ_are_named_whatever_they_are_called() {
        let area = Area::new();
        let repo = area.repo("repo");
        for name in ["a b.rs", "new\nline", "ä.txt"] {
            std::fs::write(repo.join(name), "x").unwrap();
        }
        std::fs::create_dir(repo.join(".tenure")).unwrap();
        std::fs::write(repo.join(".tenure/tenure.db"), "x").unwrap();
        let seen = look(&locate(&repo).unwrap().unwrap());
        assert_eq!(seen.uncommitted, ["a b.rs", "new\nline", "ä.txt"]);
    }
}
