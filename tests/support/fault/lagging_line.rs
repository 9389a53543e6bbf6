//! Proxy to two nodes behind one address, of which one lags.
//!
//! Until then it records the node's responses. Then the node loses its newest blocks, and becomes
//! the lagging one; the recorded responses are those of the other.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use anyhow::Result;
use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use url::Url;

use crate::fault::line::{Answer, Node, Question};

#[derive(Default)]
struct Nodes {
    /// Responses of the node that is ahead.
    ahead: BTreeMap<String, Answer>,
    /// Requests that reach the lagging node; `None` until it lags.
    behind: Option<BTreeSet<String>>,
    /// Number of requests that have reached it since.
    lagged: usize,
}

struct Shared {
    node: Node,
    nodes: Mutex<Nodes>,
}

/// Ends with the test's runtime.
pub struct LaggingLine {
    url: Url,
    shared: Arc<Shared>,
}

impl LaggingLine {
    /// Starts a proxy to the node at `url`, with its name and password.
    pub async fn to(url: &str) -> Result<Self> {
        let shared = Arc::new(Shared { node: Node::at(url)?, nodes: Mutex::default() });
        let router = Router::new().fallback(carry).with_state(shared.clone());
        let url = shared.node.served_by(router).await?;
        Ok(Self { url, shared })
    }

    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// All requests made before the node lagged.
    pub fn questions(&self) -> BTreeSet<String> {
        self.shared.nodes.lock().unwrap().ahead.keys().cloned().collect()
    }

    /// From now on these requests reach the lagging node, as does any request that the other never
    /// got.
    pub fn lag(&self, questions: BTreeSet<String>) {
        self.shared.nodes.lock().unwrap().behind = Some(questions);
    }

    /// Number of requests that reached the lagging node.
    pub fn lagged(&self) -> usize {
        self.shared.nodes.lock().unwrap().lagged
    }
}

async fn carry(State(shared): State<Arc<Shared>>, question: Question) -> Response {
    let text = question.text();
    if let Some(answer) = remembered(&shared, &text) {
        return answer.whole();
    }
    match shared.node.ask(question).await {
        Ok(answer) => {
            let mut nodes = shared.nodes.lock().unwrap();
            if nodes.behind.is_none() {
                nodes.ahead.insert(text, answer.clone());
            }
            answer.whole()
        }
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

fn remembered(shared: &Shared, text: &str) -> Option<Answer> {
    let mut nodes = shared.nodes.lock().unwrap();
    let behind = nodes.behind.as_ref()?;
    let known = if behind.contains(text) { None } else { nodes.ahead.get(text).cloned() };
    nodes.lagged += usize::from(known.is_none());
    known
}
