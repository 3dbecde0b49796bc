//! The messages of a refused commit or push: what, who, what helps now, how a person overrides, and what can go on.
//! Names and reasons come from others: they are quoted on one line and are never commands.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use tenure_core::Span;
use tenure_core::text::{cut, hidden, quote};
use tenure_kernel::answer::{Committing, Late, LostFile, Pushing, TakenFile};

use super::git_command::GitPath;
use crate::setup::target::quoted;

/// Most files that are told one by one.
const TOLD: usize = 8;
/// Most files in the narrower commit, and most characters of them.
const REST: usize = 20;
const REST_LONG: usize = 1_500;

/// What else is staged.
pub(super) struct StagedRest<'a> {
    pub(super) staged: &'a [GitPath],
    pub(super) is_merging: bool,
    /// Files that get another name, old and new; none where that is not known.
    pub(super) renames: Option<Vec<(OsString, OsString)>>,
    /// The top of the checkout, where git was called from below it.
    pub(super) top: Option<PathBuf>,
}

fn span(seconds: i64) -> Span {
    Span::seconds(seconds)
}

fn shown(path: &str) -> String {
    cut(path, 120)
}

/// Who holds a file: alive, since when, until when, for what.
fn holder(taken: &TakenFile) -> String {
    let blocker = &taken.blocker;
    let why = if blocker.reason.is_empty() { String::new() } else { format!(", for {}", quote(&blocker.reason, 60)) };
    let wide = if taken.all_checkouts { ", in all checkouts" } else { "" };
    format!(
        "{} is {} (last seen {} ago), has held {} ({}{wide}){} for {} and keeps it for {} unless renewed{why}",
        blocker.holder,
        blocker.liveness.as_str(),
        span(blocker.last_seen_s),
        shown(blocker.pattern.as_deref().unwrap_or_default()),
        blocker.mode,
        blocker.whereabouts(),
        span(blocker.age_s),
        span(blocker.expires_in_s),
    )
}

/// How an own hold was lost, and who has had the file since.
fn loss(lost: &LostFile) -> String {
    let how = match lost.how.as_str() {
        "forced" => "was ended by a person",
        "transferred" => "was transferred",
        _ => "expired",
    };
    let did = if lost.changed { "changed it" } else { "took it" };
    format!("your hold on it {how} {} ago, and {} {did} {} ago", span(lost.ago_s), lost.by, span(lost.since_s))
}

fn what(found: &Committing) -> String {
    let files = |count: usize| if count == 1 { "1 staged file".to_owned() } else { format!("{count} staged files") };
    match (found.taken.as_slice(), found.lost.as_slice()) {
        ([one], []) => format!("{} is held by {}", shown(&one.path), one.blocker.holder),
        ([], [one]) => format!("your hold on {} was lost, and {} took it after that", shown(&one.path), one.by),
        (taken, []) => format!("{} are held by other agents", files(taken.len())),
        ([], lost) => format!("of {} your holds were lost, and other agents took them after that", files(lost.len())),
        (taken, lost) => {
            let lost = files(lost.len());
            format!("{} held by other agents, and {lost} whose holds you lost to them", files(taken.len()))
        }
    }
}

/// The one line that a person is told.
pub(super) fn warned(found: &Committing) -> String {
    let first = match (found.taken.first(), found.lost.first()) {
        (Some(taken), _) => format!("{}: {}", shown(&taken.path), holder(taken)),
        (None, Some(lost)) => format!("{}: {}", shown(&lost.path), loss(lost)),
        (None, None) => String::new(),
    };
    let more = (found.taken.len() + found.lost.len()).saturating_sub(1);
    let more = if more == 0 {
        String::new()
    } else {
        format!(
            "; {more} more are held by or were lost to other \
                                                              agents"
        )
    };
    format!("tenure: warning, the commit continues: {first}{more}")
}

/// The refusal of a commit.
pub(super) fn refused(found: &Committing, rest: &StagedRest<'_>, is_unknown: bool) -> String {
    let mut lines = vec![format!("tenure: the commit is refused: {}", what(found))];
    let taken = found.taken.iter().map(|taken| format!("  {}: {}", shown(&taken.path), holder(taken)));
    let lost = found.lost.iter().map(|lost| format!("  {}: {}", shown(&lost.path), loss(lost)));
    listed(&mut lines, taken.chain(lost), found.taken.len() + found.lost.len());
    unknown(&mut lines, is_unknown);
    lines.push("Try:".to_owned());
    match found.taken.first() {
        // An id is known in its own project.
        Some(taken) if taken.blocker.project.is_some() => {
            let word = word(&format!("./{}", taken.path)).unwrap_or_default();
            lines.push(format!("  tenure holds {word}").trim_end().to_owned());
        }
        Some(taken) => {
            lines.push(format!("  tenure why {}", taken.blocker.id));
            lines.push(format!("  tenure send --about {} \"may I commit it?\"", taken.blocker.id));
        }
        None => {}
    }
    if let Some(lost) = found.lost.first() {
        let word = word(&format!("./{}", lost.path)).unwrap_or_else(|| "PATH".to_owned());
        lines.push(format!(
            "  tenure reserve {word}    (after you have checked its current content; then commit \
                            again)"
        ));
    }
    let of_own = "A person can end the hold: `release` with its id and --force.";
    lines.push(found.taken.first().map_or(of_own, |taken| taken.blocker.override_by_person()).to_owned());
    lines.push(narrower(found, rest));
    lines.join("\n")
}

