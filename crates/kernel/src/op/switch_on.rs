//! Switches a project on: hooks act in a project that something happened in, and in no other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_core::Result;

use crate::unit::Unit;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {}

// Being an op is what does it: the events of the project's making and of the caller's first op were appended when the
// unit began, and a project with an event is switched on.
pub(crate) fn apply(unit: &mut Unit<'_>, _: &Request) -> Result<Value> {
    Ok(json!({ "project": unit.project.key, "switched_on": true }))
}
