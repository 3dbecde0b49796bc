//! Running git, in the environment that git gave its hook.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tenure_core::{Result, Time};
use tenure_kernel::query::may_push::Made;
use tenure_store::{Entropy, OsEntropy};

use super::git_failed;
use crate::workspace::path_args::spelled;

/// How long git may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much of an answer is read. More than a million names is no commit that anybody makes.
const ANSWER_MAX: u64 = 128 << 20;
/// The same for commits that are pushed, of which only the newest are looked at.
const PUSHED_BYTES: u64 = 16 << 20;
const PUSHED_COMMITS: &str = "-n500";
/// Most files that are named in a question; more are asked about by asking about all.
const NAMED_MAX: usize = 500;

/// A path as git knows it and as Tenure writes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GitPath {
    pub(super) text: String,
    pub(super) raw: OsString,
}

impl GitPath {
    fn of(raw: &[u8]) -> GitPath {
        let raw = OsStr::from_bytes(raw);
        GitPath { text: spelled(Path::new(raw)), raw: raw.to_owned() }
    }
}

/// The files that the commit under way changes: added, changed, deleted, and both names of one that was renamed.
pub(super) fn staged() -> Result<Vec<GitPath>> {
    let args = ["diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty"];
    let answer = git(&args, &[], ANSWER_MAX).filter(|answer| !answer.is_cut && answer.is_well);
    Ok(names(&answer.ok_or_else(|| git_failed("the staged files"))?.bytes))
}

/// The files that the commit under way gives another name, old and new. Nothing where git does not say.
pub(super) fn renames() -> Option<Vec<(OsString, OsString)>> {
    let args = ["diff", "--cached", "--name-status", "-z", "-M", "--diff-filter=R", "--no-ext-diff"];
    let answer = git(&args, &[], ANSWER_MAX).filter(|answer| !answer.is_cut && answer.is_well)?;
    let parts: Vec<&[u8]> = answer.bytes.split(|byte| *byte == 0).collect();
    let own = |name: &[u8]| OsStr::from_bytes(name).to_owned();
    Some(parts.chunks_exact(3).map(|part| (own(part[1]), own(part[2]))).collect())
}

/// Whether the last commit is a merge.
pub(super) fn is_merge() -> bool {
    git(&["rev-parse", "-q", "--verify", "HEAD^2"], &[], 1 << 10).is_some_and(|answer| answer.is_well)
}

/// The commit that was just made, and its files: of a merge, what it brought to the branch.
pub(super) fn head() -> Result<Option<(String, Vec<GitPath>)>> {
    let args =
        ["log", "-1", "-z", "--format=%H", "--name-only", "--no-renames", "--no-ext-diff", "-m", "--first-parent"];
    let answer = git(&[args.as_slice(), &["--ignore-submodules=dirty", "HEAD"]].concat(), &[], ANSWER_MAX)
        .filter(|answer| answer.is_well || answer.is_cut)
        .ok_or_else(|| git_failed("the committed files"))?;
    Ok(parse_log(&answer.bytes, b"").into_iter().next())
}

/// Which of some files differ from the commit, or are not in it. Nothing where git does not say.
pub(super) fn dirty(files: &[GitPath]) -> Option<Vec<OsString>> {
    let args = ["--literal-pathspecs", "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"];
    let args = [args.as_slice(), &["--ignore-submodules=dirty", "--"]].concat();
    let named: Vec<&OsStr> = match files.len() {
        0..=NAMED_MAX => files.iter().map(|file| file.raw.as_os_str()).collect(),
        _ => Vec::new(),
    };
    let answer = git(&args, &named, ANSWER_MAX).filter(|answer| answer.is_well && !answer.is_cut)?;
    let entries = answer.bytes.split(|byte| *byte == 0).filter_map(|entry| entry.get(3..));
    Some(entries.map(|path| OsStr::from_bytes(path).to_owned()).collect())
}

/// Whether a merge is under way, in which git makes no commit of some files only.
pub(super) fn is_merging() -> bool {
    git(&["rev-parse", "-q", "--verify", "MERGE_HEAD"], &[], 1 << 10).is_some_and(|answer| answer.is_well)
}

