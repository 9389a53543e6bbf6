//! Deposits that need more confirmations than others: large ones, and coins that mature later.

use gateway::{asset::Network, merchant::settings::Settings};
use serde_json::json;
use support::shop::{Shop, unconfirmed, with_configured_shop};

const NETWORK: Network = Network::Polygon;
const RULE: &str =
    "chains.polygon.large_amount_usd = 50\nchains.polygon.large_confirmations = 20\n";

/// An invoice below the limit of large amounts.
async fn small(shop: &Shop) -> String {
    shop.invoice_of(json!({ "price_amount": 10 })).await
}

async fn required(shop: &Shop, id: &str) -> u64 {
    let status = shop.stack.gateway.buyer_status(id).await.unwrap().unwrap();
    status.asset.unwrap().required_confirmations
}

async fn finalized_after(shop: &Shop, blocks: u32) -> u64 {
    shop.stack.gateway.simulate_mine(NETWORK, blocks).await.unwrap();
    shop.look(NETWORK).await.finalized
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_deposit_waits_for_more_confirmations_and_the_buyer_sees_how_many() {
    with_configured_shop(RULE, Settings::default(), |shop| async move {
        let (large, small) = (small(&shop).await, small(&shop).await);
        shop.send(&unconfirmed(&large, "50")).await;
        shop.send(&unconfirmed(&small, "49.999999")).await;
        shop.look(NETWORK).await;
        assert_eq!((required(&shop, &large).await, required(&shop, &small).await), (20, 16));
        assert_eq!(finalized_after(&shop, 15).await, 0);
        assert_eq!(finalized_after(&shop, 1).await, 1, "the small one");
        assert_eq!(finalized_after(&shop, 3).await, 0);
        // A falling price does not lower the required confirmations.
        shop.run("update rate set price = price / 2 where symbol = 'USDT'").await;
        assert_eq!(required(&shop, &large).await, 20);
        assert_eq!(finalized_after(&shop, 1).await, 1, "the large one");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_price_a_deposit_counts_as_large() {
    with_configured_shop(RULE, Settings::default(), |shop| async move {
        let id = shop.invoice().await;
        shop.run("delete from rate where symbol = 'USDT'").await;
        shop.send(&unconfirmed(&id, "1")).await;
        assert_eq!(finalized_after(&shop, 19).await, 0);
        assert_eq!(finalized_after(&shop, 1).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_invoice_that_is_paid_in_small_parts_waits_like_one_that_is_paid_at_once() {
    with_configured_shop(RULE, Settings::default(), |shop| async move {
        let (large, small) = (shop.invoice().await, small(&shop).await);
        for id in [&large, &large, &small] {
            shop.send(&unconfirmed(id, "1")).await;
        }
        shop.look(NETWORK).await;
        assert_eq!((required(&shop, &large).await, required(&shop, &small).await), (20, 16));
        assert_eq!(finalized_after(&shop, 16).await, 1, "the small one");
        assert_eq!(finalized_after(&shop, 3).await, 0);
        assert_eq!(finalized_after(&shop, 1).await, 2);
    })
    .await;
}

/// Some parts may be final by then; those still unconfirmed wait.
#[tokio::test(flavor = "multi_thread")]
async fn deposits_wait_longer_once_the_total_of_a_small_invoice_is_large() {
    with_configured_shop(RULE, Settings::default(), |shop| async move {
        let id = small(&shop).await;
        shop.send(&unconfirmed(&id, "20")).await;
        assert_eq!((finalized_after(&shop, 15).await, required(&shop, &id).await), (0, 16));
        for amount in ["20", "9.999999"] {
            shop.send(&unconfirmed(&id, amount)).await;
        }
        assert_eq!((finalized_after(&shop, 1).await, required(&shop, &id).await), (1, 16));
        shop.send(&unconfirmed(&id, "0.000001")).await;
        assert_eq!((finalized_after(&shop, 15).await, required(&shop, &id).await), (0, 20));
        assert_eq!(finalized_after(&shop, 3).await, 0);
        assert_eq!(finalized_after(&shop, 1).await, 2, "those that were mined together");
        assert_eq!(finalized_after(&shop, 1).await, 1);
    })
    .await;
}
