//! A door has shown what was offered up to a number. Internal: a door runs it, nobody types it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::{Error, Kind, Result};
use tenure_store::table::delivery;

use crate::shape;
use crate::unit::Unit;

/// The request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Events were shown up to this one.
    #[serde(default)]
    pub events: Option<i64>,
    /// Mail was shown up to this event.
    #[serde(default)]
    pub mail: Option<i64>,
}

/// Confirms what was shown. A second reader that confirms the same, or less, changes nothing.
pub(crate) fn apply(unit: &mut Unit<'_>, request: &Request) -> Result<shape::Confirmed> {
    let (project, me) = (unit.project.id.clone(), unit.me());
    let mut row = delivery::get(unit.tx, &project, me)?.unwrap_or_default();
    let before = row;
    row.confirmed = shown(row.confirmed, row.offered, request.events)?;
    row.mail_confirmed = shown(row.mail_confirmed, row.mail_offered, request.mail)?;
    if row != before {
        delivery::put(unit.tx, &project, me, &row)?;
    }
    Ok(shape::Confirmed { events: row.confirmed, mail: row.mail_confirmed })
}

/// Where a cursor stands after a confirmation: never back, and never beyond what was offered, or something would count
/// as shown that nobody has seen.
fn shown(confirmed: i64, offered: i64, number: Option<i64>) -> Result<i64> {
    match number {
        Some(number) if number > offered => Err(Error::refused(
            Kind::Conflict,
            "not_offered",
            format!("{number} was not offered: what was offered ends with {offered}"),
        )
        .entity(number.to_string())),
        Some(number) => Ok(confirmed.max(number)),
        None => Ok(confirmed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_i3_a_cursor_never_goes_back_nor_beyond_what_was_offered() {
        assert_eq!(shown(3, 7, Some(5)).unwrap(), 5);
        assert_eq!(shown(3, 7, Some(7)).unwrap(), 7);
        assert_eq!(shown(3, 7, Some(2)).unwrap(), 3);
        assert_eq!(shown(3, 7, None).unwrap(), 3);
        assert_eq!(shown(3, 7, Some(8)).unwrap_err().code(), "not_offered");
        assert_eq!(shown(0, 0, Some(1)).unwrap_err().code(), "not_offered");
    }
}
