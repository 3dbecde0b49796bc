//! The OpenAPI 3.1 description of the API, generated from the tables that serve it.

use serde_json::{Map, Value, json as value};
use tenure_client::wire::VERSION;
use tenure_kernel::op::{Entry, OPS};
use tenure_kernel::query::QueryEntry;
use tenure_kernel::query::projects::Projects;
use tenure_kernel::query::show::Show;
use tenure_kernel::{Door, Query};

use super::authentication::{AGENT, CHECKOUT, IDEMPOTENCY, PROJECT};
use super::etag::TAKES_VERSION;
use super::resources::{ParamKind, RESOURCES, Resource};
use super::{HandlerResult, json, problem};

/// The pattern of a working tree: a host and an absolute path there.
const TREE: &str = "^[!-9;-~]{1,200}:/[!-~]{0,2000}$";
/// The pattern of agent and principal names.
pub(super) const NAME: &str = "^[a-z0-9][a-z0-9._:-]{0,63}$";

/// `GET /api/v1/openapi.json`
pub(super) async fn serve() -> HandlerResult {
    Ok(json(document().to_string()))
}

/// The whole document.
pub fn document() -> Value {
    let mut parts = OpenApiParts::default();
    let mut paths = Map::new();
    for entry in OPS.iter().filter(|entry| entry.doors.contains(&Door::Http)) {
        paths.insert(format!("/api/v1/ops/{}", entry.name), value!({ "post": parts.op(entry) }));
    }
    let project_list = parts.schema("projects", (QueryEntry::of::<Projects>().answer)().as_value());
    paths.insert(
        "/api/v1/projects".to_owned(),
        value!({ "get": read("projects", "List the projects in which you have a role", &paging(), &project_list) }),
    );
    for resource in RESOURCES {
        let path = format!("/api/v1/projects/{{project}}/{}", resource.path);
        paths.insert(path, value!({ "get": parts.resource(resource) }));
    }
    paths.insert("/api/v1/events".to_owned(), value!({ "get": events() }));
    for (path, what) in [
        ("/livez", "Check whether the process answers"),
        (
            "/readyz",
            "Check whether the store \
                           answers",
        ),
    ] {
        let answer =
            value!({ "description": what, "content": { "application/json": { "schema": { "type": "object" } } } });
        let responses =
            value!({ "200": answer, "503": answer, "default": { "$ref": "#/components/responses/problem" } });
        let name = path.trim_start_matches('/');
        paths.insert(
            path.to_owned(),
            value!({ "get": { "operationId": name, "summary": what, "security": [], "responses": responses } }),
        );
    }
    parts.schemas.insert("problem".to_owned(), problem_schema());
    value!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "Tenure",
            "version": VERSION,
            "description": "The coordination kernel for fleets of AI coding agents.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": parts.schemas,
            "responses": { "problem": {
                "description": "The error, and what to do",
                "content": { problem::TYPE: { "schema": { "$ref": "#/components/schemas/problem" } } },
            } },
        },
    })
}

#[derive(Default)]
struct OpenApiParts {
    schemas: Map<String, Value>,
}

impl OpenApiParts {
    fn op(&mut self, entry: &Entry) -> Value {
        let request = self.schema(&format!("{}_request", entry.name), (entry.request)().as_value());
        let answer = self.schema(&format!("{}_answer", entry.name), (entry.answer)().as_value());
        let mut parameters = value!([
            { "name": "project", "in": "query", "schema": { "type": "string", "minLength": 1 },
              "description": "The project, by its name or key; required for members of several projects" },
            header(IDEMPOTENCY, "The id that every retry of this request carries", "^[!-~]{1,128}$"),
            header(AGENT, "The agent of yours that acts", NAME),
            header(PROJECT, "The project, if the address does not name it", "^[!-~]{1,500}$"),
            such_as("here:/work/web", header(CHECKOUT, "The working tree of the paths, as HOST:PATH", TREE)),
        ]);
        if let Some(parameters) = parameters.as_array_mut().filter(|_| entry.name == TAKES_VERSION) {
            let what = "The ETag that the task was read with; another version is refused (412)";
            let pattern = r#"^(\*|"[0-9]{1,18}(-[0-9a-f]{1,16})?")$"#;
            parameters.push(such_as("*", header("if-match", what, pattern)));
        }
        value!({
            "operationId": entry.name,
            "summary": entry.about,
            "tags": ["ops"],
            "parameters": parameters,
            "requestBody": { "required": true, "content": { "application/json": { "schema": request } } },
            "responses": {
                "200": {
                    "description": "Done",
                    "headers": {
                        "idempotency-replayed": {
                            "schema": { "type": "string" }, "description": "`true` if an earlier answer was repeated",
                        },
                        "etag": { "schema": { "type": "string" }, "description": "\"VERSION-MARK\" of the task in the answer" },
                    },
                    "content": { "application/json": { "schema": answer } },
                },
                "default": { "$ref": "#/components/responses/problem" },
            },
        })
    }

