//! Proofs for replaced blocks.

use gateway::chain::{BlockRef, ChainSource, Transfer};
use support::fault::fired::fired;

use super::{
    Outcome,
    driver::{Act, ChainUnderTest, Coin, Connect, Feature, Output},
    proof::{block, head},
};

const DEPTH_MAX: u64 = 6;

/// Replaces 1 to [`DEPTH_MAX`] blocks under a payment and reads the payment's new state.
pub async fn connect<C: ChainUnderTest>(chain: &mut C, connect: Connect) -> Outcome {
    if let Some(reason) = chain.lacks(Feature::Reorganisations) {
        return Outcome::Lacking(reason);
    }
    for depth in 1..=DEPTH_MAX {
        replace(chain, depth, connect).await;
    }
    Outcome::Proven
}

async fn replace<C: ChainUnderTest>(chain: &mut C, depth: u64, connect: Connect) {
    chain.mine().await;
    let fork = head(chain).await;
    let to = chain.fresh_address().await;
    let paid = [(Coin::Native, 100), (Coin::Token, 200), (Coin::Native, 300)];
    for (coin, units) in paid {
        if coin == Coin::Native || chain.lacks(Feature::Tokens).is_none() {
            chain.send(&Act::Pay(coin, vec![Output::new(&to, units)])).await;
        }
    }
    for _ in 0..depth {
        chain.mine().await;
    }
    let place = format!("{} {connect:?} depth {depth}", chain.name());
    let old = headers(chain, &fork).await;
    let mut before = received(chain, &fork, &to).await;
    assert!(!before.is_empty(), "{place}: nothing was paid");

    chain.reorg(depth, connect).await;

    let new = headers(chain, &fork).await;
    assert_eq!(new.len(), old.len() + 1, "{place}: the new branch is not longer");
    let source_fork = chain.source().header(fork.height).await.expect("header");
    assert_eq!(source_fork.as_ref(), Some(&fork), "{place}: the fork moved");
    for (old, new) in old.iter().zip(&new) {
        assert_ne!(old.hash, new.hash, "{place}: height {} was not replaced", old.height);
    }
    fired(1);
    let mut parent = &fork;
    for header in &new {
        assert_eq!(header.parent_hash, parent.hash, "{place}: the branch is broken");
        parent = header;
    }

    let mut after = received(chain, &fork, &to).await;
    if connect == Connect::Gone {
        before.clear();
    }
    for transfers in [&mut before, &mut after] {
        transfers.sort_by(|a, b| a.key.cmp(&b.key));
    }
    assert_eq!(after, before, "{place}: a payment changed its name, or came twice, or got lost");
    balance_follows(chain, &to, &after, &place).await;
}

/// All headers above `fork`.
async fn headers<C: ChainUnderTest>(chain: &C, fork: &BlockRef) -> Vec<BlockRef> {
    let mut headers = Vec::new();
    for height in fork.height + 1..=head(chain).await.height {
        headers.push(block(chain, height).await.header);
    }
    headers
}

/// All transfers to `to` above `fork`.
async fn received<C: ChainUnderTest>(chain: &C, fork: &BlockRef, to: &str) -> Vec<Transfer> {
    let mut received = Vec::new();
    for height in fork.height + 1..=head(chain).await.height {
        received.extend(block(chain, height).await.transfers);
    }
    received.retain(|transfer| transfer.to == to);
    received
}

/// If balances are supported, the one at the new tip equals the payments of the new branch.
async fn balance_follows<C: ChainUnderTest>(chain: &C, to: &str, paid: &[Transfer], place: &str) {
    use gateway::chain::{TransferAmount, TransferAsset};
    if chain.lacks(Feature::HiddenNative).is_some() {
        return;
    }
    let native = paid.iter().filter(|transfer| transfer.asset == TransferAsset::Native);
    let expected: u128 = native
        .map(|transfer| match &transfer.amount {
            TransferAmount::Units(units) => units.get(),
            TransferAmount::Beyond128Bits(amount) => panic!("{place}: {amount} was never paid"),
        })
        .sum();
    let at = head(chain).await;
    let balances = chain.source().native_balances(&at, &[to.to_owned()]).await;
    let balances = balances.expect("balances").expect("balances are offered");
    assert_eq!(balances[0].get(), expected, "{place}: the balance does not follow");
}
