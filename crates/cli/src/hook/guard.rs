//! The guards of a tool call: the edit guard takes the files that are about to be changed, all or none; the shell guard
//! looks whether a command would change those of others.
//!
//! Reserving is the check: of two guards that race for one file, one is refused. A file that the session holds already
//! costs one look, and nothing is written. Files of several checkouts are as many transactions, and what the first ones
//! took is given back where a later one is refused.

use std::path::Path;

use tenure_core::error::Detail;
use tenure_core::error::detail::NobodySeen;
use tenure_core::guard::Treatment;
use tenure_core::pattern::{BYTES_MAX, Pattern};
use tenure_core::session::Start;
use tenure_core::{Code, Error, Result, name};
use tenure_kernel::answer::{Blockers, Guarded};
use tenure_kernel::op::{guard as op, release, tool_used};
use tenure_kernel::query::in_the_way::InTheWay;
use tenure_kernel::query::standing::{Depth, HookContext};
use tenure_kernel::{Call, Evidence, Op};

use super::edited_files::{EditedGroup, EditedPath, grouped};
use super::guard_scope::Aim;
use super::session::HookSession;
use super::{log, other_checkouts, refusal, shell};
use crate::env::Env;
use crate::guard;
use crate::session::is_unconfirmed;
use crate::settings::Settings;
use crate::workspace::gitignore::GitIgnore;
use crate::workspace::{git, path_args};

/// What a guard found out about a part of a call.
enum GuardFinding {
    /// It may go on; what was taken for it, and what there is to say about it.
    Free(Guarded, Option<String>),
    /// It may not.
    Refused(String),
}

impl GuardFinding {
    fn nothing() -> GuardFinding {
        GuardFinding::Free(Guarded::default(), None)
    }
}

pub(super) fn act(hook_session: &HookSession<'_>, aim: &Aim) -> Result<Option<String>> {
    let env = hook_session.context.settings.env;
    let is_off = guard::off_by_variable(env);
    let risks = aim.line.as_ref().filter(|_| !is_off).map(|line| shell::risks(line, &aim.cwd, env)).unwrap_or_default();
    if is_off || (aim.edited.is_empty() && !aim.is_unclear && risks.is_empty()) {
        present(hook_session);
        return Ok(None);
    }
    if aim.is_unclear {
        return unclear(hook_session).map(|()| None);
    }
    let place = &hook_session.context.workspace;
    let groups = grouped(&place.dir, place.checkout.is_some(), &aim.cwd, &aim.edited)?;
    let deny = |reason: &str| Ok(Some((hook_session.tool.deny)(hook_session.event(), reason).to_string()));
    for risk in &risks {
        if let GuardFinding::Refused(reason) = at(hook_session, &risk.dir, |there| command(there, risk))? {
            return deny(&reason);
        }
    }
    if groups.is_empty() {
        present(hook_session);
    }
    let mut taken: Vec<(&EditedGroup, Guarded)> = Vec::new();
    let mut told = None;
    for group in &groups {
        match at(hook_session, &group.top, |there| edit(there, group, env.cwd()?))? {
            GuardFinding::Free(guarded, said) => {
                told = told.or(said);
                taken.push((group, guarded));
            }
            GuardFinding::Refused(reason) => {
                // Whatever becomes of that, the call stays refused: what cannot be given back lapses.
                for (group, guarded) in taken {
                    let _ = at(hook_session, &group.top, |there| Ok(give_back(there, &guarded)));
                }
                return deny(&reason);
            }
        }
    }
    Ok(told.map(|text| (hook_session.tool.context)(hook_session.event(), &text).to_string()))
}

/// Reports that the session is there. A guard that has nothing to refuse does not fail by this: a failure goes to the log.
fn present(hook_session: &HookSession<'_>) {
    heard(hook_session, hook_session.present());
}

fn heard(hook_session: &HookSession<'_>, said: Result<()>) {
    if let Err(error) = said {
        log::append(
            hook_session.context.settings.env,
            &format!("{} {}", hook_session.tool.name, hook_session.event()),
            error.code().as_str(),
        );
    }
}

