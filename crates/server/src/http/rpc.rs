//! The endpoint of commands on other machines: the wire document of the socket, in a request body.
//!
//! The token identifies a remote caller, not the command. Its report of dead processes is believed only about agents of
//! its own principal; the kernel checks that. Its report of moved repositories is believed: a caller that may write in
//! a project may say where the project is worked on.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use tenure_client::wire::{self, Hello};
use tenure_core::access::{self, Role};
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::query::project_called::ProjectCalled;
use tenure_kernel::query::projects::Projects;
use tenure_kernel::{Call, Door, Reply};

use super::authentication::AuthenticatedCaller;
use super::backpressure::Withholdable;
use super::{EmbeddedError, HandlerResult, Server, ServerState, body, json, problem};

/// `GET /api/v1/hello`: the identity of the store, for a client that pins it. It is not a secret and grants nothing.
pub(super) async fn hello(State(server): ServerState) -> HandlerResult {
    // The route is public, so the answer does not say why the store is unreachable.
    let found = server.blocking(|kernel| Ok((kernel.store().create()?, kernel.store().schema_version()?))).await;
    let (identity, schema) = found.map_err(|error| problem::outward(&error))?;
    let hello = Hello {
        tenure: wire::VERSION.to_owned(),
        schema,
        store: identity.id.into(),
        incarnation: identity.incarnation.into(),
        file: None,
    };
    Ok(json(hello.to_line()))
}

/// `GET /api/v1/whoami`: the principal of the token.
pub(super) async fn whoami(caller: AuthenticatedCaller) -> HandlerResult {
    Ok(json(serde_json::json!({ "principal": caller.grants.principal }).to_string()))
}

/// `POST /api/v1/call`
pub(super) async fn call(State(server): ServerState, caller: AuthenticatedCaller, request: Request) -> HandlerResult {
    let (parts, content) = request.into_parts();
    let content = body(&server, &parts, content).await?;
    let sent = wire::WireRequest::read(content.as_bytes())?;
    let asked = sent.asked()?;
    // An error travels inside the answer, not as a problem document: the remote command prints it as its own.
    let deadline_ms = sent.call.deadline_ms;
    let is_question = matches!(asked, wire::Asked::Query(_));
    let answered = server.answer(&caller, sent.call.call, asked, deadline_ms).await;
    let mut inside = None;
    let answered = answered.map_err(|error| {
        let told = problem::outward(&error);
        inside = Some(EmbeddedError(Arc::new(error)));
        told
    });
    let mut response = json(wire::answer(answered));
    inside.and_then(|inside| response.extensions_mut().insert(inside));
    if is_question {
        response.extensions_mut().insert(Withholdable);
    }
    Ok(response)
}

impl Server {
    async fn answer(
        &self,
        caller: &AuthenticatedCaller,
        sent: Call,
        asked: wire::Asked,
        deadline_ms: Option<u64>,
    ) -> Result<Reply> {
        fits(&sent, matches!(asked, wire::Asked::Op(_)))?;
        let call = believed(caller, sent, matches!(asked, wire::Asked::Query(_)));
        match asked {
            wire::Asked::Op(op) => {
                // A client that has given up is not served. It continues as if it had not asked.
                let most = self.limits().time;
                let patience = deadline_ms.map_or(most, Duration::from_millis).min(most);
                let run = self.run_as(caller, call, op);
                tokio::time::timeout(patience, run).await.unwrap_or_else(|_| Err(too_late()))
            }
            wire::Asked::Query(query) => {
                let body = if let Some(Projects { limit, cursor }) = query.get() {
                    self.projects_of(caller, call, *limit, cursor.clone()).await?
                } else if let Some(ProjectCalled { name, .. }) = query.get() {
                    // The query may come from outside any project, so the answer says nothing about the project of the
                    // call.
                    let (call, name) = (call.about_store(), name.clone());
                    let found = self.answer_to(call, query).await;
                    self.noted(caller, "find a project", &name, found).await?
                } else {
                    self.ask_as(caller, call, query).await?
                };
                Ok(Reply { body, replayed: false })
            }
        }
    }
}

fn too_late() -> Error {
    Error::new(wire::NOT_RUN, "the deadline of the client passed before the request was executed").at(Stage::Lock)
}

/// Validates a call from another machine: the project has a key that a command would derive, and text shown to others
/// contains no control characters that move the cursor or start a line.
fn fits(call: &Call, is_op: bool) -> Result<()> {
    let plain = |text: &str| !text.chars().any(char::is_control);
    let here = call.checkout.as_ref();
    let places = here.iter().flat_map(|here| [&here.host, &here.path, &here.tree.head]).all(|text| plain(text));
    let names = plain(&call.project.label) && plain(&call.actor.tool) && call.project.label.len() <= 200;
    let process = call.actor.process.iter().flat_map(|one| [&one.host, &one.boot, &one.pidns]).all(|text| plain(text));
    if !places || !names || !process {
        return Err(Error::usage(Code::BadCall, "the call contains a control character, or a name that is too long"));
    }
    let key = call.project.key.as_str();
    if key == access::WHOLE_STORE || key.is_empty() && !is_op {
        return Ok(());
    }
    access::project(key)?;
    match key.split_once(':') {
        Some(("name", name)) => tenure_core::name::project(name),
        Some(("id" | "url" | "dir", rest)) if !rest.is_empty() => Ok(()),
        _ => Err(Error::usage(Code::BadProjectKey, "the value is not the key of a project")
            .hint("Keys begin with name:, id:, url: or dir:, as `tenure project list` shows them.")),
    }
}

/// Reduces a call to what is believed: the token says who the caller is, and its claims take nothing from others.
fn believed(caller: &AuthenticatedCaller, sent: Call, is_query: bool) -> Call {
    let mut call = sent;
    let principal = &caller.grants.principal;
    // A person's name is only the user name on the other machine, so the token's principal, a person or a service,
    // replaces it. A browser acts only as its principal. A command without an identity calls itself `nobody` and only
    // asks queries.
    let unnamed = is_query && call.actor.name == "nobody";
    if unnamed || tenure_core::name::is_person(&call.actor.name) || caller.is_browser() {
        call.actor.name = principal.clone();
    }
    call.actor.principal = Some(caller.grants.clone());
    if call.actor.door == Door::Cli {
        call.actor.door = Door::Http;
    }
    // The retention of events is a setting of the project. A caller below operator must not drop what others wrote.
    if caller.grants.role(&call.project.key) < Some(Role::Operator) {
        call.keep_events = None;
    }
    call
}
