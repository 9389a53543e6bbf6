//! Resolution, policy check and connection in one place: the dialled address is the checked
//! address, so DNS rebinding gains nothing.

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
/// Connections open at once, including idle ones, unless the client is configured with more.
pub(super) const CONNECTIONS_MAX: usize = 700;
/// Opened to test whether this process can open files at all.
const ANY_FILE: &str = "/dev/null";
/// Addresses tried per name, and the time each gets, so that one dead address does not use up the
/// deadline of the call.
const ADDRESSES_TRIED_MAX: usize = 4;
const ADDRESS_MAX: Duration = Duration::from_secs(3);
/// Limit of lookup, connection and handshake together. The pool may go on connecting after its call
/// has ended, so the call's own deadline does not bound this.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Connects to the addresses that the policy allows.
#[derive(Clone)]
pub(super) struct Dialler {
    policy: Arc<Policy>,
    resolver: Arc<dyn Resolve>,
    permits: Arc<Semaphore>,
}

impl Dialler {
    /// `permits` limits the open connections; each takes one permit.
    pub(super) const fn new(
        policy: Arc<Policy>,
        resolver: Arc<dyn Resolve>,
        permits: Arc<Semaphore>,
    ) -> Self {
        Self { policy, resolver, permits }
    }

    async fn dial(self, target: Uri) -> Result<Dialled, EgressError> {
        let permit =
            self.permits.clone().acquire_owned().await.expect("the semaphore is never closed");
        let mut faults = Vec::new();
        for address in self.addresses(&target).await? {
            let fault = |fault| EgressError::from_dial(&fault, address.ip());
            match timeout(ADDRESS_MAX, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Without TCP_NODELAY a small body can wait for the acknowledgement of the
                    // head.
                    stream.set_nodelay(true).map_err(fault)?;
                    return Ok(Dialled { stream, address, _permit: permit });
                }
                Ok(Err(error)) => faults.push(fault(error)),
                Err(_) => faults.push(EgressError::TimedOut),
            }
        }
        Err(worst(faults))
    }

    /// Resolves the target to the addresses that may be dialled, at least one.
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

/// Returns the last error, unless one of them was local: then not every address of the other side
/// was tried.
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

/// Connector limited to [`CONNECT_MAX`], even if its caller has stopped waiting.
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

/// Open connection with its peer address.
pub(super) struct Dialled {
    stream: TcpStream,
    address: SocketAddr,
    _permit: OwnedSemaphorePermit,
}

/// Peer address of a connection, attached to its responses.
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
