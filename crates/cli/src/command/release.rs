//! `tenure release`

use std::ffi::OsString;

use clap::Args as _;
use tenure_core::action::Action;
use tenure_core::pattern::{Case, Pattern};
use tenure_core::text::{cut, shell_word};
use tenure_core::{Code, Error, Kind, Result, id};
use tenure_kernel::answer::{Hold, Released};
use tenure_kernel::op::release::Release;
use tenure_kernel::query::LIMIT_MAX;
use tenure_kernel::query::any_id::ResolveAny;
use tenure_kernel::query::holds::{Filter, Holds};
use tenure_kernel::query::lock_of::LockOf;

use super::{Group, Spec, print_task, read};
use crate::session::Session;
use crate::workspace::path_args::{self, PathArgs};

pub(super) const SPEC: Spec = Spec {
    name: "release",
    aliases: &["unlock", "unclaim"],
    group: Group::Everyday,
    about: "Give your task back, or paths, or a lock",
    examples: &[
        "tenure release",
        "tenure release t-7k3fq --reason \"not my area\"",
        "tenure release src/lib.rs",
        "tenure release h-7k3fq",
        "tenure release deploy",
    ],
    args: Args::augment_args,
    run: |session, matches| {
        let args: Args = read(matches)?;
        session.will_write();
        let named = match args.lock {
            Some(lock) => Release { lock: Some(lock), ..Release::default() },
            None => named(session, &args.what)?,
        };
        let request = Release {
            reason: args.reason.unwrap_or_default(),
            fence: args.fence.map(Into::into),
            force: args.force,
            ..named
        };
        let (answer, reply) = session.answer(request)?;
        match answer {
            Released::Task(task) => print_task(session, "Released", &task, &reply.body),
            Released::Paths(_) if session.out.is_json() => session.out.body(&reply.body),
            Released::Paths(ended) => {
                for hold in ended.holds {
                    session.out.text(&format!("Released {}", cut(&hold.subject, 120)));
                }
                for place in ended.left {
                    session.out.text(&format!("Left the line: {place}"));
                }
            }
        }
        Ok(0)
    },
};

/// What the words name: an id, a lock, or paths. A word that could be several of them is an id if there is such a one,
/// then what the caller has (both a lock and a path is refused), then a lock if there ever was one of that name; `./`
/// makes it a path.
fn named(session: &Session<'_>, what: &[OsString]) -> Result<Release> {
    match what {
        [] => return Ok(Release::default()),
        [only] => match only.to_str() {
            Some(typed) if typed.starts_with("w-") && id::check(typed, id::Sort::Place).is_ok() => {
                return Ok(Release { hold: Some(typed.into()), ..Release::default() });
            }
            Some(typed) if typed.starts_with("h-") && id::is_prefix(typed) => {
                let hold = session.ask(&ResolveAny { typed: typed.into() })?;
                return Ok(Release { hold: Some(hold.into()), ..Release::default() });
            }
            Some(typed) if !typed.is_empty() && id::is_prefix(typed) => match session.task_id(typed) {
                Ok(task) => return Ok(Release { task: Some(task), ..Release::default() }),
                Err(error) if error.kind() == Kind::NotFound && !typed.starts_with("t-") => {}
                Err(error) => return Err(error),
            },
            _ => {}
        },
        _ => {}
    }
    // Paths first: they say in which checkout the command is.
    let paths = path_args::read(session, what);
    let lock = match what {
        [only] => only.to_str().map(|name| session.ask(&LockOf { name: name.into() })).transpose()?.flatten(),
        _ => None,
    };
    if let Some(lock) = lock {
        let is_own = matches!(lock.state.as_str(), "live" | "offered") && lock.holder == session.caller()?.name;
        let (is_path, is_within) = match &paths {
            Ok(typed) => holds_some(session, typed)?,
            Err(_) => (false, false),
        };
        if is_own && is_within {
            return Err(both(&lock.subject));
        }
        if is_own || !is_path {
            return Ok(Release { lock: Some(lock.subject), ..Release::default() });
        }
    }
    let typed = paths?;
    Ok(Release { paths: typed.paths, fold_case: typed.fold_case, ..Release::default() })
}

/// The refusal of a word that names a lock and a path, where the caller has both.
fn both(word: &str) -> Error {
    let shown = cut(word, 120);
    let error = Error::usage(Code::ReleaseWhich, format!("you have the lock {shown} and the path {shown}"))
        .entity(shown)
        .hint("`./` before it means the path, `--lock` the lock.");
    match shell_word(word) {
        Some(_) => {
            error.attempt(Action::release(format!("./{word}"))).attempt(Action::ReleaseLock { name: word.to_owned() })
        }
        None => error,
    }
}

/// Whether the caller has a path that has a file in common with one of these, and whether it has one within them, which is
/// what a release of them would end.
fn holds_some(session: &Session<'_>, typed: &PathArgs) -> Result<(bool, bool)> {
    let holder = Some(session.caller()?.name);
    let (paths, fold_case) = (typed.paths.clone(), typed.fold_case);
    let filter = Filter { holder: holder.map(Into::into), kind: Some("path".to_owned()), paths, fold_case };
    let held = session.ask(&Holds { filter, limit: LIMIT_MAX, cursor: None })?.items;
    let case = if typed.fold_case { Case::Folded } else { Case::Kept };
    let asked = typed.paths.iter().map(|path| Pattern::parse(path, case)).collect::<Result<Vec<_>>>()?;
    let within =
        |hold: &Hold| Pattern::parse(&hold.subject, case).is_ok_and(|its| asked.iter().any(|asked| asked.covers(&its)));
    Ok((!held.is_empty(), held.iter().any(within)))
}

#[derive(clap::Args)]
struct Args {
    /// A task or hold (any unique beginning of its id), paths, or the name of a lock; without any, your focus
    #[arg(value_name = "ID|PATH|LOCK")]
    what: Vec<OsString>,
    /// A lock, whatever its name looks like
    #[arg(long, value_name = "NAME", conflicts_with = "what", allow_hyphen_values = true)]
    lock: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    /// The fence to act under, in place of the one last shown to you
    #[arg(long, value_name = "N")]
    fence: Option<i64>,
    /// Override the holder (people only; recorded)
    #[arg(long)]
    force: bool,
}
