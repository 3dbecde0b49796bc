//! The home page: the signed-in person and their projects. A visitor who is not signed in sees only how to sign in.

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use serde::Deserialize;
use tenure_core::Result;
use tenure_core::access::{EVERY_PROJECT, Grants};
use tenure_kernel::access as secret;
use tenure_store::table::project;

use super::authentication::{AuthenticatedCaller, Credentials, Proof, csrf_cookie};
use super::page::{escaped, page};
use super::{HandlerResult, Server, ServerState};
use crate::percent;

/// The maximum number of projects on the page. The rest is behind a link.
const SHOWN: usize = 100;

const STRANGER: &str = "<h1>Tenure</h1>
<p>You are not signed in here.</p>
<h2>People</h2>
<p>Open a link to sign in. <code>tenure up</code> prints one; for a team's server, ask its administrator. Each link \
works once and expires after a few minutes.</p>
<h2>Agents and programs</h2>
<p>They send a token: <code>TENURE_URL</code> and <code>TENURE_TOKEN</code> for commands, \
<code>Authorization: Bearer</code> for everything else.</p>";

/// `GET /`
pub(super) async fn serve(State(server): ServerState, request: Request) -> HandlerResult {
    let (parts, _) = request.into_parts();
    let asked = Credentials::of(&parts);
    let Some((caller, csrf)) = server.visitor(&asked).await? else { return Ok(page(StatusCode::OK, STRANGER)) };
    let call = server.call(&caller, project::whole_store(), None)?;
    let listed: Listed = serde_json::from_str(&server.projects_of(&caller, call, SHOWN, None).await?)
        .map_err(|error| tenure_core::Error::bug(format!("a list of projects cannot be read: {error}")))?;
    let host = asked.header(header::HOST.as_str())?.unwrap_or("127.0.0.1:7133");
    Ok(page(StatusCode::OK, &own(&caller.grants, &listed, &csrf, host)))
}

/// The fields of the project list that the page shows.
#[derive(Deserialize)]
struct Listed {
    items: Vec<HomeProject>,
    more: bool,
}

#[derive(Deserialize)]
struct HomeProject {
    key: String,
    label: String,
}

impl Server {
    /// The signed-in visitor of a page, with the CSRF token for its forms.
    async fn visitor(&self, asked: &Credentials<'_>) -> Result<Option<(AuthenticatedCaller, String)>> {
        let Some(cookies) = asked.header(header::COOKIE.as_str())? else { return Ok(None) };
        let Some(shown) = super::authentication::cookie(cookies) else { return Ok(None) };
        let hash = secret::hash(shown);
        let proof = Proof::Session(hash.clone());
        let Some(session) = self.blocking(move |kernel| kernel.who_is_session(&hash)).await? else {
            self.count_unknown(asked)?;
            return Ok(None);
        };
        self.count(&session.grants.principal, 1.0)?;
        let csrf = csrf_cookie(cookies).filter(|said| secret::is_secret_of(said, &session.csrf));
        let name = session.grants.principal.clone();
        let caller = AuthenticatedCaller { grants: session.grants, name: name.into(), from: asked.from.clone(), proof };
        Ok(Some((caller, csrf.unwrap_or_default().to_owned())))
    }
}

fn own(grants: &Grants, listed: &Listed, csrf: &str, host: &str) -> String {
    let (me, host) = (escaped(&grants.principal), escaped(host));
    format!(
        "<h1>Tenure</h1>
<p>You are signed in as <strong>{me}</strong>.</p>
{}
<h2>For programs</h2>
<p><a href=\"/api/v1/openapi.json\">The description of the API</a> · <a href=\"/api/v1/projects\">your projects</a> as JSON</p>
<h2>How agents connect</h2>
<p>Each sends a token that a person creates. Commands and hooks on another machine:</p>
<pre>tenure token add --for {me}
export TENURE_URL=http://{host}
export TENURE_TOKEN=…</pre>
<p>Tools that speak MCP:</p>
<pre>http://{host}/mcp?project=PROJECT
Authorization: Bearer …</pre>
<p class=\"quiet\">Behind a TLS proxy, the address begins with https.</p>
<form method=\"post\" action=\"/logout\"><input type=\"hidden\" name=\"csrf\" value=\"{}\"><button class=\"plain\">Sign out</button></form>",
        roles(grants, listed),
        escaped(csrf),
    )
}

fn roles(grants: &Grants, listed: &Listed) -> String {
    let mut rows = String::new();
    if let Some(role) = grants.members.get(EVERY_PROJECT) {
        rows.push_str(&format!("<tr><td>every project</td><td>{}</td></tr>\n", role.as_str()));
    }
    for project in &listed.items {
        let Some(role) = grants.role(&project.key) else { continue };
        let (label, address) = (escaped(&project.label), percent::encode(&project.key));
        rows.push_str(&format!(
            "<tr><td><a href=\"/api/v1/projects/{address}/status\">{label}</a></td><td>{}</td></tr>\n",
            role.as_str()
        ));
    }
    if rows.is_empty() {
        return "<h2>Your roles</h2>\n<p>You have no roles yet: an administrator assigns them with <code>tenure \
                member set</code>.</p>"
            .to_owned();
    }
    let more = if listed.more { "<p><a href=\"/api/v1/projects\">All of your projects</a></p>" } else { "" };
    format!("<h2>Your roles</h2>\n<table>\n<tr><th>project</th><th>role</th></tr>\n{rows}</table>\n{more}")
}
