//! What `doctor` asks about a project's own rows.

use serde::{Deserialize, Serialize};
use tenure_core::{Result, Time, hold as rule};
use tenure_store::table::{event, hold, project};

use crate::backup::check_events;
use crate::call::Call;
use crate::kernel::Kernel;
use crate::query::export::read_through;

/// The health of a project's rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Health {
    /// Whether the project has any event: whether it is switched on.
    pub switched_on: bool,
    /// Counters that differ from what they count: (class, stored, counted).
    pub wrong_counters: Vec<(usize, i64, i64)>,
    /// Holds whose time is over and that no write has ended yet.
    pub lapsed: usize,
    /// How many events are kept.
    pub events: i64,
    /// The oldest event kept, and its time.
    pub oldest: (i64, Time),
    /// Whether the events are those that the project's row speaks of.
    pub events_fit: bool,
    /// By how much the clock is behind the last time used.
    pub clock_behind_s: i64,
}

impl Kernel {
    /// Looks over a project's rows.
    pub fn health(&self, call: &Call) -> Result<Health> {
        self.ask(call, |tx, scene| {
            let Some(row) = scene.project else { return Ok(nothing()) };
            let counted = project::recount(tx, &row.id)?;
            let wrong_counters = (0..counted.len())
                .filter(|&class| counted[class] != row.counts[class])
                .map(|class| (class, row.counts[class], counted[class]))
                .collect();
            let lapsed = tx.fetch(hold::due(&row.id, scene.now, super::LIMIT_MAX))?;
            debug_assert!(lapsed.iter().all(|hold| rule::lapsed(scene.now, hold.expires_at)));
            Ok(Health {
                switched_on: row.is_switched_on(),
                wrong_counters,
                lapsed: lapsed.len(),
                events: row.events,
                oldest: (row.first_event, event::time_at(tx, &row.id, row.first_event)?.unwrap_or(Time(0))),
                events_fit: check_events(tx, row).is_ok(),
                clock_behind_s: (row.last_time - scene.clock).as_seconds().max(0),
            })
        })
    }

    /// Reads every row of a project, and fails at the first that makes no sense.
    pub fn read_through(&self, call: &Call) -> Result<()> {
        self.ask(call, |tx, scene| read_through(tx, scene.project_id()))
    }

    /// The time of the project's last op.
    pub fn last_time(&self, call: &Call) -> Result<Time> {
        self.ask(call, |_, scene| Ok(scene.project.map_or(Time(0), |row| row.last_time)))
    }

    /// Whether the project has any event.
    pub fn switched_on(&self, call: &Call) -> Result<bool> {
        self.ask(call, |_, scene| Ok(scene.project.is_some_and(project::Row::is_switched_on)))
    }
}

/// The health of a project that does not exist.
fn nothing() -> Health {
    Health {
        switched_on: false,
        wrong_counters: Vec::new(),
        lapsed: 0,
        events: 0,
        oldest: (0, Time(0)),
        events_fit: true,
        clock_behind_s: 0,
    }
}
