//! The door of commands that run on other machines: the document that travels over the socket, in a body.
//!
//! What a command on this machine may be believed, one on another may not: who it is says the token; which processes are
//! dead, which store it means and which places are gone, it can only claim.

use axum::extract::{Request, State};
use tenure_kernel::op::role;
use tenure_kernel::{Call, Door, Query, Reply, Trust};

use super::door::{Asked, Caller};
use super::{Answer, Server, Shared, body, json};
use crate::wire::{self, Hello};

/// `GET /api/v1/hello`: which store this is, for a client that pins it. It is no secret, and opens nothing.
pub(super) async fn hello(State(server): Shared) -> Answer {
    let (identity, schema) =
        server.blocking(|kernel| Ok((kernel.store().create()?, kernel.store().schema_version()?))).await?;
    let hello = Hello {
        tenure: wire::VERSION.to_owned(),
        schema,
        store: identity.id,
        incarnation: identity.incarnation,
        file: None,
    };
    Ok(json(hello.to_line()))
}

/// `POST /api/v1/call`
pub(super) async fn call(State(server): Shared, request: Request) -> Answer {
    let (parts, content) = request.into_parts();
    let caller = server.caller(&Asked::of(&parts)).await?;
    let content = body(&server, &parts, content).await?;
    let sent = wire::Request::read(content.as_bytes())?;
    let asked = sent.asked()?;
    // Told inside the answer, not as a problem: the command at the other end prints it as if it had met it there.
    let answered = server.answer(&caller, sent.call.call, asked).await;
    Ok(json(wire::answer(answered)))
}

impl Server {
    async fn answer(&self, caller: &Caller, sent: Call, asked: wire::Asked) -> tenure_core::Result<Reply> {
        let (name, needed) = match &asked {
            wire::Asked::Op(op) => (op.name(), role::needs(op, &sent.project.key)),
            wire::Asked::Query(query) => (query.name(), role::query_needs(query.name(), &sent.project.key)),
        };
        let whole = matches!(&asked, wire::Asked::Query(Query::Projects(_) | Query::ProjectCalled(_)));
        if !whole {
            self.allow(caller, &sent.project.key, name, needed).await?;
        }
        let call = believed(caller, sent);
        match asked {
            wire::Asked::Op(op) => self.run(call, op).await,
            wire::Asked::Query(Query::Projects(page)) => {
                let found = self.projects_of(caller, call, page.limit, page.cursor).await?;
                Ok(Reply { body: found, replayed: false })
            }
            wire::Asked::Query(Query::ProjectCalled(called)) => {
                let found = self.project(caller, &called.name, false).await?;
                let body = serde_json::to_string(&found)
                    .map_err(|error| tenure_core::Error::bug(format!("a name has no JSON: {error}")))?;
                Ok(Reply { body, replayed: false })
            }
            wire::Asked::Query(query) => {
                let body = self.blocking(move |kernel| kernel.answer(&call, &query)).await?;
                Ok(Reply { body, replayed: false })
            }
        }
    }
}

/// A call as far as it is believed: the token says who, and nothing is taken from others on its word.
fn believed(caller: &Caller, sent: Call) -> Call {
    let mut call = sent;
    call.actor.process = None;
    call.actor.principal = Some(caller.grants.clone());
    if call.actor.door == Door::Cli {
        call.actor.door = Door::Http;
    }
    call.proven_dead = Vec::new();
    call.keep_events = None;
    if let Some(here) = &mut call.checkout {
        // A project on a server is shared by its name: any place may use it. What a place says of itself counts for
        // that place only.
        here.trust = Trust::Any;
    }
    call
}
