//! A merchant's webhook receiver that keeps every byte it got and answers with a configured status.

use std::{
    collections::VecDeque,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha512;
use tokio::sync::watch;

use crate::server::broker::eventually;

/// One POST, as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Received {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no header {name}")).to_str().unwrap()
    }

    /// Verifies as a merchant would: over the received bytes, independently of the gateway's own
    /// code.
    pub fn verify(&self, secret: &str) {
        let mut mac = Hmac::<Sha512>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(&self.body);
        let expected = hex::encode(mac.finalize().into_bytes());
        assert_eq!(self.header("x-gateway-sig"), expected);
        assert_eq!(self.header("x-gateway-event-id"), self.json()["event_id"].as_str().unwrap());
        assert_eq!(self.header("content-type"), "application/json");
        assert_eq!(self.header("user-agent"), "gateway-ipn/0.1.0");
    }
}

#[derive(Default)]
struct Log {
    received: Vec<Received>,
    /// Answers to give before the default one.
    script: VecDeque<u16>,
    /// Delay of the next response.
    hesitation: Duration,
}

#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    log: Arc<Mutex<Log>>,
    answer: Arc<Mutex<u16>>,
    pause: Duration,
    held: Arc<watch::Sender<bool>>,
}

impl Receiver {
    /// Listens on loopback and answers `status` to everything.
    pub async fn answering(status: u16) -> Self {
        Self::at(Ipv4Addr::LOCALHOST.into(), status, Duration::ZERO).await
    }

    /// Listens at one of this machine's addresses and answers after a `pause`.
    pub async fn at(host: IpAddr, status: u16, pause: Duration) -> Self {
        let listener = tokio::net::TcpListener::bind((host, 0)).await.unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let receiver = Self {
            url: format!("http://{address}/ipn"),
            log: Arc::default(),
            answer: Arc::new(Mutex::new(status)),
            pause,
            held: Arc::new(watch::Sender::new(false)),
        };
        let router = Router::new().route("/ipn", post(Self::receive)).with_state(receiver.clone());
        tokio::spawn(async move { axum_serve(listener, router).await });
        receiver
    }

    async fn receive(
        State(receiver): State<Self>,
        headers: HeaderMap,
        body: Bytes,
    ) -> (StatusCode, &'static str) {
        receiver.held.subscribe().wait_for(|held| !held).await.unwrap();
        tokio::time::sleep(receiver.pause).await;
        let (scripted, hesitation) = {
            let mut log = receiver.log.lock().unwrap();
            log.received.push(Received { headers, body });
            (log.script.pop_front(), std::mem::take(&mut log.hesitation))
        };
        let status = scripted.unwrap_or(*receiver.answer.lock().unwrap());
        tokio::time::sleep(hesitation).await;
        (StatusCode::from_u16(status).unwrap(), "noted")
    }

    /// Answers these in turn before the usual one.
    pub fn answer_first(&self, statuses: &[u16]) {
        self.log.lock().unwrap().script.extend(statuses);
    }

    /// Answers nobody until [`release`](Self::release).
    pub fn hold(&self) {
        self.held.send_replace(true);
    }

    pub fn release(&self) {
        self.held.send_replace(false);
    }

    /// Delays the next response by this time.
    pub fn hesitate_once(&self, by: Duration) {
        self.log.lock().unwrap().hesitation = by;
    }

    /// Status of all further responses.
    pub fn answer(&self, status: u16) {
        *self.answer.lock().unwrap() = status;
    }

    /// Clears the record of received requests.
    pub fn forget(&self) {
        self.log.lock().unwrap().received.clear();
    }

    pub fn received(&self) -> Vec<Received> {
        self.log.lock().unwrap().received.clone()
    }

    /// Waits until at least `count` POSTs have arrived.
    pub async fn wait_for(&self, count: usize) -> Vec<Received> {
        eventually(&format!("{count} webhooks"), async || {
            let received = self.received();
            (received.len() >= count).then_some(received)
        })
        .await
    }
}

async fn axum_serve(listener: tokio::net::TcpListener, router: Router) {
    use gateway::serve::{Limits, serve};
    let never = tokio_util::sync::CancellationToken::new();
    serve(listener, router, Limits { connections_max: 1_000, ..Limits::default() }, never).await;
}
