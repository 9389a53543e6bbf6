//! Proofs for single blocks.

use std::collections::HashSet;

use gateway::{
    chain::{Block, BlockRef, ChainSource, Transfer, TransferAmount},
    money::BaseUnits,
};

use super::{
    Outcome,
    driver::{Act, ChainUnderTest, Coin, Feature, Output},
};

/// Blocks between a payment and the first request for its block.
const BLOCKS_LATER: u64 = 3;
/// More than any adapter requests in one call.
const ADDRESSES: usize = 1_201;

/// Leaves the proof with the driver's reason if the chain lacks the feature.
macro_rules! need {
    ($chain:expr, $feature:expr) => {
        if let Some(reason) = $chain.lacks($feature) {
            return Outcome::Lacking(reason);
        }
    };
}

pub async fn head<C: ChainUnderTest>(chain: &C) -> BlockRef {
    let head = chain.source().head().await;
    head.unwrap_or_else(|error| panic!("{}: head: {error}", chain.name()))
}

pub async fn block<C: ChainUnderTest>(chain: &C, height: u64) -> Block {
    let block = chain.source().block(height).await;
    let block = block.unwrap_or_else(|error| panic!("{}: block {height}: {error}", chain.name()));
    block.unwrap_or_else(|| panic!("{}: there is no block {height}", chain.name()))
}

pub async fn newest<C: ChainUnderTest>(chain: &C) -> Block {
    block(chain, head(chain).await.height).await
}

async fn balances<C: ChainUnderTest>(chain: &C, at: &BlockRef, of: &[String]) -> Vec<u128> {
    let balances = chain.source().native_balances(at, of).await;
    let balances = balances.unwrap_or_else(|error| panic!("{}: balances: {error}", chain.name()));
    let balances = balances.unwrap_or_else(|| panic!("{}: no balances", chain.name()));
    balances.into_iter().map(BaseUnits::get).collect()
}

/// The block's transfers to any of `addresses`, without their keys, in a fixed order.
fn received(block: &Block, addresses: &[&str]) -> Vec<(String, Output, String)> {
    let to_us = block.transfers.iter().filter(|transfer| addresses.contains(&&*transfer.to));
    let mut received: Vec<_> = to_us
        .map(|transfer| {
            let output = Output { to: transfer.to.clone(), amount: transfer.amount.clone() };
            (transfer.tx_hash.clone(), output, format!("{:?}", transfer.asset))
        })
        .collect();
    received.sort_by_key(|entry| format!("{entry:?}"));
    received
}

/// Pays, mines, and requires that the new block reports exactly these payments, each under a key of
/// its own.
async fn pays<C: ChainUnderTest>(chain: &mut C, transactions: &[(Coin, Vec<Output>)]) -> Block {
    let mut expected = Vec::new();
    for (coin, outputs) in transactions {
        let tx_hash = chain.send(&Act::Pay(*coin, outputs.clone())).await;
        let asset = format!("{:?}", chain.asset(*coin));
        let paid = outputs.iter().filter(|output| !is_zero(&output.amount));
        expected.extend(paid.map(|output| (tx_hash.clone(), output.clone(), asset.clone())));
    }
    chain.mine().await;
    expected.sort_by_key(|entry| format!("{entry:?}"));

    let block = newest(chain).await;
    let addresses: Vec<&str> =
        transactions.iter().flat_map(|(_, outputs)| outputs).map(|o| o.to.as_str()).collect();
    assert_eq!(received(&block, &addresses), expected, "{}", chain.name());
    let keys: HashSet<&str> = block.transfers.iter().map(|t| t.key.as_str()).collect();
    assert_eq!(keys.len(), block.transfers.len(), "{}: keys are not unique", chain.name());
    block
}

fn is_zero(amount: &TransferAmount) -> bool {
    *amount == TransferAmount::Units(BaseUnits::ZERO)
}

pub async fn headers<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    chain.mine().await;
    chain.mine().await;
    let head = head(chain).await;
    let source = chain.source();
    let mut parent: Option<BlockRef> = None;
    let lowest = head.height.saturating_sub(5).max(chain.first_height());
    for height in lowest..=head.height {
        let header = source.header(height).await.expect("header").expect("a block up to the head");
        assert_eq!(header.height, height);
        assert_eq!(block(chain, height).await.header, header, "block and header disagree");
        if let Some(parent) = parent {
            assert_eq!(header.parent_hash, parent.hash, "{}: height {height}", chain.name());
            assert!(header.mined_at >= parent.mined_at, "{}: time runs back", chain.name());
        }
        parent = Some(header);
    }
    assert_eq!(parent, Some(head.clone()), "{}: the head is not its own header", chain.name());
    assert_eq!(source.header(head.height + 1).await.expect("header"), None);
    assert!(
        source.block(head.height + 1).await.expect("block").is_none(),
        "a block above the head"
    );
    Outcome::Proven
}

pub async fn native<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    let to = chain.fresh_address().await;
    pays(chain, &[(Coin::Native, vec![Output::new(&to, 1_234_567)])]).await;
    chain.mine().await;
    assert!(received(&newest(chain).await, &[&to]).is_empty(), "reported in a second block");
    Outcome::Proven
}

