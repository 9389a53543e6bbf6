//! A TCP proxy in front of PostgreSQL that cuts a connection around its COMMIT, so that the outcome
//! is unknown.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};
use url::Url;

/// The message by which a transaction is ended: type, length, text.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

/// Side of the COMMIT on which the connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The server never receives it.
    Before,
    /// The server executes it, and its answer is lost.
    After,
}

#[derive(Default)]
struct Plan {
    /// Commits to let through before the next cut; `usize::MAX` if none is planned.
    skip: AtomicUsize,
    after: AtomicBool,
    fired: AtomicUsize,
}

/// Forwards to the server until a cut is planned. Ends with the test's runtime.
#[derive(Clone)]
pub struct CuttingProxy {
    address: SocketAddr,
    server: Url,
    plan: Arc<Plan>,
}

impl CuttingProxy {
    pub async fn before(database_url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server: Url = database_url.parse().unwrap();
        let plan = Arc::new(Plan { skip: AtomicUsize::new(usize::MAX), ..Plan::default() });
        let address = listener.local_addr().unwrap();
        let proxy = Self { address, server, plan };
        tokio::spawn(proxy.clone().serve(listener));
        proxy
    }

    /// The same database through the proxy.
    pub fn url(&self) -> String {
        let mut url = self.server.clone();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(self.address.port())).unwrap();
        // Encrypted traffic cannot be parsed here.
        url.query_pairs_mut().append_pair("sslmode", "disable");
        url.into()
    }

    /// Cuts the connection of one COMMIT, after letting `skip` others through.
    pub fn cut(&self, cut: Cut, skip: usize) {
        self.plan.after.store(cut == Cut::After, Ordering::SeqCst);
        self.plan.skip.store(skip, Ordering::SeqCst);
    }

    /// Number of connections cut.
    pub fn fired(&self) -> usize {
        self.plan.fired.load(Ordering::SeqCst)
    }

    async fn serve(self, listener: TcpListener) {
        while let Ok((client, _)) = listener.accept().await {
            let host = self.server.host_str().unwrap_or("127.0.0.1").to_owned();
            let port = self.server.port().unwrap_or(5432);
            let plan = self.plan.clone();
            tokio::spawn(async move {
                let Ok(server) = TcpStream::connect((host, port)).await else { return };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let silent = AtomicBool::new(false);
                tokio::select! {
                    () = forward_commands(from_client, to_server, &plan, &silent) => {}
                    () = forward_answers(from_server, to_client, &silent) => {}
                }
                // Leaving drops both halves: each side sees its connection end.
            });
        }
    }
}

impl Plan {
    /// Returns true if this COMMIT is to be cut.
    fn is_next(&self) -> bool {
        let count_down = |left: usize| match left {
            usize::MAX => None,
            0 => Some(usize::MAX),
            left => Some(left - 1),
        };
        self.skip.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count_down) == Ok(0)
    }
}

async fn forward_answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, silent: &AtomicBool) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if !silent.load(Ordering::SeqCst) && to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

async fn forward_commands(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    plan: &Plan,
    silent: &AtomicBool,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let bytes = &buffer[..count];
        // The driver writes a COMMIT alone, in one piece.
        if bytes == COMMIT && plan.is_next() {
            plan.fired.fetch_add(1, Ordering::SeqCst);
            if plan.after.load(Ordering::SeqCst) {
                silent.store(true, Ordering::SeqCst);
                let _ = to.write_all(bytes).await;
                // Time for the server to act on it.
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
            return;
        }
        if to.write_all(bytes).await.is_err() {
            return;
        }
    }
}
