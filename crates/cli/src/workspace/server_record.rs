//! The record that a running server leaves for the commands of its user: where it is, and which process it is.
//!
//! A file of the user's state directory, named for the store, so that every store has one whatever its engine. A record
//! proves nothing by itself: it counts only while the process that it names, with that start time, is there.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};
use tenure_core::agent::{Judgement, Process};
use tenure_core::{Code, Error, Result, Stage};
use tenure_store::{AtomicFile, Existing};

use super::process::{HostFacts, proven_dead, stat};
use super::{StoreLocation, fnv1a};
use crate::env::Env;

/// A server that is running.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ServerRecord {
    /// The address for HTTP, if it listens.
    pub(crate) url: Option<String>,
    /// When it began to serve.
    pub(crate) since: String,
    process: Process,
    store: String,
}

impl ServerRecord {
    /// The record of this process.
    pub(crate) fn of_self(env: &Env, store: &StoreLocation, url: Option<String>, since: String) -> ServerRecord {
        let pid = i64::from(std::process::id());
        let started = stat(pid).map_or(0, |stat| stat.started);
        ServerRecord { url, since, process: HostFacts::read(env).process(pid, started), store: store.display() }
    }

    /// The server of a store on this machine, if one is running.
    pub(crate) fn find(env: &Env, store: &StoreLocation) -> Option<ServerRecord> {
        let record = read(&file(env, &store.display())?)?;
        (record.store == store.display() && record.is_running(env)).then_some(record)
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> i64 {
        self.process.pid
    }

    /// Writes the record down, until the returned value is dropped. A machine on which that is not possible has a server
    /// that commands do not show.
    pub(crate) fn publish(&self, env: &Env) -> Option<PublishedRecord> {
        let path = file(env, &self.store)?;
        DirBuilder::new().recursive(true).mode(0o700).create(path.parent()?).ok()?;
        let text = serde_json::to_string(self).ok()?;
        let file = AtomicFile::create(&path).ok()?;
        AtomicFile::holding(file, text.as_bytes(), 0o600).ok()?.publish(Existing::Replace).ok()?;
        Some(PublishedRecord { path, process: self.process.clone() })
    }

    /// Asks the server to finish what it is doing and end.
    pub(crate) fn end(&self, env: &Env) -> Result<()> {
        let pid = i32::try_from(self.process.pid).ok().and_then(Pid::from_raw);
        let Some(pid) = pid.filter(|_| self.is_running(env)) else { return Ok(()) };
        match rustix::process::kill_process(pid, Signal::TERM) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(Error::new(Code::PeopleOnly, format!("process {} cannot be ended", self.process.pid))
                .at(Stage::Write)
                .hint("It belongs to another user of this machine.")
                .cause(error)),
        }
    }

    /// Whether its process is there. A process of another machine, boot or namespace is none that can be looked at.
    pub(crate) fn is_running(&self, env: &Env) -> bool {
        let observer = HostFacts::read(env).process(0, 0);
        let Process { pid, started, .. } = self.process;
        match self.process.judged_by(&observer) {
            Judgement::Look => stat(pid).map_or(!cfg!(target_os = "linux"), |_| !proven_dead(pid, started)),
            Judgement::Dead => false,
            // Where the system has no namespaces, the host is all there is to compare.
            Judgement::Unknown => !cfg!(target_os = "linux") && self.process.host == observer.host,
        }
    }
}

/// A record that is removed when its server ends.
pub(crate) struct PublishedRecord {
    path: PathBuf,
    process: Process,
}

impl Drop for PublishedRecord {
    fn drop(&mut self) {
        // A server that was started meanwhile has its own record here.
        if read(&self.path).is_some_and(|record| record.process == self.process) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn file(env: &Env, store: &str) -> Option<PathBuf> {
    Some(env.state_home()?.join("tenure/servers").join(format!("{:016x}.json", fnv1a(store.as_bytes()))))
}

#[expect(clippy::disallowed_methods, reason = "a file of the user's state directory")]
fn read(file: &std::path::Path) -> Option<ServerRecord> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_record_counts_while_its_process_is_there() {
        let area = tempfile::tempdir().unwrap();
        let env = Env::of(area.path(), []).with("XDG_STATE_HOME", area.path());
        let store = StoreLocation::Sqlite(area.path().join("tenure.db"));
        assert!(ServerRecord::find(&env, &store).is_none());
        let url = Some("http://127.0.0.1:7133".to_owned());
        let mut record = ServerRecord::of_self(&env, &store, url.clone(), "2030-01-31T09:00:00.000000Z".to_owned());
        let published = record.publish(&env).unwrap();
        assert_eq!(ServerRecord::find(&env, &store).unwrap().url, url);
        let other = StoreLocation::Sqlite(area.path().join("other.db"));
        assert!(ServerRecord::find(&env, &other).is_none());
        // The number is now that of another process.
        record.process.started -= 1;
        let later = record.publish(&env).unwrap();
        assert!(ServerRecord::find(&env, &store).is_none());
        drop(published);
        assert!(later.path.exists(), "the record of another server stays");
        drop(later);
        assert!(!file(&env, &store.display()).unwrap().exists());
    }
}
