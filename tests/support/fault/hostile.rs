//! A receiver that misbehaves at the level of TCP, which no HTTP framework lets a test do.
//!
//! Each connection is served by one task: it reads whole requests and answers each with the
//! script's act for its number, counted over all connections from zero.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
    time::timeout,
};

/// Reaction to one request.
#[derive(Clone, Debug)]
pub enum Act {
    /// These bytes; the connection stays open for the next request.
    Say(Vec<u8>),
    /// These bytes, then an orderly end.
    SayAndClose(Vec<u8>),
    /// These bytes, then a reset.
    SayAndReset(Vec<u8>),
    /// These bytes, then silence on an open connection.
    SayAndHang(Vec<u8>),
    /// The first bytes at once, then the second text repeated as fast as the peer reads.
    Flood(Vec<u8>, Vec<u8>),
    /// The first bytes at once, then one more `x` per period, for ever.
    Trickle(Vec<u8>, Duration),
}

impl Act {
    /// A complete answer.
    pub fn answer(status: &str, body: &str) -> Self {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
        Self::Say((head + body).into_bytes())
    }
}

/// Address of the receiver and a record of its requests.
pub struct Hostile {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
    connections: Arc<AtomicUsize>,
    bytes_sent: Arc<AtomicU64>,
    open: watch::Sender<usize>,
    task: JoinHandle<()>,
}

/// Takes the number of a request and its text.
type Script = dyn Fn(usize, &str) -> Act + Send + Sync;

#[derive(Clone)]
struct Desk {
    script: Arc<Script>,
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
    bytes_sent: Arc<AtomicU64>,
}

impl Hostile {
    /// Listens on a free loopback port.
    pub async fn start(script: impl Fn(usize) -> Act + Send + Sync + 'static) -> Self {
        Self::reading(move |number, _| script(number)).await
    }

    /// The same act for every request to any of this machine's addresses: on loopback there are
    /// millions.
    pub async fn everywhere(act: Act) -> Self {
        Self::serving("0.0.0.0:0", move |_, _| act.clone()).await
    }

    /// The script also reads the request.
    pub async fn reading(script: impl Fn(usize, &str) -> Act + Send + Sync + 'static) -> Self {
        Self::serving("127.0.0.1:0", script).await
    }

    async fn serving(
        at: &str,
        script: impl Fn(usize, &str) -> Act + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(at).await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let (seen, connections) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
        let (bytes_sent, open) = (Arc::new(AtomicU64::new(0)), watch::Sender::new(0));
        let desk = Desk {
            script: Arc::new(script),
            seen: Arc::clone(&seen),
            bytes_sent: bytes_sent.clone(),
        };
        let (accepted, opened) = (connections.clone(), open.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                opened.send_modify(|open| *open += 1);
                let (desk, opened) = (desk.clone(), opened.clone());
                tokio::spawn(async move {
                    // An error here means that the caller closed the connection, which several
                    // tests expect.
                    let _ = desk.serve(stream).await;
                    opened.send_modify(|open| *open -= 1);
                });
            }
        });
        Self { address, seen, connections, bytes_sent, open, task }
    }

    /// The same act for every request.
    pub async fn always(act: Act) -> Self {
        Self::start(move |_| act.clone()).await
    }

    /// `http://` and the address, with `path` behind it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests that arrived whole, byte for byte, in order.
    pub fn requests(&self) -> Vec<Vec<u8>> {
        self.seen.lock().expect("no test panics while it holds this").clone()
    }

    pub fn request_count(&self) -> usize {
        self.seen.lock().expect("no test panics while it holds this").len()
    }

    /// Connections accepted so far.
    pub fn connection_count(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Bytes handed to the operating system so far.
    pub fn bytes_sent(&self) -> u64 {
        self.bytes_sent.load(Ordering::SeqCst)
    }

    /// Waits until at most `count` connections are open.
    pub async fn open_at_most(&self, count: usize, within: Duration) {
        let mut open = self.open.subscribe();
        let settled = timeout(within, open.wait_for(|open| *open <= count)).await.is_ok();
        assert!(settled, "{} connections are still open", *self.open.borrow());
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Desk {
    async fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        while let Some(request) = read_request(&mut stream).await? {
            let number = {
                let mut seen = self.seen.lock().expect("no test panics while it holds this");
                seen.push(request.clone());
                seen.len() - 1
            };
            match (self.script)(number, &String::from_utf8_lossy(&request)) {
                Act::Say(bytes) => self.say(&mut stream, &bytes).await?,
                Act::SayAndClose(bytes) => {
                    self.say(&mut stream, &bytes).await?;
                    return stream.shutdown().await;
                }
                Act::SayAndReset(bytes) => {
                    self.say(&mut stream, &bytes).await?;
                    return stream.set_zero_linger();
                }
                Act::SayAndHang(bytes) => {
                    self.say(&mut stream, &bytes).await?;
                    // The next byte or the end of the connection; the caller gets no further
                    // information.
                    while stream.read(&mut [0; 1024]).await? > 0 {}
                    return Ok(());
                }
                Act::Flood(first, again) => {
                    self.say(&mut stream, &first).await?;
                    loop {
                        self.say(&mut stream, &again).await?;
                    }
                }
                Act::Trickle(first, period) => {
                    self.say(&mut stream, &first).await?;
                    let mut beat = tokio::time::interval(period);
                    loop {
                        beat.tick().await;
                        self.say(&mut stream, b"x").await?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn say(&self, stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
        stream.write_all(bytes).await?;
        self.bytes_sent.fetch_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX), Ordering::SeqCst);
        Ok(())
    }
}

/// A head and the body that its `Content-Length` announces; `None` at the end of the connection.
async fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let head = request.windows(4).position(|w| w == b"\r\n\r\n");
        if head.is_some_and(|at| request.len() >= at + 4 + content_length(&request[..at])) {
            return Ok(Some(request));
        }
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Ok(None);
        }
        request.extend_from_slice(&buffer[..read]);
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let line = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}
