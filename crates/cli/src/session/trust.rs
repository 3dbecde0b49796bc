//! How far a session trusts the repository it runs in: whether the repository may name the store and the project.

use tenure_core::{Code, Error, Result};
use tenure_kernel::query::switched_on::SwitchedOn;
use tenure_kernel::{Actor, Condition};

use super::connection::StoreConnection;
use super::{Session, StoreUse, call, exchange};
use crate::env::Env;
use crate::workspace::{StoreLocation, Workspace, tracking};

/// Whether a call was refused because only a repository names its store or its project. Hooks are silent then.
pub(crate) fn is_unconfirmed(error: &Error) -> bool {
    matches!(error.code(), Code::UnconfirmedStore | Code::UnconfirmedProject)
}

/// The condition under which the store answers; a refusal where it is not even opened.
pub(super) fn condition(workspace: &Workspace, env: &Env, store_use: StoreUse) -> Result<Condition> {
    match (store_use, &workspace.store) {
        // The person who chooses a store consents to it. One that git tracks is refused: git would put an old one back.
        (StoreUse::Choose, StoreLocation::Sqlite(path)) => match tracking::tracked(path)? {
            Some(found) => Err(tracking::refused(&found, path)),
            None => Ok(Condition::None),
        },
        (StoreUse::Choose, StoreLocation::Postgres(_) | StoreLocation::Server(_)) => Ok(Condition::None),
        _ => workspace.condition(env),
    }
}

/// Refuses a project that only the repository names, before anything is written for it. The op reports every other
/// failure better.
pub(super) fn refuse_unconfirmed_name(session: &Session<'_>, connection: &StoreConnection) -> Result<()> {
    if connection.condition != Condition::NewProject {
        return Ok(());
    }
    let Some(mut call) = call::known(session, Actor::named("nobody"), call::query_id()?)? else { return Ok(()) };
    match exchange(session, &mut call, |call| connection.client.ask(call, &SwitchedOn {})) {
        Err(error) if is_unconfirmed(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Refuses a store that was found in the repository and that this machine does not know, for commands that work on the
/// store itself.
pub(super) fn refuse_unknown_store(session: &Session<'_>, connection: &StoreConnection) -> Result<()> {
    if !matches!(connection.condition, Condition::KnownStore(_) | Condition::KnownBoth(_)) {
        return Ok(());
    }
    match session.ask(&SwitchedOn {}) {
        Err(error) if error.code() == Code::UnconfirmedStore => Err(error),
        _ => Ok(()),
    }
}
