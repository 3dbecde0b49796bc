//! Notification on PostgreSQL: NOTIFY after a commit, never inside the transaction, where it would serialise all
//! writers of the server.

use std::time::Duration;

use super::Postgres;
use super::tx::PostgresConnection;
use crate::notify::WakeListener;

/// A listening connection.
pub(crate) struct Listener(PostgresConnection);

impl Postgres {
    fn channel(&self) -> String {
        format!("\"tenure {}\"", self.target.schema)
    }

    /// Errors are ignored: waiting callers also poll.
    pub(crate) fn ring(&self) {
        let Ok(connection) = self.connection() else { return };
        let _ = connection.aside(&format!("NOTIFY {}", self.channel()));
        self.keep(connection);
    }

    /// Behind a pooler no notification may arrive. Then the wait takes the whole `patience`, and the caller polls.
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
            // Notifications before LISTEN are not received: return, so that the caller polls once more at once.
            return;
        }
        match &bell.listener {
            Some(Listener(connection)) if connection.is_usable() => connection.hear(patience),
            _ => std::thread::sleep(patience),
        }
    }
}
