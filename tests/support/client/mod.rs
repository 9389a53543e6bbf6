//! A plain HTTP client that returns the exact response.

pub mod browser;
pub mod ctl;
pub mod exchange;
pub mod picture;
pub mod raw;
pub mod visitor;

use std::net::SocketAddr;

use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

#[derive(Clone)]
pub struct Client {
    server: SocketAddr,
    headers: Vec<(String, String)>,
}

/// A whole response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {:?}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Expects the error envelope with this status and code.
    pub fn expect_error(&self, status: u16, code: &str) {
        let json = self.json();
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(json["statusCode"], status, "{}", self.body);
        assert_eq!(json["code"], code, "{}", self.body);
        assert!(json["message"].as_str().is_some_and(|text| !text.is_empty()), "{}", self.body);
    }
}

impl Client {
    pub fn new(server: SocketAddr) -> Self {
        Self { server, headers: Vec::new() }
    }

    #[must_use]
    pub fn with_key(self, key: &str) -> Self {
        self.with_header("x-api-key", key)
    }

    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "").await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, &body.to_string()).await
    }

    pub async fn send(&self, method: Method, path: &str, body: &str) -> Answer {
        self.send_bytes(method, path, body.as_bytes()).await
    }

    /// A response's headers with its body as it travelled, such as a compressed one.
    pub async fn get_bytes(&self, path: &str) -> (HeaderMap, Bytes) {
        let (status, headers, body) = self.exchange(Method::GET, path, b"").await;
        assert_eq!(status, 200, "{path}");
        (headers, body)
    }

    pub async fn send_bytes(&self, method: Method, path: &str, body: &[u8]) -> Answer {
        let (status, headers, body) = self.exchange(method, path, body).await;
        Answer { status, headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    async fn exchange(&self, method: Method, path: &str, body: &[u8]) -> (u16, HeaderMap, Bytes) {
        let socket = TcpStream::connect(self.server).await.unwrap();
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await;
        let (mut sender, connection) = handshake.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header("host", "test");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::copy_from_slice(body))).unwrap();
        let response = sender.send_request(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        (status, headers, response.into_body().collect().await.unwrap().to_bytes())
    }
}
