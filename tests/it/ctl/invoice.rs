//! `gatewayctl invoice` and `deliveries`: an invoice's history.

use serde_json::json;
use support::{
    client::ctl::Ctl,
    server::{
        broker::eventually,
        stack::{Stack, with_stack},
    },
    shop::receiver::Receiver,
};

async fn created(stack: &Stack, callback: Option<&str>) -> String {
    let merchant = stack.merchant().await;
    let body = json!({
        "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic",
        "order_id": "A-1", "ipn_callback_url": callback,
    });
    let created = merchant.client.post("/v1/payment", &body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()["payment_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_shows_the_amounts_bookings_and_webhooks_of_a_paid_invoice() {
    with_stack(|stack| async move {
        stack.start_all();
        let ctl = Ctl::of(&stack);
        let receiver = Receiver::answering(200).await;
        let id = created(&stack, Some(&receiver.url)).await;
        let pay = ["simulate", "deposit", "--payment-id", &id, "--amount", "30"];
        let txid = ctl.json(&pay).await["txid"].as_str().unwrap().to_owned();
        let story = eventually("delivered", async || {
            let story = ctl.json(&["invoice", "explain", &id]).await;
            (story["deliveries"][0]["state"] == "delivered").then_some(story)
        })
        .await;
        assert_eq!(
            (&story["status"], &story["payment_status"]),
            (&"overpaid".into(), &"finished".into())
        );
        assert_eq!(story["token_id"], "usdtmatic@polygon");
        let deposit = &story["deposits"][0];
        assert_eq!((&deposit["txid"], &deposit["amount"]), (&txid.as_str().into(), &"30".into()));
        assert_eq!(
            (&deposit["state"], &deposit["booked_as"]),
            (&"settled".into(), &"credit".into())
        );
        for time in ["first_seen_at", "mined_at", "settled_at"] {
            assert!(deposit[time].is_string(), "{deposit}");
        }
        let kinds: Vec<_> =
            story["ledger"].as_array().unwrap().iter().map(|entry| &entry["kind"]).collect();
        assert_eq!(kinds, ["deposit", "excess"]);
        assert_eq!(
            (&story["ledger"][1]["amount"], &story["ledger"][1]["credit"]),
            (&"5".into(), &"treasury".into())
        );
        assert_eq!(story["deliveries"][0]["attempts_made"][0]["status"], 200);

        let text = ctl.run(&["invoice", "explain", &id]).await.expect_ok().stdout;
        for words in [
            "overpaid (the merchant sees finished)",
            "was first seen in",
            "was mined in block",
            "was confirmed and credited",
            "was answered with 200",
            "treasury",
        ] {
            assert!(text.contains(words), "no {words:?} in:\n{text}");
        }
        let event = story["deliveries"][0]["event_id"].as_str().unwrap();
        let delivery = ctl.json(&["deliveries", "show", event]).await;
        assert_eq!(delivery, story["deliveries"][0]);
        let cancel = ctl.run(&["invoice", "cancel", &id]).await;
        cancel.expect_failure("the invoice cannot be cancelled: it has ended already");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn show_is_the_merchants_object_and_what_it_does_not_say() {
    with_stack(|stack| async move {
        let ctl = Ctl::of(&stack);
        let id = created(&stack, None).await;
        let shown = ctl.json(&["invoice", "show", &id]).await;
        assert_eq!(
            (&shown["payment_id"], &shown["status"]),
            (&id.as_str().into(), &"pending".into())
        );
        assert_eq!(
            (&shown["payment_status"], &shown["order_id"]),
            (&"waiting".into(), &"A-1".into())
        );
        assert!(shown["merchant_id"].is_string() && shown["rate"].is_string(), "{shown}");
        assert_eq!(shown["price_amount"].to_string(), "25");
        let cancelled = ctl.json(&["invoice", "cancel", &id]).await;
        assert_eq!(
            (&cancelled["status"], &cancelled["payment_status"]),
            (&"cancelled".into(), &"failed".into())
        );
        for command in ["show", "explain", "cancel"] {
            ctl.run(&["invoice", command, "pzi_0"]).await.expect_failure("no");
        }
        ctl.run(&["deliveries", "show", "evt_0"]).await.expect_failure("no event has the id evt_0");
    })
    .await;
}
