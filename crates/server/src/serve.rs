//! A server from its start to its end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_client::socket_path;
use tenure_client::wire::{Hello, VERSION};
use tenure_core::{Code, Error, Result, Stage};
use tenure_kernel::Kernel;
use tenure_store::Location;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::http::{self, Limits, Proxies, Server};
use crate::log::ServerLog;
use crate::socket::{Served, SocketListener};

/// How often it looks whether something is due, beside what ops settle on their own.
const SETTLE: Duration = Duration::from_secs(5);

/// What of a configuration a server follows while it runs: one value, replaced as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// What it takes.
    pub limits: Limits,
    /// The peers whose word about their clients is believed.
    pub proxies: Proxies,
    /// Changes when the contents of the configuration do.
    pub revision: String,
}

/// What a signal to read the configuration anew led to.
pub enum Reloaded {
    /// Another configuration, or the same.
    Snapshot {
        /// What is followed from now on.
        snapshot: ServerConfig,
        /// Settings that have changed and count from the next start.
        waiting: Vec<&'static str>,
    },
    /// The terminal is gone, which sends the same signal: the server ends.
    HungUp,
}

/// What a server is started with.
pub struct ServerSettings {
    /// The unix socket beside an embedded store.
    pub socket: Option<PathBuf>,
    /// Where it listens for HTTP.
    pub listen: Option<SocketAddr>,
    /// The configuration that it begins with.
    pub snapshot: ServerConfig,
    /// Where it tells what it does.
    pub log: ServerLog,
}

/// Serves until the process is told to end. `ready` is told where it listens, once it does; `reload` reads the
/// configuration anew, on SIGHUP.
pub fn serve(
    kernel: Kernel,
    settings: ServerSettings,
    reload: impl Fn() -> Result<Reloaded>,
    ready: impl FnOnce(Option<SocketAddr>),
) -> Result<()> {
    let running = RunningServer::start(kernel, settings)?;
    // Before anybody knows that it serves: whoever does may send one.
    let mut signals = running.signals()?;
    ready(running.address);
    while let ServerSignal::Reload = running.runtime.block_on(signals.next()) {
        if !running.reloaded(reload()) {
            break;
        }
    }
    running.stop();
    Ok(())
}

/// A server that runs.
pub struct RunningServer {
    runtime: Runtime,
    server: Arc<Server>,
    /// Where it listens for HTTP.
    pub address: Option<SocketAddr>,
    end: watch::Sender<bool>,
    doors: Vec<JoinHandle<()>>,
    log: ServerLog,
    /// Let go of last.
    served: Option<Served>,
}

impl RunningServer {
    /// Starts a server: it listens when this returns.
    pub fn start(kernel: Kernel, settings: ServerSettings) -> Result<RunningServer> {
        let kernel = Arc::new(kernel);
        // A store that is out of reach now may come back: a server on PostgreSQL starts all the same, and says so.
        let hello = match kernel.store().create() {
            Ok(identity) => Some(Hello {
                tenure: VERSION.to_owned(),
                schema: kernel.store().schema_version()?,
                store: identity.id.into(),
                incarnation: identity.incarnation.into(),
                file: match kernel.store().location() {
                    Location::File(path) => socket_path::file_identity(path),
                    Location::Memory | Location::Postgres(_) => None,
                },
            }),
            Err(error) if settings.socket.is_some() || !error.retryable() => return Err(error),
            Err(_) => None,
        };
        let served = match kernel.store().location() {
            Location::File(path) => Some(Served::take(path)?),
            Location::Memory | Location::Postgres(_) => None,
        };
        let server = Arc::new(Server::new(kernel, &settings.snapshot, settings.log.clone())?);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(64)
            .enable_all()
            .build()
            .map_err(failed)?;
        let (end, ends) = watch::channel(false);
        let (mut doors, mut address) = (Vec::new(), None);
        let inside = runtime.enter();
        if let (Some(path), Some(hello)) = (settings.socket, hello) {
            let socket = SocketListener::at(path)?;
            doors.push(runtime.spawn(socket.serve(server.clone(), hello, ends.clone())));
        }
        if let Some(listen) = settings.listen {
            let listener = runtime.block_on(TcpListener::bind(listen)).map_err(|error| {
                let why = format!("the server cannot listen at {listen}");
                Error::new(Code::CannotListen, why)
                    .at(Stage::Open)
                    .hint("Another program may be there: choose another address with --listen.")
                    .cause(error)
            })?;
            address = listener.local_addr().ok();
            doors.push(runtime.spawn(http::serve(listener, server.clone(), ends.clone())));
        }
        runtime.spawn(settle(server.clone(), ends));
        drop(inside);
        settings.log.line("info", &[("message", "serving"), ("version", VERSION), ("revision", &server.revision())]);
        Ok(RunningServer { runtime, server, address, end, doors, log: settings.log, served })
    }

