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

use super::{Group, Run, Spec, print_task, read, subject, task_id};
use crate::output::Printer;
use crate::output::path::globs;
use crate::session::{RunOptions, Session, StoreUse, caller};
use crate::settings::Settings;
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
    run: Run::Plain(|settings, out, matches| {
        let args: Args = read(matches)?;
        let (session, named) = match args.lock {
            Some(lock) => {
                let session = Session::open(settings, out, StoreUse::Write)?;
                (session, Release { lock: Some(lock), ..Release::default() })
            }
            None => named(settings, out, &args.what)?,
        };
        let request = Release {
            reason: args.reason.unwrap_or_default(),
            fence: args.fence.map(Into::into),
            force: args.force,
            ..named
        };
        let reply = session.run(request, RunOptions::default())?;
        let answer = reply.read()?;
        match answer {
            Released::Task(task) => print_task(&session, "Released", &task, &reply.body),
            Released::Paths(_) if session.out.is_json() => session.out.body(&reply.body),
            Released::Paths(ended) => {
                for hold in ended.holds {
                    session.out.text(&format!("Released {}", cut(&hold.subject, 120)));
                }
                for place in ended.left {
                    session.out.text(&format!("Left the line: {place}"));
                }
                if !ended.globs.is_empty() {
                    session.out.text(globs(&ended.globs).trim_end());
                }
            }
        }
        Ok(0)
    }),
};

/// What the words name, and the session of its project: an id, a lock, or paths. A word that could be several of them is
/// an id if there is one, then what the caller has (both a lock and a path is refused), then a lock if there ever was one
/// of that name; `./` makes it a path.
fn named<'a>(settings: &'a Settings<'a>, out: &'a Printer, what: &[OsString]) -> Result<(Session<'a>, Release)> {
    let id = match what {
        [only] => only.to_str().filter(|typed| !typed.is_empty() && id::is_prefix(typed)),
        _ => None,
    };
    let (session, paths) = match id {
        Some(typed) => {
            let session = Session::open(settings, out, StoreUse::Write)?;
            if let Some(named) = named_by_id(&session, typed)? {
                return Ok((session, named));
            }
            let paths = path_args::read(&session.workspace, settings.env, what);
            (session, paths)
        }
        // A path says in which checkout the command is, so it is looked up before the store is asked.
        None => subject::around(settings, out, StoreUse::Write, what)?,
    };
    let named = named_by_word(&session, what, paths)?;
    Ok((session, named))
}

/// The task, the hold or the place in the line that an id names; none where a word that looks like an id is none.
fn named_by_id(session: &Session<'_>, typed: &str) -> Result<Option<Release>> {
    if typed.starts_with("w-") && id::check(typed, id::Sort::Place).is_ok() {
        return Ok(Some(Release { hold: Some(typed.into()), ..Release::default() }));
    }
    if typed.starts_with("h-") {
        let hold = session.ask(&ResolveAny { typed: typed.into() })?;
        return Ok(Some(Release { hold: Some(hold.into()), ..Release::default() }));
    }
    match task_id(session, typed) {
        Ok(task) => Ok(Some(Release { task: Some(task), ..Release::default() })),
        Err(error) if error.kind() == Kind::NotFound && !typed.starts_with("t-") => Ok(None),
        Err(error) => Err(error),
    }
}

/// The lock or the paths that words name; without any, the focus.
fn named_by_word(session: &Session<'_>, what: &[OsString], paths: Result<PathArgs>) -> Result<Release> {
    let lock = match what {
        [] => return Ok(Release::default()),
        [only] => only.to_str().map(|name| session.ask(&LockOf { name: name.into() })).transpose()?.flatten(),
        _ => None,
    };
    if let Some(lock) = lock {
        let is_own =
            matches!(lock.state.as_str(), "live" | "offered") && lock.holder == caller::identity(session)?.name;
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
    let holder = Some(caller::identity(session)?.name);
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
    #[arg(long, short = 'm', value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    /// The fence to act under, in place of the one last shown to you
    #[arg(long, value_name = "N")]
    fence: Option<i64>,
    /// Override the holder (people only; recorded)
    #[arg(long)]
    force: bool,
}
