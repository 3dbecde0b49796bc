//! Every distinct shape of each kind of event, as stored, with its sentence.
//!
//! The file is in `core`, whose own tests parse each line into a payload and serialise it again.

use serde_json::{Value, json};
use tenure_core::event::Event;
use tenure_core::event::kind::{GUARDS_ON, PRINCIPAL_ADDED, PRINCIPAL_ENABLED};
use tenure_store::Sql;

use super::Golden;
use super::stable::stable;
use crate::fixture::World;

pub(super) const FILE: Golden = Golden {
    path: "core/tests/events.jsonl",
    key: |line| format!("{} {}", line["kind"], shape("data", &line["data"])),
    lines,
};

/// Kinds without a payload.
const EMPTY: [&str; 3] = [GUARDS_ON, PRINCIPAL_ADDED, PRINCIPAL_ENABLED];

/// Fields with a small vocabulary: a different word is a different shape.
const WORDS: [&str; 9] = ["before", "how", "kind", "mode", "renewal", "role", "rule", "scope", "status"];

/// All events of a store; none if the case has broken its store.
fn lines(world: &World, _: &[Value]) -> Vec<Value> {
    let sql = Sql::same("SELECT kind, actor, subject, data FROM event ORDER BY project, number");
    let rows = world.kernel.store().read("", |tx, _| tx.query(sql, &[])).unwrap_or_default();
    rows.into_iter()
        .filter_map(|mut row| {
            let [kind, actor, subject, data] = [0, 1, 2, 3].map(|column| row.text(column).unwrap_or_default());
            // Data that is invalid JSON, or empty for a kind with a payload, was written by the case itself.
            let data: Value = serde_json::from_str(&data).ok()?;
            if data == json!({}) && !EMPTY.contains(&kind.as_str()) {
                return None;
            }
            let mut line = json!({ "kind": kind, "actor": actor, "subject": subject, "data": data });
            stable(&mut line);
            let word = |key: &str| line[key].as_str().unwrap();
            let event = Event::read(word("kind"), &line["data"]);
            line["sentence"] = event.sentence(word("actor"), word("subject")).into();
            Some(line)
        })
        .collect()
}

/// The shape of a value: its fields, their types, and whether they are empty.
fn shape(name: &str, value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(number) if matches!(number.as_i64(), Some(0 | 1)) => value.to_string(),
        Value::Number(_) => "number".to_owned(),
        Value::String(word) if word.is_empty() || WORDS.contains(&name) => value.to_string(),
        Value::String(_) => "text".to_owned(),
        Value::Array(items) => match items.as_slice() {
            [] => "[]".to_owned(),
            [only] => format!("[{}]", shape(name, only)),
            [first, ..] => format!("[{}, …]", shape(name, first)),
        },
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}: {}", shape(name, value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
    }
}
