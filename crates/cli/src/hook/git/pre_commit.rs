//! The pre-commit hook: whether other agents hold staged files, or the caller lost its own hold on them.

use tenure_core::Result;
use tenure_kernel::query::may_commit::MayCommit;

use super::git_command::GitPath;
use super::{GuardOutcome, Manner, git_command, manner, messages};
use crate::session::Session;
use crate::workspace::path_args::folds_case;

pub(super) fn act(context: &Session<'_>, is_merge: bool) -> Result<GuardOutcome> {
    let staged = git_command::staged()?;
    if staged.is_empty() {
        return Ok(GuardOutcome::Fine);
    }
    let relaxed = context.workspace.config.relaxed()?;
    // What many change a little is noted by no guard.
    let is_guarded = |name: &&GitPath| !relaxed.iter().any(|pattern| pattern.matches(&name.text));
    let paths = staged.iter().filter(is_guarded).map(|name| name.text.clone()).collect();
    let question = MayCommit { paths, fold_case: folds_case(&context.workspace)? };
    let Some(found) = context.ask_who_holds(&question)? else {
        return Ok(GuardOutcome::Fine);
    };
    if found.taken.is_empty() && found.lost.is_empty() {
        return Ok(GuardOutcome::Fine);
    }
    let manner = manner(context)?;
    if manner == Manner::Warn {
        return Ok(GuardOutcome::Said(messages::warned(&found)));
    }
    let rest = messages::StagedRest {
        staged: &staged,
        is_merging: is_merge || git_command::is_merging(),
        renames: git_command::renames(),
        // Git tells its hooks from where in the working tree it was called.
        top: context.settings.env.os("GIT_PREFIX").map(|_| context.workspace.dir.clone()),
    };
    Ok(GuardOutcome::Refused(messages::refused(&found, &rest, manner == Manner::RefuseUnknown)))
}
