//! Nodes reached over HTTP: the one way out, and JSON that is asked for by path.
//!
//! [`Endpoint`] is the transport of every adapter, [`Http`] asks a node that has paths instead of
//! methods; JSON-RPC stands beside it in [`rpc`](super::rpc). The address of a node often carries
//! an access key, so it is kept as a secret and no error mentions it.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use hyper::body::Bytes;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;
use url::Url;

use super::ChainError;
use crate::{
    asset::Network,
    egress::{Answer, Call, Egress, EgressError, Policy, UrlRefused},
};

/// One deadline for a whole call: connecting, asking and reading the answer.
const DEADLINE: Duration = Duration::from_secs(20);
/// The largest honest answers, blocks with all receipts of the busiest chains, stay under a third
/// of this.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
const TOO_MANY_REQUESTS: u16 = 429;
/// Marks a header in an address's fragment, which no client ever sends.
const HEADER_MARK: &str = "header=";
/// The longest part of a node's own message that an error repeats.
const REASON_CHARS_MAX: usize = 200;

/// Why a node cannot be used as configured. Its address is never repeated.
#[derive(Debug, Error)]
pub enum EndpointError {
    #[error("the node address of {network} {refused}")]
    Url { network: Network, refused: UrlRefused },
    #[error("{network} is not a chain of this adapter")]
    WrongFamily { network: Network },
}

/// The address of a node whose provider takes a key in a header, `Name: value`. The two stay one
/// secret, so that no key can reach the node of another provider.
pub fn with_header(url: &SecretString, header: &SecretString) -> SecretString {
    let header = utf8_percent_encode(header.expose_secret(), NON_ALPHANUMERIC);
    format!("{}#{HEADER_MARK}{header}", url.expose_secret()).into()
}

/// Returns whether [`with_header`] can be given this text.
pub fn is_header(text: &SecretString) -> bool {
    parse_header(text.expose_secret()).is_some()
}

fn parse_header(text: &str) -> Option<Credential> {
    let (name, value) = text.split_once(':')?;
    let name = HeaderName::try_from(name.trim()).ok()?;
    let mut value = HeaderValue::try_from(value.trim()).ok().filter(|value| !value.is_empty())?;
    value.set_sensitive(true);
    Some((name, value))
}

/// The header that a node wants to see with each call.
type Credential = (HeaderName, HeaderValue);

/// One node and the only way to it.
pub(super) struct Endpoint {
    network: Network,
    url: Url,
    /// In a box: few nodes want one, and every payer holds an endpoint.
    credential: Option<Box<Credential>>,
    deadline: Duration,
    egress: Egress,
}

impl Endpoint {
    /// A user name and a password in `url`, or the header that [`with_header`] gave it, are sent as
    /// a header and kept out of the address itself.
    pub fn new(network: Network, url: &SecretString) -> Result<Self, EndpointError> {
        let egress = Egress::new(Policy::Operator);
        let (url, credential) = Url::parse(url.expose_secret())
            .map_err(|_| UrlRefused::NotAbsolute)
            .and_then(take_credentials)
            .and_then(|(url, found)| egress.policy().check(&url).map(|()| (url, found)))
            .map_err(|refused| EndpointError::Url { network, refused })?;
        let credential = credential.map(Box::new);
        Ok(Self { network, url, credential, deadline: DEADLINE, egress })
    }

    pub const fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    pub const fn network(&self) -> Network {
        self.network
    }

    /// The configured address.
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Every call of an adapter only reads, so one whose connection had grown stale is made again.
    pub async fn send(
        &self,
        method: Method,
        url: Url,
        body: Vec<u8>,
    ) -> Result<Answer, ChainError> {
        let json = HeaderValue::from_static("application/json");
        let mut headers = match method {
            Method::POST => HeaderMap::from_iter([(header::CONTENT_TYPE, json)]),
            _ => HeaderMap::new(),
        };
        if let Some((name, value)) = self.credential.as_deref() {
            headers.insert(name, value.clone());
        }
        let body = Bytes::from(body);
        let (deadline, body_bytes_max) = (self.deadline, BODY_BYTES_MAX);
        let head_decides = false;
        let call = Call { method, url, headers, body, deadline, body_bytes_max, head_decides };
        let answer = match self.egress.send(call.clone()).await {
            Err(EgressError::Cut { .. }) => self.egress.send(call).await,
            answer => answer,
        };
        let answer = answer.map_err(|error| self.unreachable(error.to_string()))?;
        if answer.status == TOO_MANY_REQUESTS {
            return Err(ChainError::RateLimited { network: self.network });
        }
        if answer.truncated {
            return Err(self.unreachable(format!("more than {BODY_BYTES_MAX} bytes of answer")));
        }
        Ok(answer)
    }

