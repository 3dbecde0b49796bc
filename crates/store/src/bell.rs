//! What somebody who waits remembers of the doorbell.

use crate::postgres::Listener;

/// The state of one who listens: made anew for each wait.
#[derive(Default)]
pub struct Bell {
    /// When the file beside the database was last touched, in nanoseconds.
    pub(crate) touched: Option<i128>,
    /// A connection that listens; none before the first call, and none where it could not be made.
    pub(crate) listener: Option<Listener>,
    /// Whether making one was tried.
    pub(crate) tried: bool,
}

impl Bell {
    /// One that has heard nothing yet.
    pub fn new() -> Bell {
        Bell::default()
    }
}
