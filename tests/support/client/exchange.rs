//! One HTTP exchange that may fail, and its exact failure.

use std::{net::SocketAddr, time::Duration};

use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::client::Answer;

/// Longer than any limit of the server: an exchange that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(40);

/// Reason for a missing or incomplete response.
#[derive(Debug)]
pub enum Lost {
    /// Nothing was sent.
    NotConnected(String),
    /// The request was sent, and the connection ended or the time ran out before the response was
    /// complete.
    Cut(String),
}

/// A request, to be sent over a separate or a kept connection.
#[derive(Clone)]
pub struct Exchange {
    pub method: Method,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Exchange {
    pub async fn get(server: SocketAddr, path: &str) -> Result<Answer, Lost> {
        let (method, path) = (Method::GET, path.to_owned());
        Self { method, path, headers: Vec::new(), body: String::new() }.once(server).await
    }

    pub fn post(path: &str, key: &str, body: String) -> Self {
        let headers = vec![("x-api-key".to_owned(), key.to_owned())];
        Self { method: Method::POST, path: path.to_owned(), headers, body }
    }

    /// Sends it over a new connection.
    pub async fn once(&self, server: SocketAddr) -> Result<Answer, Lost> {
        Kept::open(server).await?.send(self).await
    }
}

/// A connection that is reused.
pub struct Kept(http1::SendRequest<Full<Bytes>>);

impl Kept {
    pub async fn open(server: SocketAddr) -> Result<Self, Lost> {
        let socket =
            TcpStream::connect(server).await.map_err(|e| Lost::NotConnected(e.to_string()))?;
        let handshake = http1::handshake(TokioIo::new(socket)).await;
        let (sender, connection) = handshake.map_err(|e| Lost::NotConnected(e.to_string()))?;
        tokio::spawn(connection);
        Ok(Self(sender))
    }

    pub async fn send(&mut self, exchange: &Exchange) -> Result<Answer, Lost> {
        let mut request = Request::builder()
            .method(&exchange.method)
            .uri(&exchange.path)
            .header("host", "test")
            .header("content-type", "application/json");
        for (name, value) in &exchange.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(exchange.body.clone()))).unwrap();
        let cut = |error: hyper::Error| Lost::Cut(format!("{error:?}"));
        let answering = async {
            self.0.ready().await.map_err(|e| Lost::NotConnected(e.to_string()))?;
            let response = self.0.send_request(request).await.map_err(cut)?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let body = response.into_body().collect().await.map_err(cut)?.to_bytes();
            Ok(Answer { status, headers, body: String::from_utf8(body.to_vec()).unwrap() })
        };
        let answered = tokio::time::timeout(PATIENCE, answering).await;
        answered.unwrap_or_else(|_| Err(Lost::Cut(format!("no answer within {PATIENCE:?}"))))
    }
}
