//! The shell guard: a command that changes files all over a checkout is refused while others hold paths there, one that
//! changes some while others hold those. It reads the command line by its words, so it is best effort; it holds nothing
//! and writes nothing.

mod directories;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use tenure_client::Client;
use tenure_core::Result;
use tenure_core::shell::{Threat, Trees, threats};
use tenure_kernel::Call;
use tenure_kernel::answer::Checked;
use tenure_kernel::query::check::Check;
use tenure_kernel::query::others_here::OthersHere;

use super::refusal;
use super::session::HookSession;
use crate::env::Env;
use crate::workspace::git_config::GitSettings;
use crate::workspace::{git, path_args};
use directories::ShellDirectories;

/// Most directories that are looked at for one line.
const PLACES: usize = 64;
/// Most paths that are asked about one by one.
const PATHS: usize = 64;

/// What a command line would do in one directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShellRisk {
    pub(super) what: String,
    pub(super) dir: PathBuf,
    /// What it is limited to, seen from the directory; none for the whole tree.
    paths: Option<Vec<String>>,
}

/// What a command line would do to files of others, once for each directory that a part of it may run in.
pub(super) fn risks(line: &str, cwd: &Path, env: &Env) -> Vec<ShellRisk> {
    // Most command lines have nothing to do with it.
    let names = ["git", "gh", "glab", "hub", "\\", "'", "\""];
    if !names.iter().any(|name| line.contains(name)) {
        return Vec::new();
    }
    let settings = OnceCell::new();
    let aliases = |name: &str| {
        let settings: &GitSettings = settings.get_or_init(|| match git::locate(cwd) {
            Ok(Some(checkout)) => GitSettings::read_all(&checkout.common, env),
            _ => GitSettings::read_all(Path::new("/nonexistent"), env),
        });
        let is = settings.last("alias", None, &name.to_ascii_lowercase())?;
        Some(String::from_utf8_lossy(is).into_owned())
    };
    let mut found: Vec<ShellRisk> = Vec::new();
    let mut places = ShellDirectories::new(cwd, env);
    for Threat { what, dirs, paths, unless_file, trees } in threats(line, &aliases) {
        for dir in places.of(&dirs) {
            if trees != Trees::Submodules {
                // `git checkout NAME` of something that is there brings back that alone.
                let file = unless_file.iter().find(|file| is_file(&dir, file));
                let paths = file.map(|file| vec![file.clone()]).or_else(|| paths.clone());
                add(&mut found, &what, dir.clone(), paths);
            }
            if trees != Trees::Own {
                submodules(&dir).into_iter().for_each(|dir| add(&mut found, &what, dir, None));
            }
        }
    }
    found
}

/// Adds a risk. One look is made for each directory, whatever happens there.
fn add(found: &mut Vec<ShellRisk>, what: &str, dir: PathBuf, paths: Option<Vec<String>>) {
    let has_room = found.len() < PLACES;
    match found.iter_mut().find(|risk| risk.dir == dir) {
        Some(risk) => match (&mut risk.paths, paths) {
            (Some(known), Some(paths)) if known.len() + paths.len() <= PATHS => known.extend(paths),
            (None, _) => {}
            (known, paths) => {
                *known = None;
                risk.what = if paths.is_none() { what.to_owned() } else { risk.what.clone() };
            }
        },
        None if has_room => {
            let paths = paths.filter(|paths| paths.len() <= PATHS);
            found.push(ShellRisk { what: what.to_owned(), dir, paths });
        }
        None => {}
    }
}

/// The working trees of the submodules of the checkout around a directory, as its `.gitmodules` names them.
fn submodules(dir: &Path) -> Vec<PathBuf> {
    let Ok(Some(checkout)) = git::locate(dir) else { return Vec::new() };
    let paths = GitSettings::read_file(&checkout.top.join(".gitmodules")).each("submodule", "path");
    let inside = |path: &String| !path.starts_with('/') && !path.split('/').any(|part| part == "..");
    paths.iter().filter(|path| inside(path)).take(PLACES).map(|path| checkout.top.join(path)).collect()
}

/// Whether a name is that of something in the tree: `git checkout NAME` brings back that alone.
fn is_file(dir: &Path, name: &str) -> bool {
    std::fs::symlink_metadata(dir.join(name)).is_ok()
}

/// The paths of a risk as patterns of the checkout; none where they are the whole of it.
fn patterns(top: &Path, risk: &ShellRisk) -> Result<Option<Vec<String>>> {
    let Some(paths) = &risk.paths else { return Ok(None) };
    let mut patterns = Vec::new();
    for path in paths {
        let path = git::nameable(risk.dir.join(path))?;
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
        patterns.extend(kinds.into_iter().filter_map(|below| path_args::literal(top, &real, below)));
    }
    Ok(Some(patterns))
}

/// The reason to refuse a command; none where no other agent holds what it changes.
pub(super) fn refused(hook_session: &HookSession<'_>, agent: &str, risk: &ShellRisk) -> Result<Option<String>> {
    let patterns = patterns(&hook_session.context.workspace.dir, risk)?;
    if patterns.as_ref().is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    let is_whole = patterns.is_none();
    let question = patterns.map(|paths| -> Result<Check> {
        Ok(Check { paths, fold_case: path_args::folds_case(&hook_session.context.workspace)?, ..Check::default() })
    });
    let question = question.transpose()?;
    let look = |client: &Client, call: &Call| match &question {
        None => client.ask(call, &OthersHere {}),
        Some(question) => {
            let mut found = client.ask(call, question)?;
            // An agent that only waits for a file has no work in it yet.
            found.blockers.retain(|blocker| blocker.state != "waiting");
            found.free = found.blockers.is_empty();
            Ok(found)
        }
    };
    let mut others: Checked = hook_session.ask(agent, look)?;
    if !others.free {
        // A dead agent is not at work. Looking at processes costs time, so it is done only after a refusal; where it fails,
        // the refusal stands.
        let dead = hook_session.dead(agent).unwrap_or_default();
        let again = |client: &Client, call: &Call| look(client, &Call { proven_dead: dead.clone(), ..call.clone() });
        others = if dead.is_empty() { others } else { hook_session.ask(agent, again).unwrap_or(others) };
    }
    Ok((!others.free).then(|| refusal::of_command(&risk.what, is_whole, &others.blockers, others.total)))
}

#[cfg(test)]
mod lines;
