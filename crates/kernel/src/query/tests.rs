use std::collections::BTreeSet;

use tenure_core::Kind;

use super::*;

#[test]
fn every_query_is_read_by_its_name() {
    for entry in QUERIES {
        match AnyQuery::read(entry.name, "{}") {
            Ok(query) => {
                assert_eq!(query.name(), entry.name);
                let again = AnyQuery::read(entry.name, &query.to_json().unwrap()).unwrap();
                assert_eq!(again.to_json().unwrap(), query.to_json().unwrap());
            }
            // Its request has required fields, so the query was found.
            Err(error) => assert_eq!((entry.name, error.code().as_str()), (entry.name, "bad_arguments")),
        }
    }
}

#[test]
fn every_query_has_its_file_and_every_file_its_query() {
    let names: Vec<&str> = QUERIES.iter().map(|entry| entry.name).collect();
    let mut expected: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(expected.len(), names.len(), "names are unique: {names:?}");
    expected.extend(["mod", "query", "tests"].map(str::to_owned));
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/query")).unwrap();
    let files = files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some());
    let found: BTreeSet<String> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(found, expected);
}

#[test]
fn every_query_describes_its_request_and_its_answer() {
    for entry in QUERIES {
        assert!(!entry.about.is_empty() && !entry.about.ends_with('.'), "{}", entry.name);
        let request = (entry.request)();
        let request = request.as_value();
        // A query about an op takes the request of the op.
        let is_typed = request["properties"].is_object() || request["$ref"].is_string();
        assert!(is_typed || request["additionalProperties"] == false, "{}: {request}", entry.name);
        // A schema without any of these keywords would allow any value.
        let answer = (entry.answer)();
        let answer = answer.as_object().unwrap();
        let is_typed = ["properties", "oneOf", "anyOf", "items", "prefixItems", "type"]
            .iter()
            .any(|key| answer.contains_key(*key));
        assert!(is_typed, "{}: {answer:?}", entry.name);
        assert_ne!(answer.get("type").filter(|_| answer.len() == 1), Some(&"object".into()), "{}", entry.name);
    }
}

#[test]
fn a_query_can_be_asked_somewhere() {
    for QueryEntry { name, access, domain, .. } in QUERIES {
        assert!(access.project.is_some() || access.store.is_some(), "{name}");
        assert_eq!(*domain == crate::op::Domain::Store, access.project.is_none(), "{name}");
    }
}

