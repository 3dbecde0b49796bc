//! Signing a browser in with a one-time link, and signing it out.
//!
//! Opening the link changes nothing, so that software that prefetches pages does not use it up. The page has one
//! button, and pressing it uses the link.

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

/// The timeout for a form to arrive.
const FORM: Duration = Duration::from_secs(5);

/// The page of a link that is used or expired.
const OVER: &str = "<h1>Tenure</h1>\n<p>This link is no longer valid: each link works once and expires after a few \
                    minutes.</p>\n\
                    <p><a href=\"/\">Continue</a></p>";

/// The action recorded for a denied sign-in.
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
    // The link is letters and digits, so it needs no escaping.
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
        // A browser gets the error as a page.
        if asked.header(header::ACCEPT.as_str())?.is_some_and(|said| said.contains("text/html")) {
            return Ok(super::page::page(StatusCode::FORBIDDEN, OVER));
        }
        return Err(error.into());
    }
    let mut response = empty(StatusCode::SEE_OTHER);
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_static("/"));
    headers.append(header::SET_COOKIE, cookie(COOKIE, session.expose(), "HttpOnly; ")?);
    // Pages read this cookie and repeat its value in requests that change something.
    headers.append(header::SET_COOKIE, cookie(CSRF_COOKIE, csrf.expose(), "")?);
    Ok(response)
}

/// Redeems a link for a browser session.
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
    // Anyone may try, and each failed attempt is recorded, so attempts are rate-limited. A valid link works however
    // often others fail.
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

/// Another site must not be able to sign a browser in.
fn same_site(asked: &Credentials<'_>) -> Result<()> {
    if asked.is_from_here() { Ok(()) } else { Err(no_link()) }
}

fn cookie(name: &str, value: &str, flags: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(&format!("{name}={value}; Path=/; {flags}Secure; SameSite=Strict"))
        .map_err(|error| Error::bug(format!("a cookie is no header: {error}")))
}

/// Validates the format of a link: lowercase letters, digits and underscores.
fn checked(link: &str) -> Result<&str> {
    let fits = (16..=128).contains(&link.len())
        && link.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if fits { Ok(link) } else { Err(no_link()) }
}

fn no_link() -> Error {
    Error::new(Code::LoginRefused, "this is not a sign-in link")
        .at(Stage::Arguments)
        .hint("Ask for a new link: each link works once and expires after a few minutes.")
}
