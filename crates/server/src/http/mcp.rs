//! The MCP endpoint: `/mcp`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use tenure_core::access::WHOLE_STORE;

use super::authentication::{AGENT, AuthenticatedCaller, Credentials};
use super::ops::project_named;
use super::resources::Given;
use super::{HandlerResult, ServerState, body};
use crate::mcp::http::{McpEndpoint, Visitor, is_without_sessions, not_the_store};

/// `/mcp?project=P`
pub(super) async fn serve(
    State(server): ServerState,
    Extension(door): Extension<Arc<McpEndpoint>>,
    caller: AuthenticatedCaller,
    request: Request,
) -> HandlerResult {
    let (parts, content) = request.into_parts();
    let asked = Credentials::of(&parts);
    server.refuse_other_sites(&caller, &asked).await?;
    let given = Given::read(parts.uri.query(), &["project"])?;
    let named = project_named(&asked, &given, &caller)?;
    if named == WHOLE_STORE {
        return Err(not_the_store().into());
    }
    let project = server.project(&caller, &named, true).await?;
    let call = server.call(&caller, project, Some(&asked))?;
    let is_named = asked.header(AGENT)?.is_some() || is_without_sessions(&parts.headers);
    let visitor = Visitor::new(caller, call, is_named);
    let content = body::whole(&server, &parts, content).await?;
    Ok(door.answer(visitor, parts, content.into()).await?)
}
