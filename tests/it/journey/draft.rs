//! Invoices whose currency the buyer picks (spec, "Unresolved draft").

use gateway::{invoice::Status, merchant::settings::Settings};
use serde_json::json;
use support::{
    client::Answer,
    shop::{Shop, with_shop, with_shop_of},
};

async fn draft(shop: &Shop) -> String {
    shop.invoice_of(json!({ "pay_currency": "all" })).await
}

async fn select(shop: &Shop, id: &str, token_id: &str) -> Answer {
    let body = json!({ "token_id": token_id });
    shop.stack.buyer().post(&format!("/api/pay/{id}/select"), &body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_buyer_picks_a_currency_and_the_same_invoice_is_paid() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = draft(&shop).await;
        let before = shop.payment(&id).await;
        assert_eq!(before["payment_status"], "waiting");
        assert!(before["pay_address"].is_null(), "{before}");
        assert_eq!(select(&shop, &id, "usdcmatic@polygon").await.status, 200);
        let after = shop.payment(&id).await;
        assert_eq!(after["payment_id"], id.as_str());
        assert_eq!(after["pay_currency"], "usdcmatic");
        assert_eq!(after["pay_amount"].to_string(), "100");
        assert!(after["pay_address"].is_string(), "{after}");
        assert_eq!(after.get("accepted_currencies"), None);
        shop.pay(&id, "100").await;
        let ipn = shop.webhook(1).await;
        assert_eq!((&ipn["payment_id"], &ipn["payment_status"]), (&json!(id), &json!("finished")));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_choices_at_once_give_one() {
    with_shop(|shop| async move {
        for _ in 0..5 {
            let id = draft(&shop).await;
            let (one, two) = tokio::join!(
                select(&shop, &id, "usdcmatic@polygon"),
                select(&shop, &id, "usdtbsc@bsc")
            );
            let chosen = shop.payment(&id).await["pay_currency"].clone();
            match (one.status, two.status) {
                (200, 400) => assert_eq!(chosen, "usdcmatic"),
                (400, 200) => assert_eq!(chosen, "usdtbsc"),
                statuses => panic!("{statuses:?}: {} {}", one.body, two.body),
            }
        }
        let addresses = shop.number("select count(*) from deposit_address").await;
        assert_eq!(addresses, 5);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_payment_window_starts_with_the_choice() {
    let settings = Settings { selection_window_seconds: 1, ..Settings::default() };
    with_shop_of(settings, |shop| async move {
        let id = draft(&shop).await;
        assert_eq!(select(&shop, &id, "usdcmatic@polygon").await.status, 200);
        let payment = shop.payment(&id).await;
        assert_eq!(payment["time_limit"], "00:30:00");
        let left =
            shop.number("select extract(epoch from due_at - now())::bigint from timer").await;
        assert!((1700..=1800).contains(&left), "{left}");
        // The selection window's end finds nothing to expire.
        let row = shop.row_id(&id).await;
        shop.stack.gateway.expire_invoice(row).await.unwrap();
        assert_eq!(shop.status(&id).await, Status::Pending);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_selection_window_nothing_can_be_picked() {
    with_shop(|shop| async move {
        let id = draft(&shop).await;
        shop.end_window(&id, 1).await;
        select(&shop, &id, "usdcmatic@polygon").await.expect_error(400, "INVALID_REQUEST");
        let row = shop.row_id(&id).await;
        shop.stack.gateway.expire_invoice(row).await.unwrap();
        assert_eq!(shop.status(&id).await, Status::Expired);
        select(&shop, &id, "usdcmatic@polygon").await.expect_error(400, "INVALID_REQUEST");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_draft_is_unresolved_to_the_list_and_to_reading_alike() {
    with_shop(|shop| async move {
        let (expired, cancelled) = (shop.expired(json!({})).await, draft(&shop).await);
        shop.stack.gateway.cancel_invoice(&cancelled).await.unwrap();
        let chosen = draft(&shop).await;
        assert_eq!(select(&shop, &chosen, "usdcmatic@polygon").await.status, 200);
        let list = shop.merchant.client.get("/v1/payment?limit=100").await.json();
        let listed: Vec<_> =
            list["data"].as_array().unwrap().iter().map(|one| one["payment_id"].clone()).collect();
        assert_eq!((&list["total"], listed), (&json!(1), vec![json!(chosen)]));
        for (id, status, resolved) in [
            (&expired, "expired", false),
            (&cancelled, "failed", false),
            (&chosen, "waiting", true),
        ] {
            let read = shop.payment(id).await;
            assert_eq!(read["payment_status"], status);
            assert_eq!(read["pay_currency"].is_null(), !resolved, "{read}");
            assert_eq!(read.get("accepted_currencies").is_some(), !resolved, "{read}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_merchants_draft_is_still_chosen_and_paid() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = draft(&shop).await;
        shop.stack.gateway.set_suspended(shop.merchant.new.id, true).await.unwrap();
        assert_eq!(select(&shop, &id, "usdcmatic@polygon").await.status, 200);
        shop.pay(&id, "100").await;
        let ipn = shop.webhook(1).await;
        assert_eq!((&ipn["payment_id"], &ipn["payment_status"]), (&json!(id), &json!("finished")));
        assert_eq!(ipn["pay_currency"], "usdcmatic");
        let refused = shop.merchant.client.get(&format!("/v1/payment/{id}")).await;
        refused.expect_error(403, "MERCHANT_SUSPENDED");
    })
    .await;
}
