//! Before a commit: whether others hold what is staged, or what was one's own was lost.

use tenure_core::Result;
use tenure_kernel::query::may_commit::MayCommit;

use super::ask::Name;
use super::{Manner, Outcome, ask, manner, words};
use crate::context::Context;
use crate::place::typed::folds_case;

pub(super) fn act(context: &Context<'_>, is_merge: bool) -> Result<Outcome> {
    let staged = ask::staged()?;
    if staged.is_empty() {
        return Ok(Outcome::Fine);
    }
    let relaxed = context.place()?.config.relaxed()?;
    // What many change a little is noted by no guard.
    let is_guarded = |name: &&Name| !relaxed.iter().any(|pattern| pattern.matches(&name.text));
    let paths = staged.iter().filter(is_guarded).map(|name| name.text.clone()).collect();
    let question = MayCommit { paths, fold_case: folds_case(context)? };
    let Some(found) = context.ask_who_holds(&question)? else {
        return Ok(Outcome::Fine);
    };
    if found.taken.is_empty() && found.lost.is_empty() {
        return Ok(Outcome::Fine);
    }
    let manner = manner(context)?;
    if manner == Manner::Warn {
        return Ok(Outcome::Said(words::warned(&found)));
    }
    let rest = words::Rest {
        staged: &staged,
        is_merging: is_merge || ask::is_merging(),
        renames: ask::renames(),
        // Git tells its hooks from where in the working tree it was called.
        top: context.env.os("GIT_PREFIX").map(|_| context.place().map(|place| place.dir.clone())).transpose()?,
    };
    Ok(Outcome::Refused(words::refused(&found, &rest, manner == Manner::RefuseUnknown)))
}
