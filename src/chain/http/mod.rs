//! Nodes reached over HTTP: the one way out, and JSON that is asked for by path.
//!
//! [`Endpoint`] is the transport of every adapter, [`Http`] asks a node that has paths instead of
//! methods; JSON-RPC stands beside it in [`rpc`](super::rpc). The address of a node often carries
//! an access key, so it is kept as a secret and no error mentions it.

mod credential;
mod endpoint;

pub use credential::{is_header, with_header};
pub(super) use endpoint::Endpoint;

use std::time::Duration;

use http::{Method, header};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;
use url::Url;

use super::ChainError;
use crate::{
    asset::Network,
    egress::{Answer, UrlRefused},
};

/// Why a node cannot be used as configured. Its address is never repeated.
#[derive(Debug, Error)]
pub enum EndpointError {
    #[error("the node address of {network} {refused}")]
    Url { network: Network, refused: UrlRefused },
    #[error("{network} is not a chain of this adapter")]
    WrongFamily { network: Network },
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
        let asked = (Method::GET, url.clone(), Vec::new());
        let read = |answer: &Answer| match self.moved(&url, answer) {
            Some(elsewhere) => Ok(Err(elsewhere)),
            None => self.json(method, answer).map(Ok),
        };
        match self.endpoint.ask(method, asked, read).await? {
            Ok(json) => Ok(json),
            Err(elsewhere) => {
                let asked = (Method::GET, elsewhere, Vec::new());
                self.endpoint.ask(method, asked, |answer| self.json(method, answer)).await
            }
        }
    }

    /// Posts `body` as JSON to `path`; otherwise as [`get`](Self::get).
    pub async fn post<B: Serialize>(
        &self,
        method: &'static str,
        path: &str,
        body: &B,
    ) -> Result<Box<RawValue>, ChainError> {
        let body = self.endpoint.encode(method, body)?;
        let asked = (Method::POST, self.url(path, &[]), body);
        self.endpoint.ask(method, asked, |answer| self.json(method, answer)).await
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

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};
    use hyper::body::Bytes;

    use super::*;

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
}
