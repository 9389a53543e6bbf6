//! Mass payouts: taking files in, signing, and whole orders on real nodes.
//!
//! `GATEWAY_TEST_PAYOUT_ROWS` makes the orders smaller, for a quick look.

mod bitcoin;
mod evm;
mod intake;
mod programs;
mod signing;

use crate::report::Report;

pub async fn run(report: &mut Report) {
    intake::run(report).await;
    signing::run(report);
    evm::run(report).await;
    bitcoin::run(report).await;
}

/// The rows of one order, at most `most`.
fn rows(most: u32) -> u32 {
    let given = std::env::var("GATEWAY_TEST_PAYOUT_ROWS").ok();
    given.map_or(most, |text| text.parse::<u32>().unwrap().min(most))
}
