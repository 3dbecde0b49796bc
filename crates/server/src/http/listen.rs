//! Connections over TCP: accepted, bounded in number, given up when they say nothing.

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

/// Most connections at once.
const CONNECTIONS: usize = 8_192;
/// Open files that are left to the store, the socket and the process itself.
const OTHER_FILES: usize = 256;
/// How long a client may take to send the head of a request. One that opens connections and says nothing gives up first.
const HEAD: Duration = Duration::from_secs(15);
/// How long requests may go on after the server was told to end.
const GRACE: Duration = Duration::from_secs(10);

/// Longest head of a request: so much is kept of each connection that never ends its own.
const HEAD_SIZE: usize = 64 * 1024;
/// How long it waits before it looks again for room, or for descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves until `ends` says so; what was begun is finished first, within a time.
pub(crate) async fn serve(listener: TcpListener, server: Arc<Server>, mut ends: watch::Receiver<bool>) {
    let app = router(server.clone());
    let most = most();
    let (room, idle) = (Arc::new(Semaphore::new(most)), IdleConnections::among(most));
    let graceful = GracefulShutdown::new();
    loop {
        let came = async {
            let accepted = listener.accept().await;
            // Beyond its number of connections a server leaves them in the kernel's line, but for this one.
            if accepted.is_ok() { (accepted, place(&room, &idle).await) } else { (accepted, None) }
        };
        let (accepted, place) = tokio::select! {
            _ = ends.wait_for(|over| *over) => break,
            came = came => came,
        };
        let (Ok((stream, peer)), Some(place)) = (accepted, place) else {
            // No more descriptors, or a client that was gone at once: neither is a reason to end, nor to spin.
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

/// A place for one more connection: one on which nothing is asked gives way to it.
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

/// How many connections there may be: as many as the process may open files, which is raised as far as it may raise it.
fn most() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // Without a limit there is still one of the kernel's, so not as many as there can be are asked for.
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

/// The routes, told who is at the other end.
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
