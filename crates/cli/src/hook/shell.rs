//! The shell guard: a command that changes files all over a checkout is refused while others hold paths there. It reads
//! the command line by its words, so it is best effort; it holds nothing and writes nothing.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use tenure_core::Result;
use tenure_core::shell::{Threat, threats};
use tenure_kernel::shape::Checked;
use tenure_kernel::{Call, Kernel};

use super::door::Door;
use super::refusal;
use crate::env::Env;
use crate::place::git;
use crate::place::remote::Settings;

/// What a command line would do to whole working trees, with the directory that each part is run in.
pub(super) fn risks(line: &str, cwd: &Path, env: &Env) -> Vec<(Threat, PathBuf)> {
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
    let found = threats(line, &aliases).into_iter().map(|threat| {
        let dir = threat.dirs.iter().fold(cwd.to_path_buf(), |dir, step| stepped(&dir, step, env));
        (threat, dir)
    });
    found.filter(|(threat, dir)| !threat.unless_file.as_ref().is_some_and(|file| is_file(dir, file))).collect()
}

fn stepped(dir: &Path, step: &str, env: &Env) -> PathBuf {
    match (step.strip_prefix('~'), env.home()) {
        (Some(""), Some(home)) => home,
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => dir.join(step),
    }
}

/// Whether a name is that of something in the tree: `git checkout NAME` brings back that alone.
fn is_file(dir: &Path, name: &str) -> bool {
    std::fs::symlink_metadata(dir.join(name)).is_ok()
}

/// Why a command is refused; nothing where nobody else holds anything.
pub(super) fn refused(door: &Door<'_>, agent: &str, what: &str) -> Result<Option<String>> {
    let mut others: Checked = door.ask(agent, |kernel, call| kernel.others_here(call))?;
    if !others.free {
        // Whoever is dead is not at work; whether one is costs a look at processes, which is made only now. Where that
        // look fails, what was found stands.
        let dead = door.dead(agent).unwrap_or_default();
        let again =
            |kernel: &Kernel, call: &Call| kernel.others_here(&Call { proven_dead: dead.clone(), ..call.clone() });
        others = if dead.is_empty() { others } else { door.ask(agent, again).unwrap_or(others) };
    }
    Ok((!others.free).then(|| refusal::of_command(what, &others.blockers, others.total)))
}
