//! The way from our programs to a server, which a test may interrupt without closing anything.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};
use url::Url;

/// What passes. What does not is kept and passes later, as a network's own repetitions do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    Everything,
    /// What our programs say; they hear nothing.
    Questions,
    /// What the server says; it hears nothing.
    Answers,
    Nothing,
}

impl Passes {
    fn lets(self, direction: Self) -> bool {
        self == Self::Everything || self == direction
    }
}

#[derive(Clone)]
pub struct Link {
    address: SocketAddr,
    server: Url,
    passes: watch::Sender<Passes>,
    held: Arc<AtomicUsize>,
}

impl Link {
    /// A way to the server of `url`. It ends with the test's runtime.
    pub async fn to(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (server, passes) = (url.parse().unwrap(), watch::Sender::new(Passes::Everything));
        let link = Self { address, server, passes, held: Arc::default() };
        tokio::spawn(link.clone().serve(listener));
        link
    }

    /// The same server by this way.
    pub fn url(&self) -> String {
        let mut url = self.server.clone();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(self.address.port())).unwrap();
        url.into()
    }

    pub fn let_pass(&self, passes: Passes) {
        self.passes.send_replace(passes);
    }

    /// How many pieces had to wait so far.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }

    async fn serve(self, listener: TcpListener) {
        let server = self.server.socket_addrs(|| None).unwrap();
        while let Ok((client, _)) = listener.accept().await {
            let (link, server) = (self.clone(), server.clone());
            tokio::spawn(async move {
                link.wait_for(Passes::Questions).await;
                let Ok(server) = TcpStream::connect(&server[..]).await else { return };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::select! {
                    () = link.carry(Passes::Questions, from_client, to_server) => {}
                    () = link.carry(Passes::Answers, from_server, to_client) => {}
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
            // A farewell does not pass either.
            self.wait_for(direction).await;
            if count == 0 || to.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    }
}
