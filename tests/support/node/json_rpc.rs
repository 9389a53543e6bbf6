//! A second, independent JSON-RPC client, and a proxy that lies.
//!
//! Tests drive nodes with this client and not with the gateway's own, so that the two cannot agree
//! on one mistake.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, bail};
use axum::{
    Router,
    body::Bytes,
    extract::State,
    response::{IntoResponse, Response},
    routing::post,
};
use base64::Engine;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_secs(60);

/// Calls one method of the node at `url`, with the user name and password in it; an error response
/// is an error.
pub async fn call(url: &str, method: &str, params: Value) -> Result<Value> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut reply: Value = serde_json::from_slice(&send(url, body.to_string().into()).await?)?;
    if let Some(error) = reply.get("error").filter(|error| !error.is_null()) {
        bail!("{method}: {error}");
    }
    Ok(reply["result"].take())
}

async fn send(url: &str, body: Bytes) -> Result<Bytes> {
    let mut request = Request::post(url).header(header::CONTENT_TYPE, "application/json");
    let credentials = url.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
    if let Some((credentials, _)) = credentials {
        let encoded = base64::prelude::BASE64_STANDARD.encode(credentials);
        request = request.header(header::AUTHORIZATION, format!("Basic {encoded}"));
    }
    let request = request.body(Full::new(body)).context("request")?;
    let exchange = async {
        let client = Client::builder(TokioExecutor::new()).build_http();
        anyhow::Ok(client.request(request).await?.into_body().collect().await?.to_bytes())
    };
    tokio::time::timeout(DEADLINE, exchange).await.context("the node is silent")?
}

/// Action of the proxy on a response.
pub enum Answer {
    /// Passes this reply object on.
    Reply(Value),
    /// Answers outside JSON-RPC.
    Http(StatusCode, String),
    /// Never answers.
    Silence,
}

type Rewrite = dyn Fn(&str, Value) -> Answer + Send + Sync;

struct Desk {
    upstream: String,
    rewrite: Box<Rewrite>,
    changed: AtomicUsize,
}

/// Proxy to a node that changes its responses. Stops with its runtime.
pub struct Proxy {
    url: String,
    desk: Arc<Desk>,
}

impl Proxy {
    /// `rewrite` gets the method and the node's reply object, for each entry of a batch as well.
    pub async fn start(
        upstream: &str,
        rewrite: impl Fn(&str, Value) -> Answer + Send + Sync + 'static,
    ) -> Result<Self> {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (upstream, rewrite) = (upstream.to_owned(), Box::new(rewrite));
        let desk = Arc::new(Desk { upstream, rewrite, changed: AtomicUsize::new(0) });
        let router = Router::new().route("/", post(relay)).with_state(desk.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { url, desk })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Number of responses that differ from the node's.
    pub fn changed(&self) -> usize {
        self.desk.changed.load(Ordering::Relaxed)
    }
}

impl Desk {
    fn rewritten(&self, method: &str, reply: &Value) -> Answer {
        let answer = (self.rewrite)(method, reply.clone());
        let is_changed = !matches!(&answer, Answer::Reply(told) if told == reply);
        self.changed.fetch_add(usize::from(is_changed), Ordering::Relaxed);
        answer
    }
}

async fn relay(State(desk): State<Arc<Desk>>, body: Bytes) -> Response {
    match relayed(&desk, body).await {
        Ok(Answer::Reply(reply)) => axum::Json(reply).into_response(),
        Ok(Answer::Http(status, text)) => (status, text).into_response(),
        Ok(Answer::Silence) => std::future::pending().await,
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

async fn relayed(desk: &Desk, body: Bytes) -> Result<Answer> {
    let request: Value = serde_json::from_slice(&body)?;
    let reply: Value = serde_json::from_slice(&send(&desk.upstream, body).await?)?;
    let (Value::Array(requests), Value::Array(replies)) = (&request, &reply) else {
        return Ok(desk.rewritten(method_of(&request), &reply));
    };
    let mut rewritten = Vec::with_capacity(replies.len());
    for (request, reply) in requests.iter().zip(replies) {
        match desk.rewritten(method_of(request), reply) {
            Answer::Reply(reply) => rewritten.push(reply),
            other @ (Answer::Http(..) | Answer::Silence) => return Ok(other),
        }
    }
    Ok(Answer::Reply(Value::Array(rewritten)))
}

fn method_of(request: &Value) -> &str {
    request["method"].as_str().unwrap_or_default()
}
