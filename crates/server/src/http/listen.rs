//! Connections over TCP: accepted, bounded in number, given up when they say nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::bare::Worded;

/// How long a client may take to send the head of a request. One that opens connections and says nothing gives up first.
const HEAD: Duration = Duration::from_secs(15);
/// How long requests may go on after the server was told to end.
const GRACE: Duration = Duration::from_secs(10);

/// Serves until `ends` says so; what was begun is finished first, within a time.
pub(crate) async fn serve(listener: TcpListener, app: Router, most: usize, mut ends: watch::Receiver<bool>) {
    let room = Arc::new(Semaphore::new(most));
    let graceful = GracefulShutdown::new();
    loop {
        // Beyond its number of connections a server leaves them in the kernel's line.
        let Ok(place) = room.clone().acquire_owned().await else { break };
        let accepted = tokio::select! {
            _ = ends.wait_for(|over| *over) => break,
            accepted = listener.accept() => accepted,
        };
        // No more descriptors, or a client that was gone at once: neither is a reason to end, nor to spin.
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let serving = graceful.watch(connection(stream, peer, app.clone()));
        tokio::spawn(async move {
            let _ = serving.await;
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

type Connection = http1::Connection<TokioIo<Worded>, TowerToHyperService<WithPeer>>;

fn connection(stream: TcpStream, peer: SocketAddr, app: Router) -> Connection {
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(Worded::new(stream)), TowerToHyperService::new(WithPeer { app, peer }))
}

/// The routes, told who is at the other end.
#[derive(Clone)]
pub(crate) struct WithPeer {
    app: Router,
    peer: SocketAddr,
}

impl tower_service::Service<Request<Incoming>> for WithPeer {
    type Response = axum::response::Response;
    type Error = std::convert::Infallible;
    type Future = axum::routing::future::RouteFuture<std::convert::Infallible>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(ConnectInfo(self.peer));
        self.app.call(request.map(axum::body::Body::new))
    }
}