    fn resource(&mut self, resource: &Resource) -> Value {
        let name = resource.path.replace("/{id}", "_one").replace('/', "_");
        let answer = self.schema(&format!("{name}_answer"), (resource.query.answer)().as_value());
        let mut parameters = vec![value!({
            "name": "project", "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 },
            "description": "The project, by its name or key",
        })];
        if !resource.id.is_empty() {
            parameters.push(value!({
                "name": "id", "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 }, "description": "Which one",
            }));
        }
        for param in resource.params {
            let one = (param.schema)();
            let schema = if param.sort == ParamKind::Texts {
                value!({ "type": "array", "items": one, "maxItems": 20 })
            } else {
                one
            };
            parameters.push(value!({ "name": param.name, "in": "query", "schema": schema, "description": param.what }));
        }
        let mut read = read(&name, resource.what, &parameters, &answer);
        if resource.query.name == Show::NAME {
            tagged(&mut read);
        }
        read
    }

    /// Adds a schema to the components, with its definitions under names of their own, and returns a reference to it.
    fn schema(&mut self, name: &str, schema: &Value) -> Value {
        let mut schema = schema.clone();
        let parts = schema.as_object_mut().and_then(|fields| {
            fields.remove("$schema");
            fields.remove("$defs")
        });
        for (part, mut inner) in parts.and_then(|parts| parts.as_object().cloned()).unwrap_or_default() {
            refer(&mut inner, name);
            self.schemas.insert(format!("{name}_{part}"), inner);
        }
        refer(&mut schema, name);
        self.schemas.insert(name.to_owned(), schema);
        value!({ "$ref": format!("#/components/schemas/{name}") })
    }
}

/// Turns references to definitions of a schema into references to components.
fn refer(schema: &mut Value, name: &str) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get_mut("$ref")
                && let Some(part) = target.strip_prefix("#/$defs/")
            {
                *target = format!("#/components/schemas/{name}_{part}");
            }
            fields.values_mut().for_each(|inner| refer(inner, name));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| refer(inner, name)),
        _ => {}
    }
}

fn read(name: &str, what: &str, parameters: &[Value], answer: &Value) -> Value {
    value!({
        "operationId": format!("get_{name}"),
        "summary": what,
        "tags": ["reads"],
        "parameters": parameters,
        "responses": {
            "200": { "description": what, "content": { "application/json": { "schema": answer } } },
            "default": { "$ref": "#/components/responses/problem" },
        },
    })
}

/// Describes the ETag of a task, and the 304 for a client that has the current one.
fn tagged(read: &mut Value) {
    if let Some(parameters) = read["parameters"].as_array_mut() {
        parameters.push(header("if-none-match", "The ETag of what you have", "^[!-~][ -~]{0,200}$"));
    }
    let what = "\"VERSION-MARK\": the version, and a mark that changes with the rest of the answer";
    read["responses"]["200"]["headers"] = value!({ "etag": { "schema": { "type": "string" }, "description": what } });
    read["responses"]["304"] = value!({ "description": "Not modified" });
}

fn paging() -> Vec<Value> {
    vec![
        value!({ "name": "limit", "in": "query", "schema": { "type": "integer", "minimum": 1, "maximum": 1_000 } }),
        value!({ "name": "cursor", "in": "query", "schema": { "type": "string", "minLength": 1 } }),
    ]
}

fn header(name: &str, what: &str, pattern: &str) -> Value {
    let schema = value!({ "type": "string", "minLength": 1, "pattern": pattern });
    value!({ "name": name, "in": "header", "schema": schema, "description": what })
}

