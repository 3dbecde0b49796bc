//! The files of a working tree that differ from its commit. Where git's files leave a question, git is asked, which starts a
//! process: so hooks never use this.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tenure_kernel::WorkingTree;

use crate::env::Env;
use crate::workspace::git::GitCheckout;
use crate::workspace::head::head;
use crate::workspace::{Workspace, git_changes};

/// How long git may take to say what differs. Beyond that the answer is left out.
const PATIENCE: Duration = Duration::from_secs(3);
/// How much of git's answer is read.
const ANSWER_MAX: u64 = 1 << 20;
/// How many files are named.
const FILES: usize = 50;

/// The working tree of a workspace; an empty one where there is none.
pub(crate) fn of(workspace: &Workspace, env: &Env) -> WorkingTree {
    workspace.checkout.as_ref().map_or_else(WorkingTree::default, |checkout| look(checkout, env))
}

/// The commit and the files that differ from it.
fn look(checkout: &GitCheckout, env: &Env) -> WorkingTree {
    let mut tree = WorkingTree { head: head(checkout), ..WorkingTree::default() };
    let read = git_changes::differing(checkout, env, &tree.head, None);
    for path in read.map(names).or_else(|| ask_git(&checkout.top)).unwrap_or_default() {
        // The store's own directory is no work of an agent.
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

fn ask_git(top: &Path) -> Option<Vec<String>> {
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
        // The receiver may have given up waiting.
        let _ = send.send(read.map(|_| bytes));
    });
    let answered = receive.recv_timeout(PATIENCE);
    end(&mut child);
    let bytes = answered.ok()?.ok()?;
    Some(names(bytes.split(|byte| *byte == 0).filter_map(|entry| entry.get(3..))))
}

fn names(paths: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<String> {
    let mut names: Vec<String> = paths.into_iter().map(|path| tenure_core::path_text::name(path.as_ref())).collect();
    names.sort();
    names
}

/// A child that has answered ends by itself; one that has not is ended.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fixture::Area;
    use crate::workspace::git::locate;

    #[test]
    fn files_that_differ_are_named_whatever_they_are_called() {
        let area = Area::new();
        let repo = area.repo("repo");
        for name in ["a b.rs", "new\nline", "ä.txt"] {
            std::fs::write(repo.join(name), "x").unwrap();
        }
        std::fs::create_dir(repo.join(".tenure")).unwrap();
        std::fs::write(repo.join(".tenure/tenure.db"), "x").unwrap();
        let seen = look(&locate(&repo).unwrap().unwrap(), &Env::of(Path::new("/"), []));
        assert_eq!(seen.uncommitted, ["a b.rs", "new\nline", "ä.txt"]);
    }
}