    pub const fn unreachable(&self, reason: String) -> ChainError {
        ChainError::Unreachable { network: self.network, reason }
    }

    pub fn malformed(&self, method: &'static str, reason: impl AsRef<str>) -> ChainError {
        ChainError::Malformed { network: self.network, method, reason: clip(reason.as_ref()) }
    }

    pub fn inconsistent(&self, reason: impl Into<String>) -> ChainError {
        ChainError::Inconsistent { network: self.network, reason: reason.into() }
    }

    /// The error for a node's refusal, where it may have meant "later".
    pub fn refused(&self, method: &'static str, code: i64, reason: &str) -> ChainError {
        let network = self.network;
        if is_rate_limit(code, reason) {
            return ChainError::RateLimited { network };
        }
        ChainError::Refused { network, method, code, reason: clip(reason) }
    }

    /// An answer that is not JSON at all: a gateway's page, a rate limit in plain words, half an
    /// answer.
    pub fn not_json(&self, method: &'static str, answer: &Answer) -> ChainError {
        let text = String::from_utf8_lossy(&answer.body);
        if is_rate_limit(0, &text) {
            ChainError::RateLimited { network: self.network }
        } else if answer.is_success() {
            self.malformed(method, format!("not a json answer: {text}"))
        } else {
            self.unreachable(format!("http status {}", answer.status))
        }
    }

    pub fn read<'a, T: Deserialize<'a>>(
        &self,
        method: &'static str,
        result: &'a RawValue,
    ) -> Result<T, ChainError> {
        serde_json::from_str(result.get())
            .map_err(|error| self.malformed(method, error.to_string()))
    }

    pub fn encode<B: Serialize>(
        &self,
        method: &'static str,
        body: &B,
    ) -> Result<Vec<u8>, ChainError> {
        serde_json::to_vec(body).map_err(|error| self.malformed(method, error.to_string()))
    }
}

/// One node that is asked by path and answers in JSON.
pub struct Http {
    endpoint: Endpoint,
}

impl Http {
    /// Paths are added to that of `url`; its query, where some providers put their key, is kept.
    pub fn new(network: Network, url: &SecretString) -> Result<Self, EndpointError> {
        Ok(Self { endpoint: Endpoint::new(network, url)? })
    }

    /// Waits this long for an answer instead of the usual 20 seconds.
    #[must_use]
    pub const fn with_deadline(mut self, deadline: Duration) -> Self {
        self.endpoint.set_deadline(deadline);
        self
    }

    pub const fn network(&self) -> Network {
        self.endpoint.network()
    }

    /// Gets `path` and returns the text of its JSON answer. `method` names the call in errors.
    ///
    /// A status other than success is [`ChainError::Refused`] with that status as its code, if the
    /// node put JSON under it or points to another server; else it is [`ChainError::Unreachable`].
    pub async fn get(
        &self,
        method: &'static str,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Box<RawValue>, ChainError> {
        let url = self.url(path, query);
        let answer = self.endpoint.send(Method::GET, url.clone(), Vec::new()).await?;
        let answer = match self.moved(&url, &answer) {
            Some(elsewhere) => self.endpoint.send(Method::GET, elsewhere, Vec::new()).await?,
            None => answer,
        };
        self.json(method, &answer)
    }

    /// Posts `body` as JSON to `path`; otherwise as [`get`](Self::get).
    pub async fn post<B: Serialize>(
        &self,
        method: &'static str,
        path: &str,
        body: &B,
    ) -> Result<Box<RawValue>, ChainError> {
        let body = self.endpoint.encode(method, body)?;
        let answer = self.endpoint.send(Method::POST, self.url(path, &[]), body).await?;
        self.json(method, &answer)
    }

    /// An answer of `method` that is JSON but not of the promised shape.
    pub fn malformed(&self, method: &'static str, reason: impl AsRef<str>) -> ChainError {
        self.endpoint.malformed(method, reason)
    }

    /// An answer that contradicts another answer of the same node.
    pub fn inconsistent(&self, reason: impl Into<String>) -> ChainError {
        self.endpoint.inconsistent(reason)
    }

    /// A no that stands inside an answer with a successful status; a rate limit where the words say
    /// so.
    pub fn refused(&self, method: &'static str, code: i64, reason: &str) -> ChainError {
        self.endpoint.refused(method, code, reason)
    }

