//! TCP connections: accepting them, bounding their number, and closing those that stay silent.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::idle::{ActiveBody, ConnectionSlot, IdleConnections};
use super::malformed::Worded;
use super::{Server, router};

/// The maximum number of connections.
const CONNECTIONS: usize = 8_192;
/// File descriptors reserved for the store, the socket and the process itself.
const OTHER_FILES: usize = 256;
/// The timeout for the head of a request. It closes connections that a client opens and never uses.
const HEAD: Duration = Duration::from_secs(15);
/// How long requests may continue after shutdown has begun.
const GRACE: Duration = Duration::from_secs(10);

/// The maximum size of a request head. A connection that never completes its head occupies this much memory.
const HEAD_SIZE: usize = 64 * 1024;
/// The pause before the next look for room or for descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves until `ends` is true. Requests in progress are finished first, within `GRACE`.
pub(crate) async fn serve(listener: TcpListener, server: Arc<Server>, mut ends: watch::Receiver<bool>) {
    let app = router(server.clone());
    let most = most();
    let (room, idle) = (Arc::new(Semaphore::new(most)), IdleConnections::among(most));
    let graceful = GracefulShutdown::new();
    loop {
        let came = async {
            let accepted = listener.accept().await;
            // At the limit, further connections stay in the operating system's backlog, except this one.
            if accepted.is_ok() { (accepted, place(&room, &idle).await) } else { (accepted, None) }
        };
        let (accepted, place) = tokio::select! {
            _ = ends.wait_for(|over| *over) => break,
            came = came => came,
        };
        let (Ok((stream, peer)), Some(place)) = (accepted, place) else {
            // Either the descriptors have run out or the client has already gone. Neither is a reason to stop, nor to
            // spin.
            idle.make_room();
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let seat = idle.enter();
        let serving =
            graceful.watch(connection(Worded::new(stream, server.limits().time), peer, app.clone(), seat.clone()));
        tokio::spawn(async move {
            tokio::select! {
                _ = serving => {}
                () = seat.must_leave() => {}
            }
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

/// Room for one more connection. An idle connection is closed for it.
async fn place(room: &Arc<Semaphore>, idle: &IdleConnections) -> Option<OwnedSemaphorePermit> {
    loop {
        if let Ok(place) = room.clone().try_acquire_owned() {
            return Some(place);
        }
        idle.make_room();
        if let Ok(place) = tokio::time::timeout(PAUSE, room.clone().acquire_owned()).await {
            return place.ok();
        }
    }
}

/// The maximum number of connections: bounded by the number of files the process may open, which is raised as far as
/// allowed.
fn most() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // An unlimited maximum still has a limit in the operating system, so a bounded number is requested.
    let wanted = limit.maximum.or(Some(65_536)).max(limit.current);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: wanted, maximum: limit.maximum });
    let files = if raised.is_ok() { wanted } else { limit.current };
    let files = files.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    CONNECTIONS.min(files.saturating_sub(OTHER_FILES).max(files / 4)).max(1)
}

type HttpConnection = http1::Connection<TokioIo<Worded>, TowerToHyperService<WithPeer>>;

fn connection(stream: Worded, peer: SocketAddr, app: Router, seat: Arc<ConnectionSlot>) -> HttpConnection {
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_SIZE)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(WithPeer { app, peer, seat }))
}

/// The routes, with the address of the peer.
#[derive(Clone)]
pub(crate) struct WithPeer {
    app: Router,
    peer: SocketAddr,
    seat: Arc<ConnectionSlot>,
}

impl tower_service::Service<Request<Incoming>> for WithPeer {
    type Response = axum::response::Response;
    type Error = std::convert::Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(ConnectInfo(self.peer));
        let asking = self.seat.asks();
        let answer = self.app.call(request.map(Body::new));
        Box::pin(async move { Ok(answer.await?.map(|body| Body::new(ActiveBody { body, _asking: asking }))) })
    }
}
