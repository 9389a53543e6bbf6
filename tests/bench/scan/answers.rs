//! A node with one block, whose responses are prepared texts.

use std::collections::HashMap;

use http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::node::stub_node::{Answer, Ask, Node};

/// Responses by method, or by path on nodes that have paths instead.
#[derive(Default)]
pub struct Answers(HashMap<&'static str, String>);

impl Answers {
    pub fn new<const COUNT: usize>(texts: [(&'static str, String); COUNT]) -> Self {
        Self(texts.into())
    }
}

impl Node for Answers {
    fn answer(&self, ask: &Ask) -> Answer {
        let name = ask.body["method"].as_str().unwrap_or(&ask.path);
        match self.0.get(name) {
            Some(text) => Answer::Text(StatusCode::OK, text.clone()),
            None => panic!("nobody asks {name}"),
        }
    }
}

/// Response of `node` to a request without a body.
pub fn told(node: &impl Node, path: &'static str) -> Value {
    let uri = path.parse().unwrap();
    let ask = Ask { path: path.to_owned(), query: HashMap::new(), uri, body: Value::Null };
    let Answer::Json(value) = node.answer(&ask) else { panic!("{path} is answered otherwise") };
    value
}

pub fn reply(result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 0, "result": result }).to_string()
}

pub fn digest(kind: &str, number: usize) -> [u8; 32] {
    Sha256::digest(format!("{kind} {number}")).into()
}

pub fn digits(kind: &str, number: usize) -> String {
    hex::encode(digest(kind, number))
}
