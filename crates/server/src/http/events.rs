//! Live events over HTTP (server-sent events), and long polling for a place in the waiting line.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderValue, Response, header};
use tenure_core::name::ProjectKey;
use tenure_core::number::EventNumber;
use tenure_core::{Code, Error, Result, Time};
use tenure_kernel::query::log::{Log, Since};
use tenure_kernel::query::turn::Turn;
use tenure_kernel::{AnyQuery, Call, Query};
use tokio::sync::mpsc;

use super::authentication::{AuthenticatedCaller, Credentials};
use super::limits::Permit;
use super::ops::project_named;
use super::resources::Given;
use super::revocation::{self, StreamEnd};
use super::{HEARTBEAT, HandlerResult, Server, ServerState, json};
use crate::event_feed::{FeedMessage, FeedPositions, Subscription};
use tenure_client::phrasing::Commands;

/// How many events this process buffers for one listener. The rest stays in the store.
const AHEAD: usize = 32;
/// The maximum number of projects in one stream.
const PROJECTS: usize = 50;
/// The maximum duration of a long poll.
const WAIT: Duration = Duration::from_secs(25);

/// `GET /api/v1/events?project=A&project=B&since=CURSOR`
pub(super) async fn stream(
    State(server): ServerState,
    caller: AuthenticatedCaller,
    query: RawQuery,
    request: Request,
) -> HandlerResult {
    let (parts, _) = request.into_parts();
    let asked = Credentials::of(&parts);
    let given = Given::read(query.0.as_deref(), &["project", "since"])?;
    let mut named = given.texts("project").to_vec();
    if named.is_empty() {
        named.push(project_named(&asked, &given, &caller)?);
    }
    if named.len() > PROJECTS {
        return Err(Error::usage(
            Code::TooManyProjects,
            format!(
                "one stream can have at most {PROJECTS} \
                                                                projects"
            ),
        )
        .into());
    }
    let mut calls = Vec::new();
    for name in &named {
        let project = server.project(&caller, name, false).await?;
        // Checked before the caller takes a listener's slot. The kernel checks the role again with each page.
        server.allow(&caller, &project.key, Log::NAME, Log::ACCESS.needed(&project.key)).await?;
        let mut call = server.call(&caller, project, None)?;
        call.checkout = None;
        calls.push(call);
    }
    calls.sort_by(|one, other| one.project.key.cmp(&other.project.key));
    calls.dedup_by(|one, other| one.project.key == other.project.key);
    let since = match asked.header("last-event-id")? {
        Some(last) => Some(last.to_owned()),
        None => given.text("since").map(str::to_owned),
    };
    let place = server.doors.listen(&caller.grants.principal)?;
    let mut listening = Vec::new();
    for (call, from) in begins(&calls, since.as_deref())? {
        let key = call.project.key.clone();
        let opened = server.feed.open(call, from).await;
        let opened = server.noted(&caller, "log", &key, opened).await?;
        listening.push((key, opened));
    }
    Ok(listen(&server, caller, listening, place).await)
}

/// The start position in each log.
fn begins(calls: &[Call], since: Option<&str>) -> Result<Vec<(Call, Option<Since>)>> {
    let Some(since) = since else { return Ok(calls.iter().map(|call| (call.clone(), None)).collect()) };
    if let Some(places) = FeedPositions::decode(since) {
        // A project that was not in the stream before starts at the end of its log.
        let begin = |call: &Call| {
            let cursor = places.0.get(&call.project.key);
            (call.clone(), cursor.map(|cursor| Since::Cursor(cursor.clone())))
        };
        return Ok(calls.iter().map(begin).collect());
    }
    let from = match since.parse::<EventNumber>() {
        // Zero means everything: from the oldest event that is kept, whatever its number.
        Ok(EventNumber::START) => Since::Time(Time(0)),
        Ok(number) => Since::Number(number),
        Err(_) => Since::Cursor(since.to_owned()),
    };
    match calls {
        [call] => Ok(vec![(call.clone(), Some(from))]),
        _ if from == Since::Time(Time(0)) => Ok(calls.iter().map(|call| (call.clone(), Some(from.clone()))).collect()),
        _ => Err(Error::usage(Code::BadCursor, "the id is a position in one log, but the stream has several projects")
            .hint("Give the id of the last event of such a stream, 0 for all events, or omit it for new events only.")),
    }
}

