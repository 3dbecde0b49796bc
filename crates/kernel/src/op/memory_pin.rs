//! Pins a memory, so that every brief shows it, or takes the pin out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure_core::memory::PINS_MAX;
use tenure_core::{Error, Kind, Result, event};
use tenure_store::table::memory as table;

use super::memory_forget::own;
use crate::access::operator;
use crate::shape;
use crate::unit::{Unit, people_only};

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The memory.
    pub memory: String,
    /// Whether it is pinned from now on.
    pub pinned: bool,
}

pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<shape::Memory> {
    let mut row = own(unit, &request.memory)?;
    if row.scope.is_shared() && !unit.call.actor.is_person() {
        return Err(people_only("pinning for everybody"));
    }
    if row.scope.is_shared() {
        operator(unit, "memory_pin")?;
    }
    if row.pinned != request.pinned {
        let most = usize::try_from(PINS_MAX).unwrap_or(usize::MAX);
        let pins = table::pinned(unit.tx, &unit.project.id, &row.scope, unit.now, most)?;
        if request.pinned && pins.len() >= most {
            return Err(Error::refused(
                Kind::Conflict,
                "too_many_pins",
                format!("{most} memories are pinned there, and no more fit"),
            )
            .entity(&row.id)
            .attempt("tenure memory list --pinned")
            .hint("Take another pin out first."));
        }
        row.pinned = request.pinned;
        table::set_pinned(unit.tx, &unit.project.id, &row.id, row.pinned)?;
        let data = json!({
            "pinned": row.pinned, "key": row.key, "scope": row.scope.word(), "of": row.scope.subject(),
        });
        unit.append(event::kind::MEMORY_PINNED, &row.id, "", None, &data)?;
    }
    Ok(shape::Memory::of(&row))
}
