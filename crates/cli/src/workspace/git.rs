//! Which checkout a path is in, read from git's own files. No process is started.
//!
//! `GIT_DIR`, `GIT_WORK_TREE` and their kind are ignored on purpose: git sets them in hooks, and a path belongs to the
//! checkout it lies in whoever asks.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use tenure_core::pattern::{BYTES_MAX, Case, Pattern};
use tenure_core::{Code, Error, Result, Stage};

use super::file::{self, SETTINGS_MAX};
use super::git_config::GitSettings;

/// Most symbolic links on the way to a file, as Linux has it.
const LINKS_MAX: usize = 40;

/// One working tree of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitCheckout {
    /// Canonical top of the working tree; of a bare repository, its directory.
    pub(crate) top: PathBuf,
    /// Canonical common git directory: one for all working trees of a repository.
    pub(crate) common: PathBuf,
    /// Top of the repository's main checkout; of a bare repository, its directory. With `--separate-git-dir` git does
    /// not record where the main checkout is: seen from a linked worktree it is then the git directory itself.
    pub(crate) main: PathBuf,
}

impl GitCheckout {
    /// The git directory of this working tree alone, in which its index is.
    pub(crate) fn own_dir(&self) -> Result<PathBuf> {
        let dot_git = self.top.join(".git");
        match fs::metadata(&dot_git) {
            Ok(meta) if !meta.is_dir() => follow(&dot_git, "gitdir: "),
            _ => Ok(dot_git),
        }
    }
}

/// Finds the checkout whose `.git` is nearest above an absolute path; the path itself need not exist.
///
/// A `.git` that leads nowhere is an error and not "no git": work would silently go to another project.
pub(crate) fn locate(path: &Path) -> Result<Option<GitCheckout>> {
    let Resolved { real, absent } = resolve(path)?;
    // What does not exist has no `.git` in it.
    for dir in real.ancestors().skip(absent) {
        let dot_git = dir.join(".git");
        let found = match look(&dot_git)? {
            Some(meta) => working_tree(dir, &dot_git, &meta)?,
            None => git_directory(dir)?,
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The canonical form of an absolute path whose end may not exist yet: what exists is resolved by the system, the rest
/// by its text.
pub(crate) fn canonical(path: &Path) -> Result<PathBuf> {
    resolve(path).map(|resolved| resolved.real)
}

/// A path that can be named to the system. A longer one is read by its text alone, as the tools do that name it: `a/../`
/// a thousand times is short. One that stays too long is refused as a pattern of that length is.
pub(crate) fn nameable(path: PathBuf) -> Result<PathBuf> {
    if path.as_os_str().len() <= BYTES_MAX {
        return Ok(path);
    }
    let plain = plain(&path).unwrap_or(path);
    if plain.as_os_str().len() <= BYTES_MAX {
        return Ok(plain);
    }
    Pattern::parse(&plain.to_string_lossy(), Case::Kept).map(|_| plain)
}

/// A path without `.` and `..`, by its text alone; none for one that leads above the root.
pub(crate) fn plain(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !out.pop() {
                    return None;
                }
            }
            other => out.push(other),
        }
    }
    Some(out)
}

/// A path without symbolic links.
struct Resolved {
    real: PathBuf,
    /// How many names at its end are of nothing that exists.
    absent: usize,
}

/// Resolves a path name by name, each once, so that the work is that of its length. A link is followed by the system; one
/// that leads nowhere is a name like any other.
fn resolve(path: &Path) -> Result<Resolved> {
    let short;
    let path = if path.as_os_str().len() > BYTES_MAX {
        short = nameable(path.to_path_buf())?;
        &short
    } else {
        path
    };
    let fail = |error| unreadable(path, error);
    let mut real = if path.is_absolute() { PathBuf::new() } else { fs::canonicalize(".").map_err(fail)? };
    let (mut missing, mut links) = (0, 0);
    for part in path.components() {
        match part {
            Component::CurDir => continue,
            Component::ParentDir => {
                real.pop();
                missing = usize::saturating_sub(missing, 1);
                continue;
            }
            other => real.push(other),
        }
        if missing > 0 {
            missing += 1;
            continue;
        }
        match read_link(&real) {
            Ok(_) if links == LINKS_MAX => return Err(fail(rustix::io::Errno::LOOP.into())),
            Ok(_) => {
                links += 1;
                match fs::canonicalize(&real) {
                    Ok(target) => real = target,
                    Err(error) if absent(&error) => missing = 1,
                    Err(error) => return Err(fail(error)),
                }
            }
            // It is there, and no link.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {}
            Err(error) if absent(&error) => missing = 1,
            Err(error) => return Err(fail(error)),
        }
    }
    Ok(Resolved { real, absent: missing })
}

