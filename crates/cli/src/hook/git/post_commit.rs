//! The post-commit hook: what was committed, and which of these files are unchanged since.

use std::collections::HashSet;

use tenure_core::Result;
use tenure_kernel::op::committed::{Committed, PATHS_MAX};
use tenure_kernel::query::own_files::OwnFiles;
use tenure_kernel::query::switched_on::SwitchedOn;

use super::{GuardOutcome, actor, git_command};
use crate::session::{RunOptions, Session, caller};
use crate::workspace::path_args::folds_case;

pub(super) fn act(context: Session<'_>) -> Result<GuardOutcome> {
    if !context.ask(&SwitchedOn {})? {
        return Ok(GuardOutcome::Fine);
    }
    let identity = caller::identity(&context)?;
    let context = context.acting_as(actor(identity));
    let Some((commit, mut files)) = git_command::head()?.filter(|(_, files)| !files.is_empty()) else {
        return Ok(GuardOutcome::Fine);
    };
    // A name that is too long for a hold belongs to no agent.
    files.retain(|file| file.text.len() <= 4_096);
    let more = i64::try_from(files.len().saturating_sub(PATHS_MAX)).unwrap_or(0);
    files.truncate(PATHS_MAX);
    let paths: Vec<String> = files.iter().map(|file| file.text.clone()).collect();
    let fold_case = folds_case(&context.workspace)?;
    let question = OwnFiles { paths: paths.clone(), fold_case };
    let own: HashSet<String> = context.ask(&question)?.into_iter().collect();
    files.retain(|file| own.contains(&file.text));
    let mut clean = Vec::new();
    // Where git does not say what is clean, nothing is: a hold too many lapses, one too few loses work.
    if let Some(dirty) = (!files.is_empty()).then(|| git_command::dirty(&files)).flatten() {
        let dirty: HashSet<_> = dirty.into_iter().collect();
        clean = files.into_iter().filter(|file| !dirty.contains(&file.raw)).map(|file| file.text).collect();
    }
    context.run(Committed { commit, paths, more, clean, fold_case }, RunOptions::default())?;
    Ok(GuardOutcome::Fine)
}
