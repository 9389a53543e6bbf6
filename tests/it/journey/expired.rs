//! Windows that end (spec, "Transitions" and "When IPNs fire").

use gateway::{invoice::Status, merchant::settings::Settings};
use serde_json::json;
use support::shop::{Shop, with_shop_of};

fn short() -> Settings {
    Settings { payment_window_seconds: 1, selection_window_seconds: 1, ..Settings::default() }
}

async fn expires(shop: &Shop, id: &str, paid: &str) {
    let ipn = shop.webhook_about(id, 1).await;
    assert_eq!(ipn["payment_status"], "expired");
    assert_eq!(ipn["actually_paid"].to_string(), paid);
    assert_eq!(ipn.get("_gateway"), None);
    assert_eq!(shop.status(id).await, Status::Expired);
    assert_eq!(shop.payment(id).await["payment_status"], "expired");
    assert_eq!(shop.events(id).await, ["expired"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_partial_and_draft_invoices_expire_and_say_so() {
    with_shop_of(short(), |shop| async move {
        shop.stack.start_all();
        let pending = shop.invoice().await;
        let partial = shop.invoice().await;
        shop.pay(&partial, "99.999999").await;
        let draft = shop.invoice_of(json!({ "pay_currency": "all" })).await;
        expires(&shop, &pending, "0").await;
        expires(&shop, &partial, "99.999999").await;
        expires(&shop, &draft, "0").await;
        let body = shop.webhook_about(&draft, 1).await;
        assert!(body["pay_currency"].is_null() && body["pay_address"].is_null(), "{body}");
        assert_eq!(shop.books(&partial).await[0].kind, "deposit");
        assert_eq!(shop.number("select count(*) from timer").await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_without_a_callback_address_expires_silently() {
    with_shop_of(short(), |shop| async move {
        shop.stack.start_all();
        let id = shop.invoice_of(json!({ "ipn_callback_url": null })).await;
        shop.becomes(&id, Status::Expired).await;
        assert!(shop.events(&id).await.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deadline_of_a_paid_invoice_passes_without_another_event() {
    with_shop_of(short(), |shop| async move {
        shop.stack.start_all();
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.becomes(&id, Status::Paid).await;
        assert_eq!(shop.number("select count(*) from timer").await, 0);
        let row = shop.row_id(&id).await;
        shop.stack.gateway.expire_invoice(row).await.unwrap();
        assert_eq!(shop.webhook(1).await["payment_status"], "finished");
        assert_eq!(shop.events(&id).await, ["finished"]);
    })
    .await;
}
