//! One connection: opened within a time limit, never recovered, and watched for
//! `connection.blocked`.

use std::{
    future::Future,
    io,
    net::{Shutdown, TcpStream},
    os::fd::AsFd,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{Stream, StreamExt};
use lapin::{
    AsyncTcpStream, Channel, Connection, ConnectionProperties, Event,
    uri::{AMQPScheme, AMQPUri},
};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use super::{
    BrokerError,
    wire::{self, Encryption},
};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Limit of every other call. None of them waits for an action of another party.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(10);
/// Heartbeat interval. An unresponsive broker is detected after two missed ones.
const HEARTBEAT_S: u16 = 10;
/// lapin holds 32 frames in each direction on every connection. Our messages are hints of some
/// hundred bytes; with the broker's default of 128 KiB the nine connections of a worker would hold
/// 75 MB. Headers must fit in one frame, `x-death` included.
const FRAME_BYTES_MAX: u32 = 16 * 1024;

pub(super) struct Link {
    connection: Connection,
    blocked: watch::Receiver<Option<String>>,
    _watcher: AbortOnDropHandle<()>,
}

impl Link {
    /// Connects as `name`, which the management UI shows.
    pub(super) async fn open(url: &SecretString, name: &str) -> Result<Self, BrokerError> {
        Self::open_within(CONNECT_LIMIT, url, name).await
    }

    async fn open_within(
        limit: Duration,
        url: &SecretString,
        name: &str,
    ) -> Result<Self, BrokerError> {
        let (uri, encryption) = parse(url)?;
        let properties =
            ConnectionProperties::default().with_connection_name(format!("gateway: {name}").into());
        let attempt = Attempt::default();
        let socket = attempt.0.clone();
        let connecting = Connection::connector(
            uri,
            wire::runtime(),
            async move |uri: AMQPUri, _| {
                let host = uri.authority.host.as_str();
                let connecting = async {
                    let address = (host, uri.authority.port);
                    let tcp = tokio::net::TcpStream::connect(address).await?;
                    let copy = tcp.as_fd().try_clone_to_owned()?;
                    *socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(copy.into());
                    wire::line(tcp, host, encryption.as_ref()).await
                };
                // Ends before the whole attempt does, so that no socket appears after it was given
                // up.
                let line = tokio::time::timeout(limit / 2, connecting).await;
                Ok(AsyncTcpStream::Plain(line.map_err(io::Error::from)??))
            },
            properties,
        );
        let connection = within(limit, "connecting", connecting).await?;
        attempt.succeeded();
        let (sender, blocked) = watch::channel(None);
        let watcher = tokio::spawn(watch_blocked(connection.events_listener(), sender));
        Ok(Self { connection, blocked, _watcher: AbortOnDropHandle::new(watcher) })
    }

    pub(super) async fn channel(&self) -> Result<Channel, BrokerError> {
        within(CALL_LIMIT, "opening a channel", self.connection.create_channel()).await
    }

    /// The broker's reason while it has blocked this connection.
    pub(super) fn blocked(&self) -> Option<String> {
        self.blocked.borrow().clone()
    }

    /// Completes when the broker blocks this connection; otherwise never.
    pub(super) async fn until_blocked(&self) -> BrokerError {
        let mut blocked = self.blocked.clone();
        let reason = blocked.wait_for(Option::is_some).await.map(|reason| reason.clone());
        match reason {
            Ok(reason) => BrokerError::Blocked { reason: reason.unwrap_or_default() },
            // The connection ended; a caller waiting on it gets that error from its own call.
            Err(_) => std::future::pending().await,
        }
    }

    pub(super) async fn close(self) -> Result<(), BrokerError> {
        within(CALL_LIMIT, "closing", self.connection.close(200, "done".into())).await
    }
}

/// The address as lapin takes it, and the encryption that it asks for. `cacertfile` is RabbitMQ's
/// own name for the parameter (its "URI Query Parameters"); lapin does not know it.
fn parse(url: &SecretString) -> Result<(AMQPUri, Option<Encryption>), BrokerError> {
    let unusable = |reason| BrokerError::Address { reason };
    let (url, ca_file) = take_ca_file(url).map_err(|error| unusable(error.to_string()))?;
    let mut uri: AMQPUri = url.as_str().parse().map_err(unusable)?;
    let encrypted = uri.scheme == AMQPScheme::AMQPS;
    if ca_file.is_some() && !encrypted {
        return Err(unusable("cacertfile needs an address that begins with amqps://".to_owned()));
    }
    uri.query.heartbeat = Some(HEARTBEAT_S);
    uri.query.frame_max = Some(FRAME_BYTES_MAX);
    Ok((uri, encrypted.then_some(Encryption { ca_file })))
}

/// The address without its parameter `cacertfile`, and that.
pub(super) fn take_ca_file(url: &SecretString) -> Result<(Url, Option<PathBuf>), url::ParseError> {
    let mut url = Url::parse(url.expose_secret())?;
    let is_ca = |name: &str| name == "cacertfile";
    let ca_file = url.query_pairs().find(|(name, _)| is_ca(name));
    let ca_file = ca_file.map(|(_, path)| PathBuf::from(path.into_owned()));
    if ca_file.is_some() {
        let others = url.query_pairs().into_owned().filter(|(name, _)| !is_ca(name));
        let others: Vec<_> = others.collect();
        url.set_query(None);
        if !others.is_empty() {
            url.query_pairs_mut().extend_pairs(others);
        }
    }
    Ok((url, ca_file))
}

async fn watch_blocked(events: impl Stream<Item = Event>, blocked: watch::Sender<Option<String>>) {
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        if let Event::ConnectionBlocked(reason) = event {
            blocked.send_replace(Some(reason));
        } else if let Event::ConnectionUnblocked = event {
            blocked.send_replace(None);
        }
    }
}

