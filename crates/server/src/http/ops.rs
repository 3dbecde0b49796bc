//! Ops over HTTP: `POST /api/v1/ops/{name}`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{RawQuery, Request, State};
use axum::http::HeaderValue;
use serde_json::Value;
use tenure_core::{Error, Result};
use tenure_kernel::op::confirm;
use tenure_kernel::{Call, Door, Op, RequestId};
use tenure_store::OsEntropy;

use super::door::{Asked, Caller, PROJECT};
use super::reads::Given;
use super::segments::Segments;
use super::tags::{if_match, tagged};
use super::{Answer, Server, Shared, body};

/// Most answers whose offers wait to be confirmed. What is forgotten is offered again, which is allowed.
const OFFERS: usize = 10_000;

/// `POST /api/v1/ops/{name}`
pub(super) async fn run(
    State(server): Shared,
    Segments(name): Segments<String>,
    caller: Caller,
    query: RawQuery,
    request: Request,
) -> Answer {
    let (parts, content) = request.into_parts();
    let asked = Asked::of(&parts);
    let given = Given::read(query.0.as_deref(), &["project"])?;
    let content = body(&server, &parts, content).await?;
    let op = Op::read_at(Door::Http, &name, &if_match(&asked, &name, content)?)?;
    let named = project_named(&asked, &given, &caller)?;
    let project = server.project(&caller, &named, true).await?;
    let call = server.call(&caller, project, Some(&asked))?;
    let offers = matches!(op, Op::Resume(_) | Op::Inbox(_));
    // What was offered before this request came in has been read by whoever makes it: if it is who it says it is, and if
    // this is no answer that was lost on the way.
    let read = server.offers.pending(&call);
    let reply = server.run_as(&caller, call.clone(), op).await?;
    if !reply.replayed {
        server.confirm(&call, read).await;
        if offers {
            server.offers.note(&call, &reply.body);
        }
    }
    let mut response = tagged(reply.body);
    if reply.replayed {
        response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// The project that a request names; one who belongs to one only need not name it.
pub(super) fn project_named(asked: &Asked<'_>, given: &Given, caller: &Caller) -> Result<String> {
    if let Some(named) = given.text("project") {
        return Ok(named.to_owned());
    }
    if let Some(named) = asked.header(PROJECT)? {
        return Ok(named.to_owned());
    }
    let mut own = caller.grants.members.keys();
    match (own.next(), own.next()) {
        (Some(only), None) if only != tenure_core::access::EVERY_PROJECT => Ok(only.clone()),
        _ => Err(Error::usage("project_missing", "the request does not say which project it is about")
            .hint(format!("Add ?project=NAME to the address, or the header `{PROJECT}`."))),
    }
}

/// Offers that whoever got them has not yet confirmed: the next request of the same caller says that they were read.
#[derive(Default)]
pub(crate) struct Offers(Mutex<HashMap<(String, String), Offered>>);

#[derive(Clone)]
pub(crate) struct Offered {
    /// The id of the request that they answered: made again, it says that the answer was not read.
    request_id: String,
    events: Option<i64>,
    mail: Option<i64>,
}

impl Offers {
    fn note(&self, call: &Call, body: &str) {
        let Ok(body) = serde_json::from_str::<Value>(body) else { return };
        let (events, mail) = (body["events"]["offered"].as_i64(), body["mail"]["offered"].as_i64());
        let mail = mail.or_else(|| body["offered"].as_i64());
        let mut offers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if (events.is_some() || mail.is_some()) && offers.len() < OFFERS {
            let offered = Offered { request_id: call.request_id.as_str().to_owned(), events, mail };
            offers.insert((call.actor.name.clone(), call.project.key.clone()), offered);
        }
    }

    fn pending(&self, call: &Call) -> Option<Offered> {
        let offers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = offers.get(&(call.actor.name.clone(), call.project.key.clone()))?;
        (found.request_id != call.request_id.as_str()).then(|| found.clone())
    }

    fn confirmed(&self, call: &Call, offered: &Offered) {
        let mut offers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (call.actor.name.clone(), call.project.key.clone());
        if offers.get(&key).is_some_and(|now| now.request_id == offered.request_id) {
            offers.remove(&key);
        }
    }
}

impl Server {
    /// Confirms what the caller was offered before this request. At worst the same is told twice, marked.
    async fn confirm(&self, call: &Call, offered: Option<Offered>) {
        let Some(offered) = offered else { return };
        self.offers.confirmed(call, &offered);
        let call = Call { request_id: RequestId::draw(&OsEntropy), ..call.clone() };
        let op = Op::Confirm(confirm::Request { events: offered.events, mail: offered.mail });
        let _ = self.queue.run(call, op, Arc::new(|| true), self.deadline()).await;
    }
}
