//! The one place that resolves a name, asks the policy and connects: the address that is dialled is the address that
//! was checked, so a name that changes its mind in between gains nothing.

use std::{
    fs::File,
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tower::Service;

use super::{error::EgressError, guard::Policy, resolve::Resolve};

const LOOKUP_MAX: Duration = Duration::from_secs(5);
/// Connections open at once, idle ones included, unless the client is given more room.
pub(super) const CONNECTIONS_MAX: usize = 700;
/// Opened to see whether anything can be.
const ANY_FILE: &str = "/dev/null";
/// Addresses of one name that are tried, and the time each gets, so that one dead address does not use up the call.
const ADDRESSES_TRIED_MAX: usize = 4;
const ADDRESS_MAX: Duration = Duration::from_secs(3);
/// Lookup, connection and handshake together. The pool may finish connecting after its call has ended, so the call's
/// own deadline does not bound this.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Connects to what the policy lets through.
#[derive(Clone)]
pub(super) struct Dialler {
    policy: Arc<Policy>,
    resolver: Arc<dyn Resolve>,
    places: Arc<Semaphore>,
}

impl Dialler {
    /// Each connection takes one of `places`.
    pub(super) const fn new(
        policy: Arc<Policy>,
        resolver: Arc<dyn Resolve>,
        places: Arc<Semaphore>,
    ) -> Self {
        Self { policy, resolver, places }
    }

    async fn dial(self, target: Uri) -> Result<Dialled, EgressError> {
        let place =
            self.places.clone().acquire_owned().await.expect("the semaphore is never closed");
        let mut faults = Vec::new();
        for address in self.addresses(&target).await? {
            let fault = |fault| EgressError::from_dial(&fault, address.ip());
            match timeout(ADDRESS_MAX, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Without it a small body can wait for the acknowledgement of the head.
                    stream.set_nodelay(true).map_err(fault)?;
                    return Ok(Dialled { stream, address, _place: place });
                }
                Ok(Err(error)) => faults.push(fault(error)),
                Err(_) => faults.push(EgressError::TimedOut),
            }
        }
        Err(worst(faults))
    }

    /// The addresses of the target that may be dialled, at least one.
    async fn addresses(&self, target: &Uri) -> Result<Vec<SocketAddr>, EgressError> {
        let host = target.host().ok_or(EgressError::Resolve)?;
        let default = if target.scheme_str() == Some("https") { 443 } else { 80 };
        let port = target.port_u16().unwrap_or(default);
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let found = match literal {
            Ok(ip) => vec![ip],
            Err(_) => timeout(LOOKUP_MAX, self.resolver.resolve(host))
                .await
                .map_err(|_| EgressError::TimedOut)?
                .map_err(|fault| EgressError::from_lookup(&fault, &File::open(ANY_FILE)))?,
        };
        let mut allowed = Vec::new();
        let mut refused = None;
        for address in found.into_iter().map(|ip| SocketAddr::new(ip, port)) {
            match self.policy.check_address(address) {
                Ok(()) => allowed.push(address),
                Err(refusal) => refused = Some(refusal),
            }
        }
        allowed.truncate(ADDRESSES_TRIED_MAX);
        match (allowed.is_empty(), refused) {
            (false, _) => Ok(allowed),
            (true, Some(refusal)) => Err(EgressError::Refused(refusal)),
            (true, None) => Err(EgressError::Resolve),
        }
    }
}

/// The last fault, unless one of them was ours: then not everything was tried that the other side offers.
fn worst(mut faults: Vec<EgressError>) -> EgressError {
    let ours = faults.iter().position(|fault| matches!(fault, EgressError::Ours(_)));
    ours.map(|at| faults.swap_remove(at)).or_else(|| faults.pop()).unwrap_or(EgressError::Resolve)
}

impl Service<Uri> for Dialler {
    type Response = TokioIo<Dialled>;
    type Error = EgressError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, EgressError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), EgressError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let dialler = self.clone();
        Box::pin(async move { dialler.dial(target).await.map(TokioIo::new) })
    }
}

/// A connector that must be done within [`CONNECT_MAX`], whoever still waits for it.
#[derive(Clone)]
pub(super) struct Bounded<S>(pub(super) S);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl<S> Service<Uri> for Bounded<S>
where
    S: Service<Uri, Error = BoxError>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let connecting = self.0.call(target);
        Box::pin(async move {
            timeout(CONNECT_MAX, connecting).await.map_err(|_| EgressError::TimedOut)?
        })
    }
}

/// An open connection that knows whom it reached.
pub(super) struct Dialled {
    stream: TcpStream,
    address: SocketAddr,
    _place: OwnedSemaphorePermit,
}

/// The address of a connection, carried along to its answers.
#[derive(Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

impl Connection for Dialled {
    fn connected(&self) -> Connected {
        Connected::new().extra(Peer(self.address))
    }
}

impl AsyncRead for Dialled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Dialled {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
