//! A server from its start to its end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Error, Kind, Result, Stage};
use tenure_kernel::Kernel;
use tenure_store::Location;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::http::{self, Limits, Server};
use crate::log::Log;
use crate::reach::place;
use crate::socket::Listening;
use crate::wire::{Hello, VERSION};

/// Most connections over TCP at once.
const CONNECTIONS: usize = 8_192;
/// How often it looks whether something is due, beside what ops settle on their own.
const SETTLE: Duration = Duration::from_secs(5);

/// What a server is started with.
pub struct Settings {
    /// The unix socket beside an embedded store.
    pub socket: Option<PathBuf>,
    /// Where it listens for HTTP.
    pub listen: Option<SocketAddr>,
    /// What it takes.
    pub limits: Limits,
    /// Where it tells what it does.
    pub log: Log,
}

/// Serves until the process is told to end. `ready` is told where it listens, once it does.
pub fn serve(kernel: Kernel, settings: Settings, ready: impl FnOnce(Option<SocketAddr>)) -> Result<()> {
    let running = Running::start(kernel, settings)?;
    ready(running.address);
    let told = running.runtime.block_on(told_to_end());
    running.stop();
    told
}

/// A server that runs.
pub struct Running {
    runtime: Runtime,
    server: Arc<Server>,
    /// Where it listens for HTTP.
    pub address: Option<SocketAddr>,
    end: watch::Sender<bool>,
    doors: Vec<JoinHandle<()>>,
    log: Log,
}

impl Running {
    /// Starts a server: it listens when this returns.
    pub fn start(kernel: Kernel, settings: Settings) -> Result<Running> {
        let kernel = Arc::new(kernel);
        // A store that is out of reach now may come back: a server on PostgreSQL starts all the same, and says so.
        let hello = match kernel.store().create() {
            Ok(identity) => Some(Hello {
                tenure: VERSION.to_owned(),
                schema: kernel.store().schema_version()?,
                store: identity.id,
                incarnation: identity.incarnation,
                file: match kernel.store().location() {
                    Location::File(path) => place::file_identity(path),
                    Location::Memory | Location::Postgres(_) => None,
                },
            }),
            Err(error) if settings.socket.is_some() || !error.retryable() => return Err(error),
            Err(_) => None,
        };
        let server = Arc::new(Server::new(kernel, settings.limits, settings.log.clone())?);
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
            let socket = Listening::at(path)?;
            doors.push(runtime.spawn(socket.serve(server.clone(), hello, ends.clone())));
        }
        if let Some(listen) = settings.listen {
            let listener = runtime.block_on(TcpListener::bind(listen)).map_err(|error| {
                let why = format!("the server cannot listen at {listen}");
                Error::new(Kind::Conflict, "cannot_listen", Stage::Open, why)
                    .hint("Another program may be there: choose another address with --listen.")
                    .cause(error)
            })?;
            address = listener.local_addr().ok();
            let app = http::router(server.clone());
            doors.push(runtime.spawn(http::serve(listener, app, CONNECTIONS, ends.clone())));
        }
        runtime.spawn(settle(server.clone(), ends));
        drop(inside);
        settings.log.line("info", &[("message", "serving"), ("version", VERSION)]);
        Ok(Running { runtime, server, address, end, doors, log: settings.log })
    }

    /// Ends it: nobody new is let in, what was begun is finished, what is in line is carried out.
    pub fn stop(self) {
        self.log.line("info", &[("message", "ending")]);
        let _ = self.end.send(true);
        let _ = self.server.ending.send(true);
        self.runtime.block_on(async {
            for door in self.doors {
                let _ = door.await;
            }
        });
        self.server.queue.close();
        // Queries that nobody waits for any more are not waited for.
        self.runtime.shutdown_timeout(Duration::from_secs(1));
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
                server.log.line("error", &[("message", "what is due could not be settled"), ("code", error.code())]);
            }
        }
    }
}

async fn told_to_end() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn failed(error: std::io::Error) -> Error {
    Error::new(Kind::Internal, "internal", Stage::Open, "the server cannot be started").cause(error)
}
