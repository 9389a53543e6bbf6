//! The merchant's own screens in a browser: legible, accessible, narrow enough for a phone.

use gateway::{account::Role, invoice::Status};
use serde_json::json;
use support::{client::browser::Browser, shop::with_shop};

use super::{Desk, pages};

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_create_try_and_send_again_are_legible_and_work_in_a_browser() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let (gateway, address) = shop.stack.dashboard("").await;
        let desk = Desk { stack: shop.stack.clone(), gateway, address };
        let origin = desk.gateway.config.dashboard_url.clone();
        let paid = shop.invoice_of(json!({ "order_id": "A-2041" })).await;
        shop.pay(&paid, "250").await;
        shop.becomes(&paid, Status::Overpaid).await;
        shop.delivery_becomes(&paid, "delivered").await;
        shop.receiver.answer(500);
        let dead = shop.invoice_of(json!({ "order_id": "A-2042" })).await;
        shop.pay(&dead, "100").await;
        shop.becomes(&dead, Status::Paid).await;
        shop.delivery_becomes(&dead, "dead").await;
        let id = Some(shop.merchant.new.id);
        desk.gateway.create_account("o@example.com", Role::Owner, id).await.unwrap();
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        pages::sign_in_by_link(&desk, &tab, "o@example.com", None).await;
        for (name, path) in [
            ("overview-busy", "/".to_owned()),
            ("payment-books", format!("/payments/{paid}")),
            ("payments-filtered", "/payments?status=paid&network=polygon".to_owned()),
            ("balance", "/balance".to_owned()),
            ("event-test", "/events/test".to_owned()),
            ("events-again", "/events/resend".to_owned()),
            ("payment-new", "/payments/new".to_owned()),
        ] {
            tab.open(&format!("{origin}{path}")).await;
            pages::inspect(&tab, name).await;
        }
        pages::fill(&tab, "#price", "19.90").await;
        tab.click("form[data-action=\"payment.create\"] button").await;
        tab.shows("location.pathname.startsWith('/payments/pzi_')").await;
        pages::inspect(&tab, "payment-created").await;
        let url = tab.read_qr(".qr svg").await;
        assert!(url.starts_with(&desk.gateway.config.checkout_url), "{url}");
        shop.receiver.answer(200);
        tab.open(&format!("{origin}/events/resend")).await;
        tab.click("form[data-action=\"event.resend\"] button").await;
        shop.delivery_becomes(&dead, "delivered").await;
    })
    .await;
}
