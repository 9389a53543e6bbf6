//! `gatewayctl dead-letters`: dead letters are listed, and get exactly one fresh cycle.

use gateway::webhook::retry::IPN;
use serde_json::{Value, json};
use support::{
    client::ctl::Ctl,
    server::{
        broker::eventually,
        stack::{Merchant, Stack, with_stack},
    },
    shop::receiver::Receiver,
};

/// Pays an invoice whose receiver refuses, until its webhook is dead.
async fn dead_letter(stack: &Stack, merchant: &Merchant, ctl: &Ctl, receiver: &Receiver) -> Value {
    let body = json!({
        "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic",
        "ipn_callback_url": receiver.url,
    });
    let created = merchant.client.post("/v1/payment", &body).await;
    let id = created.json()["payment_id"].as_str().unwrap().to_owned();
    ctl.json(&["simulate", "deposit", "--payment-id", &id, "--amount", "25"]).await;
    let merchant = stack.gateway.merchant(merchant.new.id).await.unwrap().id.to_string();
    eventually("a dead letter", async || {
        let list = ctl.json(&["dead-letters", "list", "--merchant", &merchant]).await;
        let list = list.as_array().unwrap();
        list.iter().find(|letter| letter["payment_id"] == id.as_str()).cloned()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_is_listed_and_requeued_with_the_same_event_id() {
    with_stack(|stack| async move {
        stack.start_all();
        let (ctl, merchant) = (Ctl::of(&stack), stack.merchant().await);
        let receiver = Receiver::answering(500).await;
        let letter = dead_letter(&stack, &merchant, &ctl, &receiver).await;
        assert_eq!(
            (&letter["queue"], &letter["attempts"]),
            (&"ipn-delivery".into(), &IPN.attempts_max.into())
        );
        assert_eq!(letter["last_status"], 500);
        assert!(letter["dead_since"].is_string(), "{letter}");
        let host = receiver.url.trim_start_matches("http://").trim_end_matches("/ipn");
        assert_eq!(letter["url_host"], host);
        let event = letter["event_id"].as_str().unwrap();
        let text = ctl.run(&["dead-letters", "list", "--queue", "ipn-delivery"]).await.expect_ok();
        assert!(text.stdout.contains(event) && text.stdout.contains("dead-letters requeue"));

        receiver.answer(200);
        let requeue = ["dead-letters", "requeue", "--event-id", event];
        let answer = ctl.json(&requeue).await;
        assert_eq!(answer, json!({ "requeued": [event], "count": 1 }));
        let noted = ctl.json(&["audit", event]).await;
        assert_eq!(noted.as_array().unwrap().len(), 1, "{noted}");
        assert_eq!(
            (&noted[0]["act"], &noted[0]["subject_kind"]),
            (&"insert".into(), &"outbox".into())
        );
        let received = receiver.wait_for(6).await;
        assert!(received.iter().all(|post| post.json()["event_id"] == event));
        eventually("delivered", async || {
            let shown = ctl.json(&["deliveries", "show", event]).await;
            (shown["state"] == "delivered" && shown["cycle"] == 2).then_some(())
        })
        .await;
        assert_eq!(ctl.json(&["dead-letters", "list"]).await, json!([]));
        assert_eq!(ctl.json(&requeue).await, json!({ "requeued": [], "count": 0 }));
        let text = ctl.run(&requeue).await.expect_ok().stdout;
        assert_eq!(text, format!("{event} is not dead but delivered.\n"));
        let unknown = ctl.run(&["dead-letters", "requeue", "--event-id", "evt_0"]).await;
        unknown.expect_failure("no event has the id evt_0");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_queue_is_requeued_by_merchant_and_by_time() {
    with_stack(|stack| async move {
        stack.start_all();
        let ctl = Ctl::of(&stack);
        let (one, other) = (stack.merchant().await, stack.merchant().await);
        let receiver = Receiver::answering(500).await;
        let first = dead_letter(&stack, &one, &ctl, &receiver).await;
        let second = dead_letter(&stack, &other, &ctl, &receiver).await;
        receiver.answer(200);
        let requeue = ["dead-letters", "requeue", "--queue", "ipn-delivery"];
        let none = ctl.json(&[&requeue[..], &["--since", "2999-01-01T00:00:00Z"]].concat()).await;
        assert_eq!(none["count"], 0);
        let id = one.new.id.to_string();
        let ones = ctl.json(&[&requeue[..], &["--merchant", &id]].concat()).await;
        assert_eq!(ones["requeued"], json!([first["event_id"]]));
        let since = second["dead_since"].as_str().unwrap();
        let rest = ctl.json(&[&requeue[..], &["--since", since]].concat()).await;
        let rest = rest["requeued"].as_array().unwrap();
        assert!(rest.contains(&second["event_id"]), "{rest:?}");
        receiver.wait_for(12).await;
    })
    .await;
}
