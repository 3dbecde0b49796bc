//! What a word names that may be an id, the name of a lock, or a path.

use std::ffi::OsString;

use tenure_core::{Error, Kind, Result, id};

use crate::context::Context;
use crate::place::typed::{self, Typed};

/// What a word names.
pub(super) enum Thing {
    /// A task or a hold.
    Id(String),
    /// A memory.
    Memory(String),
    /// A lock.
    Lock(String),
    /// A path. If nothing is known of it either, this is the refusal of the word as an id.
    Path(Typed, Option<Error>),
}

/// Finds what a word names. One that could be several things is an id, if there is such a one; then a lock, if there ever
/// was one of that name; else a path. `./` makes it a path.
pub(super) fn find(context: &Context<'_>, word: &OsString) -> Result<Thing> {
    let mut unknown = None;
    let text = word.to_str().unwrap_or_default();
    if !text.is_empty() && id::is_prefix(text) {
        let found = if text.starts_with("m-") {
            let memory = context.ask(|kernel, call| kernel.memory_id(call, text));
            memory.map(|(_, id)| Thing::Memory(id)).or_else(|error| forgotten(text, error))
        } else {
            context.ask(|kernel, call| kernel.any_id(call, text)).map(Thing::Id)
        };
        match found {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == Kind::NotFound => unknown = Some(error),
            Err(error) => return Err(error),
        }
    }
    // A path says in which checkout the command is, so it is looked at before the store is asked.
    let typed = typed::read(context, std::slice::from_ref(word));
    let lock = context.ask(|kernel, call| kernel.lock_of(call, text))?;
    match (lock, typed) {
        (Some(lock), _) => Ok(Thing::Lock(lock.subject)),
        (None, Ok(typed)) => Ok(Thing::Path(typed, unknown)),
        (None, Err(error)) => Err(unknown.unwrap_or(error)),
    }
}

/// A memory that was forgotten is known by its whole id.
fn forgotten(text: &str, error: Error) -> Result<Thing> {
    if error.kind() == Kind::NotFound && id::check(text, id::Sort::Memory).is_ok() {
        return Ok(Thing::Memory(text.to_owned()));
    }
    Err(error)
}
