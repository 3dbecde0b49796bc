//! Writes beyond the limit on the size of files (`ulimit -f`).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGXFSZ;

/// Makes a write beyond the limit fail with EFBIG instead of ending the process with a core dump: SIGXFSZ gets a handler
/// that does nothing that counts. A handler and not a mask or "ignore": programs that this process starts begin with the
/// signal as it was.
pub(crate) fn report_as_error() {
    // Without a handler the process works as it would have; there is no one to tell before anything was read.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
