//! Resources: the answers of queries at URLs of their own.

use std::collections::BTreeMap;

use axum::extract::{RawQuery, Request, State};
use serde_json::{Map, Value, json as value};
use tenure_core::number::EventNumber;
use tenure_core::{Code, Error, Result, text};
use tenure_kernel::query::QueryEntry;
use tenure_kernel::query::agents::Agents;
use tenure_kernel::query::holds::Holds;
use tenure_kernel::query::list::List;
use tenure_kernel::query::lock_of::LockOf;
use tenure_kernel::query::log::Log;
use tenure_kernel::query::mail::Mail;
use tenure_kernel::query::memories::Memories;
use tenure_kernel::query::memory::ShowMemory;
use tenure_kernel::query::next::Next;
use tenure_kernel::query::projects::Projects;
use tenure_kernel::query::show::Show;
use tenure_kernel::query::show_hold::ShowHold;
use tenure_kernel::query::status::Status;
use tenure_kernel::query::why::Why;
use tenure_kernel::{Call, Query};

use super::authentication::{AuthenticatedCaller, Credentials};
use super::etag::unless_seen;
use super::segments::Segments;
use super::{HandlerResult, Server, ServerState, json, no_such_address, param_schema};
use crate::percent::decode_query;

/// How the value of a parameter is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParamKind {
    /// A string.
    Text,
    /// A whole number.
    Number,
    /// `true` or `false`.
    Flag,
    /// A string that may be given several times.
    Texts,
}

/// A query parameter.
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) sort: ParamKind,
    /// The schema of one value, for authors of clients.
    pub(super) schema: fn() -> Value,
}

const fn param(name: &'static str, sort: ParamKind, what: &'static str) -> Param {
    Param { name, what, sort, schema: param_schema::anything }
}

impl Param {
    /// The same parameter with a narrower schema.
    const fn of(self, schema: fn() -> Value) -> Param {
        Param { schema, ..self }
    }
}

/// A resource that can be read.
pub(super) struct Resource {
    /// The path below `/api/v1/projects/{project}/`. `{id}` stands for one segment.
    pub(super) path: &'static str,
    /// A one-line description.
    pub(super) what: &'static str,
    /// The query that answers it.
    pub(super) query: QueryEntry,
    /// The name of `{id}` in the query.
    pub(super) id: &'static str,
    /// The other parameters.
    pub(super) params: &'static [Param],
}

const LIMIT: Param = param("limit", ParamKind::Number, "Items on a page, 1 to 1000").of(param_schema::page);
const CURSOR: Param = param("cursor", ParamKind::Text, "`next` of the previous page");

