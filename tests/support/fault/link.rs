//! The network path from our programs to a server, which a test may interrupt without closing a
//! connection.
//!
//! With root's rights the path leads through a network namespace and packets are lost in the
//! kernel, so that retransmission, backoff and silence are those of a real network. Without, a
//! proxy holds back the data, if the run accepts that.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};
use url::Url;

use crate::{
    fault::weaker,
    server::namespace::{End, Namespace},
};

/// Directions that pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    Everything,
    /// Data from our programs; they receive nothing.
    Questions,
    /// Data from the server; it receives nothing.
    Answers,
    Nothing,
}

impl Passes {
    fn lets(self, direction: Self) -> bool {
        self == Self::Everything || self == direction
    }
}

pub struct Link {
    address: SocketAddr,
    server: Url,
    way: Way,
}

enum Way {
    Network(Network),
    Proxy(Proxy),
}

impl Link {
    /// A way to the server of `url`. It ends with the test's runtime.
    pub async fn to(url: &str) -> Self {
        let server: Url = url.parse().unwrap();
        let addresses = server.socket_addrs(|| None).unwrap();
        if Namespace::is_permitted() {
            let network = Network { namespace: Namespace::create(), lost: Lost::default() };
            let listener = network.namespace.listen();
            listener.set_nonblocking(true).unwrap();
            let listener = TcpListener::from_std(listener).unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(forward(listener, addresses));
            return Self { address, server, way: Way::Network(network) };
        }
        weaker::accept("a proxy holds packets back: to lose them, a network namespace needs root");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = Proxy { passes: watch::Sender::new(Passes::Everything), held: Arc::default() };
        tokio::spawn(proxy.clone().serve(listener, addresses));
        Self { address, server, way: Way::Proxy(proxy) }
    }

    /// The same server by this way.
    pub fn url(&self) -> String {
        let mut url = self.server.clone();
        url.set_ip_host(self.address.ip()).unwrap();
        url.set_port(Some(self.address.port())).unwrap();
        url.into()
    }

    pub fn let_pass(&self, passes: Passes) {
        match &self.way {
            Way::Network(network) => network.let_pass(passes),
            Way::Proxy(proxy) => {
                proxy.passes.send_replace(passes);
            }
        }
    }

    /// Number of packets lost so far, or of held-back pieces.
    pub fn stopped(&self) -> usize {
        match &self.way {
            Way::Network(network) => network.lost(),
            Way::Proxy(proxy) => proxy.held.load(Ordering::SeqCst),
        }
    }
}

async fn forward(listener: TcpListener, server: Vec<SocketAddr>) {
    while let Ok((mut client, _)) = listener.accept().await {
        let server = server.clone();
        tokio::spawn(async move {
            let Ok(mut server) = TcpStream::connect(&server[..]).await else { return };
            let _ = copy_bidirectional(&mut client, &mut server).await;
        });
    }
}

/// Loses packets.
struct Network {
    namespace: Namespace,
    lost: Lost,
}

/// For each end: packets lost in past losses, and, during a loss, the number it had sent before.
#[derive(Default)]
struct Lost {
    over: AtomicUsize,
    since: std::sync::Mutex<Vec<(End, usize)>>,
}

impl Network {
    fn let_pass(&self, passes: Passes) {
        self.lost.over.fetch_add(self.losing(), Ordering::SeqCst);
        let mut since = Vec::new();
        for (from, direction) in [(End::Ours, Passes::Questions), (End::Theirs, Passes::Answers)] {
            let all = !passes.lets(direction);
            self.namespace.lose(from, all);
            if all {
                since.push((from, self.namespace.sent(from)));
            }
        }
        *self.lost.since.lock().unwrap() = since;
    }

    fn losing(&self) -> usize {
        let since = self.lost.since.lock().unwrap();
        since.iter().map(|(from, before)| self.namespace.sent(*from) - before).sum()
    }

    fn lost(&self) -> usize {
        self.lost.over.load(Ordering::SeqCst) + self.losing()
    }
}

/// Holds back data; it passes later, as with a network's retransmission.
#[derive(Clone)]
struct Proxy {
    passes: watch::Sender<Passes>,
    held: Arc<AtomicUsize>,
}

impl Proxy {
    async fn serve(self, listener: TcpListener, server: Vec<SocketAddr>) {
        while let Ok((client, _)) = listener.accept().await {
            let (proxy, server) = (self.clone(), server.clone());
            tokio::spawn(async move {
                proxy.wait_for(Passes::Questions).await;
                let Ok(server) = TcpStream::connect(&server[..]).await else { return };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::select! {
                    () = proxy.carry(Passes::Questions, from_client, to_server) => {}
                    () = proxy.carry(Passes::Answers, from_server, to_client) => {}
                }
                // Leaving drops both halves: each side sees its connection end.
            });
        }
    }

    async fn wait_for(&self, direction: Passes) {
        if !self.passes.borrow().lets(direction) {
            self.held.fetch_add(1, Ordering::SeqCst);
        }
        // The sender is ours, so it does not end.
        let _ = self.passes.subscribe().wait_for(|passes| passes.lets(direction)).await;
    }

    async fn carry(&self, direction: Passes, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count) = from.read(&mut buffer).await {
            // The closing of a connection does not pass either.
            self.wait_for(direction).await;
            if count == 0 || to.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    }
}