async fn listen(
    server: &Arc<Server>,
    caller: AuthenticatedCaller,
    listening: Vec<(ProjectKey, Subscription)>,
    place: Permit,
) -> Response<Body> {
    let (told, mut heard) = mpsc::channel::<(ProjectKey, FeedMessage)>(AHEAD);
    let mut places = FeedPositions::default();
    for (key, one) in listening {
        // The positions are complete from the beginning. A client that reconnects then has one for each log, including
        // quiet ones.
        places.0.insert(key.clone(), one.start().to_owned());
        let told = told.clone();
        tokio::spawn(async move {
            let (to, mut line) = mpsc::channel(1);
            let passing = async {
                loop {
                    // A disconnected listener is noticed even if there are no events.
                    let what = tokio::select! {
                        () = told.closed() => break,
                        what = line.recv() => what,
                    };
                    let Some(what) = what else { break };
                    if told.send((key.clone(), what)).await.is_err() {
                        break;
                    }
                }
                drop(line);
            };
            tokio::join!(one.run(to), passing);
        });
    }
    drop(told);
    let (out, lines) = mpsc::channel::<Bytes>(AHEAD);
    let projects: Vec<ProjectKey> = places.0.keys().cloned().collect();
    tokio::spawn(async move {
        // A browser treats the stream as open only once data has arrived. The start position is sent at once, so that a
        // client that is cut off before the first event resumes from there.
        let mut next = Some(Bytes::from(format!(": tenure\nid: {}\n\n", places.encode())));
        loop {
            if let Some(line) = next.take()
                && out.send(line).await.is_err()
            {
                return;
            }
            tokio::select! {
                () = out.closed() => return,
                told = heard.recv() => match told {
                    Some((key, FeedMessage::Event(line))) => {
                        places.0.insert(key.clone(), line.cursor.clone());
                        next = Some(event(&places.encode(), &line.kind, &named(&key, &line.json)));
                    }
                    Some((key, FeedMessage::Over(error))) => {
                        let problem = named(&key, &error.to_json(&Commands).to_string());
                        let _ = out.send(event(&places.encode(), "over", &problem)).await;
                        return;
                    }
                    None => return,
                },
                () = tokio::time::sleep(HEARTBEAT) => next = Some(Bytes::from_static(b": \n\n")),
            }
        }
    });
    let body = Body::from_stream(EventStreamBody(lines));
    let mut response = Response::new(revocation::until_revoked(server, caller, projects, body, place));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Buffering proxies would hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// One event of the stream. One-line JSON contains no newline, so nothing can end an event early.
fn event(id: &str, kind: &str, data: &str) -> Bytes {
    Bytes::from(format!("id: {id}\nevent: {kind}\ndata: {data}\n\n"))
}

/// A document with its project added.
fn named(key: &str, json: &str) -> String {
    let rest = json.strip_prefix('{').unwrap_or("}");
    let comma = if rest == "}" { "" } else { "," };
    format!("{{\"project\":{}{comma}{rest}", serde_json::Value::from(key))
}

/// The lines of a stream as a body.
struct EventStreamBody(mpsc::Receiver<Bytes>);

impl futures_core::Stream for EventStreamBody {
    type Item = std::result::Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|line| line.map(Ok))
    }
}

/// `GET /api/v1/wait?project=P&place=W`: the state of a place in the waiting line, once it has changed or the poll
/// times out.
pub(super) async fn wait(
    State(server): ServerState,
    caller: AuthenticatedCaller,
    query: RawQuery,
    request: Request,
) -> HandlerResult {
    let (parts, _) = request.into_parts();
    let asked = Credentials::of(&parts);
    let given = Given::read(query.0.as_deref(), &["project", "place"])?;
    let place = given.text("place").unwrap_or_default().to_owned();
    if place.is_empty() {
        return Err(Error::usage(Code::BadParameter, "the address names no place in the waiting line").into());
    }
    let project = server.project(&caller, &project_named(&asked, &given, &caller)?, false).await?;
    server.allow(&caller, &project.key, Turn::NAME, Turn::ACCESS.needed(&project.key)).await?;
    let call = server.call(&caller, project, None)?;
    let question = AnyQuery::new(Turn { place, before: None });
    let _listener = server.doors.listen(&caller.grants.principal)?;
    server.stays(&parts);
    let ends = tokio::time::Instant::now() + WAIT.min(server.limits().time / 2);
    let mut rounds = server.queue.rounds();
    let mut first = None;
    let projects = [call.project.key.clone()];
    let mut over = std::pin::pin!(revocation::over(&server, &caller, &projects));
    loop {
        rounds.borrow_and_update();
        let (call, question) = (call.clone(), question.clone());
        let key = call.project.key.clone();
        let answered = server.blocking(move |kernel| question.ask(kernel, &call)).await;
        let body = server.noted(&caller, "turn", &key, answered).await?;
        let changed = first.as_ref().is_some_and(|first| *first != body);
        let served = !body.contains("\"state\":\"waiting\"");
        if changed || served || tokio::time::Instant::now() >= ends {
            return Ok(json(body));
        }
        tokio::select! {
            over = &mut over => return match over {
                StreamEnd::Ending => Ok(json(body)),
                StreamEnd::Revoked => Err(server.refusal_now(&caller, &key).await.into()),
            },
            _ = tokio::time::timeout(server.kernel.store().poll(), rounds.changed()) => {}
        }
        first.get_or_insert(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_name_their_project() {
        assert_eq!(named("name:p", r#"{"number":1}"#), r#"{"project":"name:p","number":1}"#);
        assert_eq!(named("a\"b", "{}"), r#"{"project":"a\"b"}"#);
    }
}
