//! Invoices on THORChain, NEAR and TRON, paid over a stub of each node, from the request to the
//! signed IPN.

use gateway::{asset::Network, invoice::Status};
use support::shop::paying::{due, with_paying};

use super::{
    conformance::Coin,
    stub::{
        driver::{Flavour, StubDriver},
        near::Near,
        thorchain::Thorchain,
        tron::Tron,
    },
};

/// Above the minimum of tokens on TRON.
const DOLLARS: u32 = 150;

/// An invoice is paid in two parts, with every false payment between them, and finishes.
async fn paid<F: Flavour>(network: Network, currency: &str, coin: Coin, decimals: u32) {
    let chain = StubDriver::<F>::start().await;
    chain.mine_now();
    with_paying(network, chain.node.url(), async |paying| {
        if network.family().has_pool() {
            paying.stack.gateway.fill_addresses(network, 4).await.unwrap();
        }
        let invoice = paying.invoice_of(DOLLARS, currency).await;
        let (address, units) = due(&invoice, decimals);
        let half = units / 2;

        // Its blocks are final when they are read: one is enough, also behind a gap in the heights.
        F::chain(&mut chain.node.node()).skip = if network == Network::Near { 2 } else { 0 };
        chain.pay_now(coin, &address, half);
        paying.becomes(&invoice, Status::Partial).await;
        chain.wait(chain.flavour.fail(coin).0);
        chain.wait(chain.flavour.noise(&address));
        chain.pay_now(coin, &address, units - half);
        let ipn = paying.ipns(1).await.remove(0);
        assert_eq!(ipn["payment_id"], invoice["payment_id"]);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
        assert_eq!(paying.status(&invoice).await, "finished");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rune_finishes_its_invoice() {
    paid::<Thorchain>(Network::Thorchain, "rune", Coin::Native, 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn near_finishes_its_invoice() {
    paid::<Near>(Network::Near, "near", Coin::Native, 24).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trx_finishes_its_invoice() {
    paid::<Tron>(Network::Tron, "trx", Coin::Native, 6).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn usdt_on_tron_finishes_its_invoice() {
    paid::<Tron>(Network::Tron, "usdttrc20", Coin::Token, 6).await;
}

/// A payment is seen while its block is not final, and paid once it is. `hold` sets how many of the
/// newest blocks are not.
async fn seen_before_it_is_final<F: Flavour>(
    (network, currency, coin, decimals): (Network, &str, Coin, u32),
    hold: impl Fn(&mut F::Node, bool),
) {
    let chain = StubDriver::<F>::start().await;
    (0..3).for_each(|_| chain.mine_now());
    with_paying(network, chain.node.url(), async |paying| {
        if network.family().has_pool() {
            paying.stack.gateway.fill_addresses(network, 4).await.unwrap();
        }
        let invoice = paying.invoice_of(DOLLARS, currency).await;
        let (address, units) = due(&invoice, decimals);

        hold(&mut chain.node.node(), true);
        chain.pay_now(coin, &address, units);
        paying.shows_unconfirmed(&invoice, units).await;
        assert_eq!(paying.status(&invoice).await, "waiting");
        assert_eq!(paying.deposits("seen").await, (0, 1));

        hold(&mut chain.node.node(), false);
        let ipn = paying.ipns(1).await.remove(0);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
        assert_eq!(paying.deposits("settled").await, (1, 0));
    })
    .await;
}

/// On the main network a block is solidified most of a minute after it was made.
#[tokio::test(flavor = "multi_thread")]
async fn usdt_in_a_new_block_of_tron_is_seen_at_once_and_paid_once_it_is_solidified() {
    let paid = (Network::Tron, "usdttrc20", Coin::Token, 6);
    seen_before_it_is_final::<Tron>(paid, |node, held| node.unsolidified = held.into()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn near_in_an_optimistic_block_is_seen_at_once_and_paid_once_it_is_final() {
    let paid = (Network::Near, "near", Coin::Native, 24);
    seen_before_it_is_final::<Near>(paid, |node, held| node.unfinal = held.into()).await;
}