    /// Reads a result into `T`, which may borrow from it.
    pub fn read<'a, T: Deserialize<'a>>(
        &self,
        method: &'static str,
        result: &'a RawValue,
    ) -> Result<T, ChainError> {
        self.endpoint.read(method, result)
    }

    fn url(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.endpoint.url().clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{path}"));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// Where a redirect points, if it stays at the configured server: some name their newest block
    /// that way. Another server is not the one the operator chose.
    fn moved(&self, asked: &Url, answer: &Answer) -> Option<Url> {
        if !(300..400).contains(&answer.status) {
            return None;
        }
        let location = answer.headers.get(header::LOCATION)?.to_str().ok()?;
        let mut url = asked.join(location).ok().filter(|url| url.origin() == asked.origin())?;
        if url.query().is_none() {
            url.set_query(self.endpoint.url().query());
        }
        Some(url)
    }

    fn json(&self, method: &'static str, answer: &Answer) -> Result<Box<RawValue>, ChainError> {
        if (300..400).contains(&answer.status) {
            let elsewhere = "the answer is kept at another server";
            return Err(self.refused(method, i64::from(answer.status), elsewhere));
        }
        let value: Box<RawValue> = serde_json::from_slice(&answer.body)
            .map_err(|_| self.endpoint.not_json(method, answer))?;
        if answer.is_success() {
            return Ok(value);
        }
        Err(self.refused(method, i64::from(answer.status), value.get()))
    }
}

/// Returns whether a node refuses an answer for its size: of a query's results, or of its bytes.
/// Waiting does not cure that.
pub(super) fn is_too_large(message: &str) -> bool {
    const WORDS: [&str; 8] = [
        "query returned more",
        "more than 10000 results",
        "block range",
        "response size",
        "response is too large",
        "response too large",
        "result set too large",
        "too many logs",
    ];
    let message = message.to_lowercase();
    WORDS.iter().any(|word| message.contains(word))
}

/// Providers agree on no code. -32005 alone is also used for a query whose answer would be too
/// large.
fn is_rate_limit(code: i64, message: &str) -> bool {
    const WORDS: [&str; 7] = [
        "rate limit",
        "ratelimit",
        "too many requests",
        "request limit",
        "requests per second",
        "compute units per second",
        // Tron nodes say it in place of an answer, with status 200.
        "lack of computing resources",
    ];
    let message = message.to_lowercase();
    (matches!(code, 429 | -32005 | -32029) && !is_too_large(&message))
        || WORDS.iter().any(|word| message.contains(word))
}

fn clip(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(REASON_CHARS_MAX).collect()
}

/// The address without its user name and password, and the header that says them (RFC 7617), or the
/// one in its fragment.
fn take_credentials(mut url: Url) -> Result<(Url, Option<Credential>), UrlRefused> {
    if let Some(header) = url.fragment().and_then(|text| text.strip_prefix(HEADER_MARK)) {
        let header = percent_decode_str(header).decode_utf8().map_err(|_| UrlRefused::Userinfo)?;
        let credential = parse_header(&header).ok_or(UrlRefused::Userinfo)?;
        url.set_fragment(None);
        return Ok((url, Some(credential)));
    }
    if url.username().is_empty() && url.password().is_none() {
        return Ok((url, None));
    }
    let mut credentials = percent_decode_str(url.username()).collect::<Vec<u8>>();
    credentials.push(b':');
    credentials.extend(percent_decode_str(url.password().unwrap_or_default()));
    let text = format!("Basic {}", BASE64_STANDARD.encode(credentials));
    let mut header = HeaderValue::try_from(text).map_err(|_| UrlRefused::Userinfo)?;
    header.set_sensitive(true);
    url.set_username("").map_err(|()| UrlRefused::Userinfo)?;
    url.set_password(None).map_err(|()| UrlRefused::Userinfo)?;
    Ok((url, Some((header::AUTHORIZATION, header))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_rate_limit_answer_is_recognised() {
        for (code, message, expected) in [
            (429, "", true),
            (-32005, "limit exceeded", true),
            (-32029, "", true),
            (-32000, "Too Many Requests", true),
            (-32097, "daily Rate Limit reached", true),
            (-32007, "15/second request limit reached", true),
            (0, "Error: lack of computing resources", true),
            (-32005, "query returned more than 10000 results", false),
            (-32005, "exceeds the allowed block range", false),
            (-32005, "Log response size exceeded", false),
            (-32005, "too many logs: limit exceeded", false),
            (-32601, "method not found", false),
            (-32000, "header not found", false),
        ] {
            assert_eq!(is_rate_limit(code, message), expected, "{code} {message}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_used_is_refused_without_repeating_it() {
        for (url, reason) in [
            ("ftp://node.example/secret", "must begin with http:// or https://"),
            ("secret", "must be an absolute URL"),
        ] {
            let refused = Endpoint::new(Network::Base, &SecretString::from(url)).err().unwrap();
            let text = format!("{refused} {refused:?}");
            assert!(text.contains(reason) && !text.contains("secret"), "{text}");
        }
    }

    #[test]
    fn a_node_s_error_text_is_truncated_and_kept_on_one_line() {
        let clipped = clip(&format!("a\nb\u{1b}[0m{}", "x".repeat(1000)));
        assert_eq!(clipped.len(), REASON_CHARS_MAX);
        assert!(clipped.starts_with("ab[0mx"), "{clipped}");
    }

    fn http(url: &str) -> Http {
        Http::new(Network::Near, &SecretString::from(url)).unwrap()
    }

    #[test]
    fn paths_and_queries_are_added_to_those_of_the_configured_address() {
        for (base, expected) in [
            ("http://node", "http://node/v0/block?height=1"),
            ("http://node/key/", "http://node/key/v0/block?height=1"),
            ("http://node/key?token=t", "http://node/key/v0/block?token=t&height=1"),
        ] {
            assert_eq!(http(base).url("v0/block", &[("height", "1")]).as_str(), expected);
        }
    }

    #[test]
    fn a_redirect_is_followed_at_the_same_server_only() {
        let node = http("http://node:8080/?token=t");
        let asked = node.url("v0/last_block/final", &[]);
        for (status, location, expected) in [
            (302, "/v0/block/7", Some("http://node:8080/v0/block/7?token=t")),
            (307, "http://node:8080/v0/block/7?x=1", Some("http://node:8080/v0/block/7?x=1")),
            (302, "http://node:9090/v0/block/7", None),
            (302, "https://node:8080/v0/block/7", None),
            (302, "//other/v0/block/7", None),
            (200, "/v0/block/7", None),
        ] {
            let location_header = HeaderValue::from_static(location);
            let answer = Answer {
                status,
                headers: HeaderMap::from_iter([(header::LOCATION, location_header)]),
                body: Bytes::new(),
                truncated: false,
                duration: Duration::ZERO,
                peer: None,
            };
            let moved = node.moved(&asked, &answer).map(String::from);
            assert_eq!(moved.as_deref(), expected, "{status} {location}");
        }
    }

    #[tokio::test]
    async fn a_providers_key_is_sent_as_the_header_that_it_wants_and_nowhere_else() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        for (header, sent) in [
            ("TRON-PRO-API-KEY: k-3:y", "tron-pro-api-key: k-3:y\r\n"),
            ("Authorization: Bearer k-3:y", "authorization: Bearer k-3:y\r\n"),
        ] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/path", listener.local_addr().unwrap()).into();
            let url = with_header(&url, &header.to_owned().into());
            let node = Http::new(Network::Tron, &url).unwrap();
            assert!(!node.endpoint.url().as_str().contains("k-3"));
            let answering = async {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut heard = vec![0; 4096];
                let length = socket.read(&mut heard).await.unwrap();
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                socket.write_all(answer).await.unwrap();
                String::from_utf8(heard[..length].to_vec()).unwrap()
            };
            let (answer, heard) = tokio::join!(node.get("info", "info", &[]), answering);
            assert_eq!(answer.unwrap().get(), "{}");
            assert!(heard.contains(sent), "{heard}");
            assert!(heard.starts_with("GET /path/info HTTP/1.1\r\n"), "{heard}");
        }
        for text in ["", "k-3y", "na me: x", "Name:", "Name: a\nb", ": x"] {
            assert!(!is_header(&text.to_owned().into()), "{text:?}");
        }
    }

    #[test]
    fn a_name_and_a_password_become_a_header_and_leave_the_address() {
        let url = Url::parse("http://rpc:p%40ss%3A%C3%A4@node.example:8332/wallet").unwrap();
        let (url, header) = take_credentials(url).unwrap();
        assert_eq!(url.as_str(), "http://node.example:8332/wallet");
        let (name, header) = header.unwrap();
        assert_eq!(name, header::AUTHORIZATION);
        assert_eq!(header, "Basic cnBjOnBAc3M6w6Q=");
        assert!(!format!("{header:?}").contains("cnBj"));
        let url = Url::parse("http://node.example/key").unwrap();
        assert_eq!(take_credentials(url.clone()), Ok((url, None)));
    }
}
