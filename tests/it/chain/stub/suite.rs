//! The conformance suite over the three networks, and their features that the suite does not cover.

use gateway::chain::{ChainSource, TransferAsset};
use http::StatusCode;
use support::{
    fault::fired::fired,
    node::{stub_node::Answer, thornode::transfer},
};

use super::{
    driver::{Flavour, StubDriver},
    near::Near,
    thorchain::Thorchain,
    tron::Tron,
};
use crate::chain::conformance::{ChainUnderTest, Coin, Outcome, Report, prove, table};

async fn proven<F: Flavour>() -> Report {
    prove(&mut StubDriver::<F>::start().await).await
}

#[tokio::test]
async fn thorchain_near_and_tron_pass_the_suite() {
    let reports = [proven::<Thorchain>().await, proven::<Near>().await, proven::<Tron>().await];
    println!("{}", table(&reports));
    // No hidden value, no balances at past blocks, no mempool and so no replacement; and if nothing
    // commits to a transaction's effects, a missing part is not noticed.
    for (report, lacking) in reports.iter().zip([5, 4, 5]) {
        let proven = report.outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Proven);
        assert_eq!(proven.count(), report.outcomes.len() - lacking, "{}", report.chain);
    }
}

#[tokio::test]
async fn rune_that_a_block_pays_out_by_itself_is_found() {
    let chain = StubDriver::<Thorchain>::start().await;
    let to = Thorchain::fresh_address();
    chain.mine_now();
    let head = chain.source.head().await.unwrap();
    let bought = transfer(&to, "250000000rune");
    chain.node.node().block_events.push((head.height, bought));
    let block = chain.source.block(head.height).await.unwrap().unwrap();
    let [paid] = block.transfers.as_slice() else { panic!("{:?}", block.transfers) };
    assert_eq!((paid.to.as_str(), &paid.asset), (to.as_str(), &TransferAsset::Native));
    assert_eq!(paid.key, format!("{}:0.0:rune", head.height));
    assert_eq!(paid.tx_hash, head.hash, "no transaction paid it");
}

#[tokio::test]
async fn a_reader_who_goes_up_one_by_one_walks_over_skipped_heights_of_near() {
    let chain = StubDriver::<Near>::start().await;
    let first = chain.source.head().await.unwrap();
    let to = Near::fresh_address();
    chain.node.node().chain.skip = 3;
    chain.pay_now(Coin::Native, &to, 5);
    chain.mine_now();
    let head = chain.source.head().await.unwrap();
    assert_eq!(head.height, first.height + 5);

    let next = chain.source.block(first.height + 1).await.unwrap().unwrap();
    assert_eq!(next.header.height, first.height + 4);
    assert_eq!(next.header.parent_hash, first.hash);
    assert_eq!(next.transfers[0].to, to);
    assert_eq!(chain.source.header(first.height + 1).await.unwrap(), None);
    let last = chain.source.block(next.header.height + 1).await.unwrap().unwrap();
    assert_eq!(last.header, head);
    // A server holds a request for a future block; it is not requested.
    assert!(chain.source.block(head.height + 1).await.unwrap().is_none());
}

#[tokio::test]
async fn a_tron_block_is_not_read_before_it_is_solidified() {
    let chain = StubDriver::<Tron>::start().await;
    chain.pay_now(Coin::Native, &Tron::fresh_address(), 5);
    let head = chain.source.head().await.unwrap();
    chain.node.node().unsolidified = 1;
    assert_eq!(chain.source.head().await.unwrap().height, head.height - 1);
    assert_eq!(chain.source.header(head.height).await.unwrap(), None);
    assert!(chain.source.block(head.height).await.unwrap().is_none());
    chain.node.node().unsolidified = 0;
    assert_eq!(chain.source.block(head.height).await.unwrap().unwrap().transfers.len(), 1);
}

