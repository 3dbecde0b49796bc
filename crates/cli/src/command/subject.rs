//! The subject of a command: an id, the name of a lock, or a path.

use std::ffi::OsString;

use tenure_core::pattern::{Case, Pattern};
use tenure_core::{Error, Kind, Result, id};
use tenure_kernel::query::any_id::ResolveAny;
use tenure_kernel::query::lock_of::LockOf;
use tenure_kernel::query::memory_id::ResolveMemory;

use crate::output::Printer;
use crate::session::{Session, StoreUse};
use crate::settings::Settings;
use crate::workspace::path_args::{self, PathArgs};

/// What a word names.
pub(super) enum Subject {
    /// A task, a hold, a place in the line, a note, a message or a checkout.
    Id(String),
    /// A memory.
    Memory(String),
    /// A lock.
    Lock(String),
    /// A path. Where there is no such file, and nothing is known of one either, this is the refusal of the word as an id.
    Path(PathArgs, Option<Error>),
}

/// Finds what a word names, and opens the session of its project. A word that could be several things is an id if there
/// is one, then a lock if there ever was one of that name, else a path. `./` makes it a path.
pub(super) fn find<'a>(
    settings: &'a Settings<'a>,
    out: &'a Printer,
    store_use: StoreUse,
    word: &OsString,
) -> Result<(Session<'a>, Subject)> {
    let text = word.to_str().unwrap_or_default();
    let words = std::slice::from_ref(word);
    let (session, typed, unknown) = if !text.is_empty() && id::is_prefix(text) {
        let session = Session::open(settings, out, store_use)?;
        let unknown = match find_id(&session, text) {
            Ok(found) => return Ok((session, found)),
            Err(error) if error.kind() == Kind::NotFound => error,
            Err(error) => return Err(error),
        };
        let typed = path_args::read(&session.workspace, settings.env, words);
        (session, typed, unknown)
    } else {
        // A path says in which checkout the command is, so it is looked up before the store is asked.
        let (session, typed) = around(settings, out, store_use, words)?;
        (session, typed, id::unknown(&word.to_string_lossy(), id::Sort::Task))
    };
    let typed = typed.and_then(|typed| {
        typed.paths.iter().try_for_each(|path| Pattern::parse(path, Case::Kept).map(|_| ()))?;
        Ok(typed)
    });
    let lock = session.ask(&LockOf { name: text.into() })?;
    let is_there = !word.is_empty() && std::fs::symlink_metadata(settings.env.cwd()?.join(word)).is_ok();
    let subject = match (lock, typed) {
        (Some(lock), _) => Subject::Lock(lock.subject),
        (None, Ok(typed)) => Subject::Path(typed, Some(unknown).filter(|_| !is_there)),
        (None, Err(error)) => return Err(if is_there { error } else { unknown }),
    };
    Ok((session, subject))
}

/// The session of words that may be paths: in the checkout that they are in, else in that of the working directory. Words
/// that are no paths are no failure yet: they may be the name of a lock.
pub(super) fn around<'a>(
    settings: &'a Settings<'a>,
    out: &'a Printer,
    store_use: StoreUse,
    words: &[OsString],
) -> Result<(Session<'a>, Result<PathArgs>)> {
    match path_args::locate(settings, words) {
        Ok((workspace, typed)) => Ok((Session::at(workspace, settings, out, store_use), Ok(typed))),
        Err(error) => Ok((Session::open(settings, out, store_use)?, Err(error))),
    }
}

/// The subject that a beginning of an id names.
fn find_id(session: &Session<'_>, text: &str) -> Result<Subject> {
    if text.starts_with("m-") {
        let memory = session.ask(&ResolveMemory { typed: text.into() });
        return memory.map(|(_, id)| Subject::Memory(id)).or_else(|error| forgotten(text, error));
    }
    session.ask(&ResolveAny { typed: text.into() }).map(Subject::Id)
}

/// A memory that was forgotten is known by its whole id.
fn forgotten(text: &str, error: Error) -> Result<Subject> {
    if error.kind() == Kind::NotFound && id::check(text, id::Sort::Memory).is_ok() {
        return Ok(Subject::Memory(text.to_owned()));
    }
    Err(error)
}