    fn signals(&self) -> Result<Signals> {
        let _inside = self.runtime.enter();
        let listen = |kind| signal(kind).map_err(failed);
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Follows what the configuration says now; a bad one changes nothing. False: the server is to end.
    fn reloaded(&self, reloaded: Result<Reloaded>) -> bool {
        let [reloads, refusals] = &self.server.reloads;
        match reloaded {
            Ok(Reloaded::HungUp) => return false,
            Ok(Reloaded::Snapshot { snapshot, waiting }) => {
                self.server.follow(&snapshot);
                reloads.fetch_add(1, Ordering::Relaxed);
                let said = ("message", "the configuration was read anew");
                let waiting = ("from_the_next_start", waiting.join(", "));
                self.log.line("notice", &[said, ("revision", &snapshot.revision), (waiting.0, &waiting.1)]);
            }
            Err(error) => {
                refusals.fetch_add(1, Ordering::Relaxed);
                let said = ("message", "the configuration is bad, the one before stays in force");
                let revision = self.server.revision();
                let fields =
                    [said, ("code", error.code().as_str()), ("cause", error.message()), ("revision", &revision)];
                self.log.line("error", &fields);
            }
        }
        true
    }

    /// Ends it: nobody new is let in, what was begun is finished, what is in line is carried out.
    pub fn stop(self) {
        self.log.line("info", &[("message", "ending")]);
        let _ = self.end.send(true);
        // Also whoever begins to listen from now on is told.
        self.server.ending.send_replace(true);
        self.runtime.block_on(async {
            for door in self.doors {
                let _ = door.await;
            }
        });
        self.server.queue.close();
        // Queries that nobody waits for any more are not waited for.
        self.runtime.shutdown_timeout(Duration::from_secs(1));
        drop(self.served);
    }
}

/// Ends what has lapsed, where nobody else does an op: those who wait are served then, and those who watch see it.
async fn settle(server: Arc<Server>, mut ends: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = ends.wait_for(|over| *over) => return,
            () = tokio::time::sleep(SETTLE) => {}
        }
        server.tell_left_out().await;
        let settled = server.blocking(|kernel| kernel.settle_due()).await;
        match settled {
            Ok(_) => {}
            Err(error) if error.retryable() => {}
            Err(error) => {
                server
                    .log
                    .line("error", &[("message", "what is due could not be settled"), ("code", error.code().as_str())]);
            }
        }
    }
}

/// What the process was told by a signal.
enum ServerSignal {
    End,
    Reload,
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    async fn next(&mut self) -> ServerSignal {
        tokio::select! {
            _ = self.terminate.recv() => ServerSignal::End,
            _ = self.interrupt.recv() => ServerSignal::End,
            _ = self.hang_up.recv() => ServerSignal::Reload,
        }
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::new(Code::Internal, "the server cannot be started").at(Stage::Open).cause(error)
}
