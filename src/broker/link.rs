//! One connection: opened within a time limit, never recovered, and watched for
//! `connection.blocked`.

use std::{
    future::Future,
    io,
    net::{Shutdown, TcpStream},
    os::fd::AsFd,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{Stream, StreamExt};
use lapin::{
    AsyncTcpStream, Channel, Connection, ConnectionProperties, Event,
    runtime::default_runtime,
    tcp::{AMQPUriTcpExt, TLSConfig},
    uri::{AMQPScheme, AMQPUri},
};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::BrokerError;

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
        let uri = parse(url)?;
        let properties =
            ConnectionProperties::default().with_connection_name(format!("gateway: {name}").into());
        let attempt = Attempt::default();
        let socket = attempt.0.clone();
        let failed = |source| BrokerError::Failed { doing: "connecting", source };
        let connecting = Connection::connector(
            uri,
            default_runtime().map_err(failed)?,
            async move |uri, runtime| {
                // This limit is shorter than that of the whole attempt, so that no socket opens
                // after the attempt was abandoned.
                let tcp = uri.connect_with_config_async(TLSConfig::default(), &runtime);
                let stream =
                    tokio::time::timeout(limit / 2, tcp).await.map_err(io::Error::from)??;
                #[allow(irrefutable_let_patterns, reason = "one variant per TLS feature of lapin")]
                if let AsyncTcpStream::Plain(tcp) = &stream {
                    let copy = tcp.get_ref().as_fd().try_clone_to_owned()?;
                    *socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(copy.into());
                }
                Ok(stream)
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

fn parse(url: &SecretString) -> Result<AMQPUri, BrokerError> {
    let mut uri: AMQPUri =
        url.expose_secret().parse().map_err(|reason| BrokerError::Address { reason })?;
    // Without its TLS feature, lapin accepts an amqps address and then speaks plain text, password
    // included.
    if uri.scheme == AMQPScheme::AMQPS {
        let reason = "amqps is not supported by this build".to_owned();
        return Err(BrokerError::Address { reason });
    }
    uri.query.heartbeat = Some(HEARTBEAT_S);
    uri.query.frame_max = Some(FRAME_BYTES_MAX);
    Ok(uri)
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
        let url = "amqps://user:secret@127.0.0.1:1/gw".into();
        let error = Link::open(&url, "test").await.err().unwrap();
        assert_eq!(
            error.to_string(),
            "the broker's address cannot be used: amqps is not supported by this build"
        );
    }
}