fn read_link(path: &Path) -> io::Result<PathBuf> {
    #[cfg(test)]
    tests::LOOKS.with(|looks| looks.set(looks.get() + 1));
    fs::read_link(path)
}

fn working_tree(top: &Path, dot_git: &Path, meta: &Metadata) -> Result<Option<GitCheckout>> {
    // The usual case, and the one that every call pays for: one more look and no further resolving.
    if meta.is_dir() {
        let known = is_git_directory(dot_git)?;
        return Ok(known.then(|| GitCheckout { top: top.into(), common: dot_git.into(), main: top.into() }));
    }
    let target = fs::metadata(dot_git).map_err(|error| broken(dot_git, "leads nowhere").cause(error))?;
    let named = if target.is_dir() { dot_git.to_path_buf() } else { follow(dot_git, "gitdir: ")? };
    let gitdir = fs::canonicalize(&named).map_err(|error| gone(dot_git, &named, error))?;
    if look(&gitdir.join("HEAD"))?.is_none() {
        return Err(broken(dot_git, &format!("names {}, which is not a git directory", gitdir.display())));
    }

    let pointer = gitdir.join("commondir");
    if look(&pointer)?.is_none() {
        let main = if is_dot_git(&gitdir) { parent(&gitdir) } else { top.into() };
        return Ok(Some(GitCheckout { top: top.into(), common: gitdir, main }));
    }
    let named = follow(&pointer, "")?;
    let common = fs::canonicalize(&named).map_err(|error| gone(&pointer, &named, error))?;
    let main = main_checkout(&common)?;
    Ok(Some(GitCheckout { top: top.into(), common, main }))
}

/// Whether a directory called `.git` is a repository. git itself passes over one that is not, and some tools leave an
/// empty one behind; but one that has lost its HEAD and still has the rest is damaged.
fn is_git_directory(dot_git: &Path) -> Result<bool> {
    if look(&dot_git.join("HEAD"))?.is_some() {
        return Ok(true);
    }
    for part in ["objects", "config", "tenure"] {
        if look(&dot_git.join(part))?.is_some() {
            return Err(broken(dot_git, "has no HEAD"));
        }
    }
    Ok(false)
}

/// Whether a directory is itself a git directory: a bare repository, a submodule's or a separate git directory.
/// A `.git` is left to the directory above it.
fn git_directory(dir: &Path) -> Result<Option<GitCheckout>> {
    if is_dot_git(dir) || look(&dir.join("HEAD"))?.is_none() {
        return Ok(None);
    }
    let is_dir = |name| Ok::<_, Error>(look(&dir.join(name))?.is_some_and(|meta| !meta.is_file()));
    if !is_dir("objects")? || !is_dir("refs")? {
        return Ok(None);
    }
    let settings = GitSettings::read(dir)?;
    let Some(bare) = settings.flag("core", "bare") else { return Ok(None) };
    let main = main_checkout(dir)?;
    let top = if bare { dir.into() } else { main.clone() };
    Ok(Some(GitCheckout { top, common: dir.into(), main }))
}