#[tokio::test]
async fn payments_in_new_blocks_of_tron_wait_as_they_will_stand_in_the_solidified_ones() {
    let chain = StubDriver::<Tron>::start().await;
    chain.mine_now();
    chain.source.head().await.unwrap();
    chain.node.node().unsolidified = 3;
    let to = Tron::fresh_address();
    for coin in [Coin::Native, Coin::Token] {
        chain.pay_now(coin, &to, 5);
    }
    let waiting = chain.source.mempool().await.unwrap();
    chain.node.node().unsolidified = 0;
    let mut mined = Vec::new();
    for height in 2..=3 {
        mined.extend(chain.source.block(height).await.unwrap().unwrap().transfers);
    }
    assert_eq!((waiting.transfers.len(), &waiting.transfers), (2, &mined));
    // What is solidified is looked for no more, once its head was told.
    chain.source.head().await.unwrap();
    assert_eq!(chain.source.mempool().await.unwrap().transfers, []);

    // A block that another one took the place of is told no more, so what was in it has vanished.
    chain.node.node().unsolidified = 1;
    let left = chain.pay_now(Coin::Token, &to, 7);
    assert!(chain.source.mempool().await.unwrap().listed.contains(&left));
    Tron::chain(&mut chain.node.node()).roll_back(1);
    fired(1);
    let taken = chain.pay_now(Coin::Token, &to, 7);
    let waiting = chain.source.mempool().await.unwrap();
    assert_eq!(waiting.listed.into_iter().collect::<Vec<_>>(), [taken]);
    assert_eq!(waiting.tip.map(|(height, _)| height), Some(3));

    // Nothing has vanished when the node does not tell its newest blocks.
    chain.node.lie(|ask, answer| {
        if ask.path.starts_with("/wallet/") {
            Answer::Text(StatusCode::NOT_FOUND, "not found".to_owned())
        } else {
            answer
        }
    });
    let waiting = chain.source.mempool().await.unwrap();
    assert_eq!(waiting.tip.map(|(height, _)| height), Some(u64::MAX));
    assert_eq!(chain.source.head().await.unwrap().height, 3);
}

#[tokio::test]
async fn payments_in_optimistic_blocks_of_near_wait_as_they_will_stand_in_the_final_ones() {
    let chain = StubDriver::<Near>::start().await;
    chain.mine_now();
    let first = chain.source.head().await.unwrap();
    let to = Near::fresh_address();
    chain.pay_now(Coin::Native, &to, 5);
    chain.node.node().chain.skip = 2;
    chain.pay_now(Coin::Token, &to, 5);
    chain.node.node().unfinal = 2;
    assert_eq!(chain.source.head().await.unwrap(), first);
    let waiting = chain.source.mempool().await.unwrap();
    assert_eq!(waiting.tip, Some((first.height, first.hash.clone())));
    chain.node.node().unfinal = 0;
    let mut mined = Vec::new();
    for height in [first.height + 1, first.height + 4] {
        mined.extend(chain.source.block(height).await.unwrap().unwrap().transfers);
    }
    let ours: Vec<_> = waiting.transfers.into_iter().filter(|t| t.to == to).collect();
    mined.retain(|transfer| transfer.to == to);
    assert_eq!((ours.len(), &ours), (2, &mined));
    // Once they are final, nothing waits.
    let head = chain.source.head().await.unwrap();
    assert_eq!(chain.source.mempool().await.unwrap().transfers, []);

    // Another block took the place of an optimistic one, so what was in it has vanished.
    chain.node.node().unfinal = 1;
    let left = chain.pay_now(Coin::Native, &to, 7);
    assert!(chain.source.mempool().await.unwrap().listed.contains(&left));
    Near::chain(&mut chain.node.node()).roll_back(1);
    fired(1);
    let taken = chain.pay_now(Coin::Native, &to, 7);
    let waiting = chain.source.mempool().await.unwrap();
    assert!(waiting.listed.contains(&taken) && !waiting.listed.contains(&left));
    assert_eq!(waiting.tip, Some((head.height, head.hash.clone())));
    assert_eq!(chain.source.head().await.unwrap(), head, "it is not final");

    // Of a server without optimistic blocks nothing is known, and its final ones are read.
    chain.node.lie(|ask, answer| match ask.path.as_str() {
        "/v0/last_block/optimistic" => Answer::Text(StatusCode::NOT_FOUND, "no".to_owned()),
        _ => answer,
    });
    let waiting = chain.source.mempool().await.unwrap();
    assert_eq!(waiting.tip.map(|(height, _)| height), Some(u64::MAX));
    assert_eq!(chain.source.head().await.unwrap(), head);
}

#[tokio::test]
async fn trx_that_a_contract_sends_on_counts_in_all_its_ways() {
    use serde_json::json;
    use support::node::java_tron::{TronTx, internal};
    let chain = StubDriver::<Tron>::start().await;
    let to = Tron::fresh_address();
    let ways = ["call", "create", "suicide"];
    let internals =
        ways.iter().map(|note| internal(&to, &json!({ "callValue": 5 }), note)).collect();
    chain.wait(vec![TronTx::call(super::tron::SOME_CONTRACT, Vec::new(), internals)]);
    chain.mine_now();
    let head = chain.source().head().await.unwrap();
    let transfers = chain.source.block(head.height).await.unwrap().unwrap().transfers;
    let keys: Vec<&str> = transfers.iter().map(|t| t.key.split_once(':').unwrap().1).collect();
    assert_eq!(keys, ["internal:0", "internal:1", "internal:2"]);
    assert!(transfers.iter().all(|t| t.to == to && t.asset == TransferAsset::Native));
}
