//! Cost of reading a block: ten thousand transactions beside the node's own response, and a hundred
//! thousand watched addresses beside none.

mod answers;
mod evm;
mod near;
mod solana;
mod thorchain;
mod together;
mod ton;
mod tron;
mod unread;
mod utxo;
mod watch;

use std::{sync::Arc, time::Instant};

use gateway::{
    asset::Network,
    chain::{
        ChainSource, Transfer, TransferAmount, TransferAsset, evm::EvmSource, near::NearSource,
        solana::SolanaSource, thorchain::ThorchainSource, ton::TonSource, tron::TronSource,
        utxo::UtxoSource,
    },
    money::BaseUnits,
};
use secrecy::SecretString;
use support::node::stub_node::{Node, StubNode};

use self::unread::Unread;
use crate::report::{Goal, Report, Rounds};

const TRANSACTIONS: usize = 10_000;
/// Above the first block of every network.
const HEIGHT: u64 = 10_000_000;
const SCAN: &str = "scan: a block of 10,000 transactions";

pub async fn run(report: &mut Report) {
    watch::run(report).await;
    together::run(report).await;
    let evm = |url: &_| EvmSource::new(Network::Ethereum, url).unwrap();
    scan(report, "EVM", 1, evm::full, evm).await;
    for network in [Network::Bitcoin, Network::Dogecoin] {
        let utxo = |url: &_| UtxoSource::new(network, url).unwrap();
        scan(report, network.name(), 2, || utxo::full(network), utxo).await;
    }
    let ton = |url: &_| TonSource::new(Network::Ton, url).unwrap();
    scan(report, "TON", 2, ton::full, ton).await;
    scan(report, "Tron", 1, tron::full, |url| TronSource::new(url).unwrap()).await;
    scan(report, "NEAR", 1, near::full, |url| NearSource::new(url).unwrap()).await;
    let solana = |url: &_| SolanaSource::new(Network::Solana, url).unwrap();
    scan(report, "Solana", 1, solana::full, solana).await;
    let thorchain = |url: &_| ThorchainSource::new(url).unwrap();
    scan(report, "THORChain", 2, thorchain::full, thorchain).await;
}

/// Time that our side adds to the responses of a node with one full block, in which each
/// transaction has this many payments.
async fn scan<N: Node + Default, S: ChainSource>(
    report: &mut Report,
    family: &str,
    payments: usize,
    full: impl FnOnce() -> N,
    source: impl FnOnce(&SecretString) -> S,
) {
    let name = format!("{SCAN}, {family}");
    if !report.wants(&name) {
        return;
    }
    let node = StubNode::start(full()).await.unwrap();
    let source = source(&node.url().into());
    let read = async || {
        let block = source.block(HEIGHT).await.unwrap().unwrap();
        assert_eq!(block.transfers.len(), TRANSACTIONS * payments, "{family}");
    };
    // The first look opens connections, and some ask once for the chain's height.
    read().await;
    let answers = Unread::of(&node, read()).await;
    answers.fetch().await;
    let (mut net, mut gross) = (Rounds::default(), Rounds::default());
    for _ in 0..report.rounds {
        let started = Instant::now();
        answers.fetch().await;
        let unread = milliseconds(started);
        let started = Instant::now();
        read().await;
        let whole = milliseconds(started);
        net.add((whole - unread).max(0.0), unread);
        gross.add_alone(whole);
    }
    // Its texts would stay in memory as long as the runtime.
    *node.node() = N::default();
    let limit = "the node's own answers, read and left unread";
    report.value(&name, "ms", Some(limit), Goal::AtMost(1_000.0), net);
    report.figure(&format!("{name}, with the node's answers"), "ms", gross);
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// A block's payments to others; `block` tells them from those of other blocks.
fn payments(block: u64, count: u64) -> Vec<Transfer> {
    let payment = |number: u64| Transfer {
        key: format!("{block}:{number}"),
        tx_hash: block.to_string(),
        to: format!("0x{block:020x}{number:020x}"),
        from: None,
        asset: TransferAsset::Native,
        amount: TransferAmount::Units(BaseUnits::new(5)),
        maturity: 1,
        spends: Arc::default(),
    };
    (0..count).map(payment).collect()
}
