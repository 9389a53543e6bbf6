//! JSON-RPC over one HTTP client: calls, batches, and one reading of the many ways nodes say no.
//!
//! Whatever a method means stays with its adapter. The address of a node often carries an access key, so it is
//! kept as a secret and no error mentions it.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, header};
use hyper::body::Bytes;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize};
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
/// The largest honest answers, blocks with all receipts of the busiest chains, stay under a third of this.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Hosted nodes refuse batches much above this.
const BATCH_CALLS_MAX: usize = 100;
const TOO_MANY_REQUESTS: u16 = 429;
/// How much of a node's own words an error repeats.
const REASON_CHARS_MAX: usize = 200;

/// Why a node cannot be used as configured. Its address is never repeated.
#[derive(Debug, Error)]
pub enum EndpointError {
    #[error("the node address of {network} {refused}")]
    Url { network: Network, refused: UrlRefused },
    #[error("{network} is not a chain of this adapter")]
    WrongFamily { network: Network },
}

/// One node that speaks JSON-RPC 2.0.
pub struct Rpc {
    network: Network,
    url: Url,
    deadline: Duration,
    egress: Egress,
}

#[derive(Serialize)]
struct Ask<'a, P> {
    jsonrpc: &'static str,
    id: usize,
    method: &'a str,
    params: P,
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(default)]
    id: Option<usize>,
    // `null` is an answer, a missing field is not.
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// What nodes put into `error`, all of it optional in the wild.
#[derive(Deserialize, Default)]
struct Fault {
    #[serde(default)]
    code: serde_json::Value,
    #[serde(default)]
    message: String,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(source: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(source).map(Some)
}

impl Rpc {
    pub fn new(network: Network, url: &SecretString) -> Result<Self, EndpointError> {
        let egress = Egress::new(Policy::Operator);
        let url = Url::parse(url.expose_secret())
            .map_err(|_| UrlRefused::NotAbsolute)
            .and_then(|url| egress.policy().check(&url).map(|()| url))
            .map_err(|refused| EndpointError::Url { network, refused })?;
        Ok(Self { network, url, deadline: DEADLINE, egress })
    }

    /// Waits this long for an answer instead of the usual 20 seconds.
    #[must_use]
    pub const fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    pub const fn network(&self) -> Network {
        self.network
    }

    /// Calls one method and returns the text of its result, `null` included.
    pub async fn call<P: Serialize>(
        &self,
        method: &'static str,
        params: P,
    ) -> Result<Box<RawValue>, ChainError> {
        let body = self.encode(method, &Ask { jsonrpc: "2.0", id: 0, method, params })?;
        let answer = self.post(body).await?;
        let reply = serde_json::from_slice::<Reply>(&answer.body)
            .map_err(|_| self.not_json_rpc(method, &answer))?;
        self.result_of(method, &reply)
    }

    /// Calls one method once per element, in order; one refusal fails them all.
    pub async fn batch<P: Serialize>(
        &self,
        method: &'static str,
        params: &[P],
    ) -> Result<Vec<Box<RawValue>>, ChainError> {
        let mut results = Vec::with_capacity(params.len());
        for chunk in params.chunks(BATCH_CALLS_MAX) {
            results.extend(self.batch_once(method, chunk).await?);
        }
        Ok(results)
    }

    async fn batch_once<P: Serialize>(
        &self,
        method: &'static str,
        params: &[P],
    ) -> Result<Vec<Box<RawValue>>, ChainError> {
        let asks: Vec<_> = params
            .iter()
            .enumerate()
            .map(|(id, params)| Ask { jsonrpc: "2.0", id, method, params })
            .collect();
        let body = self.encode(method, &asks)?;
        let answer = self.post(body).await?;
        let Ok(replies) = serde_json::from_slice::<Vec<Reply>>(&answer.body) else {
            // A batch that is refused as a whole comes back as one object.
            let reply = serde_json::from_slice::<Reply>(&answer.body)
                .map_err(|_| self.not_json_rpc(method, &answer))?;
            self.result_of(method, &reply)?;
            return Err(self.malformed(method, "a batch was answered with a single result"));
        };
        // Replies may come in any order, and a node may leave some out.
        let mut results: Vec<Option<Box<RawValue>>> = vec![None; params.len()];
        for reply in &replies {
            let result = self.result_of(method, reply)?;
            if let Some(slot) = reply.id.and_then(|id| results.get_mut(id)) {
                *slot = Some(result);
            }
        }
        let complete: Option<Vec<_>> = results.into_iter().collect();
        complete.ok_or_else(|| self.malformed(method, "a batch was answered in part"))
    }

