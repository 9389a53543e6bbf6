//! A payment and a reminder at the same instant, and reminders by many copies at once.

use futures_util::future::join_all;
use gateway::asset::Network;
use serde_json::json;
use support::shop::with_shop;

use super::{advance, form, link, offsets, payment_id, read, reminded, subscribed, thirty_days};

#[tokio::test(flavor = "multi_thread")]
async fn of_many_copies_each_reminder_is_written_by_one() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let (stop, workers) = shop.stack.start(&gateway_workers::Role::ALL);
        let link_id = link(&shop, json!({})).await;
        for at in 0..5 {
            let one = subscribed(&shop, &link_id, &format!("a{at}@example.com")).await;
            shop.webhook(at + 1).await;
            advance(&shop, &one, 20).await;
        }
        stop.cancel();
        for worker in workers {
            worker.await.unwrap();
        }
        shop.run("update subscription set advanced_days = 60, due_at = now() - interval '1 day'")
            .await;
        let gateway = &shop.stack.gateway;
        for told in join_all((0..8).map(|_| gateway.remind_subscribers())).await {
            told.unwrap();
        }
        gateway.remind_subscribers().await.unwrap();
        assert_eq!(offsets(&shop).await.len(), 35);
        assert_eq!(shop.number("select count(*) from subscription_reminder").await, 35);
    })
    .await;
}

/// Whichever comes first: a paid renewal is followed by no reminder about it.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_and_a_reminder_at_once_leave_a_paid_subscription() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let link_id = link(&shop, thirty_days()).await;
        for turn in 0..4 {
            let (one, page) = reminded(&shop, &link_id, &format!("a{turn}@example.com")).await;
            let renewal = payment_id(&form(&shop, &page, &[]).await);
            let choice = json!({ "token_id": "usdtmatic@polygon" });
            let path = format!("/api/pay/{renewal}/select");
            assert_eq!(shop.stack.buyer().post(&path, &choice).await.status, 200);
            let (_, ()) = tokio::join!(shop.pay(&renewal, "10"), advance(&shop, &one, 1));
            shop.becomes(&renewal, gateway::invoice::Status::Paid).await;
            let now = read(&shop, &one).await;
            assert_eq!((&now["state"], &now["subscription_cycle"]), (&json!("active"), &json!(2)));
            shop.look(Network::Polygon).await;
            let before = offsets(&shop).await.len();
            shop.stack.gateway.remind_subscribers().await.unwrap();
            assert_eq!(offsets(&shop).await.len(), before);
        }
    })
    .await;
}
