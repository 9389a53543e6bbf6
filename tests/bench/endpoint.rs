//! Merchants' endpoints, as cheap as possible, and a cheap HTTP client: the gateway is what is
//! measured.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use support::server::authority::Authority;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// Of one endpoint, each with an address of its own.
pub const HOSTS: usize = ADDRESSES as usize;
const ADDRESSES: u8 = 100;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// Answers 200 to every POST after `pause`, and records the arrival of each whole request. It has
/// several addresses: merchants do not share theirs, nor the host, to which the gateway limits its
/// attempts. It listens until it is dropped.
pub struct Endpoint {
    addresses: Arc<[SocketAddr]>,
    receiver: Receiver,
    _listening: JoinSet<()>,
}

#[derive(Clone)]
struct Receiver {
    tls: Option<Tls>,
    crowds: Arc<[Crowd]>,
    arrivals: Arc<Mutex<Vec<(String, Instant)>>>,
    arrived: Arc<Notify>,
}

/// Requests that one address answers at this moment, and the most that it ever did.
#[derive(Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Crowd {
    fn enter(&self) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
    }

    fn leave(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Receivers with a certificate.
#[derive(Clone)]
struct Tls {
    authority: Arc<Authority>,
    acceptor: TlsAcceptor,
    handshakes: Arc<AtomicUsize>,
}

impl Tls {
    fn new() -> Self {
        let authority = Authority::of_servers_at((1..=ADDRESSES).map(|at| address(at).into()));
        let [certificate, key] = authority.server();
        let certificates = CertificateDer::pem_file_iter(certificate).unwrap();
        let certificates = certificates.map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_file(key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self { authority: Arc::new(authority), acceptor, handshakes: Arc::default() }
    }
}

fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 1, number)
}

impl Endpoint {
    pub async fn answering_after(pause: Duration) -> Self {
        Self::open(pause, None).await
    }

    /// The same over TLS. A worker needs [`Endpoint::settings`] to trust it.
    pub async fn answering_over_tls_after(pause: Duration) -> Self {
        Self::open(pause, Some(Tls::new())).await
    }

    async fn open(pause: Duration, tls: Option<Tls>) -> Self {
        let mut listeners = Vec::new();
        for number in 1..=ADDRESSES {
            listeners.push(TcpListener::bind((address(number), 0)).await.unwrap());
        }
        let addresses = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
        let receiver = Receiver {
            tls,
            crowds: listeners.iter().map(|_| Crowd::default()).collect(),
            arrivals: Arc::default(),
            arrived: Arc::default(),
        };
        let mut listening = JoinSet::new();
        for (at, listener) in listeners.into_iter().enumerate() {
            let receiver = receiver.clone();
            listening.spawn(async move {
                let mut connections = JoinSet::new();
                while let Ok((stream, _)) = listener.accept().await {
                    stream.set_nodelay(true).unwrap();
                    connections.spawn(receiver.clone().accept(at, stream, pause));
                    while connections.try_join_next().is_some() {}
                }
            });
        }
        Self { addresses, receiver, _listening: listening }
    }

    /// Settings of a worker that delivers to it.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let certificate = |tls: &Tls| tls.authority.certificate().display().to_string();
        self.receiver.tls.iter().map(|tls| ("SSL_CERT_FILE", certificate(tls))).collect()
    }

    /// TLS sessions that clients have begun.
    pub fn handshakes(&self) -> usize {
        self.receiver.tls.as_ref().map_or(0, |tls| tls.handshakes.load(Ordering::Relaxed))
    }

    /// The most requests that each address ever answered at once, added up: so many connections
    /// are needed if each is used again.
    pub fn connections_needed(&self) -> usize {
        self.receiver.crowds.iter().map(|crowd| crowd.most.load(Ordering::Relaxed)).sum()
    }

    pub fn address(&self, at: usize) -> SocketAddr {
        self.addresses[at % self.addresses.len()]
    }

    /// URL of the merchant with this number.
    pub fn url(&self, at: usize) -> String {
        let scheme = if self.receiver.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/ipn", self.address(at))
    }

    pub fn count(&self) -> usize {
        self.receiver.arrivals.lock().unwrap().len()
    }

    /// Arrived event ids with their times.
    pub fn arrivals(&self) -> Vec<(String, Instant)> {
        self.receiver.arrivals.lock().unwrap().clone()
    }

    pub fn forget(&self) {
        self.receiver.arrivals.lock().unwrap().clear();
    }

    pub async fn until(&self, count: usize, limit: Duration) {
        let waiting = async {
            while self.count() < count {
                let arrived = self.receiver.arrived.notified();
                if self.count() < count {
                    let _ = tokio::time::timeout(Duration::from_millis(50), arrived).await;
                }
            }
        };
        let waited = tokio::time::timeout(limit, waiting).await;
        assert!(waited.is_ok(), "{} of {count} arrived", self.count());
    }
}

