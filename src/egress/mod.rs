//! Everything the gateway calls over HTTP goes through here: merchants' webhooks, rate providers, chain nodes.
//!
//! - One deadline covers the whole call, from the lookup of the name to the last byte of the answer.
//! - The dialled address is the checked address (`dial`, `guard`).
//! - No redirect is followed, no proxy variable is read, nothing is decompressed.
//! - Every part of an answer has a limit.
//!
//! It must not know what a call is for: signing, schedules and what an answer means are decided by its callers.
//! Callers also bound how many calls they make at once, per endpoint and in all.

mod dial;
mod error;
pub mod guard;
mod resolve;
mod tls;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header::USER_AGENT};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};
use rustls::ClientConfig;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};
use url::Url;

use self::{
    dial::{Bounded, CONNECTIONS_MAX, Dialler, Peer},
    guard::to_uri,
};
pub use self::{
    error::EgressError,
    guard::{Policy, PublicPolicy, Refusal, UrlRefused},
    resolve::{Resolve, Resolving, SystemResolver},
};

/// Enough of an answer to see what a receiver complained about.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024;
const HEAD_BYTES_MAX: usize = 32 * 1024;
const HEAD_LINES_MAX: usize = 100;
const IDLE_PER_HOST_MAX: usize = 10;
/// Shorter than the 5 s after which common servers close an idle connection, so that a POST rarely meets that race; and
/// idle connections count among those that may be open at once, so that they must not linger.
const IDLE_PUBLIC: Duration = Duration::from_secs(1);
const IDLE_OPERATOR: Duration = Duration::from_secs(30);
const AGENT: &str = concat!("crypto-payment-gateway/", env!("CARGO_PKG_VERSION"));

/// One request. No header of it is derived from the environment.
#[derive(Clone)]
pub struct Call {
    pub method: Method,
    pub url: Url,
    /// `Host` and `Content-Length` are set by the client, `User-Agent` unless given.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// For everything: lookup, connection, handshake, request, answer, a possible second try of a GET.
    pub deadline: Duration,
    /// How much of the answer's body is kept; the rest is not read.
    pub body_bytes_max: usize,
}

impl Call {
    pub fn get(url: Url, deadline: Duration) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            deadline,
            body_bytes_max: ANSWER_BYTES_MAX,
        }
    }

    pub fn post(url: Url, body: impl Into<Bytes>, deadline: Duration) -> Self {
        Self { method: Method::POST, body: body.into(), ..Self::get(url, deadline) }
    }
}

/// What came back, whatever its status.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// At most `body_bytes_max` bytes, exactly as sent (never decompressed).
    pub body: Bytes,
    /// Whether there was more body than that.
    pub truncated: bool,
    pub duration: Duration,
    /// Whom we reached.
    pub peer: Option<SocketAddr>,
}

impl Answer {
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }
}

type Http = Client<Bounded<HttpsConnector<Dialler>>, Full<Bytes>>;

/// The client. Clones share the pool; one policy is one client.
#[derive(Clone)]
pub struct Egress {
    policy: Arc<Policy>,
    places: Arc<Semaphore>,
    /// Without any, every certificate would look wrong.
    has_roots: bool,
    pooled: Http,
    /// Shares everything with `pooled` except its idle connections: a second try must not meet another stale one.
    fresh: Http,
}

impl Egress {
    pub fn new(policy: Policy) -> Self {
        Self::with_resolver(policy, Arc::new(SystemResolver::new()))
    }

    /// With names resolved by `resolver`, whose answers face the policy like any other.
    pub fn with_resolver(policy: Policy, resolver: Arc<dyn Resolve>) -> Self {
        Self::build(policy, resolver, tls::config())
    }

    /// Without `tls` no https call is made.
    fn build(policy: Policy, resolver: Arc<dyn Resolve>, tls: Option<ClientConfig>) -> Self {
        let has_roots = tls.is_some();
        let idle = if policy == Policy::Operator { IDLE_OPERATOR } else { IDLE_PUBLIC };
        let (policy, places) = (Arc::new(policy), Arc::new(Semaphore::new(CONNECTIONS_MAX)));
        let connector = Bounded(
            HttpsConnectorBuilder::new()
                .with_tls_config(tls.unwrap_or_else(tls::trusting_nobody))
                .https_or_http()
                .enable_http1()
                .wrap_connector(Dialler::new(policy.clone(), resolver, places.clone())),
        );
        let client = |idle_per_host_max| {
            Client::builder(TokioExecutor::new())
                .timer(TokioTimer::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(idle)
                .pool_max_idle_per_host(idle_per_host_max)
                .http1_max_buf_size(HEAD_BYTES_MAX)
                .http1_max_headers(HEAD_LINES_MAX)
                .build(connector.clone())
        };
        Self { policy, places, has_roots, pooled: client(IDLE_PER_HOST_MAX), fresh: client(0) }
    }

    /// With so many connections open at once, idle ones included. What waits for a place uses up its own deadline.
    pub fn with_connections(self, max: usize) -> Self {
        self.places.forget_permits(CONNECTIONS_MAX);
        self.places.add_permits(max);
        self
    }

    /// Whether there is any certificate that an https call could end at.
    pub const fn has_roots(&self) -> bool {
        self.has_roots
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Makes the call. Any status is an answer; an error means that none arrived whole.
    ///
    /// A GET whose connection closed under it is tried once more on a new connection. A POST never is: the receiver
    /// may have acted on it.
    pub async fn send(&self, call: Call) -> Result<Answer, EgressError> {
        self.policy.check(&call.url).map_err(EgressError::from_refusal)?;
        if !self.has_roots && call.url.scheme() == "https" {
            return Err(EgressError::Ours("no root certificates"));
        }
        let target = to_uri(&call.url).ok_or(EgressError::Url(UrlRefused::Host))?;
        let started = Instant::now();
        let answer = timeout_at(started + call.deadline, self.attempt(&call, target)).await;
        let mut answer = answer.map_err(|_| EgressError::TimedOut)??;
        answer.duration = started.elapsed();
        Ok(answer)
    }

    async fn attempt(&self, call: &Call, target: Uri) -> Result<Answer, EgressError> {
        match exchange(&self.pooled, call, target.clone()).await {
            Err(EgressError::Cut { .. }) if call.method.is_safe() => {
                exchange(&self.fresh, call, target).await
            }
            other => other,
        }
    }
}

async fn exchange(client: &Http, call: &Call, target: Uri) -> Result<Answer, EgressError> {
    let mut request = Request::new(Full::new(call.body.clone()));
    *request.method_mut() = call.method.clone();
    *request.uri_mut() = target;
    *request.headers_mut() = call.headers.clone();
    request.headers_mut().entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
    let response = client.request(request).await;
    let response = response.map_err(|fault| EgressError::from_client(&fault))?;
    read(response, call.body_bytes_max).await
}

/// Reads the body up to its limit. Dropping the rest closes the connection.
async fn read(response: Response<Incoming>, body_bytes_max: usize) -> Result<Answer, EgressError> {
    let (head, mut incoming) = response.into_parts();
    let status = head.status.as_u16();
    let mut body = Vec::new();
    let mut truncated = false;
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|fault| EgressError::from_hyper(&fault, Some(status)))?;
        // Trailers say nothing that is used.
        let Ok(data) = frame.into_data() else { continue };
        let room = body_bytes_max - body.len();
        body.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            truncated = true;
            break;
        }
    }
    Ok(Answer {
        status,
        headers: head.headers,
        body: body.into(),
        truncated,
        duration: Duration::ZERO,
        peer: head.extensions.get::<Peer>().map(|peer| peer.0),
    })
}