/// The commit of what is in nobody's way. It names no more than a line has room for, and is a hint: `--only` takes the
/// files as they are in the working tree.
fn narrower(found: &Committing, rest: &StagedRest<'_>) -> String {
    let refused: BTreeSet<&str> = found.taken.iter().map(|taken| taken.path.as_str()).collect();
    let lost: BTreeSet<&str> = found.lost.iter().map(|lost| lost.path.as_str()).collect();
    let is_free = |name: &&GitPath| !refused.contains(name.text.as_str()) && !lost.contains(name.text.as_str());
    let stays: BTreeSet<&OsStr> =
        rest.staged.iter().filter(|name| !is_free(name)).map(|name| name.raw.as_os_str()).collect();
    // Half of a rename is a deletion, or a copy.
    let renames = rest.renames.as_deref().unwrap_or_default();
    let is_half = |name: &&GitPath| {
        let other = |(old, new): &(OsString, OsString)| {
            (*old == name.raw && stays.contains(new.as_os_str()))
                || (*new == name.raw && stays.contains(old.as_os_str()))
        };
        renames.iter().any(other)
    };
    let free: Vec<&GitPath> = rest.staged.iter().filter(is_free).collect();
    let fine: Vec<&GitPath> = free.iter().copied().filter(|name| !is_half(name)).collect();
    match fine.len() {
        0 if free.is_empty() => return "Nothing else is staged.".to_owned(),
        0 => return "The other staged file is part of the same rename.".to_owned(),
        count if rest.is_merging => {
            return format!(
                "The other {count} can be committed only with the whole merge, after the holder has \
                            finished."
            );
        }
        _ => {}
    }
    let mut words: Vec<String> = Vec::new();
    for word in fine.iter().filter_map(|name| name.raw.to_str().and_then(word)) {
        if words.len() < REST && words.iter().map(String::len).sum::<usize>() + word.len() < REST_LONG {
            words.push(word);
        }
    }
    let left = fine.len() - words.len();
    // A line that names only some of them would be taken for all.
    if left > 0 || rest.renames.is_none() {
        let (files, are) = if fine.len() == 1 { ("file", "is") } else { ("files", "are") };
        return format!("{} other staged {files} {are} free: commit related files by name.", fine.len());
    }
    let top = rest.top.as_ref().and_then(|top| top.to_str()).and_then(word);
    let top = top.map_or(String::new(), |top| format!("-C {top} "));
    let is_magic = |word: &String| word.contains([':', '*', '?', '[', '\\']);
    let literal = if words.iter().any(is_magic) { "--literal-pathspecs " } else { "" };
    format!("The rest can be committed now:\n  git {top}{literal}commit --only -- {}", words.join(" "))
}

/// A name as a word for a shell; none for one that would look like something else on a terminal.
fn word(name: &str) -> Option<String> {
    hidden(name).next().is_none().then(|| quoted(name))
}

fn listed(lines: &mut Vec<String>, all: impl Iterator<Item = String>, count: usize) {
    lines.extend(all.take(TOLD));
    if count > TOLD {
        lines.push(format!("  and {} more", count - TOLD));
    }
}

fn unknown(lines: &mut Vec<String>, is_unknown: bool) {
    if is_unknown {
        lines.push("  The session is unknown. If the hold is your own, set TENURE_AGENT to your name.".to_owned());
    }
}

fn late(one: &Late) -> String {
    format!("{} in {}: {}", shown(&one.taken.path), cut(&one.commit, 12), holder(&one.taken))
}

/// The one line that a person is told.
pub(super) fn push_warned(found: &Pushing) -> String {
    let first = found.late.first().map_or(String::new(), late);
    let more = found.late.len().saturating_sub(1);
    let more = if more == 0 { String::new() } else { format!("; {more} more") };
    format!("tenure: warning, the push continues: {first}{more}")
}

/// The refusal of a push.
pub(super) fn push_refused(found: &Pushing, is_unknown: bool) -> String {
    let files = if found.late.len() == 1 { "a file".to_owned() } else { format!("{} files", found.late.len()) };
    let mut lines = vec![format!("tenure: the push is refused: its commits change {files} that other agents hold")];
    listed(&mut lines, found.late.iter().map(|one| format!("  {}", late(one))), found.late.len());
    unknown(&mut lines, is_unknown);
    lines.push("Try:".to_owned());
    if let Some(one) = found.late.first() {
        lines.push(format!("  tenure why {}", one.taken.blocker.id));
        lines.push(format!("  tenure send --about {} \"may I push it?\"", one.taken.blocker.id));
        let commit: String = one.commit.chars().filter(char::is_ascii_hexdigit).take(12).collect();
        lines.push(format!("  git log --oneline {commit}~1    (the commits before it can be pushed)"));
    }
    lines.push("A person can end the hold: `release` with its id and --force.".to_owned());
    lines.join("\n")
}
