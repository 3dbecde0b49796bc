//! Servers that timed out for a hook. For a short time later hooks do not try them again: each would delay its tool by the
//! same timeout.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use tenure_core::{Code, Error, Span, Time};

use crate::env::Env;
use crate::workspace::StoreLocation;

/// How long hooks leave a silent server alone.
const MOMENT: Span = Span::seconds(5);

/// The record of one server, in the state directory.
pub(super) struct ServerTimeout {
    dir: PathBuf,
    file: PathBuf,
}

impl ServerTimeout {
    /// The record of the server of a store; a file has none.
    pub(super) fn of(env: &Env, store: &StoreLocation) -> Option<ServerTimeout> {
        let address = match store {
            StoreLocation::Sqlite(_) => return None,
            StoreLocation::Postgres(_) | StoreLocation::Server(_) => store.display(),
        };
        let sum = Sha256::digest(address.as_bytes());
        let name: String = sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let dir = env.state_home()?.join("tenure/silent");
        Some(ServerTimeout { file: dir.join(name), dir })
    }

    /// Whether an error means that the server did not answer, and not that other callers were faster.
    pub(super) fn is_meant(error: &Error) -> bool {
        matches!(error.code(), Code::Unreachable | Code::ConnectionLost)
    }

    /// Whether the server timed out just now. After a clock was set back it did not.
    #[expect(clippy::disallowed_methods, reason = "a small file of its own")]
    pub(super) fn is_recent(&self, now: Time) -> bool {
        let noted = std::fs::read_to_string(&self.file).ok().and_then(|text| text.trim().parse().ok()).map(Time);
        noted.is_some_and(|noted| noted <= now && now < noted + MOMENT)
    }

    /// Records a timeout. A failure to write is ignored: the next hook waits for the server itself.
    #[expect(clippy::disallowed_methods, reason = "a file of its own that was not there before")]
    pub(super) fn note(&self, now: Time) {
        let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        let _ = std::fs::remove_file(&self.file);
        let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.file);
        if let Ok(mut file) = file {
            let _ = file.write_all(now.0.to_string().as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_remembered_for_a_moment_and_for_its_server_alone() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::of(dir.path(), []).with("XDG_STATE_HOME", dir.path());
        let of = |url: &str| ServerTimeout::of(&env, &StoreLocation::Postgres(url.to_owned())).unwrap();
        let (one, now) = (of("postgres://a/x"), Time(1_000_000_000));
        assert!(!one.is_recent(now));
        one.note(now);
        one.note(now);
        assert!(one.is_recent(now) && one.is_recent(now + MOMENT - Span(1)));
        assert!(!one.is_recent(now + MOMENT) && !one.is_recent(now - Span(1)));
        assert!(!of("postgres://b/x").is_recent(now));
        assert!(ServerTimeout::of(&env, &StoreLocation::Sqlite("/x".into())).is_none());
    }
}
