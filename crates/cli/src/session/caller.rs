//! The caller of a command: the person or agent that the environment and the hooks of its tool name.

use std::cell::OnceCell;

use tenure_core::session::CommandOwner;
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::query::session_of::SessionOf;
use tenure_kernel::{Actor, Door};

use super::{Session, call, connection, exchange};
use crate::identity::{self, ActorKind, Identity, NameSource, ResolvedCaller};
use crate::workspace::StoreLocation;
use crate::workspace::process::{HostFacts, ancestors};

/// The caller of a session, as far as it is known.
#[derive(Default)]
pub(super) struct KnownCaller {
    /// The actor, where a door has identified it.
    acting: Option<Actor>,
    /// The agent that a hook registered for this command. The store is asked once, and only for a command of an agent tool.
    registered: OnceCell<CommandOwner>,
}

impl KnownCaller {
    pub(super) fn acting(actor: Actor) -> KnownCaller {
        KnownCaller { acting: Some(actor), ..KnownCaller::default() }
    }
}

/// The actor of an op. An agent tool without a session is refused.
pub(super) fn of_op(session: &Session<'_>) -> Result<Actor> {
    match &session.caller.acting {
        Some(actor) => Ok(actor.clone()),
        None => Ok(actor(&identity(session)?)),
    }
}

/// The actor of a query, which needs no name.
pub(super) fn of_query(session: &Session<'_>) -> Result<Actor> {
    match &session.caller.acting {
        Some(actor) => Ok(actor.clone()),
        None => Ok(match resolved(session)?.for_query() {
            Some(identity) => actor(&as_token(session, identity)?),
            None => Actor::named("nobody"),
        }),
    }
}

/// The caller as the environment and its hooks name it.
pub(crate) fn resolved(session: &Session<'_>) -> Result<ResolvedCaller> {
    let caller = identity::resolve(&session.settings.globals, session.settings.env)?;
    if !caller.is_of_a_session() {
        return Ok(caller);
    }
    let registered = || look_up_session(session).unwrap_or(CommandOwner::Unknown);
    Ok(caller.registered_as(session.caller.registered.get_or_init(registered)))
}

/// The identity of the caller for an op. An agent tool without a session is refused.
pub(crate) fn identity(session: &Session<'_>) -> Result<Identity> {
    as_token(session, resolved(session)?.for_op()?)
}

/// The caller of a command that is for people.
pub(crate) fn person(session: &Session<'_>, what: &str) -> Result<Identity> {
    require_person(identity(session)?, what)
}

/// Refuses a caller that is not a person.
pub(crate) fn require_person(identity: Identity, what: &str) -> Result<Identity> {
    if identity.kind == ActorKind::Person {
        return Ok(identity);
    }
    Err(Error::new(Code::PeopleOnly, format!("{what} is reserved for people"))
        .at(Stage::Resolve)
        .hint("Ask a person to run it."))
}

/// The caller's name as the store knows it.
pub(crate) fn own_name(session: &Session<'_>) -> Result<String> {
    let identity = identity(session)?;
    let principal = match identity.kind {
        ActorKind::Person if is_remote(session) => principal(session)?,
        _ => None,
    };
    Ok(principal.unwrap_or(identity.name))
}

/// The principal of the token, where the project is on a server.
pub(crate) fn principal(session: &Session<'_>) -> Result<Option<String>> {
    connection::of(session)?.client.remote().map_or(Ok(None), |remote| remote.principal())
}

/// The agent that a hook registered for a session of one of some tools, in a process above this one.
pub(crate) fn registered_among(session: &Session<'_>, tools: &[(&str, Option<&str>)]) -> Result<CommandOwner> {
    let Some(mut call) = call::known(session, Actor::named("nobody"), call::query_id()?)? else {
        return Ok(CommandOwner::Unknown);
    };
    let query = SessionOf {
        tools: tools.iter().map(|(tool, session)| ((*tool).to_owned(), session.map(str::to_owned))).collect(),
        here: HostFacts::read(session.settings.env).process(0, 0),
        above: ancestors().collect(),
    };
    let client = &connection::of(session)?.client;
    exchange(session, &mut call, |call| client.ask(call, &query))
}

/// The identity as an actor of the command line.
pub(super) fn actor(identity: &Identity) -> Actor {
    Actor {
        name: identity.name.clone().into(),
        tool: identity.tool.unwrap_or_default().to_owned(),
        process: None,
        door: Door::Cli,
        principal: None,
    }
}

/// The agent that a hook registered for this session. A failure to look it up fails the command too, which reports it.
fn look_up_session(session: &Session<'_>) -> Result<CommandOwner> {
    let tools = identity::tools(session.settings.env)?;
    let tools: Vec<_> = tools.iter().map(|(tool, session)| (*tool, session.as_deref())).collect();
    registered_among(session, &tools)
}

/// Refuses a person that was named with a flag or a variable and is not the principal of the token. A person whose name
/// was only found on this machine acts as that principal without a word.
fn as_token(session: &Session<'_>, identity: Identity) -> Result<Identity> {
    let given = matches!(identity.source, NameSource::Flag | NameSource::Variable);
    if given && identity.kind == ActorKind::Person && is_remote(session) {
        let principal = principal(session)?;
        if principal.is_some_and(|principal| principal != identity.name) {
            return Err(tenure_core::access::not_yours(&identity.name));
        }
    }
    Ok(identity)
}

fn is_remote(session: &Session<'_>) -> bool {
    matches!(session.workspace.store, StoreLocation::Server(_))
}
