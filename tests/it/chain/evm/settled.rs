//! Avalanche since Helicon: a header's filter covers the logs of the blocks that it settles, not
//! its own.

use std::time::Duration;

use gateway::{
    asset::Network,
    chain::{Block, ChainError, ChainSource},
};
use serde_json::Value;
use support::fault::faulty_line::{Edit, Fault, FaultyLine};

use super::{
    driver::{AnvilChain, random_address, source},
    left_out,
    stage::BODY,
};
use crate::chain::conformance::{Act, ChainUnderTest, Coin, LeftOut, Output};

/// A block with three payments of coins and one of tokens to two, and an empty one above it, behind
/// a proxy.
struct Stage {
    chain: AnvilChain,
    line: FaultyLine,
    paid: u64,
}

impl Stage {
    async fn of(network: Network) -> Self {
        let mut chain = AnvilChain::start(network).await.expect("anvil starts");
        let output = || Output::new(&random_address(), 5_000);
        let once = || Act::Pay(Coin::Native, vec![output()]);
        let twice = Act::Pay(Coin::Token, vec![output(), output()]);
        for act in [once(), twice, once(), once()] {
            chain.send(&act).await;
        }
        chain.mine().await;
        let paid = chain.anvil.height().await.expect("a height");
        chain.mine().await;
        let line = FaultyLine::to(chain.anvil.url()).await.expect("the line stands");
        Self { chain, line, paid }
    }

    async fn told(&self, height: u64, edit: Edit) -> Result<Block, ChainError> {
        self.line.set(Some(Fault::Tells(edit)));
        let source = source(self.chain.source.network(), self.line.url());
        let block = source.with_deadline(Duration::from_secs(20)).block(height).await;
        block.map(|block| block.expect("up to the head"))
    }
}

/// Bits of logs that no block here has.
fn settling_others(method: &str, result: &mut Value) {
    if method == BODY {
        result["logsBloom"] = format!("0x{}{}", "00".repeat(255), "15").into();
        result["settledHeight"] = "0x1".into();
    }
}

fn settling_nothing(method: &str, result: &mut Value) {
    if method == BODY {
        result["logsBloom"] = format!("0x{}", "00".repeat(256)).into();
    }
}

#[tokio::test]
async fn blocks_of_avalanche_are_read_whatever_their_headers_settle() {
    let stage = Stage::of(Network::Avalanche).await;
    for edit in [settling_others as Edit, settling_nothing] {
        let paid = stage.told(stage.paid, edit).await.expect("a block is read");
        assert_eq!(paid.transfers.len(), 5, "{:?}", paid.transfers);
        let empty = stage.told(stage.paid + 1, edit).await.expect("an empty block is read");
        assert!(empty.transfers.is_empty());
    }
}

#[tokio::test]
async fn on_other_networks_a_header_whose_bloom_filter_lacks_logs_is_refused() {
    let stage = Stage::of(Network::Ethereum).await;
    for (above, edit) in [(0, settling_others as Edit), (0, settling_nothing), (1, settling_others)]
    {
        let told = stage.told(stage.paid + above, edit).await;
        assert!(matches!(told, Err(ChainError::Inconsistent { .. })), "{told:?}");
    }
}

/// Faults that are noticed without the filter, and those that are not, on which the need for a
/// witness depends.
#[tokio::test]
async fn on_avalanche_lost_receipts_and_gaps_are_noticed_and_lost_last_logs_are_not() {
    let stage = Stage::of(Network::Avalanche).await;
    for (what, way, is_noticed) in [
        (LeftOut::All, "no logs", false),
        (LeftOut::All, "no receipts", true),
        (LeftOut::All, "no transactions", true),
        (LeftOut::Transaction, "the transaction with logs", true),
        (LeftOut::Transaction, "the receipt with logs", true),
        (LeftOut::Movement, "the first log", true),
        (LeftOut::Movement, "the last log", false),
    ] {
        let ways = left_out::of(what);
        let (_, edit) = ways.iter().find(|(name, _)| *name == way).expect("a way of that name");
        let told = stage.told(stage.paid, *edit).await;
        let is_refused =
            matches!(told, Err(ChainError::Inconsistent { .. } | ChainError::Malformed { .. }));
        assert_eq!(is_refused, is_noticed, "{way}: {told:?}");
    }
}
