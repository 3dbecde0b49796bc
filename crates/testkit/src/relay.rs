//! A relay in front of PostgreSQL that can lose the answer to a COMMIT: the one moment at which a client does not know
//! the outcome.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use tenure_store::Location;
use tokio_postgres::config::Host;

const QUIET: u8 = 0;
const ARMED: u8 = 1;
const SWALLOWED: u8 = 2;
/// The same states for a connection that stays cut: no new connection gets through.
const ARMED_FOR_GOOD: u8 = 3;
const CUT: u8 = 4;
/// The same states for a lost answer on a connection that stays open: the client does not learn that it is lost.
const ARMED_TO_MUTE: u8 = 5;
const MUTED: u8 = 6;
/// New connections are accepted and never answered.
const SILENT: u8 = 7;

/// The relay. It listens for the lifetime of its process.
pub struct Relay {
    url: String,
    state: Arc<AtomicU8>,
    /// The number of accepted connections.
    taken: Arc<AtomicUsize>,
    _dir: tempfile::TempDir,
}

impl Relay {
    /// Creates a relay to the server of a store.
    pub fn to(location: &Location) -> Relay {
        let Location::Postgres(url) = location else { panic!("a relay is for PostgreSQL") };
        let (plain, schema) = url.split_once("schema=").unwrap();
        let config: tokio_postgres::Config = plain.trim_end_matches(['?', '&']).parse().unwrap();
        let dir = tempfile::Builder::new().prefix("tn-").tempdir_in("/tmp").unwrap();
        let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).unwrap();
        let state = Arc::new(AtomicU8::new(QUIET));
        let url = format!(
            "postgres://{}@/{}?host={}&port=5432&schema={schema}",
            config.get_user().unwrap(),
            config.get_dbname().unwrap(),
            dir.path().display()
        );
        let (host, port) = (config.get_hosts()[0].clone(), config.get_ports().first().copied().unwrap_or(5432));
        let shared = state.clone();
        let taken = Arc::new(AtomicUsize::new(0));
        let counted = taken.clone();
        std::thread::spawn(move || {
            let mut unanswered = Vec::new();
            for client in listener.incoming() {
                let (client, state) = (client.unwrap(), shared.clone());
                counted.fetch_add(1, Ordering::SeqCst);
                if state.load(Ordering::SeqCst) == SILENT {
                    unanswered.push(client);
                    continue;
                }
                if state.load(Ordering::SeqCst) == CUT {
                    // Dropping the stream closes it.
                    continue;
                }
                match &host {
                    Host::Unix(dir) => {
                        let server = UnixStream::connect(dir.join(format!(".s.PGSQL.{port}"))).unwrap();
                        let back = server.try_clone().unwrap();
                        relay(client, server, back, state);
                    }
                    Host::Tcp(name) => {
                        let server = TcpStream::connect((name.as_str(), port)).unwrap();
                        let back = server.try_clone().unwrap();
                        relay(client, server, back, state);
                    }
                }
            }
        });
        Relay { url, state, taken, _dir: dir }
    }

    /// The location of the store through the relay.
    pub fn location(&self) -> Location {
        Location::Postgres(self.url.clone())
    }

    /// The next COMMIT reaches the server, and its answer is lost.
    pub fn swallow_next_commit(&self) {
        self.state.store(ARMED, Ordering::SeqCst);
    }

    /// The same, and all connections fail until [`Relay::mend`].
    pub fn swallow_next_commit_and_stay_cut(&self) {
        self.state.store(ARMED_FOR_GOOD, Ordering::SeqCst);
    }

    /// The next COMMIT reaches the server, and nothing comes back on that connection, which stays open.
    pub fn mute_next_commit(&self) {
        self.state.store(ARMED_TO_MUTE, Ordering::SeqCst);
    }

    /// Cuts every connection at its next use, and accepts none until [`Relay::mend`].
    pub fn cut(&self) {
        self.state.store(CUT, Ordering::SeqCst);
    }

    /// New connections are accepted and never answered until [`Relay::mend`], like those of a stopped server.
    pub fn silence(&self) {
        self.state.store(SILENT, Ordering::SeqCst);
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }

    /// Restores normal operation.
    pub fn mend(&self) {
        self.state.store(QUIET, Ordering::SeqCst);
    }

    /// Whether the answer to a COMMIT was lost.
    pub fn has_swallowed(&self) -> bool {
        matches!(self.state.load(Ordering::SeqCst), SWALLOWED | CUT | MUTED)
    }
}

/// Forwards bytes in both directions, in two threads. The answer to a COMMIT is recognised by its tag, which the server
/// sends only after it has committed.
fn relay(
    client: UnixStream,
    mut server: impl Write + Send + 'static,
    mut back: impl Read + Send + 'static,
    state: Arc<AtomicU8>,
) {
    let mut from = client.try_clone().unwrap();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut server);
    });
    std::thread::spawn(move || {
        let mut client = client;
        let mut buffer = [0; 65_536];
        while let Ok(read @ 1..) = back.read(&mut buffer) {
            let answer = &buffer[..read];
            let commits = answer.windows(7).any(|bytes| bytes == b"COMMIT\0");
            let swallows =
                |armed, swallowed| state.compare_exchange(armed, swallowed, Ordering::SeqCst, Ordering::SeqCst).is_ok();
            if commits && swallows(ARMED_TO_MUTE, MUTED) {
                // Until the client or the server disconnects.
                let _ = std::io::copy(&mut back, &mut std::io::sink());
                break;
            }
            if state.load(Ordering::SeqCst) == CUT {
                break;
            }
            if commits && (swallows(ARMED, SWALLOWED) || swallows(ARMED_FOR_GOOD, CUT)) {
                break;
            }
            if client.write_all(answer).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
    });
}