/// A parameter with an example, for patterns that do not explain themselves.
fn such_as(example: &str, mut parameter: Value) -> Value {
    parameter["example"] = value!(example);
    parameter
}

fn events() -> Value {
    value!({
        "operationId": "events",
        "summary": "Live events (server-sent events); the `id` of each event is the position to continue from",
        "tags": ["live"],
        "parameters": [
            { "name": "project", "in": "query", "schema": { "type": "array", "items": { "type": "string", "minLength": 1 } },
              "description": "One or several projects" },
            { "name": "since", "in": "query", "schema": { "type": "string", "minLength": 1 },
              "description": "The id of the last event seen, a number, or 0 for all events" },
            header("last-event-id", "The same, as browsers send it", "^[!-~]{1,8000}$"),
        ],
        "responses": {
            "200": { "description": "An endless stream", "content": { "text/event-stream": { "schema": { "type": "string" } } } },
            "default": { "$ref": "#/components/responses/problem" },
        },
    })
}

fn problem_schema() -> Value {
    value!({
        "type": "object",
        "required": ["type", "title", "status", "code", "kind", "message", "retryable", "details"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": ["string", "null"] },
            "instance": { "type": "string" },
            "code": { "type": "string" },
            "kind": { "type": "string" },
            "message": { "type": "string" },
            "hint": { "type": ["string", "null"] },
            "retryable": { "type": "boolean" },
            "details": { "type": "object" },
            "actions": { "type": "array", "items": { "type": "object", "required": ["action"], "properties": { "action": { "type": "string" } } } },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document();
        let mut missing = Vec::new();
        look(&document, &mut |target| {
            let pointer = target.trim_start_matches('#');
            if document.pointer(pointer).is_none() {
                missing.push(target.to_owned());
            }
        });
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn every_op_has_a_typed_answer() {
        let document = document();
        for entry in OPS.iter().filter(|entry| entry.doors.contains(&Door::Http)) {
            is_typed(&document, &document["paths"][format!("/api/v1/ops/{}", entry.name)]["post"], entry.name);
        }
    }

    #[test]
    fn every_query_with_an_address_is_public_and_has_a_typed_answer() {
        let document = document();
        is_typed(&document, &document["paths"]["/api/v1/projects"]["get"], Projects::NAME);
        let items = &document["components"]["schemas"]["projects"]["properties"]["items"]["items"];
        assert!(items["$ref"].is_string(), "{items}");
        for Resource { path, query, .. } in RESOURCES {
            assert!(query.public, "{}", query.name);
            is_typed(&document, &document["paths"][format!("/api/v1/projects/{{project}}/{path}")]["get"], query.name);
            let known = tenure_kernel::query::find(query.name).unwrap();
            assert_eq!((known.answer)(), (query.answer)(), "{}", query.name);
        }
    }

    /// Checks that the answer has a schema that says more than "an object".
    fn is_typed(document: &Value, operation: &Value, name: &str) {
        let content = &operation["responses"]["200"]["content"];
        let target = content["application/json"]["schema"]["$ref"].as_str().unwrap_or_default();
        let answer = document.pointer(target.trim_start_matches('#')).cloned().unwrap_or_default();
        let is_typed = ["properties", "anyOf", "oneOf"].iter().any(|key| answer.get(key).is_some());
        assert!(is_typed, "{name}: {answer}");
    }

    #[test]
    fn what_a_parameter_may_be_is_of_the_sort_that_is_read() {
        for param in RESOURCES.iter().flat_map(|resource| resource.params) {
            let written = match param.sort {
                ParamKind::Text | ParamKind::Texts => "string",
                ParamKind::Number => "integer",
                ParamKind::Flag => "boolean",
            };
            let schema = (param.schema)();
            assert_eq!(schema["type"], written, "{}", param.name);
            assert!(
                schema.as_object().is_some_and(|fields| written == "boolean" || fields.len() > 1),
                "{}",
                param.name
            );
        }
    }

    fn look(value: &Value, see: &mut impl FnMut(&str)) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(target)) = fields.get("$ref") {
                    see(target);
                }
                fields.values().for_each(|inner| look(inner, see));
            }
            Value::Array(items) => items.iter().for_each(|inner| look(inner, see)),
            _ => {}
        }
    }
}