pub async fn token<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    need!(chain, Feature::Tokens);
    let to = chain.fresh_address().await;
    pays(chain, &[(Coin::Token, vec![Output::new(&to, 25_000_000)])]).await;
    Outcome::Proven
}

/// The block of the payment is requested only after later ones exist. It is then read as by a
/// follower that starts below it, and reported as it was paid.
pub async fn older<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    let to = chain.fresh_address().await;
    let before = head(chain).await;
    let tx_hash = chain.send(&Act::Pay(Coin::Native, vec![Output::new(&to, 4_242)])).await;
    for _ in 0..=BLOCKS_LATER {
        chain.mine().await;
    }
    let newest = newest(chain).await.header;
    let mut found = Vec::new();
    for height in before.height + 1..=newest.height {
        let block = block(chain, height).await;
        let own = block.transfers.iter().filter(|transfer| transfer.to == to);
        found.extend(own.map(|own| (own.tx_hash.clone(), own.asset.clone(), own.amount.clone())));
    }
    let units = TransferAmount::Units(BaseUnits::new(4_242));
    assert_eq!(found, [(tx_hash, chain.asset(Coin::Native), units)], "{}", chain.name());
    Outcome::Proven
}

/// An underpayment and its top-up. A source does not know when an invoice was created.
pub async fn in_parts<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    let to = chain.fresh_address().await;
    let mut keys = HashSet::new();
    for units in [600, 900] {
        let block = pays(chain, &[(Coin::Native, vec![Output::new(&to, units)])]).await;
        let own = block.transfers.into_iter().filter(|transfer| transfer.to == to);
        for transfer in own {
            assert!(keys.insert(transfer.key), "{}: a key comes twice", chain.name());
        }
    }
    assert_eq!(keys.len(), 2, "{}", chain.name());
    Outcome::Proven
}

pub async fn one_address<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    let to = chain.fresh_address().await;
    let coins: &[Coin] = match chain.lacks(Feature::Tokens) {
        Some(_) => &[Coin::Native],
        None => &[Coin::Native, Coin::Token],
    };
    // The same amount twice: only the key distinguishes the payments.
    let payments: Vec<_> = coins
        .iter()
        .flat_map(|coin| [500, 500, 700].map(|units| (*coin, vec![Output::new(&to, units)])))
        .collect();
    pays(chain, &payments).await;
    Outcome::Proven
}

async fn outputs<C: ChainUnderTest>(chain: &mut C, coin: Coin) {
    let (one, two) = (chain.fresh_address().await, chain.fresh_address().await);
    let outputs = [(&one, 10), (&two, 20), (&one, 10)].map(|(to, units)| Output::new(to, units));
    pays(chain, &[(coin, outputs.to_vec())]).await;
}

pub async fn native_outputs<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    need!(chain, Feature::ManyNativeOutputs);
    outputs(chain, Coin::Native).await;
    Outcome::Proven
}

pub async fn token_outputs<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    need!(chain, Feature::Tokens);
    need!(chain, Feature::ManyTokenOutputs);
    outputs(chain, Coin::Token).await;
    Outcome::Proven
}

pub async fn extremes<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    let mut payments = Vec::new();
    for coin in [Coin::Native, Coin::Token] {
        if coin == Coin::Token && chain.lacks(Feature::Tokens).is_some() {
            continue;
        }
        let to = chain.fresh_address().await;
        payments.push((coin, vec![Output::new(&to, 1)]));
        if chain.lacks(Feature::LargestAmount(coin)).is_none() {
            payments.push((coin, vec![Output::new(&to, u128::MAX)]));
        }
    }
    pays(chain, &payments).await;
    Outcome::Proven
}

pub async fn beyond<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    let mut reason = None;
    let mut payments = Vec::new();
    for coin in [Coin::Native, Coin::Token] {
        if let Some(lacking) = chain.lacks(Feature::Beyond128Bits(coin)) {
            reason = Some(lacking);
            continue;
        }
        let to = chain.fresh_address().await;
        let amount =
            TransferAmount::Beyond128Bits("340282366920938463463374607431768211456".into());
        payments.push((coin, vec![Output { to: to.clone(), amount }]));
        payments.push((coin, vec![Output::new(&to, 77)]));
    }
    match reason {
        Some(reason) if payments.is_empty() => Outcome::Lacking(reason),
        _ => {
            pays(chain, &payments).await;
            Outcome::Proven
        }
    }
}

pub async fn zero<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    let to = chain.fresh_address().await;
    let mut reason = None;
    let mut payments = Vec::new();
    for coin in [Coin::Native, Coin::Token] {
        match chain.lacks(Feature::ZeroAmount(coin)) {
            Some(lacking) => reason = Some(lacking),
            None => payments.push((coin, vec![Output::new(&to, 0)])),
        }
    }
    if let (Some(reason), true) = (reason, payments.is_empty()) {
        return Outcome::Lacking(reason);
    }
    pays(chain, &payments).await;
    Outcome::Proven
}