/// The top of the main checkout, told from the common directory alone so that every worktree gets the same answer.
fn main_checkout(common: &Path) -> Result<PathBuf> {
    if is_dot_git(common) {
        return Ok(parent(common));
    }
    // A submodule's git directory lies inside the repository around it and says where its files are.
    if let Some(worktree) = GitSettings::read(common)?.last("core", None, "worktree")
        && let Ok(top) = fs::canonicalize(common.join(OsStr::from_bytes(worktree)))
    {
        return Ok(top);
    }
    // A bare repository beside its worktrees, with a `.git` file that names it: people think of the directory around
    // both as the project.
    let around = parent(common);
    let dot_git = around.join(".git");
    if look(&dot_git)?.is_some_and(|meta| meta.is_file())
        && fs::canonicalize(follow(&dot_git, "gitdir: ")?).is_ok_and(|named| named == common)
    {
        return Ok(around);
    }
    Ok(common.into())
}

/// The path that one of git's one-line files names, seen from the directory that the file is in.
fn follow(pointer: &Path, prefix: &str) -> Result<PathBuf> {
    let text = file::read(pointer, SETTINGS_MAX)
        .map_err(|error| broken(pointer, &format!("cannot be read: {error}")).cause(error))?;
    let text = text.strip_prefix(prefix.as_bytes()).ok_or_else(|| broken(pointer, "does not begin with `gitdir: `"))?;
    let end = text.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
    if end == 0 {
        return Err(broken(pointer, "names nothing"));
    }
    Ok(parent(pointer).join(OsStr::from_bytes(&text[..end])))
}

fn look(path: &Path) -> Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if absent(&error) => Ok(None),
        Err(error) => Err(unreadable(path, error)),
    }
}

// A name that is too long for the file system cannot exist either, but somebody may ask about it.
fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename)
}

fn is_dot_git(dir: &Path) -> bool {
    dir.file_name() == Some(OsStr::new(".git"))
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).into()
}

fn broken(file: &Path, what: &str) -> Error {
    Error::new(Code::GitBroken, format!("{} {what}", file.display()))
        .at(Stage::Resolve)
        .entity(file.display().to_string())
        .hint("Repair the repository (`git worktree repair` repairs moved worktrees), then repeat the command.")
}

fn gone(file: &Path, named: &Path, error: io::Error) -> Error {
    broken(file, &format!("names {}, which does not exist", named.display())).cause(error)
}

