//! When hooks last ran.

use tenure_core::Result;
use tenure_store::table::fired;

use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape::Fired;

impl Kernel {
    /// When each hook last ran in this project, by tool and event.
    pub fn fired(&self, call: &Call) -> Result<Vec<Fired>> {
        self.ask(call, |tx, scene| {
            let rows = fired::list(tx, scene.project_id())?;
            let one = |row: fired::Row| Fired {
                tool: row.tool,
                event: row.event,
                at: row.at.to_string(),
                ago_s: row.at.age(scene.now).as_seconds(),
            };
            Ok(rows.into_iter().map(one).collect())
        })
    }
}
