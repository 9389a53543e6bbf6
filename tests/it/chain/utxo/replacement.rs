//! Payments that are replaced by a higher fee before they are mined.

use gateway::{
    asset::Network,
    chain::{ChainSource, Transfer},
};

use super::driver::{RegtestChain, random_address};

async fn waiting(chain: &RegtestChain, to: &str) -> Vec<Transfer> {
    let waiting = chain.source.mempool().await.unwrap();
    waiting.transfers.into_iter().filter(|transfer| transfer.to == to).collect()
}

#[tokio::test]
async fn a_replaced_payment_waits_no_more_and_only_its_replacement_is_mined() {
    let chain = RegtestChain::start(Network::Bitcoin).await.unwrap();
    let (to, elsewhere) = (random_address(Network::Bitcoin), random_address(Network::Bitcoin));
    let (first, coin) = chain.node.pay(&[(to.clone(), 70_000)]).await.unwrap();
    assert_eq!(waiting(&chain, &to).await[0].tx_hash, first);

    let less = chain.node.spend(&coin, &[(to.clone(), 60_000)], 60_000).await.unwrap();
    let seen = waiting(&chain, &to).await;
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0].key, format!("{less}:0"));

    // The buyer takes all of it back.
    chain.node.spend(&coin, &[(elsewhere.clone(), 60_000)], 120_000).await.unwrap();
    assert_eq!(waiting(&chain, &to).await, []);
    assert_eq!(waiting(&chain, &elsewhere).await.len(), 1);

    chain.node.mine(1).await.unwrap();
    let head = chain.source.head().await.unwrap();
    let block = chain.source.block(head.height).await.unwrap().unwrap();
    assert!(block.transfers.iter().all(|transfer| transfer.to != to));
    assert!(block.transfers.iter().any(|transfer| transfer.to == elsewhere));
    assert_eq!(waiting(&chain, &elsewhere).await, []);
}
