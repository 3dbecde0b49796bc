//! The directories that a command may run in, as they are on disk.

use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use tenure_core::shell::{DirectoryStep, FRESH, Make};

use super::PLACES;
use crate::env::Env;

/// Most moves from one directory to another that are followed for a line. Beyond that any directory that was seen so far
/// may be meant: a line that leads through thousands is not let through for that.
const MOVES_MAX: usize = 16_384;

/// The directories of a line, found once for each way that leads to a command.
pub(super) struct ShellDirectories<'a> {
    cwd: &'a Path,
    env: &'a Env,
    known: HashMap<Vec<DirectoryStep>, Vec<PathBuf>>,
    moves: usize,
}

/// Where a way stands.
struct Stand {
    /// Where the next command may run.
    now: Vec<PathBuf>,
    /// Everywhere it could have run so far.
    seen: Vec<PathBuf>,
    /// Directories that are there once the command runs.
    made: BTreeSet<PathBuf>,
    /// Working trees that the line makes: nothing is held there.
    trees: Vec<PathBuf>,
}

impl<'a> ShellDirectories<'a> {
    pub(super) fn new(cwd: &'a Path, env: &'a Env) -> ShellDirectories<'a> {
        ShellDirectories { cwd, env, known: HashMap::new(), moves: 0 }
    }

    /// The directories that a command may run in: a step that may not be taken leaves those before it.
    pub(super) fn of(&mut self, steps: &[DirectoryStep]) -> Vec<PathBuf> {
        if let Some(known) = self.known.get(steps) {
            return known.clone();
        }
        let here = self.cwd.to_path_buf();
        let made = BTreeSet::from([self.stepped(&here, &FRESH.to_string())]);
        let mut stand = Stand { now: vec![here.clone()], seen: vec![here], made, trees: Vec::new() };
        for step in steps {
            if self.moves > MOVES_MAX {
                stand.now = stand.seen.clone();
                break;
            }
            self.moves += stand.now.len();
            self.take(step, &mut stand);
        }
        let Stand { mut now, trees, .. } = stand;
        now.retain(|dir| !trees.iter().any(|tree| dir.starts_with(tree)));
        self.known.insert(steps.to_vec(), now.clone());
        now
    }

    /// How many moves were followed.
    #[cfg(test)]
    pub(super) fn moves(&self) -> usize {
        self.moves
    }

    fn take(&self, step: &DirectoryStep, stand: &mut Stand) {
        let (to, stays): (&str, fn(&Stand, &Path) -> bool) = match step {
            DirectoryStep::Back => return stand.now.clone_from(&stand.seen),
            DirectoryStep::Make(make) => return self.make(make, stand),
            DirectoryStep::Into(to) => (to, |_, _| false),
            DirectoryStep::Sure(to) => (to, |stand, there| !there.is_dir() && !stand.made.contains(there)),
            DirectoryStep::Maybe(to) => (to, |_, _| true),
        };
        let mut next: Vec<PathBuf> = Vec::new();
        let mut met = BTreeSet::new();
        for dir in std::mem::take(&mut stand.now) {
            let there = self.stepped(&dir, to);
            let stay = stays(stand, &there).then_some(dir);
            for dir in stay.into_iter().chain([there]) {
                if next.len() < PLACES && met.insert(dir.clone()) {
                    next.push(dir);
                }
            }
        }
        let known: BTreeSet<&PathBuf> = stand.seen.iter().collect();
        let new: Vec<PathBuf> = next.iter().filter(|dir| !known.contains(dir)).cloned().collect();
        stand.seen.extend(new.into_iter().take(PLACES.saturating_sub(stand.seen.len())));
        stand.now = next;
    }

    fn make(&self, make: &Make, stand: &mut Stand) {
        for dir in &stand.now {
            let there = self.stepped(dir, &make.path);
            // A tree that is there already is the one that is meant, whatever becomes of the command. One that may not be
            // made is new only if there is nothing yet that could be entered in its place.
            let is_new = !there.join(".git").exists() && (make.is_sure || !there.exists());
            if make.is_tree && is_new {
                stand.trees.push(there.clone());
            }
            if make.exists {
                stand.made.extend(there.ancestors().map(Path::to_path_buf));
            }
        }
    }

    fn stepped(&self, dir: &Path, step: &str) -> PathBuf {
        if let Some(rest) = step.strip_prefix(FRESH) {
            // Its name is only known once it is made; nothing else has this one.
            let temporary = self.env.os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
            return plain(&temporary.join(FRESH.to_string()).join(rest.trim_start_matches('/')));
        }
        match (step.strip_prefix('~'), self.env.home()) {
            (Some(""), Some(home)) => home,
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ if step == "." => dir.to_path_buf(),
            _ => plain(&dir.join(step)),
        }
    }
}

/// A path without `.`, and without `..` where that leads back by the text alone: out of what is no link.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if !out.is_symlink() => _ = out.pop(),
            other => out.push(other),
        }
    }
    out
}
