//! Proof for payments that are replaced by others with a higher fee before they are mined.

use gateway::chain::{ChainSource, Transfer};
use support::fault::fired::fired;

use super::{
    Outcome,
    driver::{Act, ChainUnderTest, Coin, Feature, Output},
    proof::newest,
};

const FIRST: u128 = 70_000;
const LESS: u128 = 60_000;

/// The pending transactions that pay `to`. Only those may be listed among `known`.
async fn waiting<C: ChainUnderTest>(chain: &C, to: &str, known: &[&String]) -> Vec<String> {
    let waiting = chain.source().mempool().await.expect("mempool");
    let to_us = waiting.transfers.iter().filter(|transfer| transfer.to == to);
    let mut hashes: Vec<String> = to_us.map(|transfer| transfer.tx_hash.clone()).collect();
    hashes.dedup();
    for hash in known {
        assert_eq!(waiting.listed.contains(*hash), hashes.contains(hash), "{}", chain.name());
    }
    hashes
}

fn paying<'a>(transfers: &'a [Transfer], to: &str) -> Vec<&'a str> {
    let own = transfers.iter().filter(|transfer| transfer.to == to);
    own.map(|transfer| transfer.tx_hash.as_str()).collect()
}

/// A payment is replaced by a smaller one, and that by one to another address: the buyer takes all
/// of it back (double-spend).
pub async fn by_fee<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    if let Some(reason) = chain.lacks(Feature::Replacement) {
        return Outcome::Lacking(reason);
    }
    let has_mempool = chain.lacks(Feature::Mempool).is_none();
    let (to, elsewhere) = (chain.fresh_address().await, chain.fresh_address().await);
    let first = chain.send(&Act::Pay(Coin::Native, vec![Output::new(&to, FIRST)])).await;
    if has_mempool {
        assert_eq!(waiting(chain, &to, &[&first]).await, [first.as_str()], "{}", chain.name());
    }
    let less = chain.replace(&first, &Output::new(&to, LESS)).await;
    assert_ne!(less, first, "{}: nothing took its place", chain.name());
    fired(1);
    if has_mempool {
        let seen = waiting(chain, &to, &[&first, &less]).await;
        assert_eq!(seen, [less.as_str()], "{}", chain.name());
    }
    let back = chain.replace(&less, &Output::new(&elsewhere, LESS)).await;
    if has_mempool {
        assert_eq!(waiting(chain, &to, &[&first, &less]).await, [""; 0], "{}", chain.name());
        let seen = waiting(chain, &elsewhere, &[&back]).await;
        assert_eq!(seen, [back.as_str()], "{}", chain.name());
    }

    chain.mine().await;
    let mined = newest(chain).await.transfers;
    assert_eq!(paying(&mined, &to), [""; 0], "{}: what was replaced is told", chain.name());
    assert_eq!(paying(&mined, &elsewhere), [back.as_str()], "{}", chain.name());
    fired(1);
    assert_eq!(waiting(chain, &elsewhere, &[&back]).await, [""; 0], "{}", chain.name());
    Outcome::Proven
}
