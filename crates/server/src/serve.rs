//! A server from its start to its end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::{Error, Kind, Result, Stage};
use tenure_kernel::Kernel;
use tenure_store::Location;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

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
    let kernel = Arc::new(kernel);
    // A store that is out of reach now may come back: a server on PostgreSQL starts all the same, and says so.
    let identity = kernel.store().create();
    let hello = match &identity {
        Ok(identity) => Some(Hello {
            tenure: VERSION.to_owned(),
            schema: kernel.store().schema_version()?,
            store: identity.id.clone(),
            incarnation: identity.incarnation.clone(),
            file: match kernel.store().location() {
                Location::File(path) => place::file_identity(path),
                Location::Memory | Location::Postgres(_) => None,
            },
        }),
        Err(error) if settings.socket.is_some() || !error.retryable() => return Err(error.repeated()),
        Err(_) => None,
    };
    let server = Arc::new(Server::new(kernel, settings.limits, settings.log.clone())?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(64)
        .enable_all()
        .build()
        .map_err(failed)?;
    let outcome = runtime.block_on(run(server.clone(), settings, hello, ready));
    // What is in line is carried out; queries that nobody waits for are not waited for.
    server.queue.close();
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

async fn run(
    server: Arc<Server>,
    settings: Settings,
    hello: Option<Hello>,
    ready: impl FnOnce(Option<SocketAddr>),
) -> Result<()> {
    let (end, ends) = watch::channel(false);
    let mut doors = Vec::new();
    if let (Some(path), Some(hello)) = (settings.socket, hello) {
        let socket = Listening::at(path)?;
        doors.push(tokio::spawn(socket.serve(server.clone(), hello, ends.clone())));
    }
    let mut address = None;
    if let Some(listen) = settings.listen {
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            Error::new(Kind::Conflict, "cannot_listen", Stage::Open, format!("the server cannot listen at {listen}"))
                .hint("Another program may be there: choose another address with --listen.")
                .cause(error)
        })?;
        address = listener.local_addr().ok();
        let app = http::router(server.clone());
        doors.push(tokio::spawn(http::serve(listener, app, CONNECTIONS, ends.clone())));
    }
    let due = tokio::spawn(settle(server.clone(), ends.clone()));
    settings.log.line("info", &[("message", "serving"), ("version", VERSION)]);
    ready(address);
    told_to_end().await?;
    settings.log.line("info", &[("message", "ending")]);
    let _ = end.send(true);
    for door in doors {
        let _ = door.await;
    }
    due.abort();
    Ok(())
}

/// Ends what has lapsed, where nobody else does an op: those who wait are served then, and those who watch see it.
async fn settle(server: Arc<Server>, mut ends: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = ends.wait_for(|over| *over) => return,
            () = tokio::time::sleep(SETTLE) => {}
        }
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
