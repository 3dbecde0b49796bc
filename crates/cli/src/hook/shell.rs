//! The shell guard: a command that changes files all over a checkout is refused while others hold paths there, one that
//! changes some while others hold those. It reads the command line by its words, so it is best effort; it holds nothing
//! and writes nothing.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use tenure_core::Result;
use tenure_core::shell::{Step, Threat, threats};
use tenure_kernel::query::check::Question;
use tenure_kernel::shape::Checked;
use tenure_kernel::{Call, Kernel};

use super::door::Door;
use super::refusal;
use crate::env::Env;
use crate::place::remote::Settings;
use crate::place::{git, typed};

/// Most directories that one command is looked for in.
const PLACES: usize = 64;
/// Most paths that are asked about one by one.
const PATHS: usize = 64;

/// What a command line would do in one directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Risk {
    pub(super) what: String,
    pub(super) dir: PathBuf,
    /// What it is limited to, seen from the directory; none for the whole tree.
    paths: Option<Vec<String>>,
}

/// What a command line would do to files of others, once for each directory that a part of it may run in.
pub(super) fn risks(line: &str, cwd: &Path, env: &Env) -> Vec<Risk> {
    // Most command lines have nothing to do with it.
    if !line.contains("git") && !line.contains("gh") && !line.contains('\\') && !line.contains(['\'', '"']) {
        return Vec::new();
    }
    let settings = OnceCell::new();
    let aliases = |name: &str| {
        let settings: &Settings = settings.get_or_init(|| match git::locate(cwd) {
            Ok(Some(checkout)) => Settings::read_all(&checkout.common, env),
            _ => Settings::read_all(Path::new("/nonexistent"), env),
        });
        let is = settings.last("alias", None, &name.to_ascii_lowercase())?;
        Some(String::from_utf8_lossy(is).into_owned())
    };
    let mut found: Vec<Risk> = Vec::new();
    for Threat { what, dirs, paths, unless_file } in threats(line, &aliases) {
        for dir in places(cwd, &dirs, env) {
            // `git checkout NAME` of something that is there brings back that alone.
            let file = unless_file.iter().find(|file| is_file(&dir, file));
            let paths = file.map(|file| vec![file.clone()]).or_else(|| paths.clone());
            let has_room = found.len() < PLACES;
            match found.iter_mut().find(|risk| risk.dir == dir) {
                // One look is made for each directory, whatever happens there.
                Some(risk) => match (&mut risk.paths, paths) {
                    (Some(known), Some(paths)) if known.len() + paths.len() <= PATHS => known.extend(paths),
                    (None, _) => {}
                    (known, paths) => {
                        *known = None;
                        risk.what = if paths.is_none() { what.clone() } else { risk.what.clone() };
                    }
                },
                None if has_room => {
                    let paths = paths.filter(|paths| paths.len() <= PATHS);
                    found.push(Risk { what: what.clone(), dir, paths });
                }
                None => {}
            }
        }
    }
    found
}

/// The directories that a command may run in: a step that may not be taken leaves those before it.
fn places(cwd: &Path, steps: &[Step], env: &Env) -> Vec<PathBuf> {
    let mut seen = vec![cwd.to_path_buf()];
    let mut now = seen.clone();
    for step in steps {
        let (to, stays): (&str, fn(&Path) -> bool) = match step {
            Step::Back => {
                now.clone_from(&seen);
                continue;
            }
            Step::Into(to) => (to, |_| false),
            Step::Sure(to) => (to, |there| !there.is_dir()),
            Step::Maybe(to) => (to, |_| true),
        };
        let mut next = Vec::new();
        for dir in now {
            let there = stepped(&dir, to, env);
            let stay = stays(&there).then_some(dir);
            for dir in stay.into_iter().chain([there]) {
                if !next.contains(&dir) && next.len() < PLACES {
                    next.push(dir);
                }
            }
        }
        now = next;
        let new: Vec<PathBuf> = now.iter().filter(|dir| !seen.contains(dir)).cloned().collect();
        seen.extend(new.into_iter().take(PLACES.saturating_sub(seen.len())));
    }
    now
}

fn stepped(dir: &Path, step: &str, env: &Env) -> PathBuf {
    match (step.strip_prefix('~'), env.home()) {
        (Some(""), Some(home)) => home,
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ if step == "." => dir.to_path_buf(),
        _ => dir.join(step),
    }
}

/// Whether a name is that of something in the tree: `git checkout NAME` brings back that alone.
fn is_file(dir: &Path, name: &str) -> bool {
    std::fs::symlink_metadata(dir.join(name)).is_ok()
}

/// The paths of a risk as patterns of the checkout; none where they are the whole of it.
fn patterns(top: &Path, risk: &Risk) -> Result<Option<Vec<String>>> {
    let Some(paths) = &risk.paths else { return Ok(None) };
    let mut patterns = Vec::new();
    for path in paths {
        let path = risk.dir.join(path);
        let real = match (path.parent(), path.file_name()) {
            (Some(parent), Some(last)) => git::canonical(parent)?.join(last),
            _ => git::canonical(&path)?,
        };
        // By another way to the top it is the top all the same.
        if top.starts_with(&real) || git::canonical(&real).is_ok_and(|real| top.starts_with(real)) {
            return Ok(None);
        }
        // What is not there may come back as a file or as a directory; what is outside, git refuses itself.
        let meta = std::fs::symlink_metadata(&real).ok();
        let is_dir = meta.as_ref().is_some_and(std::fs::Metadata::is_dir);
        let kinds = if meta.is_none() { vec![false, true] } else { vec![is_dir] };
        patterns.extend(kinds.into_iter().filter_map(|below| typed::literal(top, &real, below)));
    }
    Ok(Some(patterns))
}

/// Why a command is refused; nothing where nobody else holds what it changes.
pub(super) fn refused(door: &Door<'_>, agent: &str, risk: &Risk) -> Result<Option<String>> {
    let patterns = patterns(&door.context.place()?.dir, risk)?;
    if patterns.as_ref().is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    let is_whole = patterns.is_none();
    let question = patterns.map(|paths| -> Result<Question> {
        Ok(Question { paths, fold_case: typed::folds_case(&door.context)?, ..Question::default() })
    });
    let question = question.transpose()?;
    let look = |kernel: &Kernel, call: &Call| match &question {
        None => kernel.others_here(call),
        Some(question) => {
            let mut found = kernel.check(call, question)?;
            // Whoever only waits for it has no work there yet.
            found.blockers.retain(|blocker| blocker.state != "waiting");
            found.free = found.blockers.is_empty();
            Ok(found)
        }
    };
    let mut others: Checked = door.ask(agent, look)?;
    if !others.free {
        // Whoever is dead is not at work; whether one is costs a look at processes, which is made only now. Where that
        // look fails, what was found stands.
        let dead = door.dead(agent).unwrap_or_default();
        let again = |kernel: &Kernel, call: &Call| look(kernel, &Call { proven_dead: dead.clone(), ..call.clone() });
        others = if dead.is_empty() { others } else { door.ask(agent, again).unwrap_or(others) };
    }
    Ok((!others.free).then(|| refusal::of_command(&risk.what, is_whole, &others.blockers, others.total)))
}
