//! A store inside a checkout must not be git's: a commit would publish it, and a checkout, a reset or a stash would put an
//! old one in its place. What was acknowledged would be gone, and a fence would be issued twice.
//!
//! Whether git tracks a file stands in its index, which is read here as far as the name can be. No process is started.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tenure_core::action::Action;
use tenure_core::error::detail::TrackedFile;
use tenure_core::{Code, Error, Result, Stage};

use super::git::{self, GitCheckout};
use super::git_config::GitSettings;
use super::gitignore::GitIgnore;
use super::scratch::BESIDE;
use super::{STORE_DIR, file, git_index, pin};
use crate::env::Env;

/// What keeps git away from everything in a directory.
const EVERYTHING: &str = "*\n";

/// A file of a store that git tracks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tracked {
    /// The file, or the link or submodule that it is in.
    pub(crate) file: PathBuf,
    /// The checkout whose index has it.
    pub(crate) top: PathBuf,
}

/// The first file of the store at a path that git tracks: the database, what SQLite and Tenure keep beside it, or a
/// symbolic link or submodule on the way to it.
pub(crate) fn tracked(database: &Path) -> Result<Option<Tracked>> {
    // A place that cannot be looked at is the store's to report.
    let Ok(real) = git::canonical(database) else { return Ok(None) };
    if real != database {
        for link in links_on_the_way(database) {
            if let Some(found) = tracked_in(&link, &[])? {
                return Ok(Some(found));
            }
        }
    }
    tracked_in(&real, &BESIDE)
}

/// The checkout that a store is in, if it is in one.
pub(crate) fn checkout_around(database: &Path) -> Option<GitCheckout> {
    let real = git::canonical(database).ok()?;
    around(&real)
}

/// The checkout around a canonical path. A `.git` that git itself could not use tracks nothing.
fn around(path: &Path) -> Option<GitCheckout> {
    let dir = path.ancestors().skip(1).find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
    let found = git::locate(dir).ok().flatten()?;
    path.starts_with(&found.top).then_some(found)
}

/// The symbolic links that a path goes through, each as it is found by its real directory.
fn links_on_the_way(path: &Path) -> Vec<PathBuf> {
    let is_link = |part: &&Path| part.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    let named = |link: &Path| Some(git::canonical(link.parent()?).ok()?.join(link.file_name()?));
    path.ancestors().filter(is_link).filter_map(named).collect()
}

/// Whether the index of the checkout around a path has it, it with one of some ends, or something that it is in.
fn tracked_in(path: &Path, ends: &[&str]) -> Result<Option<Tracked>> {
    let Some(checkout) = around(path) else { return Ok(None) };
    let Ok(inside) = path.strip_prefix(&checkout.top) else { return Ok(None) };
    let settings = GitSettings::read(&checkout.common).unwrap_or_default();
    let (hash, folds_case) = (settings.hash(), settings.flag("core", "ignorecase").unwrap_or(false));
    let wanted = inside.as_os_str().as_bytes();
    let index = checkout.own_dir()?.join("index");
    let unreadable = |file: &Path, error: std::io::Error| {
        let message = format!("{} cannot be read, so whether git tracks the store is unknown: {error}", file.display());
        Error::new(Code::GitBroken, message)
            .at(Stage::Resolve)
            .entity(file.display().to_string())
            .hint("Check the repository with `git status`, then repeat the command.")
            .cause(error)
    };
    let is_meant = |name: &[u8]| has(name, wanted, ends, folds_case);
    // The greatest name that can be meant. Where case does not count the order says nothing.
    let last = [wanted, b"~"].concat();
    let last = (!folds_case).then_some(last.as_slice());
    let shared = match git_index::shared(&index, hash) {
        Ok(shared) => shared,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(unreadable(&index, error)),
    };
    for part in std::iter::once(index).chain(shared) {
        if let Some(name) = git_index::first(&part, hash, last, is_meant).map_err(|error| unreadable(&part, error))? {
            let file = checkout.top.join(OsStr::from_bytes(&name));
            return Ok(Some(Tracked { file, top: checkout.top }));
        }
    }
    Ok(None)
}

