//! The lock of a name, for doors that are told a word which may name one.

use tenure_core::{Result, lock as rule};
use tenure_store::table::lock;

use crate::call::Call;
use crate::kernel::Kernel;
use crate::shape::Hold;

impl Kernel {
    /// The lock of a name as it is now, or, where nobody has it, the last there was. What no lock can be called is none.
    pub fn lock_of(&self, call: &Call, name: &str) -> Result<Option<Hold>> {
        if rule::name(name).is_err() {
            return Ok(None);
        }
        self.ask(call, |tx, scene| {
            let newest = lock::newest(tx, scene.project_id(), name, 1)?;
            Ok(super::holds::views(tx, scene, &newest)?.pop())
        })
    }
}