/// All resources of a project.
pub(super) const RESOURCES: &[Resource] = &[
    Resource {
        path: "tasks",
        what: "List tasks in the order in which they are chosen",
        query: QueryEntry::of::<List>(),
        id: "",
        params: &[
            param("states", ParamKind::Texts, "Only tasks in these states").of(param_schema::state),
            param("all", ParamKind::Flag, "Also done and cancelled tasks").of(param_schema::flag),
            param("labels", ParamKind::Texts, "Only tasks with all of these labels").of(param_schema::label),
            param("assignee", ParamKind::Text, "Only tasks assigned to this agent").of(param_schema::name),
            param("holder", ParamKind::Text, "Only tasks held by this agent").of(param_schema::name),
            param("text", ParamKind::Text, "Only with words that begin like each of these, in the task or a note"),
            param("sort", ParamKind::Text, "The order: `priority`, `created` or `updated`").of(param_schema::order),
            LIMIT,
            CURSOR,
        ],
    },
    Resource {
        path: "tasks/{id}",
        what: "Get one task with its notes, dependents and newest events",
        query: QueryEntry::of::<Show>(),
        id: "id",
        params: &[],
    },
    Resource {
        path: "tasks/{id}/story",
        what: "Tell the story of a task",
        query: QueryEntry::of::<Why>(),
        id: "id",
        params: &[],
    },
    Resource {
        path: "holds",
        what: "List live holds by their end, and the waiting line",
        query: QueryEntry::of::<Holds>(),
        id: "",
        params: &[
            param("holder", ParamKind::Text, "Only holds of this agent").of(param_schema::name),
            param("kind", ParamKind::Text, "Only holds of this kind: task, path or name").of(param_schema::hold),
            LIMIT,
            CURSOR,
        ],
    },
    Resource {
        path: "holds/{id}",
        what: "Get one hold, live or ended",
        query: QueryEntry::of::<ShowHold>(),
        id: "id",
        params: &[],
    },
    Resource {
        path: "events",
        what: "List events by number; without `since`, the newest page",
        query: QueryEntry::of::<Log>(),
        id: "",
        params: &[
            param("subject", ParamKind::Text, "Only events about this"),
            param("agent", ParamKind::Text, "Only events by this agent").of(param_schema::name),
            param("kind", ParamKind::Text, "Only items of this kind").of(param_schema::event),
            param("since", ParamKind::Text, "Only events after this number or cursor"),
            LIMIT,
        ],
    },
    Resource {
        path: "agents",
        what: "List agents by name",
        query: QueryEntry::of::<Agents>(),
        id: "",
        params: &[LIMIT, CURSOR],
    },
    Resource {
        path: "memories",
        what: "List memories, newest first",
        query: QueryEntry::of::<Memories>(),
        id: "",
        params: &[
            param("kind", ParamKind::Text, "Only items of this kind").of(param_schema::memory),
            param("scope", ParamKind::Text, "Only memories of this scope"),
            param("pinned", ParamKind::Flag, "Only pinned memories").of(param_schema::flag),
            LIMIT,
            CURSOR,
        ],
    },
    Resource {
        path: "memories/{id}",
        what: "Get one memory",
        query: QueryEntry::of::<ShowMemory>(),
        id: "id",
        params: &[],
    },
    Resource {
        path: "locks/{id}",
        what: "Get the current state of a named lock, or null",
        query: QueryEntry::of::<LockOf>(),
        id: "name",
        params: &[],
    },
    Resource { path: "status", what: "Summarize the project", query: QueryEntry::of::<Status>(), id: "", params: &[] },
    Resource {
        path: "next",
        what: "Show the task that a claim would choose, and why",
        query: QueryEntry::of::<Next>(),
        id: "",
        params: &[param("labels", ParamKind::Texts, "Only tasks with all of these labels").of(param_schema::label)],
    },
    Resource {
        path: "mail",
        what: "Read the caller's new mail; the messages stay new",
        query: QueryEntry::of::<Mail>(),
        id: "",
        params: &[param("limit", ParamKind::Number, "Messages, 1 to 100").of(param_schema::mail)],
    },
];

/// The query parameters of a URL.
pub(crate) struct Given(BTreeMap<String, Vec<String>>);

impl Given {
    /// Parses them. An unknown name is refused.
    pub(crate) fn read(query: Option<&str>, known: &[&str]) -> Result<Given> {
        let mut given: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(text)) = (decode_query(name), decode_query(text)) else {
                return Err(Error::usage(Code::BadParameter, "a parameter of the address is not UTF-8"));
            };
            if text.contains('\0') {
                return Err(Error::usage(Code::BadParameter, "a parameter of the address has a NUL"));
            }
            if !known.contains(&name.as_str()) {
                let name = text::excerpt(&name);
                return Err(Error::usage(Code::UnknownParameter, format!("there is no parameter `{name}` here"))
                    .entity(name)
                    .hint(format!("The parameters are {}.", known.join(", "))));
            }
            given.entry(name).or_default().push(text);
        }
        Ok(Given(given))
    }

    /// The last value of a parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.last().map(String::as_str)
    }

    /// All values of a parameter.
    pub(crate) fn texts(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// The request of a query.
    fn request(&self, params: &[Param]) -> Result<Map<String, Value>> {
        let mut request = Map::new();
        for param in params {
            let values = self.texts(param.name);
            let Some(last) = values.last() else { continue };
            let bad = |what: &str| {
                Error::usage(Code::BadParameter, format!("`{}` of `{}` is not {what}", text::excerpt(last), param.name))
                    .entity(param.name)
            };
            let read = match param.sort {
                ParamKind::Text => value!(last),
                ParamKind::Texts => value!(values),
                ParamKind::Number => value!(last.parse::<u32>().map_err(|_| bad("a number"))?),
                ParamKind::Flag => match last.as_str() {
                    "true" => value!(true),
                    "false" => value!(false),
                    _ => return Err(bad("true or false")),
                },
            };
            request.insert(param.name.to_owned(), read);
        }
        Ok(request)
    }
}

/// `GET /api/v1/projects`
pub(super) async fn projects(
    State(server): ServerState,
    caller: AuthenticatedCaller,
    query: RawQuery,
) -> HandlerResult {
    let given = Given::read(query.0.as_deref(), &["limit", "cursor"])?;
    let request = given.request(&[LIMIT, CURSOR])?;
    let limit = request.get("limit").and_then(Value::as_u64).unwrap_or(50);
    let call = server.call(&caller, tenure_store::table::project::whole_store(), None)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let cursor = given.text("cursor").map(str::to_owned);
    Ok(json(server.projects_of(&caller, call, limit, cursor).await?))
}

