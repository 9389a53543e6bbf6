//! The conformance suite, and the reading of the same block by Solana's own client.

use gateway::chain::{ChainSource, TransferAmount, TransferAsset};

use super::driver::{SolanaChain, random_address};
use crate::chain::conformance::{Outcome, prove, table};

#[tokio::test]
async fn solana_passes_the_suite() {
    let mut chain = SolanaChain::start().await.unwrap();
    let report = prove(&mut chain).await;
    println!("{}", table(std::slice::from_ref(&report)));
    let proven = report.outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Proven);
    assert_eq!(proven.count(), report.outcomes.len() - 12);
}

#[tokio::test]
async fn a_block_says_the_same_to_us_and_to_solanas_own_client() {
    let chain = SolanaChain::start().await.unwrap();
    let (one, two) = (random_address(), random_address());
    // Several outputs to one owner are one sum, those to others are their own.
    let outputs = [(one.clone(), 10), (two.clone(), 25), (one.clone(), 7)];
    let paid = chain.node.pay(&outputs).await.unwrap();
    let failed = chain.node.fail(None).await.unwrap();
    let slot = chain.node.mine().await.unwrap();

    let block = chain.source.block(slot).await.unwrap().unwrap();
    let reading = chain.node.read_by_web3(slot).await.unwrap();
    assert_eq!(block.header.hash, reading.hash);
    assert_eq!(reading.parent_slot + 1, slot);
    let [first, second, _vote] = reading.transactions.as_slice() else { panic!("{reading:?}") };
    assert_eq!((first.signature.as_str(), first.failed), (paid.as_str(), false));
    assert_eq!((second.signature.as_str(), second.failed), (failed.as_str(), true));
    for (owner, units) in [(&one, 17), (&two, 25)] {
        assert_eq!(first.gained[owner], units.to_string());
        let ours: Vec<_> = block.transfers.iter().filter(|t| t.to == **owner).collect();
        let [transfer] = ours.as_slice() else { panic!("{ours:?}") };
        assert_eq!(
            (transfer.tx_hash.as_str(), &transfer.asset),
            (paid.as_str(), &TransferAsset::Native)
        );
        assert_eq!(transfer.amount, TransferAmount::Units(gateway::money::BaseUnits::new(units)));
    }
    assert_eq!(block.transfers.len(), 2, "{:?}", block.transfers);
}
