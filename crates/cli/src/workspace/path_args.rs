//! Paths as they were typed, turned into patterns relative to the checkout that they are in.
//!
//! A path belongs to the checkout whose `.git` is nearest above *it*, whatever the working directory. Parents that are
//! symbolic links are resolved, the last name is not: a link is a file of its own. Bytes that are not UTF-8 become `%XX`.
//!
//! A path with `*` or `?` is a glob, unless a file of exactly that name exists. `glob:` and `path:` say which it is.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tenure_core::pattern::{BYTES_MAX, Case, GLOB, PATH, Pattern, looks_like_glob};
use tenure_core::{Code, Error, Result, path_text};

use super::git;
use super::git_config::GitSettings;
use super::git_index;
use super::{Workspace, resolve, resolve_at};
use crate::env::Env;
use crate::settings::Settings;

/// Typed paths, as a request has them.
#[derive(Debug, Default)]
pub(crate) struct PathArgs {
    pub(crate) paths: Vec<String>,
    /// The targets of those paths that are symbolic links: a write through one changes the target.
    pub(crate) targets: Vec<String>,
    pub(crate) fold_case: bool,
}

impl PathArgs {
    /// The paths and their targets, each once.
    pub(crate) fn with_targets(mut self) -> Vec<String> {
        self.targets.retain(|target| !self.paths.contains(target));
        self.paths.append(&mut self.targets);
        self.paths
    }
}

/// What stands after the part of a path that was looked up.
#[derive(Debug, PartialEq, Eq)]
enum Tail {
    File,
    Below,
    Glob(String),
}

/// Finds the workspace that typed paths are in, which need not be that of the working directory, and turns them into
/// patterns of it.
pub(crate) fn locate(settings: &Settings<'_>, typed: &[OsString]) -> Result<(Workspace, PathArgs)> {
    let env = settings.env;
    let first = match typed.first() {
        Some(typed) => look_up(env.cwd()?, typed)?,
        None => return Ok((resolve(&settings.globals, env)?, PathArgs::default())),
    };
    let workspace = match git::locate(directory(&first))? {
        Some(_) => resolve_at(directory(&first), &settings.globals, env)?,
        None => resolve(&settings.globals, env)?,
    };
    let paths = read(&workspace, env, typed)?;
    Ok((workspace, paths))
}

/// The directory in which the checkout of a path is looked for.
fn directory((real, tail): &(PathBuf, Tail)) -> &Path {
    if *tail == Tail::File { real.parent().unwrap_or(real) } else { real }
}

/// Turns typed paths into patterns of a workspace. Paths in another checkout are refused.
pub(crate) fn read(workspace: &Workspace, env: &Env, typed: &[OsString]) -> Result<PathArgs> {
    if typed.is_empty() {
        return Ok(PathArgs::default());
    }
    let cwd = env.cwd()?;
    let looked_up = typed.iter().map(|typed| look_up(cwd, typed)).collect::<Result<Vec<_>>>()?;
    let top = &workspace.dir;
    for path in &looked_up {
        if git::locate(directory(path))?.is_some_and(|checkout| checkout.top != *top) {
            return Err(several());
        }
    }
    let paths = looked_up.iter().map(|(real, tail)| relative(top, real, tail)).collect::<Result<Vec<_>>>()?;
    let targets = looked_up.iter().filter(|(_, tail)| *tail == Tail::File).filter_map(|(real, _)| target(top, real));
    Ok(PathArgs { paths, targets: targets.collect(), fold_case: folds_case(workspace)? })
}

/// What a symbolic link of the checkout leads to, if that is in the checkout too.
fn target(top: &Path, link: &Path) -> Option<String> {
    fs::symlink_metadata(link).ok().filter(fs::Metadata::is_symlink)?;
    let real = fs::canonicalize(link).ok()?;
    literal(top, &real, real.is_dir())
}

/// Whether the file system of a checkout ignores case. Git tests that when it makes the repository, and records it.
pub(crate) fn folds_case(workspace: &Workspace) -> Result<bool> {
    let Some(checkout) = &workspace.checkout else { return Ok(false) };
    Ok(GitSettings::read(&checkout.common)?.flag("core", "ignorecase").unwrap_or(false))
}

fn look_up(cwd: &Path, typed: &OsStr) -> Result<(PathBuf, Tail)> {
    let bytes = typed.as_bytes();
    if bytes.len() > BYTES_MAX {
        // The usual refusal, before anything is looked up.
        return Pattern::parse(&typed.to_string_lossy(), Case::Kept).map(|_| (PathBuf::from(typed), Tail::File));
    }
    if let Some(body) = bytes.strip_prefix(GLOB.as_bytes()) {
        return look_up_glob(cwd, body);
    }
    if let Some(path) = bytes.strip_prefix(PATH.as_bytes()) {
        return look_up_path(cwd, path);
    }
    let shown;
    let bytes = match as_shown(cwd, bytes) {
        Some(meant) => {
            shown = meant;
            &shown
        }
        None => bytes,
    };
    if looks_like_glob(bytes) && !exists(cwd, bytes) { look_up_glob(cwd, bytes) } else { look_up_path(cwd, bytes) }
}

