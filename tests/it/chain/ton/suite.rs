//! The conformance suite, and the reading of the same transactions by TON's own client.

use gateway::chain::{ChainSource, Transfer, TransferAmount};

use super::driver::{TonChain, random_address};
use crate::chain::conformance::{Outcome, prove, table};

#[tokio::test]
async fn ton_passes_the_suite() {
    let mut chain = TonChain::start().await.unwrap();
    let report = prove(&mut chain).await;
    println!("{}", table(std::slice::from_ref(&report)));
    let proven = report.outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Proven);
    assert_eq!(proven.count(), report.outcomes.len() - 11);
}

#[tokio::test]
async fn a_first_payment_is_credited_although_it_is_aborted_and_one_that_bounced_is_not() {
    let chain = TonChain::start().await.unwrap();
    let address = random_address();
    let (kept, is_aborted) = chain.node.pay(&address, 1_500_000_000, false).await.unwrap();
    assert!(is_aborted, "nobody is at that address, so no code can have run");
    let (bounced, is_aborted) = chain.node.pay(&address, 2_500_000_000, true).await.unwrap();
    assert!(is_aborted);
    let height = chain.node.mine().await.unwrap();

    let block = chain.source.block(height).await.unwrap().unwrap();
    let ours: Vec<&Transfer> = block.transfers.iter().filter(|t| t.to == address).collect();
    assert_eq!(ours.len(), 1, "{ours:?}");
    assert_eq!(ours[0].tx_hash, kept);

    // The same node, read by a client that decodes every transaction from its bytes.
    let mut readings = chain.node.read_by_ton_client(&address).await.unwrap();
    readings.sort_by_key(|reading| reading.goes_back);
    let [first, second] = readings.as_slice() else { panic!("{readings:?}") };
    assert_eq!((first.hash.as_str(), second.hash.as_str()), (kept.as_str(), bounced.as_str()));
    assert!(first.aborted && second.aborted && !first.has_come_back && !second.has_come_back);
    assert!(!first.goes_back && second.goes_back);
    let TransferAmount::Units(units) = ours[0].amount else { panic!("{:?}", ours[0].amount) };
    assert_eq!(first.value, Some(units.get().to_string()));
}