    /// An answer of `method` that is JSON but not what the method promises.
    pub fn malformed(&self, method: &'static str, reason: impl AsRef<str>) -> ChainError {
        ChainError::Malformed { network: self.network, method, reason: clip(reason.as_ref()) }
    }

    /// An answer that contradicts another answer of the same node.
    pub fn inconsistent(&self, reason: impl Into<String>) -> ChainError {
        ChainError::Inconsistent { network: self.network, reason: reason.into() }
    }

    /// Reads a result into `T`, which may borrow from it.
    pub fn read<'a, T: Deserialize<'a>>(
        &self,
        method: &'static str,
        result: &'a RawValue,
    ) -> Result<T, ChainError> {
        serde_json::from_str(result.get())
            .map_err(|error| self.malformed(method, error.to_string()))
    }

    fn encode<B: Serialize>(&self, method: &'static str, body: &B) -> Result<Vec<u8>, ChainError> {
        serde_json::to_vec(body).map_err(|error| self.malformed(method, error.to_string()))
    }

    fn result_of(
        &self,
        method: &'static str,
        reply: &Reply<'_>,
    ) -> Result<Box<RawValue>, ChainError> {
        match (reply.error, reply.result) {
            (Some(fault), _) => Err(self.refused(method, fault)),
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) => Err(self.malformed(method, "neither a result nor an error")),
        }
    }

    fn refused(&self, method: &'static str, raw: &RawValue) -> ChainError {
        let network = self.network;
        // Some gateways answer with a bare string instead of an object.
        let fault = serde_json::from_str(raw.get())
            .unwrap_or_else(|_| Fault { message: raw.get().to_owned(), ..Fault::default() });
        let code = fault.code.as_i64().or_else(|| fault.code.as_str()?.parse().ok()).unwrap_or(0);
        if is_rate_limit(code, &fault.message) {
            return ChainError::RateLimited { network };
        }
        ChainError::Refused { network, method, code, reason: clip(&fault.message) }
    }

    fn not_json_rpc(&self, method: &'static str, answer: &Answer) -> ChainError {
        let text = String::from_utf8_lossy(&answer.body);
        if is_rate_limit(0, &text) {
            ChainError::RateLimited { network: self.network }
        } else if answer.is_success() {
            self.malformed(method, format!("not a json-rpc answer: {text}"))
        } else {
            self.unreachable(format!("http status {}", answer.status))
        }
    }

    fn unreachable(&self, reason: String) -> ChainError {
        ChainError::Unreachable { network: self.network, reason }
    }

    /// The only place that touches the network. Every call of this module only reads, so one whose connection had
    /// grown stale is made again.
    async fn post(&self, body: Vec<u8>) -> Result<Answer, ChainError> {
        let json = HeaderValue::from_static("application/json");
        let call = Call {
            method: Method::POST,
            url: self.url.clone(),
            headers: HeaderMap::from_iter([(header::CONTENT_TYPE, json)]),
            body: Bytes::from(body),
            deadline: self.deadline,
            body_bytes_max: BODY_BYTES_MAX,
        };
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
}

/// Providers agree on no code. -32005 alone is also used for a query whose answer would be too large, which waiting
/// does not cure.
fn is_rate_limit(code: i64, message: &str) -> bool {
    const WORDS: [&str; 7] = [
        "rate limit",
        "ratelimit",
        "too many requests",
        "request limit",
        "requests per second",
        "compute units per second",
        // Tron nodes say it outside the JSON-RPC envelope, with status 200.
        "lack of computing resources",
    ];
    let message = message.to_lowercase();
    let too_large = message.contains("query returned more") || message.contains("block range");
    (matches!(code, 429 | -32005 | -32029) && !too_large)
        || WORDS.iter().any(|word| message.contains(word))
}

fn clip(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(REASON_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_ask_us_to_slow_down_in_many_ways() {
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
            ("https://user:secret@node.example", "must not contain a user name or password"),
        ] {
            let refused = Rpc::new(Network::Base, &SecretString::from(url)).err().unwrap();
            let text = format!("{refused} {refused:?}");
            assert!(text.contains(reason) && !text.contains("secret"), "{text}");
        }
    }

    #[test]
    fn the_words_of_a_node_are_cut_and_kept_on_one_line() {
        let clipped = clip(&format!("a\nb\u{1b}[0m{}", "x".repeat(1000)));
        assert_eq!(clipped.len(), REASON_CHARS_MAX);
        assert!(clipped.starts_with("ab[0mx"), "{clipped}");
    }
}
