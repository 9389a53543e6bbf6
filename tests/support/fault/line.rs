//! Common part of every proxy to a node: a local address, and the node behind it.

use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::{FromRequest, rejection::BytesRejection},
    response::Response,
};
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use url::Url;

/// A request to the proxy.
pub struct Question {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    pub body: Bytes,
}

/// The node's response.
#[derive(Clone)]
pub struct Answer {
    pub status: StatusCode,
    headers: HeaderMap,
    pub body: Bytes,
}

/// The node behind a proxy.
pub struct Node {
    url: Url,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl<S: Send + Sync> FromRequest<S> for Question {
    type Rejection = BytesRejection;

    async fn from_request(request: Request<Body>, state: &S) -> Result<Self, BytesRejection> {
        let (head, body) = request.into_parts();
        let body = Bytes::from_request(Request::new(body), state).await?;
        Ok(Self { method: head.method, uri: head.uri, headers: head.headers, body })
    }
}

impl Question {
    /// Path of the request, without the node's name.
    pub fn path(&self) -> &str {
        self.uri.path()
    }

    /// The same text for the same request at any time.
    pub fn text(&self) -> String {
        format!("{} {} {}", self.method, self.uri, String::from_utf8_lossy(&self.body))
    }
}

impl Answer {
    /// Start of a response with the same status and headers.
    pub fn head(&self) -> http::response::Builder {
        let mut head = Response::builder().status(self.status);
        for name in [header::CONTENT_TYPE, header::LOCATION] {
            if let Some(value) = self.headers.get(&name) {
                head = head.header(name, value);
            }
        }
        head
    }

    pub fn whole(self) -> Response {
        self.head().body(Body::from(self.body)).unwrap()
    }
}

impl Node {
    pub fn at(url: &str) -> Result<Self> {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Ok(Self { url: url.parse()?, client })
    }

    pub async fn ask(&self, question: Question) -> Result<Answer> {
        let (host, port) = (self.url.host_str(), self.url.port_or_known_default());
        let authority = format!("{}:{}", host.context("a host")?, port.context("a port")?);
        let uri = format!("http://{authority}{}", question.uri);
        let mut request = Request::builder().method(question.method).uri(uri);
        for name in [header::CONTENT_TYPE, header::AUTHORIZATION] {
            if let Some(value) = question.headers.get(&name) {
                request = request.header(name, value);
            }
        }
        let answer = self.client.request(request.body(Full::new(question.body))?).await?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Answer { status: head.status, headers: head.headers, body })
    }

    /// Serves `router` in place of the node. Returns the address, with the node's name and
    /// password; ends with the test's runtime.
    pub async fn served_by(&self, router: Router) -> Result<Url> {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let mut url = self.url.clone();
        url.set_host(Some("127.0.0.1"))?;
        let port = Some(listener.local_addr()?.port());
        url.set_port(port).map_err(|()| anyhow::anyhow!("the node's address has no port"))?;
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(url)
    }
}
