//! The life of a server, from start to shutdown.

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

/// How often the server settles lapsed holds, in addition to the settling done by ops.
const SETTLE: Duration = Duration::from_secs(5);

/// The part of the configuration that a running server follows: one value, replaced as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    pub limits: Limits,
    /// The peers whose forwarding headers are trusted.
    pub proxies: Proxies,
    /// Changes when the contents of the configuration change.
    pub revision: String,
}

/// The outcome of a signal to reload the configuration.
pub enum Reloaded {
    /// The configuration, changed or not.
    Snapshot {
        /// The configuration to apply now.
        snapshot: ServerConfig,
        /// Changed settings that take effect at the next start.
        waiting: Vec<&'static str>,
    },
    /// The terminal is gone, which sends the same signal: the server shuts down.
    HungUp,
}

/// The settings to start a server with.
pub struct ServerSettings {
    /// The unix socket beside an embedded store.
    pub socket: Option<PathBuf>,
    /// The address for HTTP.
    pub listen: Option<SocketAddr>,
    /// The initial configuration.
    pub snapshot: ServerConfig,
    pub log: ServerLog,
}

/// Serves until the process gets a signal to stop. `ready` is called with the listening address. `reload` reads the
/// configuration again, on SIGHUP.
pub fn serve(
    kernel: Kernel,
    settings: ServerSettings,
    reload: impl Fn() -> Result<Reloaded>,
    ready: impl FnOnce(Option<SocketAddr>),
) -> Result<()> {
    let running = RunningServer::start(kernel, settings)?;
    // The handlers are installed before `ready`, because a client that knows of the server may send a signal.
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

/// A running server.
pub struct RunningServer {
    runtime: Runtime,
    server: Arc<Server>,
    /// The address for HTTP.
    pub address: Option<SocketAddr>,
    end: watch::Sender<bool>,
    doors: Vec<JoinHandle<()>>,
    log: ServerLog,
    /// Released last.
    served: Option<Served>,
}

impl RunningServer {
    /// Starts a server. It listens when this returns.
    pub fn start(kernel: Kernel, settings: ServerSettings) -> Result<RunningServer> {
        let kernel = Arc::new(kernel);
        // An unreachable PostgreSQL store may come back, so the server starts anyway and logs it.
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
                    .hint("Another program may be using the address: choose another one with --listen.")
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

    /// Applies the reloaded configuration. An invalid one changes nothing. Returns false if the server must shut down.
    fn reloaded(&self, reloaded: Result<Reloaded>) -> bool {
        let [reloads, refusals] = &self.server.reloads;
        match reloaded {
            Ok(Reloaded::HungUp) => return false,
            Ok(Reloaded::Snapshot { snapshot, waiting }) => {
                self.server.follow(&snapshot);
                reloads.fetch_add(1, Ordering::Relaxed);
                let said = ("message", "the configuration was reloaded");
                let waiting = ("from_the_next_start", waiting.join(", "));
                self.log.line("notice", &[said, ("revision", &snapshot.revision), (waiting.0, &waiting.1)]);
            }
            Err(error) => {
                refusals.fetch_add(1, Ordering::Relaxed);
                let said = ("message", "the new configuration is invalid; the previous one stays in force");
                let revision = self.server.revision();
                let fields =
                    [said, ("code", error.code().as_str()), ("cause", error.message()), ("revision", &revision)];
                self.log.line("error", &fields);
            }
        }
        true
    }

    /// Shuts down: accepts nothing new, finishes requests in progress and runs queued ops.
    pub fn stop(self) {
        self.log.line("info", &[("message", "ending")]);
        let _ = self.end.send(true);
        // Listeners that subscribe from now on are told too.
        self.server.ending.send_replace(true);
        self.runtime.block_on(async {
            for door in self.doors {
                let _ = door.await;
            }
        });
        self.server.queue.close();
        // Queries without a waiting client are not waited for.
        self.runtime.shutdown_timeout(Duration::from_secs(1));
        drop(self.served);
    }
}

/// Settles lapsed holds when no op does: waiters are then served, and listeners see it.
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
                server.log.line(
                    "error",
                    &[("message", "expired holds could not be settled"), ("code", error.code().as_str())],
                );
            }
        }
    }
}

/// A signal to the process.
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
