//! Compares the answers with those of `git status`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::fixture::{Area, git};
use super::super::git::locate;
use super::super::head::head;
use super::*;

/// A repository with some files, whose times are before that of its index.
fn repository(area: &Area, init: &[&str]) -> PathBuf {
    let repo = area.path("repo");
    fs::create_dir_all(repo.join("sub/deep")).unwrap();
    git(&repo, &[&["init", "-q"], init].concat());
    for file in ["a.rs", "sub/b.rs", "sub/deep/c.rs", "ä ö", "run.sh"] {
        write(&repo.join(file), file);
    }
    std::os::unix::fs::symlink("a.rs", repo.join("link")).unwrap();
    fs::write(repo.join(".gitignore"), "*.log\ntarget/\n!keep.log\n").unwrap();
    aged(&repo);
    git(&repo, &["add", "-A"]);
    git(&repo, &["commit", "-q", "-m", "files"]);
    repo
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

/// Sets the times of all files back, so that none was written together with the index.
fn aged(repo: &Path) {
    let names = ["a.rs", "sub/b.rs", "sub/deep/c.rs", "ä ö", "run.sh", ".gitignore", "link"];
    let touched = Command::new("touch").current_dir(repo).args(["-h", "-d", "@1000000000"]).args(names).status();
    assert!(touched.unwrap().success());
}

/// Commits everything, and writes the index anew: within a second git keeps what it recorded of a file.
fn committed(repo: &Path) {
    git(repo, &["commit", "-q", "-a", "--allow-empty", "-m", "more"]);
    aged(repo);
    git(repo, &["read-tree", "HEAD"]);
    git(repo, &["update-index", "-q", "--refresh"]);
}

fn ours(repo: &Path, only: Option<&[&[u8]]>) -> Option<Vec<String>> {
    let checkout = locate(repo).unwrap().unwrap();
    let env = Env::of(Path::new("/"), [("HOME", "/nonexistent")]);
    let found = differing(&checkout, &env, &head(&checkout), only)?;
    Some(found.into_iter().map(|path| String::from_utf8(path).unwrap()).collect())
}

fn gits(repo: &Path) -> Vec<String> {
    let mut command = Command::new("git");
    command.current_dir(repo).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_OPTIONAL_LOCKS", "0").args(["status", "--porcelain=v1", "-z", "--no-renames"]);
    let output = command.args(["--untracked-files=all", "--ignore-submodules=dirty"]).output().unwrap();
    let entries = output.stdout.split(|byte| *byte == 0).filter(|entry| entry.len() > 3);
    let mut paths: Vec<String> = entries.map(|entry| String::from_utf8(entry[3..].to_vec()).unwrap()).collect();
    paths.sort();
    paths
}

/// Both answers are the same, and there is one without git.
fn agree(repo: &Path) -> Vec<String> {
    let found = ours(repo, None).expect("an answer without git");
    assert_eq!(found, gits(repo));
    found
}

/// If there is an answer without git, it is that of git.
fn agree_if_certain(repo: &Path) -> bool {
    let found = ours(repo, None);
    found.is_none_or(|found| {
        assert_eq!(found, gits(repo));
        true
    })
}

#[test]
fn changes_that_are_not_staged_are_found_without_git() {
    for (init, version) in [(&[] as &[&str], "2"), (&[], "4"), (&["--object-format=sha256"], "2")] {
        let area = Area::new();
        let repo = repository(&area, init);
        git(&repo, &["update-index", "--index-version", version]);
        assert_eq!(agree(&repo), [""; 0]);
        write(&repo.join("a.rs"), "longer than before");
        write(&repo.join("new.rs"), "");
        write(&repo.join("x.log"), "");
        write(&repo.join("keep.log"), "");
        fs::create_dir_all(repo.join("target/debug")).unwrap();
        write(&repo.join("target/debug/out"), "");
        fs::create_dir_all(repo.join("fresh/in")).unwrap();
        write(&repo.join("fresh/in/side"), "");
        fs::remove_file(repo.join("sub/b.rs")).unwrap();
        assert_eq!(agree(&repo), ["a.rs", "fresh/in/side", "keep.log", "new.rs", "sub/b.rs"]);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(repo.join("run.sh"), mode).unwrap();
        fs::remove_file(repo.join("link")).unwrap();
        write(&repo.join("link"), "a.rs");
        assert_eq!(agree(&repo).len(), 7);
        let only: [&[u8]; 5] = [b"a.rs", b"sub/deep/c.rs", b"new.rs", b"x.log", b"gone"];
        assert_eq!(ours(&repo, Some(&only)).unwrap(), ["a.rs", "new.rs"]);
        // A commit in a pack.
        git(&repo, &["gc", "-q"]);
        assert_eq!(agree(&repo).len(), 7);
        // Another working tree of the repository.
        git(&repo, &["worktree", "add", "-q", "../other"]);
        let other = area.path("other");
        assert!(agree_if_certain(&other));
        write(&other.join("a.rs"), "changed over there");
        assert!(agree_if_certain(&other));
    }
}

#[test]
fn what_only_git_can_tell_has_no_answer() {
    let area = Area::new();
    let repo = repository(&area, &[]);
    let unknown = |why: &str| assert_eq!(ours(&repo, None), None, "{why}");
    // The same size at another time: changed or not.
    write(&repo.join("a.rs"), "b.rs");
    unknown("a content of the same size");
    git(&repo, &["checkout", "-q", "a.rs"]);
    unknown("a file that was written together with the index");
    committed(&repo);
    assert_eq!(agree(&repo), [""; 0]);
    write(&repo.join("staged"), "");
    git(&repo, &["add", "staged"]);
    unknown("something is staged");
    committed(&repo);
    assert!(agree_if_certain(&repo));
    git(&repo, &["rm", "-q", "staged"]);
    committed(&repo);
    assert_eq!(agree(&repo), [""; 0]);
    // The index is a whole tree, but not that of the commit.
    git(&repo, &["reset", "-q", "--soft", "HEAD~1"]);
    unknown("another commit");
    git(&repo, &["reset", "-q", "--soft", "ORIG_HEAD"]);
    assert_eq!(agree(&repo), [""; 0]);
    write(&repo.join("a.rs"), "longer than it was");
    git(&repo, &["update-index", "--assume-unchanged", "run.sh"]);
    git(&repo, &["update-index", "--no-assume-unchanged", "run.sh"]);
    unknown("an index that may be more than the commit");
    committed(&repo);
    assert_eq!(agree(&repo), [""; 0]);
    // A repository below this one.
    git(&repo, &["init", "-q", "nested"]);
    unknown("a repository of its own");
    fs::remove_dir_all(repo.join("nested")).unwrap();
    git(&repo, &["config", "core.ignorecase", "true"]);
    unknown("names in any case");
    git(&repo, &["config", "--unset", "core.ignorecase"]);
    git(&repo, &["config", "include.path", "more"]);
    unknown("settings elsewhere");
    git(&repo, &["config", "--unset", "include.path"]);
    assert_eq!(agree(&repo), [""; 0]);
    git(&repo, &["update-index", "--split-index"]);
    unknown("a split index");
    git(&repo, &["update-index", "--no-split-index"]);
    git(&repo, &["sparse-checkout", "set", "sub"]);
    unknown("a sparse checkout");
}

#[test]
fn files_that_git_does_not_look_at_do_not_differ() {
    let area = Area::new();
    let repo = repository(&area, &[]);
    git(&repo, &["update-index", "--assume-unchanged", "a.rs"]);
    git(&repo, &["update-index", "--skip-worktree", "sub/b.rs"]);
    git(&repo, &["commit", "-q", "--allow-empty", "-m", "the index is a tree again"]);
    write(&repo.join("a.rs"), "changed all the same");
    fs::remove_file(repo.join("sub/b.rs")).unwrap();
    assert_eq!(agree(&repo), [""; 0]);
}

#[test]
fn a_conflict_and_an_unborn_branch_are_not_answered_wrongly() {
    let area = Area::new();
    let repo = repository(&area, &[]);
    git(&repo, &["checkout", "-q", "-b", "side"]);
    write(&repo.join("a.rs"), "side");
    git(&repo, &["commit", "-q", "-a", "-m", "side"]);
    git(&repo, &["checkout", "-q", "-"]);
    write(&repo.join("a.rs"), "other side");
    git(&repo, &["commit", "-q", "-a", "-m", "other"]);
    let merge = Command::new("git").current_dir(&repo).args(["merge", "-q", "side"]).output().unwrap();
    assert!(!merge.status.success());
    assert!(agree_if_certain(&repo));
    let empty = area.path("empty");
    fs::create_dir(&empty).unwrap();
    git(&empty, &["init", "-q"]);
    write(&empty.join("x"), "");
    assert_eq!(ours(&empty, None), None);
}
