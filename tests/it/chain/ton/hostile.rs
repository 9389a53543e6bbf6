//! Nodes of TON that lag, drop and stand on another network. None of it may pass for a block without payments.

use std::net::SocketAddr;

use axum::{
    Router,
    extract::{OriginalUri, State},
};
use gateway::chain::{Block, ChainError, ChainSource};
use http::StatusCode;
use serde_json::{Value, json};
use support::client::Client;

use super::driver::{TonChain, random_address, source};

/// Changes one answer; gets the path after `/api/v3/` and what the node said.
type Lie = fn(&str, &mut Value);

const TRANSACTIONS: &str = "transactionsByMasterchainBlock";
const SHARDS: &str = "masterchainBlockShards";

/// What the source makes of block `height` when `lie` changes answers on the way.
async fn told(chain: &TonChain, height: u64, lie: Lie) -> Result<Option<Block>, ChainError> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let upstream = chain.node.url().trim_start_matches("http://").parse::<SocketAddr>().unwrap();
    let router = Router::new().fallback(relay).with_state((upstream, lie));
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let answer = source(&url).block(height).await;
    server.abort();
    answer
}

async fn relay(
    State((upstream, lie)): State<(SocketAddr, Lie)>,
    OriginalUri(uri): OriginalUri,
) -> (StatusCode, String) {
    let answer = Client::new(upstream).get(&uri.to_string()).await;
    let mut body = answer.json();
    lie(uri.path().trim_start_matches("/api/v3/"), &mut body);
    (StatusCode::from_u16(answer.status).unwrap(), body.to_string())
}

fn list<'a>(body: &'a mut Value, field: &str) -> &'a mut Vec<Value> {
    body[field].as_array_mut().expect("a list")
}

/// A block with three payments.
async fn eventful() -> (TonChain, u64) {
    let chain = TonChain::start().await.unwrap();
    for _ in 0..3 {
        chain.node.pay(&random_address(), 5_000, false).await.unwrap();
    }
    let height = chain.node.mine().await.unwrap();
    (chain, height)
}

#[tokio::test]
async fn a_block_whose_parts_do_not_fit_together_is_refused() {
    let lies: [(&str, Lie); 6] = [
        ("no transactions", |path, body| {
            if path == TRANSACTIONS {
                list(body, "transactions").clear();
            }
        }),
        ("a transaction is dropped", |path, body| {
            if path == TRANSACTIONS {
                let transactions = list(body, "transactions");
                if transactions.len() > 1 {
                    transactions.remove(1);
                }
            }
        }),
        ("a transaction is doubled in place of another", |path, body| {
            if path == TRANSACTIONS
                && let [_, second, _, other, ..] = list(body, "transactions").as_mut_slice()
            {
                *second = other.clone();
            }
        }),
        ("nothing can be read", |path, body| {
            if path == TRANSACTIONS {
                list(body, "transactions").iter_mut().for_each(|tx| *tx = json!("0x01"));
            }
        }),
        ("another height is served", |path, body| {
            if path == "blocks" {
                body["blocks"][0]["seqno"] = json!(0);
            }
        }),
        ("more is promised", |path, body| {
            if path == SHARDS {
                body["blocks"][1]["tx_count"] = json!(7);
            }
        }),
    ];
    let (chain, height) = eventful().await;
    let honest = told(&chain, height, |_, _| ()).await.unwrap().unwrap();
    assert_eq!(honest.transfers.len(), 3);
    for (name, lie) in lies {
        let answer = told(&chain, height, lie).await;
        assert!(matches!(answer, Err(ChainError::Inconsistent { .. })), "{name}: {answer:?}");
    }
    let other = told(&chain, height, |path, body| {
        if path == "blocks" {
            body["blocks"][0]["global_id"] = json!(-3);
        }
    });
    let other = other.await;
    assert!(matches!(other, Err(ChainError::WrongChain { .. })), "{other:?}");
}

#[tokio::test]
async fn one_transaction_that_cannot_be_read_does_not_stop_its_block() {
    let (chain, height) = eventful().await;
    let answer = told(&chain, height, |path, body| {
        if path == TRANSACTIONS {
            // The transactions take turns: the payer's, and that of whom it paid.
            list(body, "transactions")[1]["in_msg"]["value"] = json!("1.5");
        }
    });
    assert_eq!(answer.await.unwrap().unwrap().transfers.len(), 2);
}
