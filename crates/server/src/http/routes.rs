//! All routes of the server. The router is built from this table, so code that walks the table sees every route.

use std::sync::Arc;

use axum::Router;
use axum::routing::{MethodRouter, any, get, post};

use super::{
    Failure, Server, events, health, home, login, mcp, middleware, openapi, ops, page, require_caller, resources, rpc,
};
use super::{no_such_address, no_such_method};
use crate::mcp::http::McpEndpoint;

/// The routes that need no authentication. This is the only such list. Any other route is denied to an unauthenticated
/// caller, whatever its handler does.
pub const PUBLIC: [&str; 9] = [
    "/",
    "/style.css",
    "/livez",
    "/readyz",
    "/login/{link}",
    "/login",
    "/api/v1/hello",
    "/api/v1/openapi.json",
    "/openapi.json",
];

/// The routes that forms of our own pages post to. Their CSRF token is in the form, not in a header.
pub(super) const FORMS: [&str; 1] = ["/logout"];

/// A path and its handler.
pub(super) struct Route {
    pub(super) path: &'static str,
    serve: fn() -> MethodRouter<Arc<Server>>,
}

const fn route(path: &'static str, serve: fn() -> MethodRouter<Arc<Server>>) -> Route {
    Route { path, serve }
}

pub(super) const ROUTES: &[Route] = &[
    route("/", || get(home::serve)),
    route("/style.css", || get(page::style)),
    route("/livez", || get(health::live)),
    route("/readyz", || get(health::ready)),
    route("/metrics", || get(health::metrics)),
    route("/login/{link}", || get(login::page)),
    route("/login", || post(login::take)),
    route("/logout", || post(login::close)),
    route("/api/v1/hello", || get(rpc::hello)),
    route("/api/v1/whoami", || get(rpc::whoami)),
    route("/api/v1/call", || post(rpc::call)),
    route("/api/v1/ops/{name}", || post(ops::run)),
    route("/mcp", || any(mcp::serve)),
    route("/api/v1/openapi.json", || get(openapi::serve)),
    // The conventional location.
    route("/openapi.json", || get(openapi::serve)),
    route("/api/v1/events", || get(events::stream)),
    route("/api/v1/wait", || get(events::wait)),
    route("/api/v1/projects", || get(resources::projects)),
    route("/api/v1/projects/{project}/{resource}", || get(resources::list)),
    route("/api/v1/projects/{project}/{resource}/{id}", || get(resources::one)),
    route("/api/v1/projects/{project}/{resource}/{id}/{part}", || get(resources::part)),
];

/// The router with all routes and the middleware around them.
pub(crate) fn router(server: Arc<Server>) -> Router {
    let tools = Arc::new(McpEndpoint::of(&server));
    ROUTES
        .iter()
        .fold(Router::new(), |router, route| router.route(route.path, (route.serve)()))
        .fallback(|| async { Failure(no_such_address()) })
        .method_not_allowed_fallback(|| async { Failure(no_such_method()) })
        .layer(axum::middleware::from_fn_with_state(server.clone(), require_caller::layer))
        .layer(axum::middleware::from_fn_with_state(server.clone(), middleware::around))
        .layer(axum::Extension(tools))
        .with_state(server)
}
