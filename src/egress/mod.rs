//! Client of every outgoing HTTP call: merchants' webhooks, rate providers, chain nodes;
//! [`smtp`] is that of mails.
//!
//! - One deadline covers the whole call, from the lookup of the name to the last byte of the
//!   answer.
//! - The dialled address is the checked address (`dial`, `guard`).
//! - No redirect is followed, no proxy variable is read, nothing is decompressed.
//! - Every part of a response has a limit.
//!
//! It does not know the purpose of a call: signing, schedules and the interpretation of responses
//! belong to its callers. Callers also limit their concurrent calls, per endpoint and in total.

mod dial;
mod error;
pub mod guard;
mod resolve;
pub mod smtp;
mod tls;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, Method, Request, Uri, header::USER_AGENT};
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

pub use self::tls::{trusting, trusting_nobody};
use self::{
    dial::{Bounded, CONNECTIONS_MAX, Dialler, Peer},
    guard::to_uri,
};
pub use self::{
    error::EgressError,
    guard::{Policy, PublicPolicy, Refusal, UrlRefused},
    resolve::{Resolve, Resolving, SystemResolver},
};

/// Bytes of a response that are kept, enough to see the error that a receiver reports.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024;
const HEAD_BYTES_MAX: usize = 32 * 1024;
const HEAD_LINES_MAX: usize = 100;
const IDLE_PER_HOST_MAX: usize = 10;
/// Shorter than the 5 s after which common servers close an idle connection, so that a POST rarely
/// meets that race. Idle connections count towards the connection limit, so they must not linger.
const IDLE_PUBLIC: Duration = Duration::from_secs(1);
const IDLE_OPERATOR: Duration = Duration::from_secs(30);
/// For a body that decides nothing: an excerpt of it is for people.
const BODY_GRACE: Duration = Duration::from_secs(1);
/// Kept of the deadline, so that an answer whose head came in time is told before it passes.
const TELLING: Duration = Duration::from_millis(100);
const AGENT: &str = concat!("crypto-payment-gateway/", env!("CARGO_PKG_VERSION"));

/// One request. No header is derived from the environment.
#[derive(Clone)]
pub struct Call {
    pub method: Method,
    pub url: Url,
    /// `Host` and `Content-Length` are set by the client; `User-Agent` too, unless given.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Deadline of the whole call: lookup, connection, handshake, request, response, a possible
    /// second attempt of a GET.
    pub deadline: Duration,
    /// Limit of the response body; the rest is not read.
    pub body_bytes_max: usize,
    /// Makes the answer stand once its head is read. Its body is then kept as far as it comes
    /// within [`BODY_GRACE`], and one that is cut, malformed or hangs changes nothing.
    pub head_decides: bool,
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
            head_decides: false,
        }
    }

    pub fn post(url: Url, body: impl Into<Bytes>, deadline: Duration) -> Self {
        Self { method: Method::POST, body: body.into(), ..Self::get(url, deadline) }
    }
}

/// Response of any status.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// At most `body_bytes_max` bytes, exactly as sent (never decompressed).
    pub body: Bytes,
    /// Set if the body was longer than that.
    pub truncated: bool,
    pub duration: Duration,
    /// Address that was reached.
    pub peer: Option<SocketAddr>,
}

impl Answer {
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }
}

type Http = Client<Bounded<HttpsConnector<Dialler>>, Full<Bytes>>;

/// HTTP client with one policy. Clones share the connection pool.
#[derive(Clone)]
pub struct Egress {
    policy: Arc<Policy>,
    permits: Arc<Semaphore>,
    /// Without any root certificate, every certificate would look wrong.
    has_roots: bool,
    pooled: Http,
    /// Shares everything with `pooled` except its idle connections: a second attempt must not meet
    /// another stale one.
    fresh: Http,
}

impl Egress {
    pub fn new(policy: Policy) -> Self {
        Self::with_resolver(policy, Arc::new(SystemResolver::new()))
    }

    /// Resolves names with `resolver`; its results are checked against the policy like any other.
    pub fn with_resolver(policy: Policy, resolver: Arc<dyn Resolve>) -> Self {
        Self::build(policy, resolver, tls::config())
    }

