//! Reading events from the log.

use tenure_core::Result;
use tenure_core::event::Event;
use tenure_store::error::corrupt;
use tenure_store::table::event::Row;

pub(crate) fn read(row: &Row) -> Result<Event> {
    let data = serde_json::from_str(&row.data).map_err(|error| corrupt("stored data is not JSON").cause(error))?;
    Ok(Event::read(&row.kind, &data))
}

/// Reads an event for an answer about the past. Data that is not JSON reads as an event without fields, so that one
/// damaged row does not hide the others.
pub(crate) fn seen(kind: &str, data: &str) -> Event {
    Event::read(kind, &serde_json::from_str(data).unwrap_or_default())
}
