//! The way to the broker: TCP, and TLS on top of it where the address says amqps.
//!
//! lapin could do TLS itself, but with a second stack beside the one that webhooks and nodes use,
//! PKCS#12 and its old ciphers included. So it is given lines that are connected already, through
//! the one opening it has for that: a reactor with another kind of stream.

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    os::fd::{AsFd, AsRawFd},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use async_rs::{Runtime, Tokio, traits::Reactor, util::RuntimeParts};
use futures_util::{
    Stream,
    io::{AsyncRead, AsyncWrite},
};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_util::compat::TokioAsyncReadCompatExt;

use crate::egress;

pub(super) trait Line: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Line for T {}

/// tokio's reactor, whose streams may be encrypted.
#[derive(Debug, Clone)]
pub(super) struct Wires(Tokio);

pub(super) fn runtime() -> Runtime<RuntimeParts<Tokio, Wires>> {
    let tokio = Tokio::current();
    Runtime::new(RuntimeParts::new(tokio.clone(), Wires(tokio)))
}

impl Reactor for Wires {
    type TcpStream = Box<dyn Line>;
    type Sleep = <Tokio as Reactor>::Sleep;

    fn register<H: Read + Write + AsFd + AsRawFd + Send + 'static>(
        &self,
        socket: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        self.0.register(socket)
    }

    fn sleep(&self, time: Duration) -> Self::Sleep {
        self.0.sleep(time)
    }

    fn interval(&self, time: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.0.interval(time)
    }

    #[expect(
        clippy::manual_async_fn,
        reason = "the future of an async fn would borrow the reactor"
    )]
    fn tcp_connect_addr(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        async move {
            let line: Self::TcpStream = Box::new(TcpStream::connect(address).await?.compat());
            Ok(line)
        }
    }
}

/// What a line is encrypted with.
#[derive(Clone)]
pub(super) struct Encryption {
    /// The certificates of those who may vouch for the broker; the operating system's without.
    pub ca_file: Option<PathBuf>,
}

/// Makes the line over `tcp`. The broker's certificate must be for `host`.
pub(super) async fn line(
    tcp: TcpStream,
    host: &str,
    encryption: Option<&Encryption>,
) -> io::Result<Box<dyn Line>> {
    let Some(encryption) = encryption else { return Ok(Box::new(tcp.compat())) };
    // Read anew for each connection, which are few, so that a file that was replaced counts without
    // a restart.
    let config = egress::trusting(encryption.ca_file.as_deref())?;
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(bare).map_err(|_| {
        io::Error::other("the broker's host is no name that a certificate can have")
    })?;
    let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp).await?;
    Ok(Box::new(tls.compat()))
}
