//! Lookup of a transaction by id, on every kind of node: people use it, the watcher never does.

use gateway::{
    asset::Network,
    chain::{ChainSource, Located},
};

use super::{
    conformance::{Act, ChainUnderTest, Coin, Feature, Output},
    evm::driver::AnvilChain,
    solana::driver::SolanaChain,
    stub::{driver::StubDriver, near::Near, thorchain::Thorchain, tron::Tron},
    ton::driver::TonChain,
    utxo::driver::RegtestChain,
};

/// Above every network's dust limit.
const UNITS: u128 = 10_000_000;

/// The height of the newest block that reports `tx_hash`.
async fn height_of<C: ChainUnderTest>(chain: &C, tx_hash: &str) -> u64 {
    let mut height = chain.source().head().await.unwrap().height;
    loop {
        let block = chain.source().block(height).await.unwrap().unwrap();
        if block.transfers.iter().any(|transfer| transfer.tx_hash == tx_hash) {
            return height;
        }
        height -= 1;
    }
}

async fn expect_found<C: ChainUnderTest>(chain: &mut C, unknown: &str) {
    let name = chain.name();
    chain.mine().await;
    let to = chain.fresh_address().await;
    let paid = chain.send(&Act::Pay(Coin::Native, vec![Output::new(&to, UNITS)])).await;
    let waiting = chain.source().locate(&paid).await.unwrap();
    assert!(matches!(waiting, Located::Waiting | Located::Unknown), "{name}: {waiting:?}");
    let failed = match chain.lacks(Feature::Failures) {
        None => Some(chain.send(&Act::Fail(Coin::Native)).await),
        Some(_) => None,
    };
    chain.mine().await;
    chain.mine().await;
    let height = height_of(chain, &paid).await;
    let found = chain.source().locate(&paid).await.unwrap();
    assert_eq!(found, Located::Mined { height, failed: false }, "{name}");
    if let Some(failed) = failed {
        let found = chain.source().locate(&failed).await.unwrap();
        let there = matches!(found, Located::Mined { height: at, .. } if at == height);
        assert!(there, "{name}: {found:?}");
    }
    let nowhere = chain.source().locate(unknown).await.unwrap();
    // Without an index of transactions a node cannot know that it does not exist.
    assert!(matches!(nowhere, Located::Unknown | Located::CannotTell), "{name}: {nowhere:?}");
}

#[tokio::test]
async fn an_evm_node_finds_a_transaction_and_says_that_one_failed() {
    let mut chain = AnvilChain::start(Network::Polygon).await.unwrap();
    expect_found(&mut chain, &format!("0x{}", "11".repeat(32))).await;
    let failed = chain.send(&Act::Fail(Coin::Token)).await;
    chain.mine().await;
    let found = chain.source().locate(&failed).await.unwrap();
    assert!(matches!(found, Located::Mined { failed: true, .. }), "{found:?}");
}

/// These nodes keep no index: a transaction is found by its outputs.
#[tokio::test]
async fn bitcoin_like_nodes_find_a_transaction_without_an_index() {
    for network in [Network::Bitcoin, Network::Litecoin] {
        let mut chain = RegtestChain::start(network).await.unwrap();
        expect_found(&mut chain, &"11".repeat(32)).await;
    }
}

#[tokio::test]
async fn the_stand_ins_of_other_nodes_find_a_transaction() {
    let unknown = "11".repeat(32);
    expect_found(&mut StubDriver::<Tron>::start().await, &unknown).await;
    expect_found(&mut StubDriver::<Thorchain>::start().await, &unknown).await;
    expect_found(&mut SolanaChain::start().await.unwrap(), &"5".repeat(64)).await;
    expect_found(&mut TonChain::start().await.unwrap(), &unknown).await;
}

#[tokio::test]
async fn near_s_blocks_are_served_without_a_way_to_look_up_a_transaction() {
    let chain = StubDriver::<Near>::start().await;
    let asked = chain.source().locate("9aHk").await.unwrap();
    assert_eq!(asked, Located::CannotTell);
}
