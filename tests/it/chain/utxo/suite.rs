//! The conformance suite over the three networks.

use futures_util::future::join_all;
use gateway::asset::Network;

use super::driver::RegtestChain;
use crate::chain::conformance::{Outcome, Report, prove, table};

#[tokio::test]
async fn every_bitcoin_like_network_passes_the_suite() {
    let networks = [Network::Bitcoin, Network::Litecoin, Network::Dogecoin];
    let reports: Vec<Report> = join_all(networks.map(|network| async move {
        prove(&mut RegtestChain::start(network).await.expect("the node starts")).await
    }))
    .await;
    println!("{}", table(&reports));
    let proven = reports[0].outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Proven);
    assert_eq!(proven.count(), 24);
    for report in &reports {
        assert_eq!(report.outcomes, reports[0].outcomes, "{} differs", report.chain);
    }
}
