//! Event retention: if it is configured, some writes delete a few old events each, so that no op pays for many.

use tenure_core::{Result, Time};
use tenure_store::Tx;
use tenure_store::table::{event, project};

/// The maximum number of events that one write drops. Only one write per 64 events drops any, so this is more than are
/// added and a backlog shrinks.
const AT_MOST: usize = 256;

/// Drops events from before an instant, oldest first, up to the first that is not. The newest event always stays: a
/// project without events would count as not switched on.
pub(crate) fn events(tx: &mut dyn Tx, project: &mut project::Row, before: Time) -> Result<()> {
    let oldest = event::oldest(tx, &project.id, AT_MOST + 1)?;
    let kept = oldest.iter().find(|(number, at)| *at >= before || *number == project.last_event).or(oldest.last());
    if let Some((number, _)) = kept.filter(|(number, _)| *number > project.first_event) {
        project.events -= event::drop_below(tx, &project.id, *number)?;
        project.first_event = *number;
    }
    Ok(())
}