/// Socket of a connection attempt; it is shut down if the attempt is abandoned.
///
/// A peer that accepts and never responds would otherwise keep one of our threads and sockets for
/// ever, one more per attempt: lapin's own loop waits without a limit until the handshake is
/// complete.
#[derive(Default)]
struct Attempt(Arc<Mutex<Option<TcpStream>>>);

impl Attempt {
    fn succeeded(&self) {
        self.take();
    }

    fn take(&self) -> Option<TcpStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(socket) = self.take() {
            // The peer may already have closed the connection; then there is nothing to shut down.
            let _: io::Result<()> = socket.shutdown(Shutdown::Both);
        }
    }
}

/// Awaits one call to the broker, for at most `limit`.
pub(super) async fn within<T>(
    limit: Duration,
    doing: &'static str,
    call: impl Future<Output = lapin::Result<T>>,
) -> Result<T, BrokerError> {
    match tokio::time::timeout(limit, call).await {
        Ok(result) => result.map_err(|source| BrokerError::Failed { doing, source }),
        Err(_) => Err(BrokerError::TimedOut { doing, limit }),
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt, net::TcpListener};

    use super::*;

    #[tokio::test]
    async fn a_peer_that_never_speaks_costs_one_time_limit_and_no_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("amqp://{}/gw", listener.local_addr().unwrap());
        let peer = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut heard = Vec::new();
            socket.read_to_end(&mut heard).await.unwrap();
            heard
        });
        let limit = Duration::from_millis(200);
        let error = Link::open_within(limit, &url.into(), "test").await.err().unwrap();
        assert_eq!(error.to_string(), "the broker did not answer within 200 ms while connecting");
        let heard = tokio::time::timeout(Duration::from_secs(5), peer).await;
        assert_eq!(heard.expect("the socket stays open").unwrap(), b"AMQP\0\0\x09\x01");
    }

    #[tokio::test]
    async fn an_address_that_asks_for_encryption_is_never_spoken_to_in_the_clear() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/src/egress/fixture/root.pem");
        let address = listener.local_addr().unwrap();
        let url = format!("amqps://user:secret@{address}/gw?cacertfile={root}");
        let peer = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut heard = Vec::new();
            socket.read_to_end(&mut heard).await.unwrap();
            heard
        });
        let limit = Duration::from_millis(500);
        Link::open_within(limit, &url.into(), "test").await.err().unwrap();
        let heard = tokio::time::timeout(Duration::from_secs(5), peer).await;
        let heard = heard.expect("the socket stays open").unwrap();
        // A TLS handshake record, and nothing of ours in it.
        assert_eq!(heard[..2], [0x16, 3]);
        assert!(!heard.windows(4).any(|bytes| bytes == b"AMQP"));
    }

    #[test]
    fn a_ca_file_is_taken_out_of_the_address_and_needs_encryption() {
        let parsed = |url: &str| parse(&url.to_owned().into());
        let (uri, encryption) =
            parsed("amqps://u:p@host:5671/gw?cacertfile=/etc/ca.pem&heartbeat=3").ok().unwrap();
        assert_eq!((uri.authority.host.as_str(), uri.vhost.as_str()), ("host", "gw"));
        assert_eq!(encryption.unwrap().ca_file, Some(PathBuf::from("/etc/ca.pem")));
        assert!(parsed("amqps://u:p@host/gw").ok().unwrap().1.unwrap().ca_file.is_none());
        assert!(parsed("amqp://u:p@host/gw").ok().unwrap().1.is_none());
        let error = parsed("amqp://u:p@host/gw?cacertfile=/etc/ca.pem").err().unwrap();
        assert!(
            error.to_string().contains("needs an address that begins with amqps://"),
            "{error}"
        );
    }
}