pub async fn failures<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    need!(chain, Feature::Failures);
    let mut failed = vec![chain.send(&Act::Fail(Coin::Native)).await];
    if chain.lacks(Feature::Tokens).is_none() {
        failed.push(chain.send(&Act::Fail(Coin::Token)).await);
    }
    let to = chain.fresh_address().await;
    let block = pays(chain, &[(Coin::Native, vec![Output::new(&to, 9)])]).await;
    let of_failed = |transfer: &&Transfer| failed.contains(&transfer.tx_hash);
    assert_eq!(block.transfers.iter().find(of_failed), None, "{}", chain.name());
    Outcome::Proven
}

pub async fn look_alike<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    need!(chain, Feature::Tokens);
    assert_ne!(chain.asset(Coin::Token), chain.asset(Coin::LookAlike));
    let to = chain.fresh_address().await;
    let pay = |coin| (coin, vec![Output::new(&to, 1_000_000)]);
    pays(chain, &[pay(Coin::Token), pay(Coin::LookAlike)]).await;
    Outcome::Proven
}

pub async fn noise<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    need!(chain, Feature::Noise);
    let (noisy, quiet) = (chain.fresh_address().await, chain.fresh_address().await);
    chain.make_noise(&noisy).await;
    let block = pays(chain, &[(Coin::Native, vec![Output::new(&quiet, 3)])]).await;
    assert_eq!(received(&block, &[&noisy]), [], "{}", chain.name());
    Outcome::Proven
}

pub async fn hidden<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    if let Some(reason) = chain.lacks(Feature::HiddenNative) {
        let at = head(chain).await;
        let answer = chain.source().native_balances(&at, &[]).await.expect("balances");
        assert_eq!(answer, None, "blocks show everything, so balances are not offered");
        return Outcome::Lacking(reason);
    }
    let to = chain.fresh_address().await;
    chain.send(&Act::PayHidden(Output::new(&to, 4_321))).await;
    chain.mine().await;
    let block = newest(chain).await;
    assert_eq!(received(&block, &[&to]), [], "{}: it is not hidden", chain.name());
    assert_eq!(balances(chain, &block.header, &[to]).await, [4_321], "{}", chain.name());
    Outcome::Proven
}

pub async fn dated_balances<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    need!(chain, Feature::HiddenNative);
    let mut addresses = Vec::with_capacity(ADDRESSES);
    for _ in 0..ADDRESSES {
        addresses.push(chain.fresh_address().await);
    }
    let (first, last) = (addresses[0].clone(), addresses[ADDRESSES - 1].clone());
    let before = head(chain).await;
    let one = pays(chain, &[(Coin::Native, vec![Output::new(&last, 11)])]).await;
    let two = pays(chain, &[(Coin::Native, vec![Output::new(&first, 22)])]).await;
    for (at, expected) in [(&before, (0, 0)), (&one.header, (0, 11)), (&two.header, (22, 11))] {
        let balances = balances(chain, at, &addresses).await;
        assert_eq!(balances.len(), ADDRESSES);
        assert_eq!((balances[0], balances[ADDRESSES - 1]), expected, "{}", chain.name());
        assert!(balances[1..ADDRESSES - 1].iter().all(|balance| *balance == 0));
    }
    assert_eq!(balances(chain, &before, &[]).await, [0_u128; 0], "{}", chain.name());
    Outcome::Proven
}

pub async fn mempool<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    let mempool = chain.source().mempool().await.expect("mempool");
    if let Some(reason) = chain.lacks(Feature::Mempool) {
        let (transfers, listed) = (mempool.transfers, mempool.listed);
        assert!(
            transfers.is_empty() && listed.is_empty(),
            "{} has a mempool after all",
            chain.name()
        );
        return Outcome::Lacking(reason);
    }
    let to = chain.fresh_address().await;
    chain.send(&Act::Pay(Coin::Native, vec![Output::new(&to, 55)])).await;
    let ours = |waiting: Vec<Transfer>| -> Vec<Transfer> {
        waiting.into_iter().filter(|transfer| transfer.to == to).collect()
    };
    let mempool = chain.source().mempool().await.expect("mempool");
    let waiting = ours(mempool.transfers);
    assert_eq!(waiting.len(), 1, "{}: the payment is not seen waiting", chain.name());
    let hash = waiting[0].tx_hash.clone();
    chain.mine().await;
    assert_eq!(ours(newest(chain).await.transfers), waiting, "{}: it changed", chain.name());
    let after = chain.source().mempool().await.expect("mempool");
    assert_eq!(ours(after.transfers), [], "still waiting");
    assert!(mempool.listed.contains(&hash) && !after.listed.contains(&hash), "{}", chain.name());
    Outcome::Proven
}

pub async fn replay<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    for height in chain.first_height()..=head(chain).await.height {
        let (first, second) = (block(chain, height).await, block(chain, height).await);
        assert_eq!(first.header, second.header, "{}", chain.name());
        assert_eq!(first.transfers, second.transfers, "{}: block {height}", chain.name());
    }
    Outcome::Proven
}