/// The newest commits that some tips have and the other side does not, as far as is known here.
pub(super) fn outgoing(tips: &[String], known: &[String], remote: &str) -> Result<Vec<Made>> {
    // Drawn anew each time: no name of a file can be taken for the head of a commit.
    let mut drawn = [0; 16];
    OsEntropy.fill(&mut drawn);
    let mark: String = drawn.iter().map(|byte| format!("{byte:02x}")).collect();
    let format = format!("--format={mark}%H %ct");
    let remotes = format!("--remotes={remote}");
    let mut args = vec!["log", "--ignore-missing", PUSHED_COMMITS, "-z", &format, "--name-only", "--no-renames"];
    args.extend(["--no-ext-diff", "--no-merges", "--ignore-submodules=dirty"]);
    args.extend(tips.iter().map(String::as_str));
    args.push("--not");
    args.extend(known.iter().map(String::as_str));
    if !remote.is_empty() {
        args.push(&remotes);
    }
    args.push("--");
    let answer = git(&args, &[], PUSHED_BYTES)
        .filter(|answer| answer.is_well || answer.is_cut)
        .ok_or_else(|| git_failed("the pushed files"))?;
    let made = parse_log(&answer.bytes, mark.as_bytes()).into_iter().filter_map(|(head, files)| {
        let (id, at) = head.split_once(' ')?;
        let at = Time(at.parse::<i64>().ok()?.saturating_mul(1_000_000));
        Some(Made { id: id.to_owned(), at, paths: files.into_iter().map(|file| file.text).collect() })
    });
    Ok(made.collect())
}

/// Reads what `git log -z --name-only` prints: a head that begins with a mark, then a newline before its first name.
fn parse_log(bytes: &[u8], mark: &[u8]) -> Vec<(String, Vec<GitPath>)> {
    let mut found: Vec<(String, Vec<GitPath>)> = Vec::new();
    let mut is_first = false;
    for part in bytes.split(|byte| *byte == 0) {
        let head = part.strip_prefix(mark).filter(|_| found.is_empty() || !mark.is_empty());
        match (head, found.last_mut()) {
            (Some(head), _) => {
                found.push((String::from_utf8_lossy(head).trim().to_owned(), Vec::new()));
                is_first = true;
            }
            (None, Some((_, names))) => {
                let name = if is_first { part.strip_prefix(b"\n").unwrap_or(part) } else { part };
                is_first = false;
                if !name.is_empty() {
                    names.push(GitPath::of(name));
                }
            }
            (None, None) => {}
        }
    }
    found.retain(|(head, _)| !head.is_empty());
    found
}

fn names(bytes: &[u8]) -> Vec<GitPath> {
    let mut names: Vec<GitPath> =
        bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(GitPath::of).collect();
    names.sort();
    names.dedup();
    names
}

/// What git answered.
struct GitAnswer {
    bytes: Vec<u8>,
    /// Whether there was more than is read.
    is_cut: bool,
    /// Whether git ended well.
    is_well: bool,
}

fn git(args: &[&str], files: &[&OsStr], most: u64) -> Option<GitAnswer> {
    let mut command = Command::new("git");
    command
        // A file system monitor is a program that the repository's configuration names; the others change what is said.
        .args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "diff.relative=false", "-c", "log.showRoot=true"])
        .args(["-c", "log.showSignature=false", "-c", "status.relativePaths=false"])
        .args(args)
        .args(files)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut stdout = child.stdout.take()?;
    let (say, hear) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.by_ref().take(most + 1).read_to_end(&mut bytes);
        // Whoever waited may have given up.
        let _ = say.send(read.map(|_| bytes));
    });
    let heard = hear.recv_timeout(PATIENCE);
    let is_cut = heard.as_ref().is_ok_and(|read| read.as_ref().is_ok_and(|bytes| bytes.len() as u64 > most));
    if heard.is_err() || is_cut {
        let _ = child.kill();
    }
    let is_well = child.wait().is_ok_and(|status| status.success());
    let mut bytes = heard.ok()?.ok()?;
    if is_cut {
        // The last name may be half of one.
        let end = bytes.iter().rposition(|byte| *byte == 0).unwrap_or(0);
        bytes.truncate(end);
    }
    Some(GitAnswer { bytes, is_cut, is_well })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_r10_names_are_names_whatever_they_look_like() {
        let log = b"MARKaa 5\0\nx y\0\n\nz\0aa 6\0MARbb\0MARKcc 7\0\n\xff\0";
        let read = parse_log(log, b"MARK");
        let texts = |at: usize| read[at].1.iter().map(|name| name.text.as_str()).collect::<Vec<_>>();
        assert_eq!((read[0].0.as_str(), read[1].0.as_str(), read.len()), ("aa 5", "cc 7", 2));
        assert_eq!(texts(0), ["x y", "\n\nz", "aa 6", "MARbb"]);
        assert_eq!(texts(1), ["%FF"]);
        let one = parse_log(b"abc\0\nfirst\0abc\0", b"");
        assert_eq!(one.len(), 1);
        assert_eq!(one[0].1.iter().map(|name| name.text.as_str()).collect::<Vec<_>>(), ["first", "abc"]);
        assert!(parse_log(b"", b"").is_empty());
        assert!(parse_log(b"abc\0", b"")[0].1.is_empty());
    }
}
