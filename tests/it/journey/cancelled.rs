//! Cancelling, which is possible only before a deposit is seen (spec, Rules 1).

use gateway::{asset::Network, invoice::Status};
use serde_json::json;
use support::{
    client::Answer,
    shop::{Shop, unconfirmed, with_shop},
};

async fn cancel(shop: &Shop, id: &str) -> Answer {
    shop.stack.buyer().post(&format!("/api/pay/{id}/cancel"), &json!({})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_buyer_can_cancel_an_unpaid_invoice_and_no_ipn_is_sent() {
    with_shop(|shop| async move {
        let draft = json!({ "pay_currency": "all" });
        for id in [shop.invoice().await, shop.invoice_of(draft).await] {
            assert_eq!(cancel(&shop, &id).await.status, 200);
            assert_eq!(shop.status(&id).await, Status::Cancelled);
            assert_eq!(shop.payment(&id).await["payment_status"], "failed");
            cancel(&shop, &id).await.expect_error(400, "INVALID_REQUEST");
            assert!(shop.events(&id).await.is_empty());
        }
        assert_eq!(shop.number("select count(*) from timer").await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_waiting_in_the_mempool_rules_out_cancelling() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        let waiting = shop.send(&unconfirmed(&id, "1")).await;
        shop.look(Network::Polygon).await;
        cancel(&shop, &id).await.expect_error(400, "INVALID_REQUEST");
        assert_eq!(shop.status(&id).await, Status::Pending);
        // Replaced by its sender (replace-by-fee): then the invoice is unpaid, and cancelling is
        // possible again.
        shop.stack.gateway.simulate_orphan(&waiting.txid).await.unwrap();
        shop.look(Network::Polygon).await;
        assert_eq!(cancel(&shop, &id).await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partially_paid_invoice_cannot_be_cancelled() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = shop.invoice().await;
        shop.pay(&id, "1").await;
        shop.becomes(&id, Status::Partial).await;
        cancel(&shop, &id).await.expect_error(400, "INVALID_REQUEST");
        assert_eq!(shop.status(&id).await, Status::Partial);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_that_races_a_deposit_never_cancels_an_invoice_whose_deposit_was_seen() {
    with_shop(|shop| async move {
        for _ in 0..10 {
            let id = shop.invoice().await;
            shop.send(&unconfirmed(&id, "100")).await;
            let (answer, _) = tokio::join!(cancel(&shop, &id), shop.look(Network::Polygon));
            let status = shop.status(&id).await;
            match answer.status {
                200 => assert_eq!(status, Status::Cancelled),
                _ => assert_eq!(status, Status::Pending, "{}", answer.body),
            }
            shop.stack.gateway.simulate_mine(Network::Polygon, 16).await.unwrap();
            shop.look(Network::Polygon).await;
            shop.stack.gateway.match_deposits(shop.deposit_of(&id).await).await.unwrap();
            let expected = if answer.status == 200 { Status::Cancelled } else { Status::Paid };
            assert_eq!(shop.status(&id).await, expected);
        }
    })
    .await;
}
