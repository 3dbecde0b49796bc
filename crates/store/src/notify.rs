//! The state of one caller that waits for a notification. A notification is a hint: a waiting caller also polls.

use crate::postgres::Listener;

/// The state of one who listens: made anew for each wait.
#[derive(Default)]
pub struct WakeListener {
    /// When the file beside the database was last touched, in nanoseconds.
    pub(crate) touched: Option<i128>,
    /// A connection that listens; none before the first call, and none where it could not be made.
    pub(crate) listener: Option<Listener>,
    /// Whether making one was tried.
    pub(crate) tried: bool,
}

impl WakeListener {
    /// One that has heard nothing yet.
    pub fn new() -> WakeListener {
        WakeListener::default()
    }
}
