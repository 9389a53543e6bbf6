//! The conformance suite over all EVM networks, and over a node that lacks the newer methods.

use futures_util::future::join_all;
use gateway::{
    asset::{Family, Network},
    chain::{ChainSource, evm::EvmSource},
};
use serde_json::json;
use support::node::json_rpc::{Answer, Proxy};

use super::driver::{AnvilChain, source};
use crate::chain::conformance::{Outcome, Report, prove, table};

/// Requirements that headers which filter other blocks' logs cannot show.
const NOT_ON_AVALANCHE: [&str; 2] =
    ["a block emptied of its payments is refused", "a transaction without one movement is refused"];

async fn chain(network: Network) -> AnvilChain {
    AnvilChain::start(network).await.expect("anvil starts")
}

/// Reads `chain` as through a node of some years ago.
async fn through_old_node(chain: &AnvilChain) -> (Proxy, EvmSource) {
    let proxy = Proxy::start(chain.anvil.url(), |method, mut reply| {
        // A contract's function returns one word; a call for many balances at once returns one for
        // each.
        let is_function = reply["result"].as_str().is_some_and(|words| words.len() == 2 + 64);
        if method == "eth_getBlockReceipts" || method == "eth_call" && !is_function {
            let error = json!({ "code": -32601, "message": "the method does not exist" });
            reply = json!({ "jsonrpc": "2.0", "id": reply["id"], "error": error });
        }
        Answer::Reply(reply)
    });
    let proxy = proxy.await.expect("the proxy listens");
    let source = source(chain.source.network(), proxy.url());
    (proxy, source)
}

#[tokio::test]
async fn every_evm_network_passes_the_suite() {
    let networks = Network::ALL.into_iter().filter(|network| network.family() == Family::Evm);
    let mut reports: Vec<Report> =
        join_all(networks.map(|network| async move { prove(&mut chain(network).await).await }))
            .await;

    let chain = chain(Network::Ethereum).await;
    let (proxy, _) = through_old_node(&chain).await;
    reports.push(prove(&mut chain.read_at(proxy.url(), "old node")).await);

    println!("{}", table(&reports));
    assert_eq!(reports.len(), 8);
    let proven = reports[0].outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Proven);
    assert_eq!(proven.count(), 30);
    for report in &reports {
        let both = report.outcomes.iter().zip(&reports[0].outcomes);
        let differ: Vec<_> =
            both.filter(|(one, other)| one != other).map(|(one, _)| one.0).collect();
        let expected: &[&str] =
            if report.chain == Network::Avalanche.name() { &NOT_ON_AVALANCHE } else { &[] };
        assert_eq!(differ, expected, "{} differs", report.chain);
    }
}

#[tokio::test]
async fn both_ways_to_read_a_block_give_its_transfers_the_same_keys() {
    let mut chain = chain(Network::Ethereum).await;
    prove(&mut chain).await;
    let (_proxy, old) = through_old_node(&chain).await;
    let head = chain.source.head().await.expect("head");
    let mut transfers = 0;
    for height in 0..=head.height {
        let new_way = chain.source.block(height).await.expect("block").expect("up to the head");
        let old_way = old.block(height).await.expect("block").expect("up to the head");
        let by_key = |mut block: gateway::chain::Block| {
            block.transfers.sort_by(|a, b| a.key.cmp(&b.key));
            block.transfers
        };
        let (new_way, old_way) = (by_key(new_way), by_key(old_way));
        assert_eq!(new_way, old_way, "block {height}");
        transfers += new_way.len();
    }
    assert!(transfers > 30, "only {transfers} transfers were compared");
}
