//! Proof for balances of addresses, several at once, as in the comparison with the rows.

use gateway::chain::{BlockRef, ChainSource, coin_slack};

use super::{
    Outcome,
    driver::{Act, ChainUnderTest, Coin, Feature, Output},
    proof::head,
};

/// Far above every network's dust limit, and small enough to be paid on each.
const UNITS: u128 = 200_000_000;

/// Balances of addresses in `coin`, and the block up to which they hold.
async fn held<C: ChainUnderTest>(
    chain: &C,
    at: &BlockRef,
    addresses: &[String],
    coin: Coin,
) -> (Vec<u128>, u64) {
    let held = chain.source().holdings(at, addresses, &[chain.asset(coin)]).await;
    let held = held.unwrap_or_else(|error| panic!("{}: holdings: {error}", chain.name()));
    let held = held.unwrap_or_else(|| panic!("{}: its node tells no holdings", chain.name()));
    let units = held.by_address.iter().map(|of| of[0].expect("the asset is there").get());
    (units.collect(), held.up_to)
}

/// Compares as exactly as the network reports balances.
fn expect_held<C: ChainUnderTest>(chain: &C, found: &[u128], expected: [u128; 3]) {
    let slack = coin_slack(chain.source().network()).get();
    let enough = |(found, expected): (&u128, &u128)| found.abs_diff(*expected) <= slack;
    let all = found.len() == 3 && found.iter().zip(&expected).all(enough);
    assert!(all, "{}: {found:?}, not {expected:?}", chain.name());
}

async fn pay<C: ChainUnderTest>(chain: &mut C, coin: Coin, to: &str, units: u128) {
    chain.send(&Act::Pay(coin, vec![Output::new(to, units)])).await;
}

/// Of three addresses, one is paid in two blocks, one never and one in the second block alone.
async fn sums_of<C: ChainUnderTest>(chain: &mut C, coin: Coin) {
    let mut addresses = Vec::new();
    for _ in 0..3 {
        addresses.push(chain.fresh_address().await);
    }
    pay(chain, coin, &addresses[0], UNITS).await;
    chain.mine().await;
    let before = head(chain).await;
    pay(chain, coin, &addresses[0], 2 * UNITS).await;
    pay(chain, coin, &addresses[2], 5 * UNITS).await;
    chain.mine().await;
    let at = head(chain).await;

    let (now, up_to) = held(chain, &at, &addresses, coin).await;
    expect_held(chain, &now, [3 * UNITS, 0, 5 * UNITS]);
    assert_eq!(up_to, at.height, "{}: nothing came after it", chain.name());
    // At an older block: the balance then, or the current one with a bound that says so.
    let (then, up_to) = held(chain, &before, &addresses, coin).await;
    if up_to == before.height {
        expect_held(chain, &then, [UNITS, 0, 0]);
    } else {
        assert_eq!((then, up_to), (now, at.height), "{}", chain.name());
    }
    assert!(held(chain, &at, &[], coin).await.0.is_empty(), "{}", chain.name());
}

pub async fn sums<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    sums_of(chain, Coin::Native).await;
    if chain.lacks(Feature::Tokens).is_none() {
        sums_of(chain, Coin::Token).await;
    }
    Outcome::Proven
}
