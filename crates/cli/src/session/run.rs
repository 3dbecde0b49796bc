//! Running an op: the call it needs, what it observes on this machine, and what the first write makes.

use serde::Deserialize;
use tenure_core::error::detail::SentAs;
use tenure_core::{Kind, Result};
use tenure_kernel::op::Input;
use tenure_kernel::{Actor, Call, Op, Reply, RequestId, Trust, WorkingTree};
use tenure_store::table::project::{NamedProject, whole_store};
use tenure_store::{Entropy, OsEntropy};

use super::connection::{self, StoreConnection};
use super::{Session, call, caller, evidence, exchange, trust};
use crate::git_status;
use crate::workspace::{StoreFrom, head};

/// How an op is run where it differs from the usual.
#[derive(Debug, Default)]
pub(crate) struct RunOptions {
    /// Another project of the store than the one of the workspace.
    pub(crate) project: Option<NamedProject>,
    /// How far the checkout is trusted, where a person vouches for it.
    pub(crate) trust: Option<Trust>,
    /// The id of the request; without it the one that was given with `--request-id`, else a new one.
    pub(crate) request_id: Option<RequestId>,
}

impl RunOptions {
    /// About the whole store.
    pub(crate) fn in_store() -> RunOptions {
        RunOptions { project: Some(whole_store()), ..RunOptions::default() }
    }

    /// A request of its own beside the one of the command, which has the id that was given.
    pub(crate) fn aside() -> RunOptions {
        RunOptions { request_id: Some(RequestId::draw(&OsEntropy)), ..RunOptions::default() }
    }
}

pub(super) fn any(session: &Session<'_>, op: &Op, with: RunOptions) -> Result<Reply> {
    let request_id = match (with.request_id, &session.settings.globals.request_id) {
        (Some(id), _) => id,
        (None, Some(given)) => RequestId::given(given)?,
        (None, None) => RequestId::draw(&OsEntropy),
    };
    let actor = caller::of_op(session)?;
    // A malformed request is refused before a store or a project id is made for it.
    op.check()?;
    let connection = connection::of(session)?;
    let reply = match with.project {
        Some(project) => elsewhere(session, connection, op, (project, actor, request_id)),
        None => here(session, connection, op, (with.trust, actor, request_id)),
    }?;
    if !session.out.is_json() {
        remarks(&reply.body).iter().for_each(|remark| session.out.aside(&format!("tenure: {remark}")));
    }
    Ok(reply)
}

/// What an answer says besides what was asked. Only the first answer to an agent has remarks.
fn remarks(body: &str) -> Vec<String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Remarks {
        remarks: Vec<String>,
    }
    if !body.contains("\"remarks\":") {
        return Vec::new();
    }
    serde_json::from_str::<Remarks>(body).unwrap_or_default().remarks
}

/// Runs an op in a project that is named, whatever the one of the workspace is.
fn elsewhere(
    session: &Session<'_>,
    connection: &StoreConnection,
    op: &Op,
    (project, actor, request_id): (NamedProject, Actor, RequestId),
) -> Result<Reply> {
    let mut call = call::about_store(session, connection, actor, request_id);
    call.project = project;
    session.workspace.consent_to_new_store(session.settings.env)?;
    exchange(session, &mut call, |call| connection.client.run_any(call, op))
}

/// Runs an op in the project of the workspace.
fn here(
    session: &Session<'_>,
    connection: &StoreConnection,
    op: &Op,
    (trust, actor, request_id): (Option<Trust>, Actor, RequestId),
) -> Result<Reply> {
    let workspace = &session.workspace;
    let (key, pinned_store) = ensure_pinned(session, connection)?;
    if !matches!(workspace.store_from, StoreFrom::User | StoreFrom::UserConfig) {
        workspace.keep_git_out(session.settings.env)?;
    }
    let mut call = Call {
        pinned_store: pinned_store.map(Into::into),
        condition: connection.condition_once_pinned(session)?,
        ..call::here(session, connection, (key, actor, request_id))
    };
    if let (Some(checkout), Some(trust)) = (&mut call.checkout, trust) {
        checkout.trust = trust;
    }
    for input in op.entry().inputs {
        match input {
            Input::DeadAgents => {
                call.proven_dead = evidence::dead(session.settings.env, &connection.client, &call);
            }
            Input::WorkingTree => call::see(&mut call, git_status::of(workspace, session.settings.env)),
            Input::Head => call::see(&mut call, WorkingTree { head: head::of(workspace), ..WorkingTree::default() }),
        }
    }
    let request_id = call.request_id.as_str().to_owned();
    // Where the outcome may be unknown, the same request under the same id finds it out: an id is carried out once.
    exchange(session, &mut call, |call| connection.client.run_any(call, op)).map_err(|error| match error.kind() {
        Kind::Busy => error.with(&SentAs(request_id)),
        _ => error,
    })
}

/// The project's key and the store that it is pinned to; the first write makes both.
fn ensure_pinned(session: &Session<'_>, connection: &StoreConnection) -> Result<(String, Option<String>)> {
    let workspace = &session.workspace;
    let key = || workspace.ensure_key(&mut |bytes| OsEntropy.fill(bytes));
    if let Some(pin) = &connection.pin {
        return Ok((key()?, Some(pin.store.clone())));
    }
    if workspace.checkout.is_none() {
        return Ok((key()?, None));
    }
    trust::refuse_unconfirmed_name(session, connection)?;
    // The store first: one that cannot be made leaves nothing in the repository.
    let identity = connection.client.create()?;
    workspace.keep_git_out(session.settings.env)?;
    let key = key()?;
    workspace.ensure_pin(&identity.id, &key)?;
    Ok((key, Some(identity.id.into())))
}
