use std::collections::BTreeSet;

use serde_json::json;

use super::*;

/// Every shape of each kind as stores contain it. The conformance suite keeps the file up to date.
const STORED: &str = include_str!("../../tests/events.jsonl");

fn told(kind: &str, data: &Value) -> String {
    Event::read(kind, data).sentence("a", "t-1")
}

#[test]
fn what_is_stored_is_read_and_written_as_it_was() {
    let mut met = BTreeSet::new();
    for line in STORED.lines() {
        let stored: Value = serde_json::from_str(line).unwrap();
        let word = |name: &str| stored[name].as_str().unwrap();
        let event = Event::read(word("kind"), &stored["data"]);
        let (kind, mut data) = event.columns();
        // The kernel adds the principal behind an agent.
        if let Some(principal) = stored["data"].get("principal") {
            data.insert("principal".to_owned(), principal.clone());
        }
        assert_eq!(kind, word("kind"));
        assert_eq!(Value::Object(data).to_string(), stored["data"].to_string(), "{line}");
        assert_eq!(event.sentence(word("actor"), word("subject")), word("sentence"), "{line}");
        met.insert(kind);
    }
    let all: BTreeSet<String> = kind::ALL.iter().map(|kind| (*kind).to_owned()).collect();
    assert_eq!(met, all, "each kind has a line");
}

#[test]
fn fields_are_stored_in_the_order_of_their_names() {
    // With `preserve_order`, a map would keep the field order of the struct, and the stored bytes would change.
    assert_eq!(json!({ "b": 1, "a": 2 }).to_string(), r#"{"a":2,"b":1}"#);
    let unblocked = Event::TaskUnblocked(task::TaskUnblocked { reason: "r".to_owned(), met: true });
    assert_eq!(Value::Object(unblocked.columns().1).to_string(), r#"{"met":true,"reason":"r"}"#);
}

#[test]
fn every_kind_has_a_variant_and_a_sentence_of_its_own() {
    let mut told = BTreeSet::new();
    for &kind in kind::ALL {
        let event = Event::read(kind, &json!({ "changes": { "title": ["x", "y"] } }));
        assert_eq!(event.columns().0, kind);
        let sentence = event.sentence("a", "t-1");
        assert!(!sentence.contains(kind), "{sentence}");
        assert!(told.insert(sentence), "{kind} is told as another kind is");
    }
}

#[test]
fn anything_can_be_read() {
    for &kind in kind::ALL {
        for data in [json!(null), json!([1]), json!("x"), json!({ "holder": null, "fence": "x", "wanted": 7 })] {
            assert_eq!(Event::read(kind, &data), Event::read(kind, &json!({})), "{kind} {data}");
        }
    }
    let unknown = Event::read("task.dreamt", &json!({ "of": "sheep" }));
    assert_eq!(unknown, Event::Unknown("task.dreamt".to_owned()));
    assert_eq!(unknown.columns(), ("task.dreamt".to_owned(), Map::new()));
    assert_eq!(unknown.sentence("a", "t-1"), "a: task.dreamt t-1");
}

#[test]
fn a_field_that_does_not_fit_takes_no_other_with_it() {
    let event = Event::read(kind::TASK_BLOCKED, &json!({ "reason": "r", "late": "maybe", "on": null }));
    let blocked = task::TaskBlocked { reason: "r".to_owned(), ..task::TaskBlocked::default() };
    assert_eq!(event, Event::TaskBlocked(blocked));
}

#[test]
fn a_path_and_a_lock_are_told_from_a_task() {
    let topic = |kind: &str, data: Value| Event::read(kind, &data).topic();
    assert_eq!(topic(kind::PATH_CHANGED, json!({})), Topic::Path);
    assert_eq!(topic(kind::LOCK_TAKEN, json!({})), Topic::Lock);
    assert_eq!(topic(kind::HOLD_EXPIRED, json!({})), Topic::Other);
    assert_eq!(topic(kind::HOLD_EXPIRED, json!({ "kind": "task" })), Topic::Other);
    assert_eq!(topic(kind::HOLD_EXPIRED, json!({ "kind": "name", "checkout": "" })), Topic::Lock);
    assert_eq!(topic(kind::OFFER_TAKEN, json!({ "kind": "path" })), Topic::Path);
    assert_eq!(topic(kind::HOLD_TRANSFERRED, json!({ "checkout": "" })), Topic::Path);
    assert_eq!(topic(kind::HOLD_TRANSFERRED, json!({})), Topic::Other);
    assert_eq!(topic(kind::HOLD_TRANSFERRED, json!({ "kind": "name" })), Topic::Lock);
}

#[test]
fn what_was_imported_is_told_as_such() {
    assert_eq!(
        told(kind::TASK_ADDED, &json!({ "imported": true, "status": "done", "title": "x" })),
        "a imported t-1 as done: “x”"
    );
    assert_eq!(
        told(kind::TASK_NOTED, &json!({ "imported": true, "agent": "b", "text": "x" })),
        "a imported a note of b on t-1: “x”"
    );
    let registered = Event::read(kind::AGENT_REGISTERED, &json!({ "imported": true }));
    assert_eq!(registered.sentence("a", "b"), "a imported a task that is assigned to b");
}

#[test]
fn agents_text_is_quoted_and_cut() {
    let told = told(kind::TASK_NOTED, &json!({ "text": "x\n".repeat(200) }));
    assert!(told.starts_with("a noted on t-1: “x x") && told.chars().count() < 150);
}

#[test]
fn stored_data_has_sorted_keys() {
    let unblocked = Event::TaskUnblocked(task::TaskUnblocked::default());
    assert_eq!(unblocked.stored(None), ("task.unblocked".to_owned(), r#"{"met":false,"reason":""}"#.to_owned()));
    assert_eq!(unblocked.stored(Some("person:ann")).1, r#"{"met":false,"principal":"person:ann","reason":""}"#);
    let added = task::TaskAdded { title: "a \"b\"}".to_owned(), after: vec!["t-1".to_owned()], ..Default::default() };
    let (_, text) = Event::TaskAdded(added).stored(Some("person:ann"));
    let keys = serde_json::from_str::<Map<String, Value>>(&text).unwrap();
    assert_eq!(text, Value::Object(keys.clone()).to_string());
    assert!(keys.contains_key("principal") && keys.contains_key("title"));
    let unknown = Event::Unknown("task.dreamt".to_owned());
    assert_eq!(unknown.stored(None), ("task.dreamt".to_owned(), "{}".to_owned()));
}
