//! The commit that `HEAD` of a working tree names, read from git's files. No process is started.

use std::path::PathBuf;

use super::Workspace;
use super::file::{self, SETTINGS_MAX};
use super::git::GitCheckout;

/// Largest file of references that is read: half a million of them.
const REFS_MAX: u64 = 64 * 1024 * 1024;

/// The commit that the checkout of a workspace is at; empty where there is none.
pub(crate) fn of(workspace: &Workspace) -> String {
    workspace.checkout.as_ref().map_or_else(String::new, head)
}

/// The commit a working tree is at, from git's files; no process is started. Empty where there is none.
pub(crate) fn head(checkout: &GitCheckout) -> String {
    let dot_git = checkout.top.join(".git");
    let own = match file::read_text(&dot_git, SETTINGS_MAX) {
        Ok(text) => match text.trim().strip_prefix("gitdir: ") {
            Some(path) => checkout.top.join(path),
            None => return String::new(),
        },
        Err(_) => dot_git,
    };
    let read = |path: PathBuf| file::read_text(&path, REFS_MAX).ok().map(|text| text.trim().to_owned());
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

#[cfg(test)]
mod tests {
    use super::super::fixture::{Area, git};
    use super::super::git::locate;
    use std::path::Path;

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
}
