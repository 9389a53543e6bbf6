//! HTTP server of a stub node, whose responses a test may change.

use std::{
    collections::HashMap,
    net::Ipv4Addr,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::Result;
use axum::{
    Router,
    body::Bytes,
    extract::{Query, State},
    response::{IntoResponse, Response},
};
use http::{StatusCode, Uri, header};
use serde_json::Value;

/// One request, as a node's routes see it.
#[derive(Debug)]
pub struct Ask {
    pub path: String,
    pub query: HashMap<String, String>,
    /// The path with the query as it was sent, where a name may stand more than once.
    pub uri: Uri,
    /// `null` if there is none.
    pub body: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Json(Value),
    Status(StatusCode, Value),
    Text(StatusCode, String),
    Moved(String),
    /// Never answers.
    Silence,
}

/// A stub node: its state, and its responses.
pub trait Node: Send + 'static {
    fn answer(&self, ask: &Ask) -> Answer;
}

type Lie = Arc<dyn Fn(&Ask, Answer) -> Answer + Send + Sync>;

struct Shared<N> {
    node: Mutex<N>,
    lie: Mutex<Option<Lie>>,
    changed: AtomicUsize,
}

/// A node of this test's own, on a port of its own. Stops with its runtime.
pub struct StubNode<N> {
    url: String,
    shared: Arc<Shared<N>>,
}

impl<N: Node> StubNode<N> {
    pub async fn start(node: N) -> Result<Self> {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (node, lie) = (Mutex::new(node), Mutex::new(None));
        let shared = Arc::new(Shared { node, lie, changed: AtomicUsize::new(0) });
        let router = Router::new().fallback(answer::<N>).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { url, shared })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// State of the node; do not hold it over an await.
    pub fn node(&self) -> MutexGuard<'_, N> {
        self.shared.node.lock().unwrap()
    }

    /// Changes all responses from now on.
    pub fn lie(&self, lie: impl Fn(&Ask, Answer) -> Answer + Send + Sync + 'static) {
        *self.shared.lie.lock().unwrap() = Some(Arc::new(lie));
    }

    pub fn tell_the_truth(&self) {
        *self.shared.lie.lock().unwrap() = None;
    }

    /// Number of responses that differ from the node's.
    pub fn changed(&self) -> usize {
        self.shared.changed.load(Ordering::Relaxed)
    }
}

async fn answer<N: Node>(
    State(shared): State<Arc<Shared<N>>>,
    uri: Uri,
    Query(query): Query<HashMap<String, String>>,
    body: Bytes,
) -> Response {
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let ask = Ask { path: uri.path().to_owned(), query, uri, body };
    let honest = shared.node.lock().unwrap().answer(&ask);
    let lie = shared.lie.lock().unwrap().clone();
    let answer = match lie {
        Some(lie) => lie(&ask, honest.clone()),
        None => honest.clone(),
    };
    shared.changed.fetch_add(usize::from(answer != honest), Ordering::Relaxed);
    match answer {
        Answer::Json(value) => axum::Json(value).into_response(),
        Answer::Status(status, value) => (status, axum::Json(value)).into_response(),
        Answer::Text(status, text) => (status, text).into_response(),
        Answer::Moved(to) => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
        Answer::Silence => std::future::pending().await,
    }
}
