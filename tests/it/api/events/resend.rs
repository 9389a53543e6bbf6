//! `GET /v1/events/:event_id` and sending it again.

use gateway_workers::Role;
use serde_json::{Value, json};
use support::{
    server::broker::eventually,
    shop::{Shop, with_shop},
};

use super::page;

/// The event of the only delivery of an invoice, as its merchant reads it.
async fn event(shop: &Shop, id: &str) -> Value {
    let event_id = shop.delivery(id).await.0.event_id;
    let answer = shop.merchant.client.get(&format!("/v1/events/{event_id}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

/// Waits until the delivery is in `state` after `cycle` cycles.
async fn becomes(shop: &Shop, id: &str, state: &str, cycle: i32) -> Value {
    eventually(&format!("{id} is {state} in cycle {cycle}"), async || {
        let event = event(shop, id).await;
        let delivery = &event["delivery"];
        (delivery["state"] == state && delivery["cycle"] == cycle).then_some(event)
    })
    .await
}

async fn resend(shop: &Shop, event: &Value) -> Value {
    let path = format!("/v1/events/{}/resend", event["event_id"].as_str().unwrap());
    let answer = shop.merchant.client.post(&path, &json!({})).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    answer.json()
}

fn turns(event: &Value) -> Vec<(i64, i64)> {
    let attempts = event["delivery"]["attempts"].as_array().unwrap();
    let number = |attempt: &Value, name: &str| attempt[name].as_i64().unwrap();
    attempts.iter().map(|one| (number(one, "cycle"), number(one, "attempt"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_was_down_gets_each_event_again_under_the_same_id() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.receiver.answer(503);
        shop.stack.start(&[Role::IpnDelivery]);
        let id = shop.expired(json!({})).await;
        let dead = becomes(&shop, &id, "dead", 1).await;
        assert_eq!(turns(&dead), [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5)]);
        for attempt in dead["delivery"]["attempts"].as_array().unwrap() {
            assert_eq!((&attempt["status"], &attempt["excerpt"]), (&json!(503), &json!("noted")));
            assert!(attempt["duration_ms"].as_i64().unwrap() >= 0);
            assert!(attempt["error"].as_str().unwrap().contains("503"));
            assert!(attempt["started_at"].as_str().unwrap().ends_with('Z'));
        }
        // It comes back.
        shop.receiver.answer(200);
        let accepted = resend(&shop, &dead).await;
        assert_eq!(accepted["event_id"], dead["event_id"]);
        assert_eq!(accepted["delivery"]["cycle"], 2);
        let taken = becomes(&shop, &id, "delivered", 2).await;
        assert_eq!(turns(&taken).last(), Some(&(2, 1)));
        // A webhook that was taken and lost on the other side is sent again too.
        resend(&shop, &taken).await;
        becomes(&shop, &id, "delivered", 3).await;
        let received = shop.receiver.received();
        assert_eq!(received.len(), 7);
        assert!(received.iter().all(|one| shop.verified(one)["event_id"] == dead["event_id"]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_again_while_an_attempt_is_due_changes_nothing() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let id = shop.expired(json!({})).await;
        let waiting = event(&shop, &id).await;
        assert_eq!(waiting["delivery"]["state"], "pending");
        assert_eq!(resend(&shop, &waiting).await["delivery"], waiting["delivery"]);

        // Many at once after it has died start one cycle.
        let die = "update delivery set state = 'dead', attempts = 5, next_attempt_at = null, dead_since = now() \
                   where invoice_id = $1";
        shop.sql(die, &id).await;
        let client = &shop.merchant.client;
        let path = format!("/v1/events/{}/resend", waiting["event_id"].as_str().unwrap());
        let body = json!({});
        let all = (0..10).map(|_| client.post(&path, &body));
        for answer in futures_util::future::join_all(all).await {
            assert_eq!(answer.status, 202, "{}", answer.body);
            assert_eq!(answer.json()["delivery"]["cycle"], 2);
        }
        shop.stack.start(&[Role::IpnDelivery]);
        let taken = becomes(&shop, &id, "delivered", 2).await;
        assert_eq!(turns(&taken), [(2, 1)]);
        assert_eq!(shop.receiver.received().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_without_a_webhook_says_so() {
    with_shop(|shop| async move {
        shop.invoice().await;
        let created = page(&shop.merchant.client, "").await["data"][0].clone();
        let path = format!("/v1/events/{}", created["event_id"].as_str().unwrap());
        assert_eq!(shop.merchant.client.get(&path).await.json(), created);
        let refused = shop.merchant.client.post(&format!("{path}/resend"), &json!({})).await;
        refused.expect_error(400, "INVALID_REQUEST");
        assert!(refused.body.contains("no webhook"), "{}", refused.body);
    })
    .await;
}