fn unreadable(path: &Path, error: io::Error) -> Error {
    let message = format!("{} cannot be inspected: {error}", path.display());
    Error::new(Code::PathUnreadable, message)
        .at(Stage::Resolve)
        .entity(path.display().to_string())
        .hint("Check the permissions of the directories above it.")
        .cause(error)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::unix::fs::symlink;
    use tenure_core::Kind;

    use super::super::fixture::{Area, git};
    use super::*;

    thread_local! {
        /// How many names were looked up one by one.
        pub(super) static LOOKS: Cell<usize> = const { Cell::new(0) };
    }

    /// How many names are looked up for something.
    fn looks<T>(act: impl FnOnce() -> T) -> (usize, T) {
        LOOKS.set(0);
        let answer = act();
        (LOOKS.get(), answer)
    }

    fn at(path: &Path) -> GitCheckout {
        locate(path).unwrap().expect("a checkout")
    }

    #[test]
    fn inv_r4_a_path_is_resolved_name_by_name_each_once() {
        let area = Area::new();
        let top = area.path(".").canonicalize().unwrap();
        let depth = top.components().count();
        let absent = top.join("a/".repeat(1_900));
        let (count, real) = looks(|| canonical(&absent).unwrap());
        assert_eq!(real, absent);
        assert!(count <= depth + 1, "{count} looks, {depth} names exist");
        // The same for what exists, and for the checkout that it is in.
        let deep = top.join("b/".repeat(300));
        fs::create_dir_all(&deep).unwrap();
        let (count, real) = looks(|| canonical(&deep).unwrap());
        assert_eq!(real, deep);
        assert!(count <= depth + 300, "{count}");
        assert!(looks(|| locate(&absent)).0 <= depth + 1);
        // `..` by the text, many times: longer than a path may be, and short all the same.
        let (count, real) = looks(|| canonical(&top.join("a/../".repeat(18_000)).join("f")).unwrap());
        assert_eq!(real, top.join("f"));
        assert!(count <= depth + 1, "{count}");
        let (count, refused) = looks(|| canonical(&top.join("a/".repeat(45_000))));
        assert_eq!((count, refused.unwrap_err().code().as_str()), (0, "pattern_limit"));
    }

    #[test]
    fn links_are_followed_as_the_system_does_and_one_that_leads_nowhere_is_a_name() {
        let area = Area::new();
        let top = area.path(".").canonicalize().unwrap();
        fs::create_dir_all(top.join("real/inner")).unwrap();
        fs::write(top.join("file"), "").unwrap();
        for (to, link) in
            [("real", "link"), ("link/inner", "twice"), ("nowhere", "dangling"), ("round", "round"), (".", "here")]
        {
            symlink(to, top.join(link)).unwrap();
        }
        for (path, real) in [
            ("link/inner", "real/inner"),
            ("twice/x/y", "real/inner/x/y"),
            ("twice/../z", "real/z"),
            ("missing/../link/z", "real/z"),
            ("missing/deep/../../link", "real"),
            ("dangling/z", "dangling/z"),
            ("file/z", "file/z"),
            ("file/../link", "real"),
            ("here/here/./file", "file"),
            ("new//name", "new/name"),
        ] {
            assert_eq!(canonical(&top.join(path)).unwrap(), top.join(real), "{path}");
        }
        for path in ["round/x", &"here/".repeat(60)] {
            assert_eq!(canonical(&top.join(path)).unwrap_err().code(), "path_unreadable", "{path}");
        }
    }

    #[test]
    fn inv_i5_subdirectories_symlinks_slashes_and_unborn_files_are_one_checkout() {
        let area = Area::new();
        let repo = area.repo("repo");
        let expected = GitCheckout { top: repo.clone(), common: repo.join(".git"), main: repo.clone() };
        fs::create_dir_all(repo.join("src/deep")).unwrap();
        fs::write(repo.join("src/file"), "").unwrap();
        symlink(&repo, area.path("link")).unwrap();
        for path in ["repo", "repo/", "repo/src/deep//", "repo/src/file", "link", "link/src/", "repo/src/../src"] {
            assert_eq!(at(&area.path(path)), expected, "{path}");
        }
        for path in ["repo/new/file", "repo/src/file/below", "repo/gone/../other", "repo/.git/hooks", "link/new"] {
            assert_eq!(at(&area.path(path)), expected, "{path}");
        }
        assert_eq!(at(&repo.join("x".repeat(300)).join("y")), expected);
        assert_eq!(locate(&area.path("repo/gone/../../x")).unwrap(), None);
        assert_eq!(locate(&area.path(".")).unwrap(), None);
    }

    #[test]
    fn inv_i5_worktrees_share_the_common_directory_wherever_they_are() {
        let area = Area::new();
        let repo = area.repo("repo");
        git(&repo, &["worktree", "add", "-q", "../side"]);
        git(&repo, &["worktree", "add", "-q", "nested/tree"]);
        for top in [area.path("side"), repo.join("nested/tree")] {
            fs::create_dir(top.join("sub")).unwrap();
            let found = at(&top.join("sub"));
            assert_eq!(found, GitCheckout { top, common: repo.join(".git"), main: repo.clone() });
        }
        assert_eq!(at(&repo.join("nested")).top, repo);
    }

    #[test]
    fn inv_i5_a_submodule_is_a_project_of_its_own_with_its_own_worktrees() {
        let area = Area::new();
        let (repo, lib) = (area.repo("repo"), area.repo("lib"));
        git(&repo, &["submodule", "--quiet", "add", lib.to_str().unwrap(), "vendor/lib"]);
        let sub = repo.join("vendor/lib");
        let common = repo.join(".git/modules/vendor/lib");
        let expected = GitCheckout { top: sub.clone(), common: common.clone(), main: sub.clone() };
        assert_eq!(at(&sub), expected);
        assert_eq!(at(&common.join("hooks")), expected);
        git(&sub, &["worktree", "add", "-q", area.path("libtree").to_str().unwrap()]);
        assert_eq!(at(&area.path("libtree")), GitCheckout { top: area.path("libtree"), common, main: sub });
        assert_eq!(at(&repo.join("vendor")).common, repo.join(".git"));
    }

    #[test]
    fn inv_i5_a_bare_repository_and_its_worktrees_are_one_project() {
        let area = Area::new();
        let repo = area.repo("repo");
        git(&repo, &["clone", "-q", "--bare", ".", "../store.git"]);
        let bare = area.path("store.git");
        git(&bare, &["worktree", "add", "-q", "../tree"]);
        let inside = GitCheckout { top: bare.clone(), common: bare.clone(), main: bare.clone() };
        assert_eq!(at(&bare), inside);
        assert_eq!(at(&bare.join("refs/heads")), inside);
        assert_eq!(at(&area.path("tree")), GitCheckout { top: area.path("tree"), ..inside.clone() });
        // With this extension git moves `core.bare` to a file of its own.
        git(&bare, &["config", "extensions.worktreeConfig", "true"]);
        git(&bare, &["config", "--unset", "core.bare"]);
        git(&bare, &["config", "--worktree", "core.bare", "true"]);
        assert_eq!(at(&bare), inside);

        fs::create_dir(area.path("proj")).unwrap();
        git(&repo, &["clone", "-q", "--bare", ".", "../proj/.bare"]);
        fs::write(area.path("proj/.git"), "gitdir: ./.bare\n").unwrap();
        git(&area.path("proj"), &["worktree", "add", "-q", "feature"]);
        for path in ["proj", "proj/feature", "proj/.bare/refs"] {
            let found = at(&area.path(path));
            assert_eq!((found.common, found.main), (area.path("proj/.bare"), area.path("proj")), "{path}");
        }
    }

    #[test]
    fn inv_i5_separate_and_symlinked_git_directories_are_followed() {
        let area = Area::new();
        git(&area.path("."), &["init", "-q", "--separate-git-dir", "meta", "apart"]);
        let apart = GitCheckout { top: area.path("apart"), common: area.path("meta"), main: area.path("apart") };
        assert_eq!(at(&area.path("apart")), apart);
        let repo = area.repo("repo");
        fs::create_dir(area.path("view")).unwrap();
        symlink(repo.join(".git"), area.path("view/.git")).unwrap();
        let view = at(&area.path("view"));
        assert_eq!(view, GitCheckout { top: area.path("view"), common: repo.join(".git"), main: repo });
    }

    #[test]
    fn inv_c4_a_broken_git_is_an_error_that_names_the_file() {
        let area = Area::new();
        let repo = area.repo("repo");
        git(&repo, &["worktree", "add", "-q", "../side"]);
        let refuse = |path: &Path, part: &str| {
            let error = locate(path).unwrap_err();
            assert_eq!((error.kind(), error.code().as_str()), (Kind::Storage, "git_broken"));
            assert!(error.message().contains(".git") && error.message().contains(part), "{error}");
        };
        fs::rename(&repo, area.path("moved")).unwrap();
        refuse(&area.path("side"), "does not exist");
        git(&area.path("moved"), &["worktree", "repair", "../side"]);
        assert_eq!(at(&area.path("side")).common, area.path("moved/.git"));
        for (text, part) in
            [("", "begin"), ("gitdir: ", "nothing"), ("garbage", "begin"), ("gitdir: ..\n", "not a git")]
        {
            fs::write(area.path("side/.git"), text).unwrap();
            refuse(&area.path("side"), part);
        }
        fs::remove_file(area.path("side/.git")).unwrap();
        symlink("nowhere", area.path("side/.git")).unwrap();
        refuse(&area.path("side"), "nowhere");
        fs::remove_file(area.path("moved/.git/HEAD")).unwrap();
        refuse(&area.path("moved"), "HEAD");
    }

    #[test]
    fn an_empty_dot_git_is_passed_over_as_git_does() {
        let area = Area::new();
        let repo = area.repo("repo");
        fs::create_dir_all(repo.join("sub/.git")).unwrap();
        assert_eq!(at(&repo.join("sub")).top, repo);
    }
}
