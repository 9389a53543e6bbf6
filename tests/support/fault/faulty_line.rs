//! A proxy to a node: forwards HTTP unchanged, or corrupts every response in one way.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use axum::{
    Router,
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use http::{StatusCode, header};
use serde_json::Value;
use url::Url;

use crate::fault::line::{Answer, Node, Question};

/// Changes one response. Its arguments are the request, a JSON-RPC method or a path, and the node's
/// response.
pub type Edit = fn(&str, &mut Value);

/// Fault of every response.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// A proxy before the node answers instead of it.
    Says(StatusCode, &'static str),
    /// Only the first thousandths arrive, and look complete to HTTP.
    Part(usize),
    /// Only the first thousandths arrive, then the connection ends.
    Cut(usize),
    Silence,
    /// It is complete, but late by this time.
    Late(Duration),
    /// It is complete, but with another content.
    Tells(Edit),
}

struct Shared {
    node: Node,
    fault: Mutex<Option<Fault>>,
    spoilt: AtomicUsize,
}

/// Ends with the test's runtime.
pub struct FaultyLine {
    url: Url,
    shared: Arc<Shared>,
}

impl FaultyLine {
    /// Starts a proxy to the node at `url`, with its name and password.
    pub async fn to(url: &str) -> Result<Self> {
        let (node, fault) = (Node::at(url)?, Mutex::new(None));
        let shared = Arc::new(Shared { node, fault, spoilt: AtomicUsize::new(0) });
        let router = Router::new().fallback(carry).with_state(shared.clone());
        let url = shared.node.served_by(router).await?;
        Ok(Self { url, shared })
    }

    /// The node by this line.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    pub fn set(&self, fault: Option<Fault>) {
        *self.shared.fault.lock().unwrap() = fault;
    }

    /// Number of corrupted responses.
    pub fn spoilt(&self) -> usize {
        self.shared.spoilt.load(Ordering::Relaxed)
    }
}

async fn carry(State(shared): State<Arc<Shared>>, question: Question) -> Response {
    let fault = *shared.fault.lock().unwrap();
    // For an edit it is known only afterwards if it changed anything.
    let is_spoilt = !matches!(fault, Some(Fault::Tells(_)) | None);
    shared.spoilt.fetch_add(usize::from(is_spoilt), Ordering::Relaxed);
    match fault {
        Some(Fault::Says(status, text)) => return (status, text).into_response(),
        Some(Fault::Silence) => std::future::pending().await,
        Some(Fault::Late(by)) => tokio::time::sleep(by).await,
        Some(Fault::Part(_) | Fault::Cut(_) | Fault::Tells(_)) | None => {}
    }
    let (path, asked) = (question.path().to_owned(), question.body.clone());
    match shared.node.ask(question).await {
        Ok(answer) => match fault {
            Some(Fault::Tells(edit)) => {
                let honest = answer.body.clone();
                let told = edited(edit, &path, &asked, answer);
                shared
                    .spoilt
                    .fetch_add(usize::from(differ(&honest, &told.body)), Ordering::Relaxed);
                told.whole()
            }
            fault => spoilt(fault, answer),
        },
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

fn spoilt(fault: Option<Fault>, answer: Answer) -> Response {
    let body = answer.body.clone();
    // Bytes after the last brace would not be missed.
    let whole = body.trim_ascii_end().len();
    let spoilt = match fault {
        Some(Fault::Part(thousandths)) => {
            answer.head().body(Body::from(body.slice(..whole * thousandths / 1000)))
        }
        Some(Fault::Cut(thousandths)) => {
            let part = Ok(body.slice(..whole * thousandths / 1000));
            let pieces = stream::iter([part, Err(std::io::Error::other("the line is cut"))]);
            let head = answer.head().header(header::CONTENT_LENGTH, body.len());
            head.body(Body::from_stream(pieces))
        }
        Some(Fault::Says(..) | Fault::Silence | Fault::Late(_) | Fault::Tells(_)) | None => {
            return answer.whole();
        }
    };
    spoilt.unwrap()
}

/// Returns true if the contents differ: an edited response is formatted anew even without a change.
fn differ(one: &[u8], other: &[u8]) -> bool {
    match (serde_json::from_slice::<Value>(one), serde_json::from_slice::<Value>(other)) {
        (Ok(one), Ok(other)) => one != other,
        _ => one != other,
    }
}

/// A response that is not JSON, a redirect for example, stays unchanged.
fn edited(edit: Edit, path: &str, asked: &[u8], mut answer: Answer) -> Answer {
    let Ok(mut body) = serde_json::from_slice::<Value>(&answer.body) else { return answer };
    match serde_json::from_slice(asked) {
        Ok(Value::Array(asked)) => {
            for (asked, reply) in asked.iter().zip(body.as_array_mut().into_iter().flatten()) {
                edit_reply(edit, path, asked, reply);
            }
        }
        Ok(asked) => edit_reply(edit, path, &asked, &mut body),
        Err(_) => edit(path, &mut body),
    }
    answer.body = body.to_string().into();
    answer
}

/// An error response stays one.
fn edit_reply(edit: Edit, path: &str, asked: &Value, reply: &mut Value) {
    match asked["method"].as_str() {
        Some(method) => reply.get_mut("result").into_iter().for_each(|result| edit(method, result)),
        None => edit(path, reply),
    }
}
