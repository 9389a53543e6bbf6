//! The tables of `chain::needs` beside the calls that the adapters make, and beside the page that
//! people read.

use gateway::{
    asset::Network,
    chain::{
        ChainSource, calls,
        needs::{block_every_ms, cost, needs},
    },
    config::Config,
};

use super::{
    conformance::{Act, ChainUnderTest, Coin, Feature, Output},
    evm::driver::AnvilChain,
    solana::driver::SolanaChain,
    stub::{driver::StubDriver, near::Near, thorchain::Thorchain, tron::Tron},
    ton::driver::TonChain,
    utxo::driver::RegtestChain,
};

const PAGE: &str = include_str!("../../../docs/nodes.md");

/// One look of a watcher that finds nothing new.
async fn look<S: ChainSource>(source: &S) {
    source.mempool().await.unwrap();
    let head = source.head().await.unwrap();
    source.dated_through(&head).await.unwrap();
}

/// Calls of an idle look and of a block with payments, after the first look, which may prove more.
async fn counted<C: ChainUnderTest>(network: Network, mut chain: C) -> (u64, u64) {
    let coins = [Coin::Native, Coin::Token];
    let is_there = |coin: &Coin| *coin == Coin::Native || chain.lacks(Feature::Tokens).is_none();
    let coins: Vec<_> = coins.into_iter().filter(is_there).collect();
    for coin in coins {
        let to = chain.fresh_address().await;
        chain.send(&Act::Pay(coin, vec![Output::new(&to, 5_000_000)])).await;
    }
    chain.mine().await;
    let source = chain.source();
    let watching = async {
        look(source).await;
        let head = source.head().await.unwrap();
        let before = calls::so_far();
        source.block(head.height).await.unwrap().expect("the newest block");
        let block = calls::so_far() - before;
        look(source).await;
        let before = calls::so_far();
        look(source).await;
        (calls::so_far() - before, block)
    };
    let ((looks, block), seen) = calls::logged(watching).await;
    for call in &seen {
        let is_known = needs(network).iter().any(|need| need.method == call.method);
        assert!(is_known, "{network} is asked {}, which its needs do not name", call.method);
    }
    (u64::try_from(looks).unwrap(), u64::try_from(block).unwrap())
}

fn check(network: Network, (look, block): (u64, u64), idle: u64) {
    let cost = cost(network);
    assert_eq!((look, block), (idle, cost.block), "{network}");
    assert!(idle <= cost.look, "{network}");
}

#[tokio::test]
async fn a_look_and_a_block_take_as_many_calls_as_the_estimate_says() {
    for network in [Network::Polygon, Network::Avalanche] {
        let chain = AnvilChain::start(network).await.unwrap();
        check(network, counted(network, chain).await, 2);
    }
    for network in [Network::Bitcoin, Network::Dogecoin] {
        let chain = RegtestChain::start(network).await.unwrap();
        check(network, counted(network, chain).await, 7);
    }
    let ton = TonChain::start().await.unwrap();
    check(Network::Ton, counted(Network::Ton, ton).await, 3);
    let thorchain = StubDriver::<Thorchain>::start().await;
    check(Network::Thorchain, counted(Network::Thorchain, thorchain).await, 2);
    let near = StubDriver::<Near>::start().await;
    check(Network::Near, counted(Network::Near, near).await, 4);
    // While nothing is new, one call fewer than the estimate, which has a block in each look.
    let tron = StubDriver::<Tron>::start().await;
    check(Network::Tron, counted(Network::Tron, tron).await, 2);
    let solana = SolanaChain::start().await.unwrap();
    check(Network::Solana, counted(Network::Solana, solana).await, 4);
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

#[test]
fn the_page_about_nodes_names_every_method_and_the_calls_of_a_day() {
    let settings = Config::from_toml(&format!(
        "database_url = \"postgres://a@b/c\"\namqp_url = \"amqp://a@b\"\nmaster_key = \"{}\"\n{}",
        "11".repeat(32),
        // A simulated chain is looked at more often.
        Network::ALL.map(|network| format!("chains.{network}.source = \"off\"\n")).concat(),
    ))
    .unwrap();
    let mut missing = Vec::new();
    for network in Network::ALL {
        let (cost, poll) = (cost(network), settings.chain(network).poll.as_secs());
        let blocks = 86_400_000 / block_every_ms(network);
        let looks = 86_400 / poll;
        let row = format!(
            "| {network} | {poll} s | {} | {} | {} | {} |",
            cost.look,
            cost.block,
            grouped(blocks),
            grouped(looks * cost.look + blocks * cost.block),
        );
        let names = needs(network).iter().map(|need| format!("`{}`", need.method));
        missing
            .extend(std::iter::once(row).chain(names).filter(|text| !PAGE.contains(text.as_str())));
    }
    assert!(missing.is_empty(), "docs/nodes.md lacks:\n{}", missing.join("\n"));
}