/// Whether an entry of the index is a path, the path with one of some ends, or something that the path is in: a link, a
/// submodule, or a directory of which a sparse index keeps no files apart.
fn has(name: &[u8], path: &[u8], ends: &[&str], folds_case: bool) -> bool {
    let same = |one: &[u8], two: &[u8]| if folds_case { one.eq_ignore_ascii_case(two) } else { one == two };
    let name = name.strip_suffix(b"/").unwrap_or(name);
    match path.len().cmp(&name.len()) {
        std::cmp::Ordering::Greater => path[name.len()] == b'/' && same(&path[..name.len()], name),
        std::cmp::Ordering::Equal => same(path, name),
        std::cmp::Ordering::Less => {
            let (begin, end) = name.split_at(path.len());
            same(path, begin) && ends.iter().any(|known| same(known.as_bytes(), end))
        }
    }
}

/// Keeps git away from a store that is in a checkout, unless it is already: a `.gitignore` beside it. One that a person
/// wrote is kept and added to; where it cannot be written, the store is refused once git tracks it.
pub(crate) fn keep_out(database: &Path, env: &Env) -> Result<()> {
    let (Some(dir), Some(name)) = (database.parent(), database.file_name()) else { return Ok(()) };
    let ignore = dir.join(".gitignore");
    let is_own = dir.file_name() == Some(OsStr::new(STORE_DIR));
    let written = match file::read_with(&ignore, file::SETTINGS_MAX, file::Links::Refused) {
        Ok(text) if text == EVERYTHING.as_bytes() => return Ok(()),
        Ok(text) => Some(text),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        // A link, a directory, or what may not be read: a person put it there. `doctor` looks whether it does.
        Err(_) => return Ok(()),
    };
    let Some(checkout) = checkout_around(database) else { return Ok(()) };
    let real = git::canonical(database)?;
    if GitIgnore::of(&checkout, env).has(&real) || !dir.is_dir() {
        return Ok(());
    }
    // Nothing but a store is in its own directory; elsewhere only the store's files are meant. A star in the name of a file
    // would mean more than the file.
    let name: Vec<u8> = name.as_bytes().iter().flat_map(|byte| escaped(*byte)).collect();
    let only = [b"/".as_slice(), &name, b"*\n"].concat();
    let made = match written {
        None if is_own => pin::create_file(&ignore, EVERYTHING.as_bytes()),
        None => pin::create_file(&ignore, &only),
        Some(mut text) => {
            if !text.ends_with(b"\n") && !text.is_empty() {
                text.push(b'\n');
            }
            text.extend_from_slice(&only);
            pin::replace_file(&ignore, &text)
        }
    };
    // A place that cannot be written is the store's to report; beside one that can, this is not worth refusing it.
    _ = made;
    Ok(())
}

fn escaped(byte: u8) -> Vec<u8> {
    if b"*?[]\\!# ".contains(&byte) { vec![b'\\', byte] } else { vec![byte] }
}

