//! The door of MCP clients: `/mcp`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use tenure_core::access::WHOLE_STORE;

use super::door::{AGENT, Asked, Caller};
use super::ops::project_named;
use super::reads::Given;
use super::{Answer, Shared, sent};
use crate::mcp::http::{Door, Visitor, is_without_sessions, not_the_store};

/// `/mcp?project=P`
pub(super) async fn serve(
    State(server): Shared,
    Extension(door): Extension<Arc<Door>>,
    caller: Caller,
    request: Request,
) -> Answer {
    let (parts, content) = request.into_parts();
    let asked = Asked::of(&parts);
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
    let content = sent::whole(&server, &parts, content).await?;
    Ok(door.answer(visitor, parts, content.into()).await?)
}
