//! The subject of a command: an id, the name of a lock, or a path.

use std::ffi::OsString;

use tenure_core::pattern::{Case, Pattern};
use tenure_core::{Error, Kind, Result, id};
use tenure_kernel::query::any_id::ResolveAny;
use tenure_kernel::query::lock_of::LockOf;
use tenure_kernel::query::memory_id::ResolveMemory;

use crate::session::Session;
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

/// Finds what a word names. One that could be several things is an id, if there is such a one; then a lock, if there ever
/// was one of that name; else a path. `./` makes it a path.
pub(super) fn find(session: &Session<'_>, word: &OsString) -> Result<Subject> {
    let mut unknown = None;
    let text = word.to_str().unwrap_or_default();
    if !text.is_empty() && id::is_prefix(text) {
        let found = if text.starts_with("m-") {
            let memory = session.ask(&ResolveMemory { typed: text.into() });
            memory.map(|(_, id)| Subject::Memory(id)).or_else(|error| forgotten(text, error))
        } else {
            session.ask(&ResolveAny { typed: text.into() }).map(Subject::Id)
        };
        match found {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == Kind::NotFound => unknown = Some(error),
            Err(error) => return Err(error),
        }
    }
    // A path says in which checkout the command is, so it is looked at before the store is asked.
    let typed = path_args::read(session, std::slice::from_ref(word)).and_then(|typed| {
        typed.paths.iter().try_for_each(|path| Pattern::parse(path, Case::Kept).map(|_| ()))?;
        Ok(typed)
    });
    let lock = session.ask(&LockOf { name: text.into() })?;
    let unknown = unknown.unwrap_or_else(|| id::unknown(&word.to_string_lossy(), id::Sort::Task));
    let is_there = !word.is_empty() && std::fs::symlink_metadata(session.env.cwd()?.join(word)).is_ok();
    match (lock, typed) {
        (Some(lock), _) => Ok(Subject::Lock(lock.subject)),
        (None, Ok(typed)) => Ok(Subject::Path(typed, Some(unknown).filter(|_| !is_there))),
        (None, Err(error)) => Err(if is_there { error } else { unknown }),
    }
}

/// A memory that was forgotten is known by its whole id.
fn forgotten(text: &str, error: Error) -> Result<Subject> {
    if error.kind() == Kind::NotFound && id::check(text, id::Sort::Memory).is_ok() {
        return Ok(Subject::Memory(text.to_owned()));
    }
    Err(error)
}
