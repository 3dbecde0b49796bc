//! Notification on PostgreSQL: NOTIFY after a commit, never inside the transaction, where it would serialise all
//! writers of the server.

use std::time::Duration;

use super::Postgres;
use super::tx::PostgresConnection;
use crate::notify::WakeListener;

/// A connection that listens.
pub(crate) struct Listener(PostgresConnection);

impl Postgres {
    fn channel(&self) -> String {
        format!("\"tenure {}\"", self.target.schema)
    }

    /// What goes wrong is nobody's loss: those who wait look by themselves.
    pub(crate) fn ring(&self) {
        let Ok(connection) = self.connection() else { return };
        let _ = connection.aside(&format!("NOTIFY {}", self.channel()));
        self.keep(connection);
    }

    /// Behind a pooler nothing may be heard. Then the wait is as long as `patience`, and the caller looks.
    #[expect(clippy::disallowed_methods, reason = "a wait of the process")]
    pub(crate) fn listen(&self, bell: &mut WakeListener, patience: Duration) {
        if !bell.tried {
            bell.tried = true;
            let opened =
                PostgresConnection::open(&self.target, self.trips.clone(), self.answer(), self.options.deadline);
            let heard = opened.and_then(|connection| {
                connection.aside(&format!("LISTEN {}", self.channel())).map(|()| Listener(connection))
            });
            bell.listener = heard.ok();
            // What was rung before this is not heard: look once more at once.
            return;
        }
        match &bell.listener {
            Some(Listener(connection)) if connection.is_usable() => connection.hear(patience),
            _ => std::thread::sleep(patience),
        }
    }
}