impl Receiver {
    async fn accept(self, at: usize, stream: TcpStream, pause: Duration) {
        match self.tls.clone() {
            None => self.serve(at, stream, pause).await,
            Some(tls) => {
                if let Ok(stream) = tls.acceptor.accept(stream).await {
                    tls.handshakes.fetch_add(1, Ordering::Relaxed);
                    self.serve(at, stream, pause).await;
                }
            }
        }
    }

    async fn serve(
        self,
        at: usize,
        mut stream: impl AsyncRead + AsyncWrite + Unpin,
        pause: Duration,
    ) {
        let mut buffer = Vec::with_capacity(8192);
        loop {
            let Some((id, end)) = read_message(&mut stream, &mut buffer).await else { return };
            buffer.drain(..end);
            self.crowds[at].enter();
            self.arrivals.lock().unwrap().push((id, Instant::now()));
            self.arrived.notify_waiters();
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            self.crowds[at].leave();
            if stream.write_all(ANSWER).await.is_err() {
                return;
            }
        }
    }
}

/// Reads one message with a content length; returns its event id and where it ends in the buffer.
async fn read_message(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
) -> Option<(String, usize)> {
    loop {
        if let Some(head_end) = find(buffer, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..head_end]).to_ascii_lowercase();
            let length: usize =
                field(&head, "content-length").and_then(|v| v.parse().ok()).unwrap_or(0);
            let end = head_end + 4 + length;
            if buffer.len() >= end {
                let id = field(&head, "x-gateway-event-id").unwrap_or_default().to_owned();
                return Some((id, end));
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
}

/// A keep-alive connection that sends bytes as they are and reads one response.
pub struct Caller {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Caller {
    pub async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::with_capacity(8192) }
    }

    /// Sends a request and returns the response's status.
    pub async fn send(&mut self, request: &[u8]) -> u16 {
        let end = self.exchange(request).await;
        let status = std::str::from_utf8(&self.buffer[9..12]).unwrap().parse().unwrap();
        self.buffer.drain(..end);
        status
    }

    /// Sends a request and returns the response's `ETag`.
    pub async fn tag(&mut self, request: &[u8]) -> Option<String> {
        let end = self.exchange(request).await;
        let head = String::from_utf8_lossy(&self.buffer[..end]);
        let tag = field(&head, "etag").map(|tag| tag.trim_matches('"').to_owned());
        self.buffer.drain(..end);
        tag
    }

    /// Returns where the response ends in the buffer.
    async fn exchange(&mut self, request: &[u8]) -> usize {
        self.stream.write_all(request).await.unwrap();
        read_message(&mut self.stream, &mut self.buffer).await.unwrap().1
    }
}

/// Returns any free connection: there are as many as workers.
pub async fn free(
    callers: &[tokio::sync::Mutex<Caller>],
    from: usize,
) -> tokio::sync::MutexGuard<'_, Caller> {
    for offset in 0..callers.len() {
        if let Ok(caller) = callers[(from + offset) % callers.len()].try_lock() {
            return caller;
        }
    }
    callers[from % callers.len()].lock().await
}

/// A POST of JSON as bytes.
pub fn post(path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    post_as("application/json", path, headers, body)
}

pub fn post_as(kind: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: {kind}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    text.into_bytes()
}
