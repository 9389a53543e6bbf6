//! Events out of order: a refused one is delivered again after a later one.
//!
//! A receiver that refuses cannot be spared this, so each body has the time at which its own state
//! arose, which receivers compare. `event_at` is the time of the attempt and defines no order.

use gateway::asset::Network;
use serde_json::{Value, json};
use support::{
    client::ctl::Ctl,
    fault::fired::fired,
    server::stack::{only, with_configured_stack},
    shop::{
        payouts::{Payer, evm_address},
        with_shop,
    },
};

/// Final state of a receiver that never lets an older state overwrite a newer one.
fn kept<'a>(bodies: &'a [Value], changed_at: &str) -> &'a Value {
    let time = |body: &Value| body.pointer(changed_at).unwrap().as_str().unwrap().to_owned();
    bodies.iter().fold(&bodies[0], |kept, body| if time(body) > time(kept) { body } else { kept })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overtaken_ipn_carries_an_older_event_time() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let ctl = Ctl::of(&shop.stack);
        shop.receiver.answer_first(&[500; 5]);
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.receiver.wait_for(5).await;
        let (dead, _) = shop.delivery_becomes(&id, "dead").await;
        // A late deposit changes no status, but it is counted and reported.
        shop.pay(&id, "50").await;
        let newer = shop.webhook(6).await;
        assert_ne!(newer["event_id"], dead.event_id);
        ctl.json(&["dead-letters", "requeue", "--event-id", &dead.event_id]).await;
        let late = shop.webhook(7).await;

        // It is the old event, word for word, and only its attempt is new.
        assert_eq!(late["event_id"], dead.event_id);
        fired(1);
        let mut first = shop.webhook(1).await;
        first["event_at"] = late["event_at"].clone();
        assert_eq!(first, late);
        assert!(late["event_at"].as_u64() >= newer["event_at"].as_u64());
        assert_ne!(late["actually_paid"], newer["actually_paid"]);
        let bodies: Vec<_> = shop.receiver.received().iter().map(|post| post.json()).collect();
        assert_eq!(kept(&bodies, "/updated_at")["actually_paid"], newer["actually_paid"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overtaken_payout_webhook_carries_an_older_event_time() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let (ctl, payer) = (Ctl::of(&stack), Payer::open(&stack).await);
        payer.receiver.answer_first(&[500; 5]);
        let path = "/v1/evm-mass-payout";
        let items = [json!({ "address": evm_address(1), "amount": "1" })];
        let fields = json!({ "network": "polygon", "currency": "usdtmatic", "items": items });
        let id = payer.draft(path, fields).await["id"].as_str().unwrap().to_owned();
        payer.confirm(path, &id).await;
        let cancel = payer.merchant.client.post(&format!("{path}/{id}/cancel"), &json!({})).await;
        assert_eq!(cancel.status, 200, "{}", cancel.body);
        let names = payer.event_names(6).await;
        assert_eq!(names[5], "cancelled");
        let created = payer.events()[0]["eventId"].as_str().unwrap().to_owned();
        ctl.json(&["dead-letters", "requeue", "--event-id", &created]).await;
        let names = payer.event_names(7).await;
        assert_eq!(names[6], "created");

        let events = payer.events();
        assert_eq!(
            (&events[6]["eventId"], &events[6]["order"]),
            (&json!(created), &events[0]["order"])
        );
        fired(1);
        assert!(events[6]["eventAt"].as_u64() >= events[5]["eventAt"].as_u64());
        let kept = kept(&events, "/order/updatedAt");
        assert_eq!(kept["order"]["state"], "cancelled");
    })
    .await;
}