/// A glob, without its prefix: the directory before its first wildcard, and the rest.
fn look_up_glob(cwd: &Path, body: &[u8]) -> Result<(PathBuf, Tail)> {
    let is_wild = |segment: &&[u8]| segment.iter().any(|byte| b"*?[{".contains(byte));
    let segments = body.split(|byte| *byte == b'/');
    let literal: usize = segments.take_while(|segment| !is_wild(segment)).map(|part| part.len() + 1).sum();
    if literal > body.len() {
        return look_up_path(cwd, body);
    }
    let (base, rest) = body.split_at(literal);
    Ok((git::canonical(&cwd.join(OsStr::from_bytes(base)))?, Tail::Glob(path_text::name(rest))))
}

/// One path, whatever characters it has.
fn look_up_path(cwd: &Path, bytes: &[u8]) -> Result<(PathBuf, Tail)> {
    let path = cwd.join(OsStr::from_bytes(bytes));
    let last = bytes.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    match (bytes, last) {
        // The usual refusal.
        (b"", _) => Pattern::parse("", Case::Kept).map(|_| (path, Tail::File)),
        (_, b"" | b"." | b"..") => Ok((git::canonical(&path)?, Tail::Below)),
        (_, name) => {
            let parent = path.parent().unwrap_or(&path);
            let real = git::canonical(parent)?.join(OsStr::from_bytes(name));
            let below = fs::symlink_metadata(&real).is_ok_and(|meta| meta.is_dir()) && !is_gitlink(&real);
            Ok((real, if below { Tail::Below } else { Tail::File }))
        }
    }
}

/// What a path means that was copied from an answer, where names that are not UTF-8 have `%XX` in them: the file of that
/// name, unless there is one that is called just as it was typed.
fn as_shown(cwd: &Path, typed: &[u8]) -> Option<Vec<u8>> {
    let meant = path_text::bytes_of_name(str::from_utf8(typed).ok()?);
    (meant != typed && !exists(cwd, typed) && exists(cwd, &meant)).then_some(meant)
}

fn exists(cwd: &Path, typed: &[u8]) -> bool {
    fs::symlink_metadata(cwd.join(OsStr::from_bytes(typed))).is_ok()
}

/// Whether a directory is a submodule of the checkout that it lies in. That checkout has one path for it, the commit that
/// is recorded there; the files below belong to the submodule's own.
fn is_gitlink(dir: &Path) -> bool {
    let Some(Ok(Some(around))) = dir.parent().map(git::locate) else { return false };
    if !around.top.join(".gitmodules").exists() && !dir.join(".git").exists() {
        return false;
    }
    let (Ok(inside), Ok(own)) = (dir.strip_prefix(&around.top), around.own_dir()) else { return false };
    let hash = GitSettings::read(&around.common).map_or(20, |settings| settings.hash());
    git_index::has_gitlink(&own.join("index"), inside.as_os_str().as_bytes(), hash)
}

fn relative(top: &Path, real: &Path, tail: &Tail) -> Result<String> {
    let inside = real.strip_prefix(top).map_err(|_| outside(real))?;
    let text = spelled(inside);
    Ok(match tail {
        Tail::Glob(rest) if text.is_empty() => format!("{GLOB}{rest}"),
        Tail::Glob(rest) => format!("{GLOB}{}/{rest}", escaped(&text)),
        Tail::Below => format!("./{text}/"),
        Tail::File => format!("./{text}"),
    })
}

/// A file of a checkout as a pattern that means it alone, or everything below it; none for one that is outside.
pub(crate) fn literal(top: &Path, real: &Path, below: bool) -> Option<String> {
    relative(top, real, if below { &Tail::Below } else { &Tail::File }).ok()
}

/// A path as the text that patterns have for it.
pub(crate) fn spelled(path: &Path) -> String {
    path_text::name(path.as_os_str().as_bytes())
}

/// The name of a directory inside a glob: what would be a wildcard there stands in a class of its own.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '*' | '?' | '[' | '{' => _ = write!(out, "[{c}]"),
            c => out.push(c),
        }
        out
    })
}

fn outside(path: &Path) -> Error {
    let shown = tenure_core::text::cut(&spelled(path), 120);
    Error::usage(Code::PathOutside, format!("{shown} is outside the checkout"))
        .entity(shown)
        .hint("Only paths inside a checkout of the project can be held.")
}

