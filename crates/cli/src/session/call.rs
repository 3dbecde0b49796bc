//! The calls that a session makes: who calls, in which project and checkout, under which condition.

use tenure_core::Result;
use tenure_kernel::{Actor, Call, Checkout, RequestId, Trust, WorkingTree};
use tenure_store::OsEntropy;
use tenure_store::table::project::NamedProject;

use super::connection::{self, StoreConnection};
use super::{Session, caller};
use crate::env::Env;
use crate::workspace::Workspace;
use crate::workspace::process::HostFacts;
use crate::workspace::project::KeyKind;

/// A call in the project of the workspace, under its key.
pub(super) fn here(
    session: &Session<'_>,
    connection: &StoreConnection,
    (key, actor, request_id): (String, Actor, RequestId),
) -> Call {
    let workspace = &session.workspace;
    Call {
        project: NamedProject { key: key.into(), label: workspace.project.label.clone() },
        actor,
        request_id,
        checkout: Some(checkout(workspace, session.settings.env)),
        pinned_store: connection.pin.as_ref().map(|pin| pin.store.as_str().into()),
        keep_events: workspace.config.keep_events,
        proven_dead: Vec::new(),
        condition: connection.condition.clone(),
    }
}

/// A call by an agent that the door knows; none in a project in which nothing has ever happened.
pub(crate) fn known(session: &Session<'_>, actor: Actor, request_id: RequestId) -> Result<Option<Call>> {
    let Some(key) = session.workspace.project.key.clone() else { return Ok(None) };
    Ok(Some(here(session, connection::of(session)?, (key, actor, request_id))))
}

/// The id of a query. It is not recorded, so all have the same.
pub(crate) fn query_id() -> Result<RequestId> {
    RequestId::given("query")
}

/// The call of a query, also in a project that has no key yet.
pub(super) fn query(session: &Session<'_>, connection: &StoreConnection, actor: Actor) -> Result<Call> {
    let request_id = match &session.settings.globals.request_id {
        Some(given) => RequestId::given(given)?,
        None => query_id()?,
    };
    let key = session.workspace.project.key.clone().unwrap_or_default();
    Ok(Call { keep_events: None, ..here(session, connection, (key, actor, request_id)) })
}

/// A call about the whole store, or a project of it that is named.
pub(super) fn about_store(
    session: &Session<'_>,
    connection: &StoreConnection,
    actor: Actor,
    request_id: RequestId,
) -> Call {
    let key = session.workspace.project.key.clone().unwrap_or_default();
    Call {
        checkout: None,
        keep_events: None,
        condition: connection.condition_of_store(),
        ..here(session, connection, (key, actor, request_id))
    }
}

/// A call about the whole store, whatever the project is pinned to, by a person.
pub(crate) fn by_person(session: &Session<'_>, what: &str) -> Result<Call> {
    let identity = caller::person(session, what)?;
    let request_id = match &session.settings.globals.request_id {
        Some(given) => RequestId::given(given)?,
        None => RequestId::draw(&OsEntropy),
    };
    let connection = connection::of(session)?;
    Ok(Call { pinned_store: None, ..about_store(session, connection, caller::actor(&identity), request_id) })
}

/// Puts what was seen in the working tree into a call that comes from one.
pub(crate) fn see(call: &mut Call, tree: WorkingTree) {
    if let Some(here) = &mut call.checkout {
        here.tree = tree;
    }
}

fn checkout(workspace: &Workspace, env: &Env) -> Checkout {
    Checkout {
        host: HostFacts::host(env),
        path: workspace.tree_path(),
        common: workspace.common_identity().map(|seen| (seen.path, seen.device, seen.inode)),
        trust: match workspace.project.kind {
            KeyKind::Id => Trust::Known,
            _ => Trust::Any,
        },
        tree: WorkingTree::default(),
    }
}
