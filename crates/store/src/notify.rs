//! The state of a caller that waits for a notification. A notification is a hint: a waiting caller also polls.

use crate::postgres::Listener;

/// The state of one listener, created for each wait.
#[derive(Default)]
pub struct WakeListener {
    /// The state of the file beside the database (SQLite) at the last look: modification time in nanoseconds, combined
    /// with the size.
    pub(crate) touched: Option<i128>,
    /// A listening connection (PostgreSQL); `None` before the first call, and if it could not be opened.
    pub(crate) listener: Option<Listener>,
    /// Whether opening one was tried.
    pub(crate) tried: bool,
}

impl WakeListener {
    /// A listener that has heard nothing yet.
    pub fn new() -> WakeListener {
        WakeListener::default()
    }
}
