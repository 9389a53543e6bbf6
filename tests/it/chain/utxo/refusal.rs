//! Nodes that serve another chain, are not ready, contradict themselves, or refuse our credentials.

use std::time::Duration;

use gateway::{
    asset::Network,
    chain::{ChainError, ChainSource, Reading, TransferAsset, utxo::UtxoSource},
};
use serde_json::{Value, json};
use support::{
    fault::{
        fired::fired,
        hostile::{Act, Hostile},
    },
    node::json_rpc::{Answer, Proxy},
};

use super::driver::{RegtestChain, random_address, source};

type Lie = fn(&str, &mut Value);

/// The source's view when `lie` changes results on the way.
async fn through(chain: &RegtestChain, lie: Lie) -> (Proxy, UtxoSource) {
    let proxy = Proxy::start(chain.node.url(), move |method, mut reply| {
        lie(method, &mut reply["result"]);
        Answer::Reply(reply)
    });
    let proxy = proxy.await.expect("the proxy listens");
    let genesis = chain.node.genesis().await.expect("genesis");
    let source = source(Network::Bitcoin, proxy.url(), &genesis);
    (proxy, source.with_deadline(Duration::from_secs(20)))
}

async fn head_through(chain: &RegtestChain, lie: Lie) -> ChainError {
    let (proxy, source) = through(chain, lie).await;
    let head = source.head().await;
    fired(proxy.changed());
    head.expect_err("no such node is followed")
}

async fn block_through(chain: &RegtestChain, height: u64, lie: Lie) -> ChainError {
    let (proxy, source) = through(chain, lie).await;
    let block = source.block(height).await;
    fired(proxy.changed());
    block.expect_err("no such answer is a block")
}

#[tokio::test]
async fn a_node_of_another_chain_or_without_the_whole_chain_or_without_a_welcome_is_refused() {
    let chain = RegtestChain::start(Network::Bitcoin).await.unwrap();
    let url = chain.node.url();
    let main = UtxoSource::new(Network::Bitcoin, &url.into()).unwrap().head().await;
    assert!(matches!(main, Err(ChainError::WrongChain { .. })), "{main:?}");

    let fetching = head_through(&chain, |method, result| {
        if method == "getblockchaininfo" {
            result["initialblockdownload"] = json!(true);
        }
    });
    assert!(matches!(fetching.await, ChainError::Refused { code: -10, .. }));
    let behind = head_through(&chain, |method, result| {
        if method == "getblockchaininfo" {
            result["headers"] = json!(100_000);
        }
    });
    assert!(matches!(behind.await, ChainError::Refused { code: -10, .. }));

    let genesis = chain.node.genesis().await.unwrap();
    let stranger = url.replacen("test:", "test:not-", 1);
    let refused = source(Network::Bitcoin, &stranger, &genesis).head().await.unwrap_err();
    assert!(matches!(refused, ChainError::Unreachable { .. }), "{refused:?}");
    let password = url.split([':', '@']).nth(2).unwrap();
    assert!(!format!("{refused} {refused:?}").contains(password), "the password is shown");
}

#[tokio::test]
async fn an_answer_that_fits_no_block_is_refused_and_an_odd_transaction_is_not() {
    let chain = RegtestChain::start(Network::Bitcoin).await.unwrap();
    let to = random_address(Network::Bitcoin);
    for _ in 0..3 {
        chain.node.pay(&[(to.clone(), 5_000)]).await.unwrap();
    }
    chain.node.mine(1).await.unwrap();
    let height = chain.node.height().await.unwrap();
    let lies: [Lie; 3] = [
        |method, result| {
            if method == "getblock" {
                result["confirmations"] = json!(-1);
            }
        },
        |method, result| {
            if method == "getblock" {
                result["height"] = json!(7);
            }
        },
        |method, result| {
            if method == "getblockhash" {
                *result = json!("ab".repeat(32));
            }
        },
    ];
    for (place, lie) in lies.into_iter().enumerate() {
        let error = block_through(&chain, height, lie).await;
        let expected = matches!(error, ChainError::Inconsistent { .. })
            || matches!(error, ChainError::Refused { code: -5, .. }) && place == 2;
        assert!(expected, "lie {place}: {error:?}");
    }

    let (_proxy, odd) = through(&chain, |method, result| {
        if method == "getblock" {
            result["tx"][1]["vout"] = json!("odd");
        }
    })
    .await;
    let block = odd.block(height).await.unwrap().unwrap();
    let paid = block.transfers.iter().filter(|transfer| transfer.to == to);
    assert_eq!(paid.count(), 2, "the others count");

    let (_proxy, silent) = through(&chain, |method, result| {
        if method == "getrawtransaction" {
            *result = json!({ "odd": true });
        }
    })
    .await;
    chain.node.pay(&[(to, 5_000)]).await.unwrap();
    let waiting = silent.mempool().await.unwrap();
    assert!(waiting.transfers.is_empty() && !waiting.listed.is_empty(), "{waiting:?}");
}

