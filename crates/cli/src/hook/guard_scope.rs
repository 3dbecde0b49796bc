//! The scope of the guards: what a tool call is about to change and which guards could refuse it. It is determined from
//! files alone, so that it is known even if the store cannot be reached.

use std::path::{Path, PathBuf};

use tenure_core::Result;

use super::edited_files::grouped;
use super::input::Payload;
use super::shell;
use crate::agent_tool::AgentTool;
use crate::env::Env;
use crate::workspace::git::{self, GitCheckout, locate};
use crate::workspace::gitignore::GitIgnore;
use crate::workspace::{config, pin};

/// What a call is about to do.
#[derive(Debug, Default)]
pub(super) struct Aim {
    /// The files it changes, as the tool names them.
    pub(super) edited: Vec<String>,
    /// Whether it changes files and does not say which in a way that can be understood.
    pub(super) is_unclear: bool,
    /// The command line it runs.
    pub(super) line: Option<String>,
    /// Where names and commands are seen from.
    pub(super) cwd: PathBuf,
}

impl Aim {
    pub(super) fn of(tool: &AgentTool, payload: &Payload<'_>, env: &Env) -> Result<Aim> {
        let named = (tool.edits)(payload);
        let is_shell = tool.is_shell(payload.tool_name());
        // A shell may be told where to run; everything in its line is seen from there.
        let told = if is_shell { payload.first_of(&["workdir", "directory", "dir_path", "cwd"]) } else { Vec::new() };
        let here = env.cwd()?;
        // Nothing runs in a directory that cannot be named.
        let cwd = told.first().and_then(|dir| git::nameable(here.join(dir)).ok()).unwrap_or_else(|| here.to_path_buf());
        let is_unclear = named.as_ref().is_some_and(|named| named.is_empty() || named.iter().any(|n| n.contains('\0')));
        let line = if is_shell { payload.command() } else { None };
        Ok(Aim { edited: named.unwrap_or_default(), is_unclear, line, cwd })
    }
}

/// The directories whose settings count for a call that could be refused: for each project that it is about and that
/// may be switched on, those of its configuration, nearest first. None where no guard could say anything. `aim` is none
/// where the event could not be read.
pub(super) fn places(aim: Option<&Aim>, env: &Env, is_named: bool) -> Vec<Vec<PathBuf>> {
    let Ok(here) = env.cwd() else { return Vec::new() };
    let Some(aim) = aim else { return known(here, is_named).into_iter().collect() };
    let mut found = Vec::new();
    if aim.is_unclear {
        found.extend(known(&aim.cwd, is_named));
    }
    let risks = aim.line.as_ref().map(|line| shell::risks(line, &aim.cwd, env)).unwrap_or_default();
    found.extend(risks.iter().filter_map(|risk| known(&risk.dir, is_named)));
    match grouped(here, false, &aim.cwd, &aim.edited) {
        Ok(groups) => {
            for group in groups {
                let checkout = locate(&group.top).ok().flatten();
                let ignored = checkout.as_ref().map(|checkout| GitIgnore::of(checkout, env));
                let counts = |real: &Path| !ignored.as_ref().is_some_and(|ignored| ignored.has(real));
                if group.files.iter().any(|file| counts(&file.real)) {
                    found.extend(known(&group.top, is_named));
                }
            }
        }
        Err(_) => found.extend(known(&aim.cwd, is_named)),
    }
    found
}

/// The places of the configuration of a project that may be switched on: a repository that a store was pinned for, or a
/// directory that is marked as a project.
fn known(dir: &Path, is_named: bool) -> Option<Vec<PathBuf>> {
    match locate(dir) {
        Ok(Some(checkout)) => (is_named || was_used(&checkout)).then(|| vec![checkout.top, checkout.main]),
        Ok(None) => {
            let marked = |dir: &&Path| dir.join(".tenure").is_dir() || dir.join(config::FILE).is_file();
            dir.ancestors().find(marked).map(|dir| vec![dir.to_path_buf()])
        }
        // A repository that is broken may be any.
        Err(_) => Some(dir.ancestors().map(Path::to_path_buf).collect()),
    }
}

fn was_used(checkout: &GitCheckout) -> bool {
    !matches!((pin::read_id(&checkout.common), pin::read_pin(&checkout.common)), (Ok(None), Ok(None)))
}
