//! The line to a node: carries HTTP as it is, or spoils every answer in one way.

use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex},
};

use anyhow::{Context, Result};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use url::Url;

/// What becomes of every answer.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// Something before the node answers instead of it.
    Says(StatusCode, &'static str),
    /// The first so many thousandths of it come, and look whole to HTTP.
    Part(usize),
    /// The first so many thousandths come, then the connection ends.
    Cut(usize),
    Silence,
}

struct Shared {
    node: Url,
    fault: Mutex<Option<Fault>>,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// Ends with the test's runtime.
pub struct FaultyLine {
    url: Url,
    shared: Arc<Shared>,
}

impl FaultyLine {
    /// A line to the node at `url`, whose name and password go along.
    pub async fn to(url: &str) -> Result<Self> {
        let node: Url = url.parse()?;
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let mut url = node.clone();
        url.set_host(Some("127.0.0.1"))?;
        let port = Some(listener.local_addr()?.port());
        url.set_port(port).map_err(|()| anyhow::anyhow!("the node's address has no port"))?;
        let client = Client::builder(TokioExecutor::new()).build_http();
        let shared = Arc::new(Shared { node, fault: Mutex::new(None), client });
        let router = Router::new().fallback(carry).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { url, shared })
    }

    /// The node by this line.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    pub fn set(&self, fault: Option<Fault>) {
        *self.shared.fault.lock().unwrap() = fault;
    }
}

async fn carry(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let fault = *shared.fault.lock().unwrap();
    match fault {
        Some(Fault::Says(status, text)) => return (status, text).into_response(),
        Some(Fault::Silence) => std::future::pending().await,
        Some(Fault::Part(_) | Fault::Cut(_)) | None => {}
    }
    match asked(&shared, method, &uri, &headers, body).await {
        Ok((status, headers, body)) => spoilt(fault, status, &headers, &body),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

async fn asked(
    shared: &Shared,
    method: Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, HeaderMap, Bytes)> {
    let (host, port) = (shared.node.host_str(), shared.node.port_or_known_default());
    let authority = format!("{}:{}", host.context("a host")?, port.context("a port")?);
    let mut request = Request::builder().method(method).uri(format!("http://{authority}{uri}"));
    for name in [header::CONTENT_TYPE, header::AUTHORIZATION] {
        if let Some(value) = headers.get(&name) {
            request = request.header(name, value);
        }
    }
    let answer = shared.client.request(request.body(Full::new(body))?).await?;
    let (head, body) = answer.into_parts();
    Ok((head.status, head.headers, body.collect().await?.to_bytes()))
}

fn spoilt(fault: Option<Fault>, status: StatusCode, headers: &HeaderMap, body: &Bytes) -> Response {
    let mut answer = Response::builder().status(status);
    for name in [header::CONTENT_TYPE, header::LOCATION] {
        if let Some(value) = headers.get(&name) {
            answer = answer.header(name, value);
        }
    }
    // What follows the last brace is not missed by anybody.
    let whole = body.trim_ascii_end().len();
    let answer = match fault {
        Some(Fault::Part(thousandths)) => {
            answer.body(Body::from(body.slice(..whole * thousandths / 1000)))
        }
        Some(Fault::Cut(thousandths)) => {
            let part = Ok(body.slice(..whole * thousandths / 1000));
            let pieces = stream::iter([part, Err(std::io::Error::other("the line is cut"))]);
            answer.header(header::CONTENT_LENGTH, body.len()).body(Body::from_stream(pieces))
        }
        Some(Fault::Says(..) | Fault::Silence) | None => answer.body(Body::from(body.clone())),
    };
    answer.unwrap()
}