fn several() -> Error {
    Error::usage(Code::SeveralCheckouts, "the paths are in several checkouts")
        .hint("Make one call for each checkout: holds in different checkouts are independent.")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn spell(top: &Path, cwd: &Path, typed: &str) -> Result<String> {
        let (real, tail) = look_up(cwd, OsStr::new(typed))?;
        let typed = relative(top, &real, &tail)?;
        Ok(Pattern::parse(&typed, Case::Kept)?.text().to_owned())
    }

    #[test]
    fn inv_r1_typed_paths_become_patterns_of_their_checkout() {
        let area = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(area.path()).unwrap().join("top");
        let cwd = top.join("src/[id]");
        fs::create_dir_all(&cwd).unwrap();
        fs::write(top.join("src/star*"), "").unwrap();
        symlink(top.join("src"), top.join("link")).unwrap();
        symlink(top.join("src"), top.join("src/other")).unwrap();
        for (typed, text) in [
            ("a.rs", "src/[id]/a.rs"),
            ("./x//b.rs", "src/[id]/x/b.rs"),
            ("../c.rs", "src/c.rs"),
            ("..", "src/"),
            ("../../src", "src/"),
            (".", "src/[id]/"),
            ("../..", "./"),
            ("new/", "src/[id]/new/"),
            ("../../link/c.rs", "src/c.rs"),
            ("../other", "src/other"),
            ("../glob:x", "src/glob:x"),
            ("../../glob:x", "./glob:x"),
            ("glob:*.rs", "glob:src/[[]id]/*.rs"),
            ("glob:../**/t_?.py", "glob:src/**/t_?.py"),
            ("glob:../../link/*", "glob:src/*"),
            ("glob:../../*", "glob:*"),
            ("glob:../c.rs", "src/c.rs"),
            ("*.rs", "glob:src/[[]id]/*.rs"),
            ("../t?.{rs,toml}", "glob:src/t?.{rs,toml}"),
            ("../**/", "glob:src/**/**"),
            ("../[ab].rs", "src/[ab].rs"),
            ("../star*", "src/star*"),
            ("../star*/", "glob:src/star*/**"),
            ("glob:../star*", "glob:src/star*"),
            ("path:../t?.rs", "src/t?.rs"),
            ("path:../../glob:x", "./glob:x"),
            ("path:../path:x", "src/path:x"),
            ("./path:x", "src/[id]/path:x"),
            ("-x", "src/[id]/-x"),
            ("tab\tand space", "src/[id]/tab\tand space"),
        ] {
            assert_eq!(spell(&top, &cwd, typed).unwrap(), text, "{typed}");
        }
        let absolute = top.join("src/d.rs");
        assert_eq!(spell(&top, &cwd, absolute.to_str().unwrap()).unwrap(), "src/d.rs");
        for typed in ["../../../x", "/etc/passwd", "glob:/etc/*", "/etc/*", "path:/etc/*"] {
            assert_eq!(spell(&top, &cwd, typed).unwrap_err().code(), "path_outside", "{typed}");
        }
        for typed in ["", "path:", "glob:"] {
            assert_eq!(spell(&top, &cwd, typed).unwrap_err().code(), "bad_pattern", "{typed}");
        }
        for typed in ["a/".repeat(45_000), format!("glob:{}*", "a/".repeat(45_000))] {
            assert_eq!(spell(&top, &cwd, &typed).unwrap_err().code(), "pattern_limit");
        }
        assert_eq!(spelled(Path::new(OsStr::from_bytes(b"a\xffb"))), "a%FFb");
    }

    #[test]
    fn inv_r1_a_name_that_is_not_utf8_and_one_that_is_spelled_like_it_are_two_paths() {
        let area = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(area.path()).unwrap();
        let spell = |typed: &[u8]| {
            let (real, tail) = look_up(&top, OsStr::from_bytes(typed)).unwrap();
            relative(&top, &real, &tail).unwrap()
        };
        assert_eq!(spell(b"\xff\xfe"), "./%FF%FE");
        assert_eq!(spell(b"%FF%FE"), "./%25FF%25FE");
        assert_eq!(spell(b"glob:\xff/*%FE"), "glob:%FF/*%25FE");
        assert_eq!(spell(b"foo%20bar"), "./foo%20bar");
        // As an answer shows it, it means the file that is there; a file of just that name goes first.
        fs::write(top.join(OsStr::from_bytes(b"\xff\xfe")), "").unwrap();
        assert_eq!(spell(b"%FF%FE"), "./%FF%FE");
        fs::write(top.join("%FF%FE"), "").unwrap();
        assert_eq!(spell(b"%FF%FE"), "./%25FF%25FE");
    }
}
