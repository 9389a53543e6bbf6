//! A link for one payment.

use futures_util::future::join_all;
use gateway::invoice::Status;
use serde_json::json;
use support::shop::{deposit, with_shop};

use super::{created, id, payment_id, send};

#[tokio::test(flavor = "multi_thread")]
async fn visitors_of_a_single_use_link_share_one_open_invoice_and_a_payment_uses_it_up() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let client = &shop.merchant.client;
        let body = json!({ "single_use": true, "accepted": ["usdtmatic@polygon"] });
        let link = created(client, &body).await;
        let buyer = shop.stack.buyer();
        let sent = join_all((0..8).map(|_| send(&buyer, id(&link), &[]))).await;
        let first = payment_id(&sent[0]);
        assert!(sent.iter().all(|answer| payment_id(answer) == first));
        // A cancelled invoice frees the link.
        shop.stack.gateway.cancel_invoice(&first).await.unwrap();
        let second = payment_id(&send(&buyer, id(&link), &[]).await);
        assert_ne!(second, first);
        let choice = json!({ "token_id": "usdtmatic@polygon" });
        let chosen = buyer.post(&format!("/api/pay/{second}/select"), &choice).await;
        assert_eq!(chosen.status, 200, "{}", chosen.body);
        assert_eq!(payment_id(&send(&buyer, id(&link), &[]).await), second);
        shop.send(&deposit(&second, "25")).await;
        shop.becomes(&second, Status::Paid).await;
        let used = send(&buyer, id(&link), &[]).await;
        assert!(used.status == 410 && used.body.contains("has been paid"), "{}", used.body);
        let page = buyer.get(&format!("/l/{}", id(&link))).await;
        assert!(page.status == 410 && page.body.contains("has been paid"), "{}", page.body);
        assert_eq!(shop.number("select count(*) from invoice").await, 2);
    })
    .await;
}
