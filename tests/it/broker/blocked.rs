//! A broker that is short of memory or disk, simulated by a proxy in front of the real one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gateway::broker::{
    BrokerError,
    publisher::{Outcome, Publisher},
    route::Route,
};
use lapin::uri::AMQPUri;
use secrecy::{ExposeSecret, SecretString};
use support::{
    fault::fired::fired,
    server::broker::{TestBroker, eventually, outgoing, with_broker},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::Notify,
};

/// `connection.blocked` with the reason "low on memory", and `connection.unblocked`.
const BLOCKED: &[u8] = b"\x01\0\0\0\0\0\x12\0\x0a\0\x3c\x0dlow on memory\xce";
const UNBLOCKED: &[u8] = b"\x01\0\0\0\0\0\x04\0\x0a\0\x3d\xce";

struct Proxy {
    url: SecretString,
    says: Arc<Says>,
}

/// Commands for the proxy.
#[derive(Default)]
struct Says {
    block: Notify,
    unblock: Notify,
    /// Hold back the client's data from the broker, and answer it with a block.
    block_at_next_message: AtomicBool,
}

async fn proxy(broker: &TestBroker) -> Proxy {
    let uri: AMQPUri = broker.url.expose_secret().parse().unwrap();
    let upstream = (uri.authority.host.clone(), uri.authority.port);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut url = url::Url::parse(broker.url.expose_secret()).unwrap();
    url.set_host(Some("127.0.0.1")).unwrap();
    url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
    let says = Arc::new(Says::default());
    let told = says.clone();
    tokio::spawn(async move {
        let (client, _) = listener.accept().await.unwrap();
        let server = TcpStream::connect(upstream).await.unwrap();
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        tokio::join!(upward(from_client, to_server, &told), downward(from_server, to_client, &told))
    });
    Proxy { url: url.to_string().into(), says }
}

async fn upward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, says: &Says) {
    let mut buffer = vec![0; 4096];
    // The client may hang up in the middle; that is how the tests end.
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if says.block_at_next_message.load(Ordering::SeqCst) {
            says.block.notify_one();
        } else if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// Whole frames only, so that ours can be inserted between them.
async fn downward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, says: &Says) {
    let (sender, mut frames) = tokio::sync::mpsc::channel(16);
    tokio::spawn(async move {
        while let Ok(frame) = frame(&mut from).await {
            if sender.send(frame).await.is_err() {
                return;
            }
        }
    });
    loop {
        let next = tokio::select! {
            Some(frame) = frames.recv() => frame,
            () = says.block.notified() => BLOCKED.to_vec(),
            () = says.unblock.notified() => UNBLOCKED.to_vec(),
            else => return,
        };
        if to.write_all(&next).await.is_err() {
            return;
        }
    }
}

async fn frame(from: &mut OwnedReadHalf) -> std::io::Result<Vec<u8>> {
    let mut head = [0; 7];
    from.read_exact(&mut head).await?;
    let size = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
    let mut rest = vec![0; usize::try_from(size).unwrap() + 1];
    from.read_exact(&mut rest).await?;
    Ok([head.as_slice(), &rest].concat())
}

#[tokio::test]
async fn a_blocked_broker_is_reported_at_once_and_until_it_accepts_messages_again() {
    with_broker(|broker| async move {
        let proxy = proxy(&broker).await;
        let topology = broker.topology.clone();
        let mut publisher = Publisher::connect(&proxy.url, topology).await.unwrap();
        let batch = [outgoing(1, Route::Ipn, "{}")];
        assert_eq!(publisher.publish(&batch).await.unwrap(), [Outcome::Confirmed]);
        proxy.says.block.notify_one();
        eventually("blocked", async || publisher.blocked()).await;
        let error = publisher.publish(&batch).await.unwrap_err();
        assert_eq!(error.to_string(), "the broker takes no messages for now: low on memory");
        fired(1);
        proxy.says.unblock.notify_one();
        eventually("unblocked", async || publisher.blocked().is_none().then_some(())).await;
        assert_eq!(publisher.publish(&batch).await.unwrap(), [Outcome::Confirmed]);
    })
    .await;
}

#[tokio::test]
async fn a_batch_under_way_ends_when_the_broker_stops_taking_messages() {
    with_broker(|broker| async move {
        let proxy = proxy(&broker).await;
        let topology = broker.topology.clone();
        let mut publisher = Publisher::connect(&proxy.url, topology).await.unwrap();
        proxy.says.block_at_next_message.store(true, Ordering::SeqCst);
        let batch = [outgoing(1, Route::Ipn, "{}")];
        let publishing = publisher.publish(&batch);
        let published = tokio::time::timeout(Duration::from_secs(5), publishing).await;
        let error = published.expect("well before the confirm limit").unwrap_err();
        assert!(matches!(error, BrokerError::Blocked { .. }), "{error}");
        fired(1);
        let error = publisher.publish(&batch).await.unwrap_err();
        assert!(matches!(error, BrokerError::Spent), "{error}");
    })
    .await;
}