/// A node that starts lists its mempool while it loads it.
#[tokio::test]
async fn a_mempool_that_is_still_loaded_is_no_complete_reading() {
    let chain = RegtestChain::start(Network::Bitcoin).await.unwrap();
    assert_eq!(chain.source.mempool().await.unwrap().reading, Reading::Whole);
    let (proxy, source) = through(&chain, |method, result| {
        if method == "getmempoolinfo" {
            result["loaded"] = json!(false);
        }
    })
    .await;
    assert_eq!(source.mempool().await.unwrap().reading, Reading::Loading);
    fired(proxy.changed());
    let (_, silent) = through(&chain, |method, result| {
        if method == "getmempoolinfo" {
            result.as_object_mut().unwrap().remove("loaded");
        }
    })
    .await;
    assert_eq!(silent.mempool().await.unwrap().reading, Reading::Whole);
}

/// A block may be dated before its parent, but never before the median of eleven.
#[tokio::test]
async fn on_bitcoin_payments_are_known_up_to_the_median_time_of_eleven_blocks() {
    let chain = RegtestChain::start(Network::Bitcoin).await.unwrap();
    let head = chain.source.head().await.unwrap();
    let mut dates = Vec::new();
    for height in head.height - 10..=head.height {
        dates.push(chain.source.header(height).await.unwrap().unwrap().mined_at);
    }
    dates.sort_unstable();
    assert_eq!(chain.source.dated_through(&head).await.unwrap(), dates[5]);
}

/// Dogecoin's nodes are older than the method.
#[tokio::test]
async fn a_node_that_cannot_scan_its_outputs_reports_no_balances() {
    let chain = RegtestChain::start(Network::Dogecoin).await.unwrap();
    let proxy = Proxy::start(chain.node.url(), |method, mut reply| {
        if method == "scantxoutset" {
            reply["result"] = Value::Null;
            reply["error"] = json!({ "code": -32601, "message": "Method not found" });
        }
        Answer::Reply(reply)
    });
    let proxy = proxy.await.unwrap();
    let genesis = chain.node.genesis().await.unwrap();
    let source = source(Network::Dogecoin, proxy.url(), &genesis);
    let at = source.head().await.unwrap();
    let address = random_address(Network::Dogecoin);
    for addresses in [&[address][..], &[]] {
        assert_eq!(source.holdings(&at, addresses, &[TransferAsset::Native]).await.unwrap(), None);
    }
    assert!(chain.source.holdings(&at, &[], &[]).await.unwrap().is_some(), "this node has it");
}

/// A provider's limit, met in the middle of a long list.
#[tokio::test]
async fn mempool_transactions_read_before_a_refusal_are_not_requested_again() {
    let tip = json!({ "blocks": 7, "headers": 7, "bestblockhash": "ab".repeat(32) });
    let node = Hostile::reading(move |_, request| {
        let asked: Value = serde_json::from_str(request.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let reply =
            |id: &Value, result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
        let names: Vec<String> = (0..250).map(|n| format!("{n:064x}")).collect();
        let text = match (asked["method"].as_str(), asked.as_array()) {
            (Some("getrawmempool"), _) => reply(&asked["id"], json!(names)),
            (Some(_), _) => reply(&asked["id"], tip.clone()),
            // Two hundred are answered, then the limit is reached.
            (None, Some(calls)) if calls.len() == 50 => {
                return Act::answer("429 Too Many Requests", "");
            }
            (None, calls) => {
                let odd = json!({ "odd": true });
                calls.unwrap().iter().map(|call| reply(&call["id"], odd.clone())).collect()
            }
        };
        Act::answer("200 OK", &text.to_string())
    })
    .await;
    let url = format!("http://{}", node.address);
    let source = source(Network::Bitcoin, &url, &"00".repeat(32));
    let asked = || -> Vec<usize> {
        let count = |request: Vec<u8>| {
            String::from_utf8_lossy(&request).matches("getrawtransaction").count()
        };
        node.requests().into_iter().map(count).filter(|count| *count > 0).collect()
    };
    for expected in [vec![100, 100, 50], vec![100, 100, 50, 50]] {
        let refused = source.mempool().await.unwrap_err();
        assert!(matches!(refused, ChainError::RateLimited { .. }), "{refused:?}");
        assert_eq!(asked(), expected);
    }
}