#[test]
fn unknown_queries_and_unknown_fields_are_refused_by_name() {
    let error = AnyQuery::read("list", r#"{"stats":[]}"#).unwrap_err();
    assert_eq!((error.kind(), error.code().as_str(), error.about()), (Kind::Usage, "bad_arguments", Some("stats")));
    let error = AnyQuery::read("lst", "{}").unwrap_err();
    assert_eq!((error.kind(), error.code().as_str()), (Kind::NotFound, "unknown_query"));
    let error = AnyQuery::read("task_id", r#"{"typed":"a\u0000"}"#).unwrap_err();
    assert_eq!(error.code().as_str(), "control_character");
    assert!(AnyQuery::read("task_id", r#"{"typed":"a\\u0000"}"#).is_ok(), "that is a backslash");
}

#[test]
fn a_query_is_only_what_it_is() {
    let query = AnyQuery::new(task_id::ResolveTask { typed: "t-1".into() });
    assert_eq!(query.get::<task_id::ResolveTask>().map(|query| query.typed.as_str()), Some("t-1"));
    assert!(query.get::<any_id::ResolveAny>().is_none());
}

/// The bytes of requests that existing clients send must stay the same.
#[test]
fn requests_keep_their_bytes() {
    let sent = [
        (
            "list",
            r#"{"states":["ready"],"all":false,"labels":["x"],"assignee":null,"holder":"a","limit":3,"cursor":null}"#,
        ),
        (
            "list",
            r#"{"states":[],"all":true,"labels":[],"assignee":null,"holder":null,"limit":3,"cursor":null,"text":"login","sort":"updated"}"#,
        ),
        ("look_up", r#"{"typed":"t-1"}"#),
        ("show", r#"{"id":"t-1"}"#),
        ("show_hold", r#"{"id":"h-1"}"#),
        ("graph", r#"{"id":"t-1"}"#),
        ("status", "{}"),
        ("why", r#"{"id":"t-1"}"#),
        ("why_lock", r#"{"name":"deploy"}"#),
        ("why_path", r#"{"paths":["a"],"shared":false,"all_checkouts":false,"fold_case":true}"#),
        ("holds", r#"{"filter":{"holder":"a","kind":null,"paths":[],"fold_case":false},"limit":50,"cursor":null}"#),
        ("lock_of", r#"{"name":"deploy"}"#),
        ("check", r#"{"paths":["a"],"shared":true,"all_checkouts":false,"fold_case":false}"#),
        (
            "turn",
            r#"{"place":"w-1","before":{"id":"w-1","state":"waiting","place":1,"behind":"a","last_event":7,"look_at":"1970-01-01T00:00:01.000000Z"}}"#,
        ),
        ("log", r#"{"subject":null,"agent":"a","kind":null,"since":{"number":3},"limit":5}"#),
        ("mail", r#"{"limit":3}"#),
        ("unread", r#"{"limit":3}"#),
        ("message_id", r#"{"typed":"g-1"}"#),
        (
            "recall",
            r#"{"question":"q","filter":{"task":null,"kind":null,"scope":"agent","pinned":false,"limit":5,"cursor":null}}"#,
        ),
        ("memories", r#"{"task":"t-1","kind":"fact","scope":null,"pinned":true,"limit":5,"cursor":null}"#),
        ("memory_id", r#"{"typed":"m-1"}"#),
        ("memory", r#"{"id":"m-1"}"#),
        ("next", r#"{"labels":["x"]}"#),
        ("agents", r#"{"within_us":1000000,"limit":2,"cursor":null}"#),
        ("projects", r#"{"limit":2,"cursor":"name:p"}"#),
        ("project_called", r#"{"name":"p","also_forgotten":true}"#),
        ("task_id", r#"{"typed":"t-1"}"#),
        ("any_id", r#"{"typed":"h-1"}"#),
        ("guards", "{}"),
        ("switched_on", "{}"),
        ("last_time", "{}"),
        ("fired", "{}"),
        ("health", "{}"),
        ("read_through", "{}"),
        ("export", r#"{"with_log":true}"#),
        ("others_here", "{}"),
        ("in_the_way", r#"{"files":["a"],"fold_case":false}"#),
        ("may_commit", r#"{"paths":["a"],"fold_case":false}"#),
        (
            "may_push",
            r#"{"commits":[{"id":"c0ffee","at":"1970-01-01T00:00:00.000001Z","paths":["a"]}],"fold_case":false}"#,
        ),
        ("own_files", r#"{"paths":["a"],"fold_case":true}"#),
        (
            "session_of",
            r#"{"tools":[["claude","s"],["codex",null]],"here":{"host":"h","boot":"","pidns":"","pid":0,"started":0},"above":[[1,2]]}"#,
        ),
        ("suspects", r#"{"host":"h"}"#),
        ("tokens", r#"{"principal":null,"limit":5,"cursor":null}"#),
        ("token_id", r#"{"typed":"k-1"}"#),
        ("members", r#"{"principal":"person:ann","project":null,"limit":5,"cursor":null}"#),
        ("principals", r#"{"limit":5,"cursor":null}"#),
    ];
    let of_ops = [
        ("peek", crate::op::Op::read("resume", "{}").unwrap().canonical().unwrap()),
        ("import_plan", crate::op::Op::read("import", r#"{"tasks":[],"notes":[]}"#).unwrap().canonical().unwrap()),
    ];
    let says = crate::op::Op::read("tool_used", r#"{"tool":"claude","session":"s"}"#).unwrap().canonical().unwrap();
    let standing = format!(r#"{{"says":{says},"given":null,"depth":"who"}}"#);
    let of_hooks = [
        ("outlook", format!(r#"{{"look":{standing},"files":["a"],"fold_case":false}}"#)),
        ("standing", standing),
        ("beginning", format!(r#"{{"request":{},"ready":2}}"#, of_ops[0].1)),
    ];
    let sent: Vec<(&str, String)> =
        sent.map(|(name, json)| (name, json.to_owned())).into_iter().chain(of_ops).chain(of_hooks).collect();
    for (name, json) in &sent {
        let read = AnyQuery::read(name, json).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read.to_json().unwrap(), *json, "{name}");
    }
    let named: BTreeSet<&str> = sent.iter().map(|(name, _)| *name).collect();
    assert_eq!(named, QUERIES.iter().map(|entry| entry.name).collect(), "every query is here");
}
