//! Forgets a project: everything that belongs to it goes, and the store is as if it had never been used in it.
//!
//! What stays is its row with the last number. If the project is ever used again, numbers go on from there: a cursor or
//! a fence from before is then stale, and never taken for one from after.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_core::text::excerpt;
use tenure_core::{Error, Kind, Result};
use tenure_store::table::{hold, project};

use crate::unit::{Unit, people_only};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The project's key, once more: what is about to go is named by whoever lets it go.
    pub key: String,
    /// Although tasks are held.
    #[serde(default)]
    pub force: bool,
}

pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<Value> {
    if !unit.call.actor.is_person() {
        return Err(people_only("forgetting a project"));
    }
    if request.key != unit.project.key {
        return Err(Error::refused(
            Kind::Conflict,
            "other_project",
            format!("the request is to forget `{}`, and this is {}", excerpt(&request.key), unit.project.key),
        )
        .entity(excerpt(&request.key)));
    }
    let (held, _) = hold::summary(unit.tx, &unit.project.id, unit.now)?;
    if held > 0 && !request.force {
        return Err(Error::refused(
            Kind::Conflict,
            "project_in_use",
            format!("agents are at work in {}: holds that live: {held}", unit.project.label),
        )
        .entity(&request.key)
        .attempt("tenure holds")
        .attempt("tenure agent list")
        .person("A person may say --force: what is held is forgotten with the rest.")
        .detail("held", held));
    }
    let row = &mut unit.project;
    let forgotten =
        json!({ "key": row.key, "label": row.label, "tasks": row.counts.iter().sum::<i64>(), "events": row.events });
    row.counts = [0; 7];
    row.events = 0;
    row.first_event = row.last_event + 1;
    project::empty(unit.tx, &row.id)?;
    Ok(forgotten)
}
