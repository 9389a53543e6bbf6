//! The limit: the adapter's requests, made once more, with their responses left unread.

use std::sync::{Arc, Mutex};

use http::{Request, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;
use support::node::stub_node::{Node, StubNode};

pub struct Unread {
    /// Keeps its connection, as the adapter does.
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    asked: Vec<(Uri, Value)>,
}

impl Unread {
    /// Records the requests that `reading` makes to `node`.
    pub async fn of(node: &StubNode<impl Node>, reading: impl Future<Output = ()>) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let asked = heard.clone();
        node.lie(move |ask, honest| {
            asked.lock().unwrap().push((ask.uri.clone(), ask.body.clone()));
            honest
        });
        reading.await;
        node.tell_the_truth();
        let asked = std::mem::take(&mut *heard.lock().unwrap());
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { client, url: node.url().to_owned(), asked }
    }

    /// One after the other, although the adapter makes some concurrently: those responses are
    /// small.
    pub async fn fetch(&self) {
        for (uri, body) in &self.asked {
            let url = format!("{}{uri}", self.url);
            let request = if body.is_null() {
                Request::get(url).body(Full::default())
            } else {
                Request::post(url)
                    .header(header::CONTENT_TYPE, "application/json")
                    .body(body.to_string().into())
            };
            let answer = self.client.request(request.unwrap()).await.unwrap();
            assert!(answer.status().is_success(), "{uri}: {}", answer.status());
            answer.into_body().collect().await.unwrap().to_bytes();
        }
    }
}
