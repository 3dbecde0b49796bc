//! Every distinct refusal, as the command line, HTTP and MCP show it. Two refusals are the same if they differ only in
//! numbers, ids and quoted words.

use serde_json::{Value, json};
use tenure_client::phrasing::{Commands, Tools};
use tenure_core::{Code, Error};

use super::Golden;
use super::stable::{stable, walk};
use crate::fixture::World;

pub(super) const FILE: Golden = Golden {
    path: "testkit/golden/refusals.jsonl",
    key: |line| format!("{} {}", line["refusal"]["code"], alike(line)),
    lines,
};

/// The line of an error: the output of commands and HTTP, and the differences for MCP tools.
pub(super) fn line(error: &Error) -> Value {
    let [refusal, tools] = [error.to_json(&Commands), error.to_json(&Tools)].map(comparable);
    let mut line = json!({ "refusal": refusal });
    if tools != refusal {
        line["tools"] = json!({ "hint": tools["hint"], "try": tools["details"]["try"] });
    }
    line
}

/// A refusal without its actions, from which its text is derived, and without schema numbers, which grow.
fn comparable(mut refusal: Value) -> Value {
    if let Some(parts) = refusal.as_object_mut() {
        parts.remove("actions");
    }
    if refusal["code"] == Code::NewerSchema.as_str() {
        let message = refusal["message"].as_str().unwrap_or_default();
        let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        let words: Vec<&str> = message.split(' ').map(|word| if is_number(&word) { "N" } else { word }).collect();
        refusal["message"] = words.join(" ").into();
        refusal["details"]["found"] = "N".into();
        refusal["details"]["known"] = "N".into();
    }
    refusal
}

fn lines(_: &World, seen: &[Value]) -> Vec<Value> {
    let mut lines = seen.to_vec();
    lines.iter_mut().for_each(stable);
    lines
}

/// A line without its numbers, ids, quoted words and names.
fn alike(line: &Value) -> Value {
    let details = &line["refusal"]["details"];
    let holders = details["blockers"].as_array().into_iter().flatten().map(|blocker| &blocker["holder"]);
    let names: Vec<&str> = holders.chain([&details["entity"]]).filter_map(Value::as_str).collect();
    let mut alike = line.clone();
    alike["case"] = Value::Null;
    no_numbers(&mut alike);
    walk(&mut alike, &mut |text| {
        let words = text.split(' ').map(|word| match names.contains(&word.trim_end_matches([',', '.', ':', ';'])) {
            true => "_".to_owned(),
            false => word.to_owned(),
        });
        template(&words.collect::<Vec<_>>().join(" "))
    });
    alike
}

fn no_numbers(value: &mut Value) {
    match value {
        Value::Number(_) => *value = 0.into(),
        Value::Array(items) => items.iter_mut().for_each(no_numbers),
        Value::Object(fields) => fields.values_mut().for_each(no_numbers),
        _ => {}
    }
}

/// A text without its numbers, ids and quoted words.
fn template(text: &str) -> String {
    let mut out = String::new();
    let mut until = None;
    for c in text.chars() {
        match (until, c) {
            (Some(end), c) if c == end => until = None,
            (Some(_), _) => continue,
            (None, '`' | '"') => until = Some(c),
            (None, '“') => until = Some('”'),
            (None, c) if c.is_ascii_digit() => {
                if !out.ends_with('#') {
                    out.push('#');
                }
                continue;
            }
            (None, _) => {}
        }
        out.push(c);
    }
    out
}