impl Server {
    /// A page of the projects that a caller has a role in. The answer says nothing about other projects, not even their
    /// number.
    pub(super) async fn projects_of(
        &self,
        caller: &AuthenticatedCaller,
        call: Call,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<String> {
        tenure_kernel::query::limit(limit)?;
        let grants = caller.grants.clone();
        self.blocking(move |kernel| {
            let (mut items, mut after) = (Vec::new(), cursor.clone());
            let next = loop {
                let query = Projects { limit: tenure_kernel::query::LIMIT_MAX, cursor: after };
                let page = kernel.ask(&call, &query)?;
                let own = page.items.into_iter().filter(|project| grants.role(&project.key).is_some());
                items.extend(own.take(limit + 1 - items.len()));
                match page.next {
                    Some(next) if items.len() <= limit => after = Some(next),
                    _ if items.len() > limit => {
                        items.truncate(limit);
                        break items.last().map(|project| project.key.clone());
                    }
                    _ => break None,
                }
            };
            let total = (next.is_none() && cursor.is_none()).then_some(items.len());
            let more = next.is_some();
            let page = value!({ "items": items, "total": total, "more": more, "next": next });
            Ok(page.to_string())
        })
        .await
    }
}

/// `GET /api/v1/projects/{project}/{resource}`
pub(super) async fn list(
    State(server): ServerState,
    Segments((project, resource)): Segments<(String, String)>,
    caller: AuthenticatedCaller,
    query: RawQuery,
    request: Request,
) -> HandlerResult {
    read(&server, &caller, &project, (&resource, ""), query, request).await
}

/// `GET /api/v1/projects/{project}/{resource}/{id}`
pub(super) async fn one(
    State(server): ServerState,
    Segments((project, resource, id)): Segments<(String, String, String)>,
    caller: AuthenticatedCaller,
    query: RawQuery,
    request: Request,
) -> HandlerResult {
    read(&server, &caller, &project, (&format!("{resource}/{{id}}"), &id), query, request).await
}

/// `GET /api/v1/projects/{project}/{resource}/{id}/{part}`
pub(super) async fn part(
    State(server): ServerState,
    Segments((project, resource, id, part)): Segments<(String, String, String, String)>,
    caller: AuthenticatedCaller,
    query: RawQuery,
    request: Request,
) -> HandlerResult {
    read(&server, &caller, &project, (&format!("{resource}/{{id}}/{part}"), &id), query, request).await
}

async fn read(
    server: &Server,
    caller: &AuthenticatedCaller,
    project: &str,
    (path, id): (&str, &str),
    query: RawQuery,
    request: Request,
) -> HandlerResult {
    let (parts, _) = request.into_parts();
    let asked = Credentials::of(&parts);
    let resource = RESOURCES.iter().find(|resource| resource.path == path).ok_or_else(no_such_address)?;
    let known: Vec<&str> = resource.params.iter().map(|param| param.name).collect();
    let given = Given::read(query.0.as_deref(), &known)?;
    let mut wanted = given.request(resource.params)?;
    if !resource.id.is_empty() {
        wanted.insert(resource.id.to_owned(), value!(id));
    }
    let question = (resource.query.read)(&shaped(resource, wanted).to_string())?;
    let project = server.project(caller, project, false).await?;
    let call = server.call(caller, project, Some(&asked))?;
    let body = server.ask_as(caller, call, question).await?;
    Ok(if resource.query.name == Show::NAME { unless_seen(&asked, body)? } else { json(body) })
}

/// The request of the query: some parameters are nested deeper than in the URL.
fn shaped(resource: &Resource, mut wanted: Map<String, Value>) -> Value {
    match resource.query.name {
        Holds::NAME => {
            let mut filter = Map::new();
            for name in ["holder", "kind"] {
                if let Some(value) = wanted.remove(name) {
                    filter.insert(name.to_owned(), value);
                }
            }
            wanted.insert("filter".to_owned(), Value::Object(filter));
        }
        Log::NAME => {
            if let Some(Value::String(since)) = wanted.remove("since") {
                let since = match since.parse::<EventNumber>() {
                    Ok(number) => value!({ "number": number }),
                    Err(_) => value!({ "cursor": since }),
                };
                wanted.insert("since".to_owned(), since);
            }
        }
        _ => {}
    }
    Value::Object(wanted)
}
