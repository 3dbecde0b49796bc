//! Notes progress on a task: the one progress call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_core::hold::Right;
use tenure_core::{Error, Result, event, id, text};
use tenure_store::table::note;

use crate::shape;
use crate::unit::Unit;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The task; without it the one in focus. With it anyone may note, and no hold is touched.
    #[serde(default)]
    pub task: Option<String>,
    /// What was done, found or decided.
    pub text: String,
    /// Structured data to keep with it.
    #[serde(default)]
    pub data: Option<Value>,
    /// The fence to act under, in place of the one last shown.
    #[serde(default)]
    pub fence: Option<i64>,
}

impl Request {
    pub(crate) fn check(&self) -> Result<()> {
        text::required(&self.text, "note")?;
        data(self.data.as_ref()).map(|_| ())
    }
}

fn data(value: Option<&Value>) -> Result<String> {
    let Some(value) = value else { return Ok(String::new()) };
    let stored = value.to_string();
    if stored.len() > text::TEXT_MAX {
        return Err(Error::usage(
            "data_too_long",
            format!("the data has {} bytes, at most {} fit", stored.len(), text::TEXT_MAX),
        ));
    }
    if has_nul(value) {
        return Err(Error::usage("control_character", "the data has the control character U+0000"));
    }
    Ok(stored)
}

/// Data that comes as a text to be kept to the letter. A newline in it is a blank of its spelling: those that mean
/// something are escaped.
pub(crate) fn given(raw: &str) -> Result<String> {
    let value: Value = serde_json::from_str(raw)
        .map_err(|error| Error::usage("bad_data", format!("the data is not JSON: {error}")))?;
    data(Some(&value))?;
    let stored = raw.replace(['\n', '\r'], " ");
    if stored.len() > text::TEXT_MAX {
        return Err(Error::usage(
            "data_too_long",
            format!("the data has {} bytes, at most {} fit", stored.len(), text::TEXT_MAX),
        ));
    }
    Ok(stored)
}

/// NUL is the one character that PostgreSQL cannot store.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<shape::Noted> {
    let task = unit.meant(request.task.as_deref())?;
    let (loaded, fresh) = unit.load_and_draw(&task, id::Sort::Note)?;
    let right = unit.right(&loaded, request.fence);
    // By id anyone may note: only a fence that was given, or the focus, asks whether the hold still stands.
    let late = match right {
        Ok(right) => right == Right::Late,
        Err(_) if request.task.is_some() && request.fence.is_none() => false,
        Err(error) => return Err(error),
    };
    let words = text::required(&request.text, "note")?;
    let event = json!({ "note": fresh, "text": words, "late": late });
    let number = unit.append(event::kind::TASK_NOTED, &task, "", None, &event)?;
    let row = note::Row {
        id: fresh,
        task: task.clone(),
        number,
        agent: unit.me().to_owned(),
        at: unit.now,
        text: words,
        data: data(request.data.as_ref())?,
        late,
    };
    note::insert(unit.tx, &unit.project.id, &row)?;
    Ok(shape::Noted { id: row.id, task, late })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_is_refused_wherever_it_stands_and_a_spelled_out_one_is_not() {
        for bad in [json!("a\0"), json!([["\0"]]), json!({ "a\0": 1 }), json!({ "a": { "b": "\0" } })] {
            assert_eq!(data(Some(&bad)).unwrap_err().code(), "control_character", "{bad}");
        }
        assert!(data(Some(&json!({ "pattern": "\\u0000" }))).is_ok());
    }
}