    /// Without `tls`, https calls fail.
    fn build(policy: Policy, resolver: Arc<dyn Resolve>, tls: Option<ClientConfig>) -> Self {
        let has_roots = tls.is_some();
        let idle = if policy == Policy::Operator { IDLE_OPERATOR } else { IDLE_PUBLIC };
        let (policy, permits) = (Arc::new(policy), Arc::new(Semaphore::new(CONNECTIONS_MAX)));
        let connector = Bounded(
            HttpsConnectorBuilder::new()
                .with_tls_config(tls.unwrap_or_else(trusting_nobody))
                .https_or_http()
                .enable_http1()
                .wrap_connector(Dialler::new(policy.clone(), resolver, permits.clone())),
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
        Self { policy, permits, has_roots, pooled: client(IDLE_PER_HOST_MAX), fresh: client(0) }
    }

    /// Sets the maximum of open connections, including idle ones. A call that waits for a permit
    /// uses up its own deadline.
    pub fn with_connections(self, max: usize) -> Self {
        self.permits.forget_permits(CONNECTIONS_MAX);
        self.permits.add_permits(max);
        self
    }

    /// Returns false if there is no root certificate, so that every https call would fail.
    pub const fn has_roots(&self) -> bool {
        self.has_roots
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Makes the call. Any status is a response; an error means that no complete response arrived.
    ///
    /// A GET whose connection closed is retried once on a new connection. A POST is never retried:
    /// the receiver may have acted on it.
    pub async fn send(&self, call: Call) -> Result<Answer, EgressError> {
        self.policy.check(&call.url).map_err(EgressError::from_refusal)?;
        if !self.has_roots && call.url.scheme() == "https" {
            return Err(EgressError::Ours("no root certificates"));
        }
        let target = to_uri(&call.url).ok_or(EgressError::Url(UrlRefused::Host))?;
        let started = Instant::now();
        let deadline = started + call.deadline;
        let answer = timeout_at(deadline, self.attempt(&call, target, deadline)).await;
        let mut answer = answer.map_err(|_| EgressError::TimedOut)??;
        answer.duration = started.elapsed();
        Ok(answer)
    }

    async fn attempt(
        &self,
        call: &Call,
        target: Uri,
        deadline: Instant,
    ) -> Result<Answer, EgressError> {
        match exchange(&self.pooled, call, target.clone(), deadline).await {
            Err(EgressError::Cut { .. }) if call.method.is_safe() => {
                exchange(&self.fresh, call, target, deadline).await
            }
            other => other,
        }
    }
}

async fn exchange(
    client: &Http,
    call: &Call,
    target: Uri,
    deadline: Instant,
) -> Result<Answer, EgressError> {
    let mut request = Request::new(Full::new(call.body.clone()));
    *request.method_mut() = call.method.clone();
    *request.uri_mut() = target;
    *request.headers_mut() = call.headers.clone();
    request.headers_mut().entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
    let response = client.request(request).await;
    let response = response.map_err(|fault| EgressError::from_client(&fault))?;
    let (head, incoming) = response.into_parts();
    let status = head.status.as_u16();
    let mut body = Body { kept: Vec::new(), bytes_max: call.body_bytes_max };
    let truncated = if call.head_decides {
        let until = (Instant::now() + BODY_GRACE).min(deadline - TELLING);
        let read = timeout_at(until, body.read(incoming)).await;
        !matches!(read, Ok(Ok(false)))
    } else {
        let read = body.read(incoming).await;
        read.map_err(|fault| EgressError::from_hyper(&fault, Some(status)))?
    };
    Ok(Answer {
        status,
        headers: head.headers,
        body: body.kept.into(),
        truncated,
        duration: Duration::ZERO,
        peer: head.extensions.get::<Peer>().map(|peer| peer.0),
    })
}

/// The start of an answer's body.
struct Body {
    kept: Vec<u8>,
    bytes_max: usize,
}

impl Body {
    /// Reads up to the limit and says whether there was more. Dropping the rest closes the
    /// connection.
    async fn read(&mut self, mut incoming: Incoming) -> Result<bool, hyper::Error> {
        while let Some(frame) = incoming.frame().await {
            // Trailers say nothing that is used.
            let Ok(data) = frame?.into_data() else { continue };
            let room = self.bytes_max - self.kept.len();
            self.kept.extend_from_slice(&data[..data.len().min(room)]);
            if data.len() > room {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
