//! Payments in several shards, and an index that lists a block before all that is in it.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
};

use gateway::chain::{ChainError, ChainSource};
use serde_json::Value;
use support::{client::Client, fault::fired::fired};

use super::{
    driver::{TonChain, random_address},
    hostile::{TRANSACTIONS, told},
};

/// Addresses of both shards: accounts are divided by the first bit.
fn of_each_shard() -> [String; 2] {
    let address = |is_second: bool| {
        let mut addresses = std::iter::repeat_with(random_address);
        addresses.find(|address| (address.as_bytes()[2] >= b'8') == is_second).unwrap()
    };
    [address(false), address(true)]
}

/// A transaction's logical time.
fn time(transaction: &Value) -> u64 {
    transaction["lt"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn payments_in_every_shard_of_a_block_are_read() {
    let chain = TonChain::start().await.unwrap();
    let payees = of_each_shard();
    for payee in &payees {
        chain.node.pay(payee, 5_000, false).await.unwrap();
    }
    let height = chain.node.mine().await.unwrap();
    let node = Client::new(chain.node.url().trim_start_matches("http://").parse().unwrap());
    let shards = node.get(&format!("/api/v3/masterchainBlockShards?seqno={height}")).await.json();
    let busy = shards["blocks"].as_array().unwrap().iter();
    let busy = busy.filter(|block| block["workchain"] == 0 && block["tx_count"] != 0);
    assert_eq!(busy.count(), 2, "{shards}");

    let block = chain.source.block(height).await.unwrap().unwrap();
    let mut paid: Vec<_> = block.transfers.into_iter().map(|transfer| transfer.to).collect();
    let mut wanted = payees.to_vec();
    paid.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(paid, wanted);
}

#[tokio::test]
async fn a_block_that_is_listed_before_its_transactions_is_read_once_all_are_there() {
    /// Logical time up to which the index lists transactions.
    static LISTED: AtomicU64 = AtomicU64::new(0);
    let chain = TonChain::start().await.unwrap();
    for payee in of_each_shard() {
        chain.node.pay(&payee, 5_000, false).await.unwrap();
    }
    let height = chain.node.mine().await.unwrap();
    let node = Client::new(chain.node.url().trim_start_matches("http://").parse().unwrap());
    let path = format!("/api/v3/{TRANSACTIONS}?seqno={height}&limit=100");
    let all = node.get(&path).await.json();
    let times: BTreeSet<_> = all["transactions"].as_array().unwrap().iter().map(time).collect();
    assert!(times.len() > 2, "{all}");

    for listed in &times {
        LISTED.store(*listed, Ordering::Relaxed);
        let answer = told(&chain, height, |path, body| {
            if path == TRANSACTIONS {
                let transactions = body["transactions"].as_array_mut().unwrap();
                transactions.retain(|one| time(one) <= LISTED.load(Ordering::Relaxed));
            }
        });
        match answer.await {
            Ok(block) => {
                assert_eq!(Some(listed), times.last(), "it was read before all was listed");
                assert_eq!(block.unwrap().transfers.len(), 2);
            }
            Err(error) => {
                assert!(matches!(error, ChainError::Inconsistent { .. }), "{error:?}");
                assert_ne!(Some(listed), times.last(), "all is listed");
            }
        }
    }
    fired(times.len() - 1);
}
