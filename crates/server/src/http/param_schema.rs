//! Schemas of query parameters. Where a list or a pattern defines the accepted values, the schema is as narrow.

use serde_json::{Value, json};
use tenure_core::{event as words, memory, task};

pub(super) fn anything() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

pub(super) fn flag() -> Value {
    json!({ "type": "boolean" })
}

pub(super) fn page() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": 1_000 })
}

pub(super) fn mail() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": 100 })
}

pub(super) fn name() -> Value {
    json!({ "type": "string", "pattern": super::openapi::NAME })
}

pub(super) fn label() -> Value {
    json!({ "type": "string", "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]{1,64}$" })
}

pub(super) fn state() -> Value {
    json!({ "type": "string", "enum": task::TaskState::ALL })
}

pub(super) fn order() -> Value {
    json!({ "type": "string", "enum": ["priority", "created", "updated"] })
}

pub(super) fn hold() -> Value {
    json!({ "type": "string", "enum": ["task", "path", "name"] })
}

pub(super) fn event() -> Value {
    let kinds: &[&str] = words::kind::ALL;
    json!({ "type": "string", "enum": kinds })
}

pub(super) fn memory() -> Value {
    json!({ "type": "string", "enum": memory::MemoryKind::ALL })
}
