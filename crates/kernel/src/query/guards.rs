//! Whether the guards of a project are off.

use tenure_core::Result;

use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape::Guards;

impl Kernel {
    /// Whether the guards are off, until when and by whom. Every guard asks this; what it needs is on the project's row,
    /// so it costs no statement of its own.
    pub fn guards(&self, call: &Call) -> Result<Guards> {
        self.ask(call, |_, scene| Ok(scene.project.map_or_else(Guards::default, |row| Guards::of(row, scene.now))))
    }
}
