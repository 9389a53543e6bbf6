//! The line to a node: carries HTTP as it is, or spoils every answer in one way.

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

use crate::line::{Answer, Node, Question};

/// Changes one answer. Gets what was asked, a method of JSON-RPC or a path, and what the node says to it.
pub type Edit = fn(&str, &mut Value);

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
    /// It is whole, and comes so much later.
    Late(Duration),
    /// It is whole, and says something else.
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
    /// A line to the node at `url`, whose name and password go along.
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

    /// How many questions were answered otherwise than the node does.
    pub fn spoilt(&self) -> usize {
        self.shared.spoilt.load(Ordering::Relaxed)
    }
}

async fn carry(State(shared): State<Arc<Shared>>, question: Question) -> Response {
    let fault = *shared.fault.lock().unwrap();
    // Whether an edit found something to change is known only afterwards.
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
    // What follows the last brace is not missed by anybody.
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

/// Whether they say something else: an edited answer is spelt anew even where nothing was changed.
fn differ(one: &[u8], other: &[u8]) -> bool {
    match (serde_json::from_slice::<Value>(one), serde_json::from_slice::<Value>(other)) {
        (Ok(one), Ok(other)) => one != other,
        _ => one != other,
    }
}

/// What is no JSON, a redirection for example, stays as it is.
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

/// A refusal stays one.
fn edit_reply(edit: Edit, path: &str, asked: &Value, reply: &mut Value) {
    match asked["method"].as_str() {
        Some(method) => reply.get_mut("result").into_iter().for_each(|result| edit(method, result)),
        None => edit(path, reply),
    }
}
