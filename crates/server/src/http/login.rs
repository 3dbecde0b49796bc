//! Signing a browser in with a one-time link, and out.
//!
//! Opening the link changes nothing: what fetches a page before a person sees it must not use the link up. The page has
//! one button, and that takes it.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use tenure_core::{Code, Error, Kind, Result, Stage};
use tenure_kernel::Op;
use tenure_kernel::access::{self, Secret};
use tenure_kernel::op::{login_close, login_take};
use tenure_store::OsEntropy;

use super::authentication::{AuthenticatedCaller, COOKIE, CSRF_COOKIE, Credentials, Proof, ours};
use super::segments::Segments;
use super::{HandlerResult, Server, ServerState, body_of_form, empty};

/// How long a form may take to arrive.
const FORM: Duration = Duration::from_secs(5);

/// What is said on a page of a link that is used or over.
const OVER: &str = "<h1>Tenure</h1>\n<p>This link does not sign anybody in any more: each is good once, and for minutes.</p>\n\
                    <p><a href=\"/\">Go on</a></p>";

/// What is written down of a try that was denied.
const WHAT: &str = "sign in";

/// `GET /login/{link}`
pub(super) async fn page(
    State(server): ServerState,
    Segments(link): Segments<String>,
    request: Request,
) -> HandlerResult {
    let (parts, _) = request.into_parts();
    let asked = Credentials::of(&parts);
    let link = match checked(&link) {
        Ok(link) => link,
        Err(error) => {
            server.count_sign_in(&asked)?;
            server.audit(&error, None, "", WHAT, "", &asked.from).await;
            return Err(error.into());
        }
    };
    // The link is letters and digits, so it can stand in a page as it is.
    Ok(super::page::page(
        StatusCode::OK,
        &format!(
            "<h1>Tenure</h1>\n<p>This link signs this browser in, once.</p>\n<form method=\"post\" action=\"/login\">\
             <input type=\"hidden\" name=\"link\" value=\"{link}\"><button autofocus>Sign in</button></form>"
        ),
    ))
}

/// `POST /login`
pub(super) async fn take(State(server): ServerState, request: Request) -> HandlerResult {
    let (parts, content) = request.into_parts();
    let asked = Credentials::of(&parts);
    let (session, csrf) = (Secret::draw(&OsEntropy), Secret::draw(&OsEntropy));
    if let Err(error) = sign_in(&server, &parts, &asked, content, (&session, &csrf)).await {
        if error.kind() != Kind::Denied {
            return Err(error.into());
        }
        server.audit(&error, None, "", WHAT, "", &asked.from).await;
        // Somebody who looks at a page is told on one.
        if asked.header(header::ACCEPT.as_str())?.is_some_and(|said| said.contains("text/html")) {
            return Ok(super::page::page(StatusCode::FORBIDDEN, OVER));
        }
        return Err(error.into());
    }
    let mut response = empty(StatusCode::SEE_OTHER);
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_static("/"));
    headers.append(header::SET_COOKIE, cookie(COOKIE, session.expose(), "HttpOnly; ")?);
    // The pages read this one and send it back with what they change.
    headers.append(header::SET_COOKIE, cookie(CSRF_COOKIE, csrf.expose(), "")?);
    Ok(response)
}

/// Uses a link up for the session of a browser.
async fn sign_in(
    server: &Server,
    parts: &Parts,
    asked: &Credentials<'_>,
    content: Body,
    (session, csrf): (&Secret, &Secret),
) -> Result<()> {
    let link = link_in(server, parts, asked, content).await;
    let is_good = match &link {
        Ok(link) => {
            server
                .blocking({
                    let link = link.clone();
                    move |kernel| kernel.is_login_link(&link)
                })
                .await?
        }
        Err(error) if error.kind() == Kind::Denied => false,
        Err(_) => return link.map(drop),
    };
    // Anybody may try, and each try that fails is written down: not often. A good link works however often others fail.
    if !is_good {
        server.count_sign_in(asked)?;
    }
    let op = login_take::LoginTake {
        link: link?,
        session: session.hash(),
        csrf: csrf.hash(),
        expires_in_s: None,
        from: asked.from.clone(),
    };
    server.run(ours(), Op::new(op)).await.map(drop)
}

/// The hash of the link in a form.
async fn link_in(server: &Server, parts: &Parts, asked: &Credentials<'_>, content: Body) -> Result<String> {
    same_site(asked)?;
    let form = server.outside(parts, server.strangers.wait(&asked.share, form(content))).await?;
    form.strip_prefix("link=").map(checked).transpose()?.map(access::hash).ok_or_else(no_link)
}

/// The body of a small form, if it arrives in time.
pub(super) async fn form(content: Body) -> Result<String> {
    let form = tokio::time::timeout(FORM, body_of_form(content)).await;
    form.map_err(|_| Error::usage(Code::BadArguments, "the form did not arrive in time"))?
}

/// `POST /logout`
pub(super) async fn close(State(server): ServerState, caller: AuthenticatedCaller) -> HandlerResult {
    let Proof::Session(session) = caller.proof else {
        let error = no_link();
        server.audit(&error, Some(&caller.grants.principal), &caller.name, "sign out", "", &caller.from).await;
        return Err(error.into());
    };
    let op = login_close::LoginClose { session: Some(session), principal: None };
    server.run(ours(), Op::new(op)).await?;
    let mut response = empty(StatusCode::SEE_OTHER);
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
    response.headers_mut().append(header::SET_COOKIE, cookie(COOKIE, "", "HttpOnly; Max-Age=0; ")?);
    response.headers_mut().append(header::SET_COOKIE, cookie(CSRF_COOKIE, "", "Max-Age=0; ")?);
    Ok(response)
}

/// A page of another site must not sign a browser in as somebody.
fn same_site(asked: &Credentials<'_>) -> Result<()> {
    if asked.is_from_here() { Ok(()) } else { Err(no_link()) }
}

fn cookie(name: &str, value: &str, flags: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(&format!("{name}={value}; Path=/; {flags}Secure; SameSite=Strict"))
        .map_err(|error| Error::bug(format!("a cookie is no header: {error}")))
}

/// A link as it was made: letters, digits, and the mark of a secret.
fn checked(link: &str) -> Result<&str> {
    let fits = (16..=128).contains(&link.len())
        && link.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if fits { Ok(link) } else { Err(no_link()) }
}

fn no_link() -> Error {
    Error::new(Code::LoginRefused, "this is not a link to sign in with")
        .at(Stage::Arguments)
        .hint("Ask for a new one: each is good once, and for minutes.")
}
