//! A stream that ends when its reader's access is revoked.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use tenure_core::Result;

use super::Visitor;
use crate::http::Server;
use crate::http::revocation::{Looks, may_stay, until};

/// Ends a response when its reader loses access, and at shutdown.
pub(super) fn watched(server: &Arc<Server>, visitor: Visitor, response: Response<Body>) -> Result<Response<Body>> {
    let place = server.doors.listen(&visitor.caller.grants.principal)?;
    let over = over(server.clone(), visitor);
    Ok(response.map(|body| until(over, body, place)))
}

async fn over(server: Arc<Server>, visitor: Visitor) {
    let project = [visitor.call.project.key.clone()];
    let mut looks = Looks::of(&server).await;
    while looks.next().await.is_ok() {
        if !may_stay(&server, &visitor.caller, &project).await || is_over(&server, &visitor).await {
            return;
        }
    }
}

/// Whether the session has ended. An unknown state counts as ended, except for an unreachable store: it delivers
/// nothing.
async fn is_over(server: &Server, visitor: &Visitor) -> bool {
    match visitor.standing(server).await {
        Ok(over) => over == Some(true),
        Err(error) => !error.retryable(),
    }
}