/// Refuses an edit of an unknown file, in a project whose guards are on: it cannot be checked.
fn unclear(hook_session: &HookSession<'_>) -> Result<()> {
    match hook_session.standing(&hook_session.presence(), Depth::News)? {
        Some(standing) if !standing.guards.off => {
            Err(Error::usage(Code::BadToolPath, "the event does not say which file is edited"))
        }
        _ => Ok(()),
    }
}

/// Looks at what is in a directory: with the session's own project, or with the one that is there.
fn at(
    hook_session: &HookSession<'_>,
    dir: &Path,
    look: impl FnOnce(&HookSession<'_>) -> Result<GuardFinding>,
) -> Result<GuardFinding> {
    match believed_at(hook_session, dir, look) {
        // A clone that is not believed yet says nothing, and keeps nothing from being said of others.
        Err(error) if is_unconfirmed(&error) => Ok(GuardFinding::nothing()),
        other => other,
    }
}

fn believed_at(
    hook_session: &HookSession<'_>,
    dir: &Path,
    look: impl FnOnce(&HookSession<'_>) -> Result<GuardFinding>,
) -> Result<GuardFinding> {
    let own = &hook_session.context.workspace;
    if dir == own.dir || dir == hook_session.context.settings.env.cwd()? {
        return if own.project.key.is_some() { look(hook_session) } else { Ok(GuardFinding::nothing()) };
    }
    let env: Env = hook_session.context.settings.env.moved(dir.to_path_buf());
    let settings = Settings::new(hook_session.context.settings.globals.clone(), &env);
    let there = hook_session.elsewhere(&settings)?;
    match there {
        Some(there) if there.context.workspace.dir != own.dir => look(&there),
        Some(_) => look(hook_session),
        None => Ok(GuardFinding::nothing()),
    }
}

/// The edit guard in one checkout. `cwd` is where the session types its commands.
fn edit(hook_session: &HookSession<'_>, group: &EditedGroup, cwd: &Path) -> Result<GuardFinding> {
    let place = &hook_session.context.workspace;
    let fold_case = path_args::folds_case(&hook_session.context.workspace)?;
    let named = |file: &EditedPath| Some((path_args::literal(&place.dir, &file.real, file.is_dir)?, file.clone()));
    let mut files: Vec<(String, EditedPath)> = group.files.iter().filter_map(named).collect();
    let patterns =
        |files: &[(String, EditedPath)]| files.iter().map(|(pattern, _)| pattern.clone()).collect::<Vec<_>>();
    // So many files cannot be taken, so they are not held already either.
    let looked = if files.len() > op::FILES_MAX { Vec::new() } else { patterns(&files) };
    let Some(outlook) = hook_session.outlook(&looked, fold_case)? else { return Ok(GuardFinding::nothing()) };
    let standing = &outlook.standing;
    if outlook.is_quiet {
        return Ok(GuardFinding::nothing());
    }
    if !standing.guards.off {
        leave_out(hook_session, &mut files)?;
    }
    if standing.guards.off || files.is_empty() {
        heard(hook_session, hook_session.say_after(standing, &hook_session.presence()));
        return Ok(GuardFinding::nothing());
    }
    if files.len() > op::FILES_MAX {
        return Ok(GuardFinding::Refused(refusal::of_too_many(files.len())));
    }
    let paths = patterns(&files);
    let (agent, guarded) = match &standing.mine {
        Some(mine) => (mine.agent.clone(), take(hook_session, &mine.agent, paths.clone(), fold_case, false)),
        // Hooks that were set up in the middle of a session, or one of another project.
        None => match hook_session.start(standing, Start::Resume, &[]) {
            Ok(started) => (started.agent.clone(), take(hook_session, &started.agent, paths.clone(), fold_case, true)),
            Err(error) => {
                (hook_session.agent(standing, Start::Resume, &hook_session.proofs(&standing.known)), Err(error))
            }
        },
    };
    let guarded = match guarded {
        // Nothing can be taken now, but what others have taken is there to be seen.
        Err(error) if !is_held(&error) => Err(visible(hook_session, &agent, &paths, fold_case, error)),
        other => other,
    };
    match guarded {
        Ok(guarded) => {
            // What was taken is taken, whether or not it can be told.
            let said = tell(hook_session, standing, &guarded).unwrap_or(None);
            Ok(GuardFinding::Free(guarded, said))
        }
        Err(error) if is_held(&error) => {
            let reason = refusal::of_edit(&error, &typed_from(cwd, &place.dir, &files));
            Ok(match guard::treats(&place.config, name::is_person(&agent)) {
                Treatment::Refuse => GuardFinding::Refused(reason),
                Treatment::Warn => GuardFinding::Free(Guarded::default(), Some(other_checkouts::cut(&reason))),
            })
        }
        Err(error) => Err(error),
    }
}

/// Takes files for an agent.
fn take(
    hook_session: &HookSession<'_>,
    agent: &str,
    paths: Vec<String>,
    fold_case: bool,
    first: bool,
) -> Result<Guarded> {
    let says = tool_used::ToolUsed { first, ..hook_session.presence() };
    let request = Op::new(op::Guard { paths, fold_case, says });
    match hook_session.run::<Guarded>(agent, &request, Vec::new()) {
        // A dead holder blocks no one. Looking at processes costs time, so it is done only after a refusal; where it fails,
        // the refusal stands.
        Err(error) if is_held(&error) => match hook_session.dead(agent) {
            Ok(dead) if !dead.is_empty() => {
                let again = hook_session.run::<Guarded>(agent, &request, dead);
                again.map_err(|second| if is_held(&second) { second } else { error })
            }
            _ => Err(error),
        },
        other => other,
    }
}

/// The refusal of files that others are seen to hold or to wait for, where they could not be taken for another reason;
/// else that reason.
fn visible(hook_session: &HookSession<'_>, agent: &str, paths: &[String], fold_case: bool, error: Error) -> Error {
    let query = InTheWay { files: paths.to_vec(), fold_case };
    let look = |dead: &[Evidence]| {
        hook_session.ask(agent, |client, call| client.ask(&Call { proven_dead: dead.to_vec(), ..call.clone() }, &query))
    };
    match look(&[]) {
        Ok(None) => error.with(&NobodySeen(true)),
        Err(_) => error,
        Ok(Some(held)) => {
            let dead = hook_session.dead(agent).unwrap_or_default();
            match look(&dead) {
                _ if dead.is_empty() => held,
                Ok(None) => error.with(&NobodySeen(true)),
                Ok(Some(again)) => again,
                Err(_) => held,
            }
        }
    }
}

/// Files as they would be typed in a directory: relative at the top of their checkout, else in full.
fn typed_from(cwd: &Path, top: &Path, files: &[(String, EditedPath)]) -> Vec<String> {
    let typed = |(pattern, file): &(String, EditedPath)| match file.real.to_str() {
        Some(real) if cwd != top => real.to_owned(),
        _ => pattern.clone(),
    };
    files.iter().map(typed).collect()
}

/// Whether an error says that others stand in the way; everything else is a failure, and its policy counts.
fn is_held(error: &Error) -> bool {
    error.is_refusal() && error.get(Blockers::KEY).is_some()
}

/// Leaves out files that are never held: those that git ignores and does not track, and those that the project relaxes.
fn leave_out(hook_session: &HookSession<'_>, files: &mut Vec<(String, EditedPath)>) -> Result<()> {
    let place = &hook_session.context.workspace;
    let relaxed = place.config.relaxed()?;
    let is_relaxed = |pattern: &str| {
        let path = pattern.strip_prefix("./").unwrap_or(pattern);
        relaxed.iter().any(|relaxed: &Pattern| relaxed.matches(path))
    };
    files.retain(|(pattern, _)| !is_relaxed(pattern));
    if let Some(checkout) = place.checkout.as_ref().filter(|_| !files.is_empty()) {
        let ignored = GitIgnore::of(checkout, hook_session.context.settings.env);
        files.retain(|(_, file)| !ignored.leaves(&file.real));
    }
    Ok(())
}

/// Tells the session that a file is held in another checkout too, if that is news and its tool shows it now; otherwise the
/// next prompt tells it.
fn tell(hook_session: &HookSession<'_>, standing: &HookContext, guarded: &Guarded) -> Result<Option<String>> {
    let told_at = standing.mine.as_ref().map_or(tenure_core::Time(0), |mine| mine.told_at);
    if !hook_session.tool.hears_before || hook_session.sub_agent.is_some() {
        return Ok(None);
    }
    let Some(said) = other_checkouts::sentence(&guarded.elsewhere, told_at, standing.now) else { return Ok(None) };
    let told_as_of = Some(guarded.at.clone()).filter(|at| !at.is_empty());
    let says = tool_used::ToolUsed { told: true, told_as_of, ..hook_session.presence() };
    hook_session.run::<serde_json::Value>(&guarded.agent, &Op::new(says), Vec::new())?;
    Ok(Some(said))
}

/// Gives back what was taken for a call that is refused.
fn give_back(hook_session: &HookSession<'_>, guarded: &Guarded) -> GuardFinding {
    for hold in &guarded.granted {
        let request = release::Release { hold: Some(hold.as_str().into()), ..release::Release::default() };
        let _ = hook_session.run::<serde_json::Value>(&guarded.agent, &Op::new(request), Vec::new());
    }
    GuardFinding::nothing()
}

/// The shell guard in one checkout.
fn command(hook_session: &HookSession<'_>, risk: &shell::ShellRisk) -> Result<GuardFinding> {
    let Some(standing) = hook_session.standing(&hook_session.presence(), Depth::News)? else {
        return Ok(GuardFinding::nothing());
    };
    if standing.guards.off {
        return Ok(GuardFinding::nothing());
    }
    // A session that is not registered yet holds nothing.
    let agent = standing.mine.as_ref().map_or("nobody", |mine| mine.agent.as_str());
    Ok(shell::refused(hook_session, agent, risk)?.map_or_else(GuardFinding::nothing, GuardFinding::Refused))
}

/// The paths that are inside a checkout, relative to its top, each once. Paths outside of it are left out.
pub(super) fn inside(top: &Path, cwd: &Path, named: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in named.iter().filter(|name| !name.contains('\0')) {
        let Some(path) = git::plain(&cwd.join(name)).filter(|path| path.as_os_str().len() <= BYTES_MAX) else {
            continue;
        };
        // A tool may name a file by another way to the same directory than git does.
        let real =
            |path: &Path| path.parent()?.canonicalize().ok().map(|dir| dir.join(path.file_name().unwrap_or_default()));
        let inside = path
            .strip_prefix(top)
            .map(Path::to_path_buf)
            .ok()
            .or_else(|| real(&path)?.strip_prefix(top).map(Path::to_path_buf).ok());
        let Some(text) = inside.and_then(|path| path.to_str().map(str::to_owned)) else { continue };
        if !text.is_empty() && !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_top_and_what_is_outside_is_left_out() {
        let found = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            inside(Path::new("/repo"), Path::new("/repo/sub"), &names)
        };
        assert_eq!(
            found(&["a.rs", "./b/../c.rs", "/repo/x y.rs", "../top.rs"]),
            ["sub/a.rs", "sub/c.rs", "x y.rs", "top.rs"]
        );
        assert_eq!(found(&["/etc/passwd", "../../out", "/repo", "", "a\0", "/repo/../repo/z"]), ["sub", "z"]);
        assert_eq!(found(&["a.rs", "/repo/sub/a.rs"]), ["sub/a.rs"]);
    }
}
