//! `health`: the checks of `doctor` on a project's own rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure_core::number::EventNumber;
use tenure_core::{Result, Time, hold as rule};
use tenure_store::table::{event, hold, project};

use super::query::{Access, Query, Role};
use crate::backup::check_events;
use crate::call::Call;
use crate::kernel::Kernel;

/// Check the consistency of the project's rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Health {}

/// The health of a project's rows.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HealthReport {
    /// Whether the project has any event: whether it is switched on.
    pub switched_on: bool,
    /// Counters that differ from what they count: (class, stored, counted).
    pub wrong_counters: Vec<(usize, i64, i64)>,
    /// Holds whose time is over and that no write has ended yet.
    pub lapsed: usize,
    /// How many events are kept.
    pub events: i64,
    /// The oldest event kept, and its time.
    pub oldest: (EventNumber, Time),
    /// Whether the events are those that the project's row speaks of.
    pub events_fit: bool,
    /// By how much the clock is behind the last time used.
    pub clock_behind_s: i64,
}

impl Query for Health {
    const NAME: &'static str = "health";
    const ABOUT: &'static str = "Check the consistency of the project's rows";
    const PUBLIC: bool = true;
    const ACCESS: Access = Access::project(Role::Operator);
    type Answer = HealthReport;

    fn answer(&self, kernel: &Kernel, call: &Call) -> Result<HealthReport> {
        kernel.in_snapshot(call, |tx, snapshot| {
            let Some(row) = snapshot.project else { return Ok(nothing()) };
            let counted = project::recount(tx, &row.id)?;
            let wrong_counters = (0..counted.len())
                .filter(|&class| counted[class] != row.counts[class])
                .map(|class| (class, row.counts[class], counted[class]))
                .collect();
            let lapsed = tx.fetch(hold::due(&row.id, snapshot.now, super::LIMIT_MAX))?;
            debug_assert!(lapsed.iter().all(|hold| rule::lapsed(snapshot.now, hold.expires_at)));
            Ok(HealthReport {
                switched_on: row.is_switched_on(),
                wrong_counters,
                lapsed: lapsed.len(),
                events: row.events,
                oldest: (row.first_event, event::time_at(tx, &row.id, row.first_event)?.unwrap_or(Time(0))),
                events_fit: check_events(tx, row).is_ok(),
                clock_behind_s: (row.last_time - snapshot.clock).as_seconds().max(0),
            })
        })
    }
}

/// The health of a project that does not exist.
fn nothing() -> HealthReport {
    HealthReport {
        switched_on: false,
        wrong_counters: Vec::new(),
        lapsed: 0,
        events: 0,
        oldest: (EventNumber::START, Time(0)),
        events_fit: true,
        clock_behind_s: 0,
    }
}
