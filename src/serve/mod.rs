//! Parts that every process runs beside its own work: an HTTP server, health and metrics, the
//! outbox relay, traces.
//!
//! The server sets its own limits: the time for a client to send its headers or to take a response,
//! the number of connections, and how a stop waits for requests in progress.
//!
//! axum's own `serve` sets no header timeout, so a few thousand silent sockets would block a
//! process for ever.

pub mod admin;
pub mod client;
pub mod download;
mod files;
pub mod follow;
pub mod key_proof;
mod patience;
pub mod relay;
pub mod tasks;
pub mod traces;
mod unread;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, extract::ConnectInfo};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use patience::{Patience, Stage, Times};

pub use files::allow_open_files;

/// Maximum time that a stop waits for requests in progress.
const DRAIN: Duration = Duration::from_secs(15);
/// Time that requests are still accepted after a stop, since clients learn of it late. Each
/// response closes its connection.
const LINGER: Duration = Duration::from_secs(1);
/// Wait for a request on a connection that was accepted at the last moment; hyper sees it as idle
/// until a request is read. A busy machine may need this long from connecting to sending.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Timeout of a request head while connections run out: an honest client needs milliseconds, and
/// silent clients must make room.
const CROWDED_HEADER_TIMEOUT: Duration = Duration::from_secs(1);
/// The server is crowded if fewer than one in this many connections is free.
const CROWDED_SHARE: usize = 4;
const HEAD_LINES_MAX: usize = 64;
/// hyper alone would keep 400 kB of each head that does not end: with the maximum of clients, more
/// than a gigabyte.
const HEAD_BYTES_MAX: usize = 32 * 1024;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The limits of one listener.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub connections_max: usize,
    /// Timeout to send a whole head, and to take any part of a response.
    pub header_timeout: Duration,
    /// For the next request on a connection that has had an answer.
    pub idle_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 256,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
        }
    }
}

/// Serves `router` on `listener` until `stop` and a moment longer, then completes the requests in
/// progress and returns.
pub async fn serve(listener: TcpListener, router: Router, limits: Limits, stop: CancellationToken) {
    let slots = Arc::new(Semaphore::new(limits.connections_max));
    let server = Server {
        router,
        http: http(),
        limits,
        crowded_below: limits.connections_max / CROWDED_SHARE,
        slots: slots.clone(),
        graceful: GracefulShutdown::new(),
        stop: stop.clone(),
    };
    let mut closing = std::pin::pin!(async {
        stop.cancelled().await;
        tokio::time::sleep(LINGER).await;
    });
    loop {
        let permit = tokio::select! {
            permit = slots.clone().acquire_owned() => permit,
            () = &mut closing => break,
        };
        let Ok(permit) = permit else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut closing => break,
        };
        match accepted {
            Ok((socket, peer)) => server.answer(socket, peer, permit),
            Err(error) => {
                // Most likely out of descriptors: those in use must get a chance to close.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    for (socket, peer) in waiting(listener, slots.available_permits()) {
        if let Ok(permit) = slots.clone().try_acquire_owned() {
            server.answer(socket, peer, permit);
        }
    }
    // Ends early if no connection is open.
    let all = u32::try_from(limits.connections_max).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(LAST_WORDS, slots.acquire_many(all)).await;
    if tokio::time::timeout(DRAIN, server.graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were cut off by the stop");
    }
}

/// hyper has one limit for a head and for the pause before it; [`Patience`] has two.
fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(None);
    http.max_headers(HEAD_LINES_MAX).max_buf_size(HEAD_BYTES_MAX);
    http
}

/// Closes the listener and returns up to `max` connections that the kernel had ready: closing would
/// reset them, although their clients see them as connected.
fn waiting(listener: TcpListener, max: usize) -> Vec<(TcpStream, SocketAddr)> {
    let Ok(listener) = listener.into_std() else { return Vec::new() };
    let accepted = std::iter::from_fn(|| listener.accept().ok()).take(max);
    let ready = accepted.filter_map(|(socket, peer)| {
        socket.set_nonblocking(true).ok()?;
        Some((TcpStream::from_std(socket).ok()?, peer))
    });
    ready.collect()
}

struct Server {
    router: Router,
    http: http1::Builder,
    limits: Limits,
    /// The server is crowded below this many free slots.
    crowded_below: usize,
    slots: Arc<Semaphore>,
    graceful: GracefulShutdown,
    stop: CancellationToken,
}

impl Server {
    /// Serves one connection's requests in a separate task, which holds `permit`.
    fn answer(&self, socket: TcpStream, peer: SocketAddr, permit: OwnedSemaphorePermit) {
        let stage = Arc::new(Stage::default());
        let service = service(&self.router, peer, &self.stop, &stage);
        let (slots, crowded_below) = (self.slots.clone(), self.crowded_below);
        let is_crowded = move || slots.available_permits() < crowded_below;
        let Limits { header_timeout, idle_timeout, .. } = self.limits;
        let head =
            if is_crowded() { header_timeout.min(CROWDED_HEADER_TIMEOUT) } else { header_timeout };
        let times = Times { write: header_timeout, head, idle: idle_timeout };
        let socket = Patience::new(quick(socket), times, stage, Box::new(is_crowded));
        let connection = self.http.serve_connection(TokioIo::new(socket), service);
        let watched = self.graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = watched.await {
                tracing::debug!(%error, %peer, "a connection ended early");
            }
            drop(permit);
        });
    }
}

/// Disables Nagle's algorithm: responses are small, and waiting to fill a packet would only delay
/// them.
fn quick(socket: TcpStream) -> TcpStream {
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "no-delay was not set");
    }
    socket
}

fn service(
    router: &Router,
    peer: SocketAddr,
    stop: &CancellationToken,
    stage: &Arc<Stage>,
) -> TowerToHyperService<
    impl tower::Service<
        http::Request<hyper::body::Incoming>,
        Response = axum::response::Response,
        Error = std::convert::Infallible,
        Future: Send,
    > + Clone
    + Send
    + use<>,
> {
    let stop = stop.clone();
    let (asked, answered) = (stage.clone(), stage.clone());
    let router = router
        .clone()
        .map_request(move |mut request: http::Request<_>| {
            asked.asked();
            request.extensions_mut().insert(ConnectInfo(peer));
            unread::read_to_its_end(request)
        })
        .map_response(move |mut response: axum::response::Response| {
            answered.answering();
            if stop.is_cancelled() {
                let close = http::HeaderValue::from_static("close");
                response.headers_mut().insert(http::header::CONNECTION, close);
            }
            response
        });
    TowerToHyperService::new(router)
}

/// Cancelled by SIGTERM or Ctrl-C.
pub fn stop_on_signal() -> CancellationToken {
    let stop = CancellationToken::new();
    let signalled = stop.clone();
    tokio::spawn(async move {
        let terminated = async {
            match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
                Ok(mut terminate) => {
                    terminate.recv().await;
                }
                Err(error) => {
                    tracing::error!(%error, "the SIGTERM handler cannot be installed");
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::select! {
            () = terminated => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        tracing::info!("stopping");
        signalled.cancel();
    });
    stop
}
