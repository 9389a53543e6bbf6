//! Nodes of TON that lag, drop data or belong to another network. None of it may pass for a block
//! without payments.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    extract::{OriginalUri, State},
};
use gateway::chain::{Block, ChainError, ChainSource, TransferAsset, ton::TonSource};
use http::StatusCode;
use serde_json::{Value, json};
use support::{client::Client, fault::fired::fired};
use tokio::task::JoinSet;

use super::driver::{TonChain, random_address, source};

/// Changes one response; gets the path after `/api/v3/` and the node's response. A response changed
/// to null means not found.
pub(super) type Lie = fn(&str, &mut Value);

pub(super) const TRANSACTIONS: &str = "transactionsByMasterchainBlock";
const SHARDS: &str = "masterchainBlockShards";
const HOLDERS: &str = "jetton/wallets";
/// More of the node's blocks, one second apart, than the wait for a jetton wallet.
const BLOCKS_OF_PATIENCE: usize = 20;

/// Reads block `height` through the source while `lie` changes responses on the way.
pub(super) async fn told(
    chain: &TonChain,
    height: u64,
    lie: Lie,
) -> Result<Option<Block>, ChainError> {
    let (liar, source) = lied_to(chain, lie).await;
    let block = source.block(height).await;
    fired(liar.desk.changed.load(Ordering::Relaxed));
    block
}

/// Proxy before the node, until it is dropped.
struct Liar {
    desk: Arc<Desk>,
    _serving: JoinSet<()>,
}

struct Desk {
    upstream: SocketAddr,
    lie: Lie,
    changed: AtomicUsize,
}

/// A source whose responses `lie` changes on the way.
async fn lied_to(chain: &TonChain, lie: Lie) -> (Liar, TonSource) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let upstream = chain.node.url().trim_start_matches("http://").parse::<SocketAddr>().unwrap();
    let desk = Arc::new(Desk { upstream, lie, changed: AtomicUsize::new(0) });
    let router = Router::new().fallback(relay).with_state(desk.clone());
    let mut serving = JoinSet::new();
    serving.spawn(async move { axum::serve(listener, router).await.expect("it serves") });
    (Liar { desk, _serving: serving }, source(&url))
}

async fn relay(
    State(desk): State<Arc<Desk>>,
    OriginalUri(uri): OriginalUri,
) -> (StatusCode, String) {
    let answer = Client::new(desk.upstream).get(&uri.to_string()).await;
    let mut body = answer.json();
    (desk.lie)(uri.path().trim_start_matches("/api/v3/"), &mut body);
    desk.changed.fetch_add(usize::from(body != answer.json()), Ordering::Relaxed);
    if body.is_null() {
        return (StatusCode::NOT_FOUND, json!({ "error": "not found" }).to_string());
    }
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
    let lies: [(&str, Lie); 4] = [
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
            // The transactions alternate: the payer's, and the payee's.
            list(body, "transactions")[1]["in_msg"]["value"] = json!("1.5");
        }
    });
    assert_eq!(answer.await.unwrap().unwrap().transfers.len(), 2);
}

/// A block in which a jetton wallet received the token's first payment to an owner.
async fn first_token_payment(chain: &TonChain, token: &str) -> u64 {
    chain.node.pay_token(token, &random_address(), 7).await.unwrap();
    chain.node.mine().await.unwrap()
}

/// A follower's view of a block, as the number of transfers of `token`; `None` if it has to return
/// for the block.
async fn followed(source: &TonSource, height: u64, token: &str) -> Option<usize> {
    source.head().await.unwrap();
    let asset = TransferAsset::Contract(token.to_owned());
    let block = source.block(height).await.unwrap()?;
    Some(block.transfers.iter().filter(|transfer| transfer.asset == asset).count())
}

#[tokio::test]
async fn an_unlisted_token_wallet_delays_its_block_for_a_bounded_time() {
    let lags: [(&str, Lie); 2] = [
        ("an empty list", |path, body| {
            if path == HOLDERS {
                list(body, "jetton_wallets").clear();
            }
        }),
        ("not found", |path, body| {
            if path == HOLDERS {
                *body = Value::Null;
            }
        }),
    ];
    let chain = TonChain::start().await.unwrap();
    let token = chain.node.token("Tether USD", Some(&random_address())).await.unwrap();
    for (name, lag) in lags {
        let (_liar, lagging) = lied_to(&chain, lag).await;
        let height = first_token_payment(&chain, &token).await;
        for _ in 0..2 {
            assert_eq!(followed(&lagging, height, &token).await, None, "{name}");
        }
        // The index has caught up.
        assert_eq!(followed(&source(chain.node.url()), height, &token).await, Some(1), "{name}");

        for _ in 0..BLOCKS_OF_PATIENCE {
            chain.node.mine().await.unwrap();
        }
        assert_eq!(followed(&lagging, height, &token).await, Some(0), "{name}: it stands still");
        let height = first_token_payment(&chain, &token).await;
        assert_eq!(followed(&lagging, height, &token).await, None, "{name}: that is another");
    }
}

#[tokio::test]
async fn a_fake_token_wallet_does_not_delay_a_second_block() {
    let chain = TonChain::start().await.unwrap();
    let token = chain.node.token("Tether USD", Some(&random_address())).await.unwrap();
    let source = source(chain.node.url());
    let victim = random_address();
    chain.node.make_noise(&token, &victim).await.unwrap();
    let height = chain.node.mine().await.unwrap();
    assert_eq!(followed(&source, height, &token).await, None);
    for _ in 0..BLOCKS_OF_PATIENCE {
        chain.node.mine().await.unwrap();
    }
    assert_eq!(followed(&source, height, &token).await, Some(0));
    chain.node.make_noise(&token, &victim).await.unwrap();
    let height = chain.node.mine().await.unwrap();
    assert_eq!(followed(&source, height, &token).await, Some(0));
}
