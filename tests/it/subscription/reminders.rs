//! Reminders: seven, each once, in order; over restarts, an outage of days and an empty broker.

use gateway_workers::Role;
use serde_json::{Value, json};
use support::{server::broker::eventually, shop::with_shop};

use super::{
    advance, form, link, offsets, page_path, pay, payment_id, read, reminders_become, subscribed,
    thirty_days,
};

#[tokio::test(flavor = "multi_thread")]
async fn seven_reminders_come_in_order_and_then_it_is_past_due_and_a_late_payment_covers_today() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let link_id = link(&shop, thirty_days()).await;
        let one = subscribed(&shop, &link_id, "ada@example.com").await;
        shop.webhook(1).await;
        shop.receiver.forget();
        advance(&shop, &one, 26).await;
        // Two at a time: each day is told as its own.
        advance(&shop, &one, 2).await;
        reminders_become(&shop, &[-3, -2]).await;
        advance(&shop, &one, 20).await;
        reminders_become(&shop, &[-3, -2, -1, 0, 1, 2, 3]).await;
        let sent = shop.receiver.wait_for(7).await;
        let bodies: Vec<Value> = sent.iter().map(|one| shop.verified(one)).collect();
        let mut days: Vec<_> = bodies
            .iter()
            .map(|body| body["_gateway"]["renewal"]["day_offset"].as_i64().unwrap())
            .collect();
        days.sort_unstable();
        assert_eq!(days, [-3, -2, -1, 0, 1, 2, 3]);
        let page = format!("http://{}/renew/pzr_", shop.stack.checkout);
        for body in &bodies {
            let renewal = &body["_gateway"]["renewal"];
            assert_eq!(renewal["cycle"], 2);
            let url = renewal["renewal_url"].as_str().unwrap();
            assert!(url.starts_with(&page), "{url}");
            let path = url.strip_prefix(&format!("http://{}", shop.stack.checkout)).unwrap();
            assert_eq!(shop.stack.buyer().get(path).await.status, 200, "each link opens the page");
            assert_eq!(renewal["next_renewal_at"], one["next_renewal_at"]);
            assert_eq!(body["payment_status"], "finished", "the latest invoice as it is");
        }
        assert_eq!(read(&shop, &one).await["state"], "past_due");
        // 48 days in: the payment falls into the second period, which ends on day 60.
        let renewal = payment_id(&form(&shop, &page_path(&shop).await, &[]).await);
        pay(&shop, &renewal).await;
        let now = read(&shop, &one).await;
        assert_eq!((&now["state"], &now["subscription_cycle"]), (&json!("active"), &json!(2)));
        // Five periods later nothing between is owed.
        advance(&shop, &one, 150).await;
        eventually("it is past due again", async || {
            (read(&shop, &one).await["state"] == "past_due").then_some(())
        })
        .await;
        let late = payment_id(&form(&shop, &page_path(&shop).await, &[]).await);
        pay(&shop, &late).await;
        assert_eq!(read(&shop, &one).await["subscription_cycle"], 7);
        assert_eq!(shop.payment(&late).await["subscription_cycle"], 7);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_of_a_sandbox_link_passes_in_seconds_by_the_same_rows() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let quick = json!({ "interval": "day", "interval_count": 7, "sandbox_day_seconds": 1 });
        let link_id = link(&shop, quick).await;
        let one = subscribed(&shop, &link_id, "ada@example.com").await;
        reminders_become(&shop, &[-3, -2, -1, 0, 1, 2, 3]).await;
        let now = read(&shop, &one).await;
        // The calendar is not scaled: the date of the renewal is a week away.
        assert_eq!(
            (&now["state"], &now["next_renewal_at"]),
            (&json!("past_due"), &one["next_renewal_at"])
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_days_without_workers_and_with_an_empty_broker_each_missed_day_is_sent_once() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let (stop, workers) = shop.stack.start(&Role::ALL);
        let link_id = link(&shop, thirty_days()).await;
        let one = subscribed(&shop, &link_id, "ada@example.com").await;
        shop.webhook(1).await;
        stop.cancel();
        for worker in workers {
            worker.await.unwrap();
        }
        shop.receiver.forget();
        // Down while three of the days pass.
        advance(&shop, &one, 29).await;
        assert_eq!(offsets(&shop).await, Vec::<i64>::new());
        let told = shop.stack.gateway.remind_subscribers().await.unwrap();
        assert!(!told);
        let written = offsets(&shop).await;
        assert_eq!(written, [-3, -2, -1]);
        // What was written waits in rows alone: the messages are lost with the broker's queues.
        shop.run("delete from outbox").await;
        shop.run("update delivery set next_attempt_at = now() - interval '1 hour' where state = 'pending'").await;
        for _ in 0..3 {
            shop.stack.gateway.remind_subscribers().await.unwrap();
        }
        assert_eq!(offsets(&shop).await, written);
        shop.stack.start_all();
        let sent = shop.receiver.wait_for(written.len()).await;
        let mut ids: Vec<_> =
            sent.iter().map(|one| shop.verified(one)["event_id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), written.len(), "nothing twice");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paid_early_the_other_reminders_are_dropped_and_the_last_cycle_ends_it() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let two = json!({ "interval": "day", "interval_count": 10, "cycles_max": 2 });
        let link_id = link(&shop, two).await;
        let one = subscribed(&shop, &link_id, "ada@example.com").await;
        advance(&shop, &one, 8).await;
        reminders_become(&shop, &[-3, -2]).await;
        let renewal = payment_id(&form(&shop, &page_path(&shop).await, &[]).await);
        pay(&shop, &renewal).await;
        assert_eq!(read(&shop, &one).await["subscription_cycle"], 2);
        advance(&shop, &one, 30).await;
        eventually("it has ended", async || {
            (read(&shop, &one).await["state"] == "ended").then_some(())
        })
        .await;
        assert_eq!(offsets(&shop).await, [-3, -2]);
    })
    .await;
}
