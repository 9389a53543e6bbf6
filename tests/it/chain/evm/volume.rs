//! Time to read a full block.

use std::time::{Duration, Instant};

use gateway::{asset::Network, chain::ChainSource};

use super::driver::{AnvilChain, random_address};
use crate::chain::conformance::{ChainUnderTest, Output};

const TRANSFERS: usize = 1_000;
const PER_TRANSACTION: usize = 20;
/// Without optimisation, on a busy machine. A block of a busy chain comes every 250 ms, and a
/// release build needs a tenth of that.
const BOUND: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_block_of_a_thousand_token_payments_is_read_in_time() {
    let mut chain = AnvilChain::start(Network::Ethereum).await.unwrap();
    let token = chain.token.clone();
    for _ in 0..TRANSFERS / PER_TRANSACTION {
        let outputs: Vec<_> =
            (0..PER_TRANSACTION).map(|_| Output::new(&random_address(), 1_000_000)).collect();
        chain.pay_token(&token, &outputs).await;
    }
    chain.mine().await;
    let height = chain.source.head().await.unwrap().height;
    let started_at = Instant::now();
    let block = chain.source.block(height).await.unwrap().unwrap();
    let took = started_at.elapsed();
    println!("{TRANSFERS} token payments in one block: read and checked in {took:?}");
    assert_eq!(block.transfers.len(), TRANSFERS);
    assert!(took < BOUND, "{took:?}");
}
