//! Proof for nodes whose responses leave out data. None of them may pass for a block without
//! payments.

use std::time::Duration;

use gateway::chain::{ChainError, ChainSource};
use support::fault::{
    faulty_line::{Fault, FaultyLine},
    fired::fired,
};

use super::{
    Outcome,
    driver::{Act, ChainUnderTest, Coin, Feature, LeftOut, Output},
    proof::head,
};

const PATIENCE: Duration = Duration::from_secs(20);
/// If the block alone shows no omission, this many later blocks do.
const BLOCKS_LATER: u64 = 17;

/// Mines one block with several payments, one of which pays twice where the chain allows that, and
/// the blocks after it. Returns the height of the one.
async fn paid<C: ChainUnderTest>(chain: &mut C) -> u64 {
    let (one, two) = (chain.fresh_address().await, chain.fresh_address().await);
    let coin = match chain.lacks(Feature::Tokens) {
        Some(_) => Coin::Native,
        None => Coin::Token,
    };
    let many = match coin {
        Coin::Native => Feature::ManyNativeOutputs,
        Coin::Token | Coin::LookAlike => Feature::ManyTokenOutputs,
    };
    let mut twice = vec![Output::new(&one, 5_000)];
    if chain.lacks(many).is_none() {
        twice.push(Output::new(&two, 6_000));
    }
    let once = |to: &str| Act::Pay(Coin::Native, vec![Output::new(to, 7_000)]);
    for act in [once(&two), Act::Pay(coin, twice), once(&one), once(&two)] {
        chain.send(&act).await;
    }
    chain.mine().await;
    let height = head(chain).await.height;
    for _ in 0..BLOCKS_LATER {
        chain.mine().await;
    }
    height
}

pub async fn of<C: ChainUnderTest>(chain: &mut C, what: LeftOut) -> Outcome {
    for feature in [Feature::Line, Feature::Evidence(what)] {
        if let Some(reason) = chain.lacks(feature) {
            return Outcome::Lacking(reason);
        }
    }
    let height = paid(chain).await;
    let line = FaultyLine::to(&chain.url()).await.expect("the line stands");
    let whole = chain.source_at(line.url(), PATIENCE).block(height).await;
    let whole = whole.expect("the line is good").expect("up to the head");
    assert!(whole.transfers.len() >= 4, "{}: {:?}", chain.name(), whole.transfers);

    let ways = chain.left_out(what);
    assert!(!ways.is_empty(), "{}: nothing is left out", chain.name());
    for (way, edit) in ways {
        line.set(Some(Fault::Tells(*edit)));
        let told = chain.source_at(line.url(), PATIENCE).block(height).await;
        let is_refused =
            matches!(told, Err(ChainError::Inconsistent { .. } | ChainError::Malformed { .. }));
        assert!(is_refused, "{} believes: {way}: {told:?}", chain.name());
    }
    fired(line.spoilt());
    Outcome::Proven
}
