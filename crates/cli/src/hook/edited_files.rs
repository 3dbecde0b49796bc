//! The files that a tool call edits, each with the checkout whose `.git` is nearest above *the file*, whatever the
//! directory of the session.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use tenure_core::Result;

use crate::workspace::git::{self, canonical};

/// Files of one checkout, or of one directory without git.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EditedGroup {
    /// The top of the checkout; without git, the directory of the first file.
    pub(super) top: PathBuf,
    pub(super) files: Vec<EditedPath>,
}

/// A file that is about to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EditedPath {
    /// Its parents resolved, its own name as it is.
    pub(super) real: PathBuf,
    /// Whether everything below it is meant.
    pub(super) is_dir: bool,
}

/// Sorts the files that a tool names. `home` is where the session's own project is: what is in it comes first, and what
/// is in no repository is in it if it is below it.
pub(super) fn grouped(home: &Path, home_has_git: bool, cwd: &Path, named: &[String]) -> Result<Vec<EditedGroup>> {
    let mut groups: Vec<EditedGroup> = Vec::new();
    // A patch may name thousands of files in a few directories.
    let mut tops: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut seen = HashSet::new();
    for file in files(cwd, named)? {
        let dir = if file.is_dir { &file.real } else { file.real.parent().unwrap_or(&file.real) };
        let top = match tops.get(dir) {
            Some(top) => top.clone(),
            None => {
                let top = match git::locate(dir)? {
                    Some(checkout) => checkout.top,
                    None if !home_has_git && dir.starts_with(home) => home.to_path_buf(),
                    None => dir.to_path_buf(),
                };
                tops.insert(dir.to_path_buf(), top.clone());
                top
            }
        };
        // What git keeps for itself is nobody's file, and a whole checkout is no file: no tool can edit one.
        let inside = file.real.strip_prefix(&top).unwrap_or(&file.real);
        if inside.as_os_str().is_empty() || inside.components().any(|part| part.as_os_str() == ".git") {
            continue;
        }
        if !seen.insert((file.real.clone(), file.is_dir)) {
            continue;
        }
        match groups.iter_mut().find(|group| group.top == top) {
            Some(group) => group.files.push(file),
            None => groups.push(EditedGroup { top, files: vec![file] }),
        }
    }
    groups.sort_by_key(|group| group.top != home);
    Ok(groups)
}

/// What is changed by writing to some names: the names, and where one is a link, also what it leads to.
fn files(cwd: &Path, named: &[String]) -> Result<Vec<EditedPath>> {
    let mut found = Vec::new();
    let mut parents: HashMap<PathBuf, PathBuf> = HashMap::new();
    // No file has a name with a NUL in it, so no tool can change one.
    for name in named.iter().filter(|name| !name.is_empty() && !name.contains('\0')) {
        let path = git::nameable(cwd.join(name))?;
        let real = match (path.parent(), path.file_name()) {
            (Some(parent), Some(last)) => match parents.get(parent) {
                Some(real) => real.join(last),
                None => {
                    let real = canonical(parent)?;
                    parents.insert(parent.to_path_buf(), real.clone());
                    real.join(last)
                }
            },
            _ => canonical(&path)?,
        };
        let meta = fs::symlink_metadata(&real).ok();
        if meta.as_ref().is_some_and(|meta| meta.file_type().is_symlink())
            && let Ok(target) = fs::read_link(&real)
        {
            let target = canonical(&real.parent().unwrap_or(&real).join(target))?;
            let is_dir = target.is_dir();
            found.push(EditedPath { real: target, is_dir });
        }
        found.push(EditedPath { is_dir: meta.is_some_and(|meta| meta.is_dir()), real });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::workspace::fixture::{Area, git};

    #[test]
    fn inv_r10_a_file_belongs_to_the_checkout_that_is_nearest_above_it() {
        let area = Area::new();
        let repo = area.repo("repo");
        let other = area.repo("other");
        git(&repo, &["worktree", "add", "-q", "nested/tree"]);
        fs::create_dir_all(repo.join("src/old")).unwrap();
        fs::write(repo.join("src/real.rs"), "").unwrap();
        symlink("real.rs", repo.join("src/link.rs")).unwrap();
        symlink("nowhere.rs", repo.join("src/dangling.rs")).unwrap();
        let sorted = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let groups = grouped(&repo, true, &repo.join("src"), &names).unwrap();
            let show = |group: EditedGroup| {
                let top = group.top.strip_prefix(area.path(".")).unwrap().display().to_string();
                let files = group.files.iter().map(|file| {
                    let name = file.real.strip_prefix(&group.top).unwrap().display();
                    if file.is_dir { format!("{name}/") } else { name.to_string() }
                });
                format!("{top}: {}", files.collect::<Vec<_>>().join(" "))
            };
            groups.into_iter().map(show).collect::<Vec<_>>()
        };
        assert_eq!(sorted(&["a.rs", "./x/../a.rs", "new/b.rs", "../-x"]), ["repo: src/a.rs src/new/b.rs -x"]);
        assert_eq!(
            sorted(&["link.rs", "dangling.rs"]),
            ["repo: src/real.rs src/link.rs src/nowhere.rs src/dangling.rs"]
        );
        assert_eq!(sorted(&["old"]), ["repo: src/old/"]);
        assert_eq!(sorted(&["../.git/config", "../.git/hooks/pre-commit", "", "a\0b", "..", "../"]), [""; 0]);
        // What is too long for the system may be short for the tool that names it; else nobody can say what is meant.
        assert_eq!(sorted(&[&format!("{}a.rs", "x/../".repeat(18_000))]), ["repo: src/a.rs"]);
        let refused = grouped(&repo, true, &repo, &["a/".repeat(45_000)]);
        assert_eq!(refused.unwrap_err().code(), "pattern_limit");
        let there = other.join("z.rs");
        assert_eq!(
            sorted(&[there.to_str().unwrap(), "../nested/tree/q.rs", "a.rs"]),
            ["repo: src/a.rs", "other: z.rs", "repo/nested/tree: q.rs"]
        );
    }
}