/// The refusal of a store that git tracks.
pub(crate) fn refused(found: &Tracked, store: &Path) -> Error {
    let file = found.file.strip_prefix(&found.top).unwrap_or(&found.file).display().to_string();
    let message = format!(
        "git tracks {file} of the store at {}: a checkout, a reset or a stash would replace the store by an old one",
        store.display()
    );
    Error::new(Code::TrackedStore, message)
        .at(Stage::Resolve)
        .entity(found.file.display().to_string())
        .hint(
            "Nothing was read or changed. Remove the file from git's index but keep it on the disk (`git rm` with \
             `--cached`), then commit the removal: the store itself stays unchanged.",
        )
        .attempt(Action::Doctor)
        .person("A person should check whether commits have published the store.")
        .with(&TrackedFile(found.file.display().to_string()))
        .detail("checkout", found.top.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::fixture::{Area, git};
    use super::*;

    fn found(database: &Path) -> Option<String> {
        tracked(database).unwrap().map(|found| found.file.strip_prefix(&found.top).unwrap().display().to_string())
    }

    #[test]
    fn every_file_of_a_store_is_looked_for_and_what_it_is_in() {
        let area = Area::new();
        let repo = area.repo("repo");
        let database = repo.join(".tenure/tenure.db");
        fs::create_dir(repo.join(".tenure")).unwrap();
        assert_eq!(found(&database), None);
        fs::write(&database, "").unwrap();
        fs::write(repo.join(".tenure/notes"), "").unwrap();
        git(&repo, &["add", "-f", ".tenure/notes"]);
        assert_eq!(found(&database), None, "a file of somebody else");
        for end in ["", "-wal", "-shm", "-turn-a", "-bell"] {
            let name = format!(".tenure/tenure.db{end}");
            fs::write(repo.join(&name), "").unwrap();
            git(&repo, &["add", "-f", &name]);
            for version in ["2", "4"] {
                git(&repo, &["update-index", "--index-version", version]);
                assert_eq!(found(&database), Some(name.clone()));
            }
            git(&repo, &["update-index", "--split-index"]);
            assert_eq!(found(&database), Some(name.clone()), "split");
            git(&repo, &["update-index", "--no-split-index"]);
            git(&repo, &["rm", "-q", "--cached", &name]);
            assert_eq!(found(&database), None);
        }
        git(&repo, &["worktree", "add", "-q", "../side"]);
        fs::write(area.path("side/s.db"), "").unwrap();
        git(&area.path("side"), &["add", "s.db"]);
        assert_eq!(found(&area.path("side/s.db")), Some("s.db".into()), "the index of a linked worktree");
        assert_eq!(found(&area.path("elsewhere/tenure.db")), None);
    }

    #[test]
    fn a_link_or_a_submodule_on_the_way_is_a_tracked_file() {
        let area = Area::new();
        let (repo, lib) = (area.repo("repo"), area.repo("lib"));
        fs::create_dir(area.path("other")).unwrap();
        symlink("../other", repo.join(".tenure")).unwrap();
        assert_eq!(found(&repo.join(".tenure/tenure.db")), None, "a link that a person made");
        git(&repo, &["add", ".tenure"]);
        assert_eq!(found(&repo.join(".tenure/tenure.db")), Some(".tenure".into()));
        git(&repo, &["submodule", "--quiet", "add", lib.to_str().unwrap(), "sub"]);
        assert_eq!(found(&repo.join("sub/tenure.db")), None, "a submodule is a checkout of its own");
        fs::write(repo.join("sub/tenure.db"), "").unwrap();
        git(&repo.join("sub"), &["add", "tenure.db"]);
        assert_eq!(found(&repo.join("sub/tenure.db")), Some("tenure.db".into()));
    }

    #[test]
    fn git_is_kept_out_and_what_a_person_wrote_is_kept() {
        let area = Area::new();
        let repo = area.repo("repo");
        let env = Env::of(&repo, [("HOME", "/nonexistent")]);
        let read = |path: &str| file::read_text(&repo.join(path), 1_000).ok();
        let ignored = |path: &str| GitIgnore::of(&git::locate(&repo).unwrap().unwrap(), &env).has(&repo.join(path));
        fs::create_dir_all(repo.join("data")).unwrap();
        fs::create_dir(repo.join(STORE_DIR)).unwrap();
        for _ in 0..2 {
            keep_out(&repo.join(".tenure/tenure.db"), &env).unwrap();
            assert_eq!(read(".tenure/.gitignore").as_deref(), Some(EVERYTHING));
            keep_out(&repo.join("data/a b.db"), &env).unwrap();
            assert_eq!(read("data/.gitignore").as_deref(), Some("/a\\ b.db*\n"));
        }
        assert!(ignored("data/a b.db-wal") && !ignored("data/x"));
        for (text, after) in [("!keep", "!keep\n/tenure.db*\n"), ("", "/tenure.db*\n"), ("tenure.*\n", "tenure.*\n")] {
            fs::write(repo.join(".tenure/.gitignore"), text).unwrap();
            keep_out(&repo.join(".tenure/tenure.db"), &env).unwrap();
            assert_eq!(read(".tenure/.gitignore").as_deref(), Some(after), "{text:?}");
            assert!(ignored(".tenure/tenure.db"));
        }
        fs::remove_file(repo.join(".tenure/.gitignore")).unwrap();
        symlink("/dev/zero", repo.join(".tenure/.gitignore")).unwrap();
        keep_out(&repo.join(".tenure/tenure.db"), &env).unwrap();
        fs::create_dir(area.path("plain")).unwrap();
        keep_out(&area.path("plain/tenure.db"), &env).unwrap();
        assert!(!area.path("plain/.gitignore").exists(), "no checkout");
    }
}
