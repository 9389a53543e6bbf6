//! One node and the only way to it.

use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue, Method, header};
use hyper::body::Bytes;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use url::Url;

use super::{
    EndpointError,
    credential::{Credential, take_credentials},
};
use crate::{
    asset::Network,
    chain::{ChainError, calls, refusal::is_rate_limit},
    egress::{Answer, Call, Egress, EgressError, Policy, UrlRefused},
};

/// One deadline for a whole call: connecting, asking and reading the answer.
const DEADLINE: Duration = Duration::from_secs(20);
/// The largest honest answers, blocks with all receipts of the busiest chains, stay under a third
/// of this.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
const TOO_MANY_REQUESTS: u16 = 429;
/// The longest part of a node's own message that an error repeats.
const REASON_CHARS_MAX: usize = 200;

/// One node and the only way to it.
pub(in crate::chain) struct Endpoint {
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

    /// Makes one call and counts it by what `read` finds in the answer.
    pub async fn ask<T>(
        &self,
        method: &'static str,
        (verb, url, body): (Method, Url, Vec<u8>),
        read: impl FnOnce(&Answer) -> Result<T, ChainError>,
    ) -> Result<T, ChainError> {
        let (answer, took) = self.send(verb, url, body).await;
        let (body, result) = match answer {
            Ok(answer) => (answer.body.clone(), read(&answer)),
            Err(error) => (Bytes::new(), Err(error)),
        };
        calls::count(self.network, method, took, (&body, &result));
        result
    }

    /// Makes `count` calls of one method at once and counts each by what `read` finds in the
    /// answer. An error of `read` is that of all of them.
    pub async fn ask_many<T>(
        &self,
        (method, count): (&'static str, usize),
        body: Vec<u8>,
        read: impl FnOnce(&Answer) -> Result<Vec<Result<T, ChainError>>, ChainError>,
    ) -> Result<Vec<Result<T, ChainError>>, ChainError> {
        let (answer, took) = self.send(Method::POST, self.url.clone(), body).await;
        let results = answer.and_then(|answer| read(&answer));
        match &results {
            Ok(each) => {
                for result in each {
                    calls::count(self.network, method, took, (&[], result));
                }
            }
            Err(_) => {
                for _ in 0..count {
                    calls::count(self.network, method, took, (&[], &results));
                }
            }
        }
        results
    }

    /// Private, so that no call is made uncounted. Returns how long it took as well.
    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Vec<u8>,
    ) -> (Result<Answer, ChainError>, Duration) {
        let began = Instant::now();
        let answer = self.send_again(method, url, body).await;
        (answer, began.elapsed())
    }

    /// Every call of an adapter only reads, so one whose connection had grown stale is made again.
    async fn send_again(
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

fn clip(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(REASON_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
