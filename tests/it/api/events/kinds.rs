//! What the feed tells, and how it is asked.

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn},
    invoice::Status,
};
use gateway_workers::Role;
use serde_json::{Value, json};
use support::{
    client::Client,
    server::{
        broker::eventually,
        stack::{only, with_configured_stack, with_stack},
    },
    shop::{deposit, with_shop},
};

use super::{page, texts};
use crate::api::{
    order,
    shape::{EVENT, expect_fields, expect_payment},
};

/// The events of one resource, oldest first.
async fn story(client: &Client, resource: &str) -> Vec<Value> {
    let all = page(client, "?limit=100").await;
    assert_eq!(all["has_more"], false);
    let events = all["data"].as_array().unwrap().clone();
    for event in &events {
        expect_fields(event, EVENT);
    }
    events.into_iter().filter(|event| event["resource_id"] == resource).collect()
}

fn kinds(story: &[Value]) -> Vec<&str> {
    story.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_s_life_is_in_the_feed_with_its_webhooks_and_what_has_none() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start(&[Role::DepositMatching, Role::ChainWatcher, Role::IpnDelivery]);
        let client = &shop.merchant.client;
        let id = shop.invoice().await;
        shop.pay(&id, "30").await;
        shop.becomes(&id, Status::Partial).await;
        let paid_in = PaidIn { currency: Some("pol".to_owned()), ..PaidIn::default() };
        shop.send(&Deposit { paid_in, ..deposit(&id, "3") }).await;
        shop.pay(&id, "70").await;
        shop.becomes(&id, Status::Paid).await;
        shop.pay(&id, "1").await;
        let told = eventually("the late deposit is told and all webhooks are taken", async || {
            let story = story(client, &id).await;
            let is_open = |event: &Value| {
                !event["delivery"].is_null() && event["delivery"]["state"] != "delivered"
            };
            (story.len() == 5 && !story.iter().any(is_open)).then_some(story)
        })
        .await;
        let mut found = kinds(&told);
        // The foreign deposit is booked by another message than the invoice's own.
        found.retain(|kind| *kind != "wrong_token_received");
        let expected =
            ["invoice.created", "invoice.partial", "invoice.paid", "late_deposit_received"];
        assert_eq!(found, expected);
        let statuses = ["waiting", "partially_paid", "finished", "finished"];
        let changes = told.iter().filter(|event| event["type"] != "wrong_token_received");
        for (event, status) in changes.zip(statuses) {
            let mut payload = event["payload"].clone();
            assert_eq!(payload["payment_status"], status, "{event}");
            payload.as_object_mut().unwrap().remove("_gateway");
            expect_payment(&payload);
        }
        // The webhook of an event carries its id and its payload.
        for event in told.iter().filter(|event| !event["delivery"].is_null()) {
            let received = shop.receiver.received();
            let same = received.iter().find(|one| one.json()["event_id"] == event["event_id"]);
            let mut body = same.unwrap().json();
            for added in ["event_id", "event_at"] {
                body.as_object_mut().unwrap().remove(added).unwrap();
            }
            assert_eq!(body, event["payload"]);
            let delivery = &event["delivery"];
            assert_eq!((&delivery["cycle"], &delivery["attempts_made"]), (&json!(1), &json!(1)));
            assert_eq!(delivery["last_status"], 200);
        }
        assert_eq!(shop.receiver.received().len(), 3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_without_a_callback_has_its_events_and_each_once() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start(&[Role::DepositMatching, Role::ChainWatcher]);
        let client = &shop.merchant.client;
        let silent = json!({ "ipn_callback_url": null });
        let cancelled = shop.invoice_of(silent.clone()).await;
        shop.stack.gateway.cancel_invoice(&cancelled).await.unwrap();
        let told = story(client, &cancelled).await;
        assert_eq!(kinds(&told), ["invoice.created", "invoice.cancelled"]);
        assert_eq!(told[1]["payload"]["payment_status"], "failed");

        let paid = shop.invoice_of(silent.clone()).await;
        for amount in ["1", "2", "3"] {
            let paid_in = PaidIn { currency: Some("pol".to_owned()), ..PaidIn::default() };
            shop.send(&Deposit { paid_in, ..deposit(&paid, amount) }).await;
        }
        shop.pay(&paid, "100").await;
        shop.becomes(&paid, Status::Paid).await;
        eventually("all four deposits are settled", async || {
            let settled = "select count(*) from deposit where settled_at is not null";
            (shop.number(settled).await == 4).then_some(())
        })
        .await;
        let mut told = kinds(&story(client, &paid).await).join(" ");
        told = told.replace(" wrong_token_received", "");
        assert_eq!(told, "invoice.created invoice.paid");
        let wrong = "select count(*) from event where type = 'wrong_token_received'";
        assert_eq!(shop.number(wrong).await, 1, "one notice per contract, as for webhooks");

        let ended =
            shop.invoice_of(json!({ "ipn_callback_url": null, "pay_currency": "all" })).await;
        shop.end_window(&ended, 1).await;
        shop.stack.gateway.expire_quiet(&[shop.row_id(&ended).await]).await.unwrap();
        assert_eq!(kinds(&story(client, &ended).await), ["invoice.created", "invoice.expired"]);
        assert_eq!(shop.number("select count(*) from delivery").await, 0);
        let posts = story(client, &paid).await;
        assert!(posts.iter().all(|event| event["delivery"].is_null()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_payouts_are_told_with_a_callback_url_and_without() {
    with_configured_stack(&only(gateway::asset::Network::Polygon), |stack| async move {
        let merchant = stack.merchant().await;
        let items =
            [json!({ "address": "0x52908400098527886E0F7030069857D2E4169EE7", "amount": "1" })];
        let mut ids = Vec::new();
        for callback in [Value::Null, json!("https://shop.example/payouts")] {
            let order = json!({
                "network": "polygon", "currency": "usdtmatic", "items": items, "callbackUrl": callback,
            });
            let made = merchant.client.post("/v1/evm-mass-payout", &order).await;
            assert_eq!(made.status, 201, "{}", made.body);
            let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
            let path = format!("/v1/evm-mass-payout/{id}/cancel");
            assert_eq!(merchant.client.post(&path, &json!({})).await.status, 200);
            ids.push(id);
        }
        for (id, has_webhook) in ids.iter().zip([false, true]) {
            let told = story(&merchant.client, id).await;
            // A draft that was never confirmed is not told as created.
            assert_eq!(kinds(&told), ["mass_payout.cancelled"]);
            for event in &told {
                assert_eq!(event["payload"]["id"], id.as_str());
                assert_eq!(!event["delivery"].is_null(), has_webhook);
                assert!(event["event_id"].as_str().unwrap().starts_with("pzwe_"));
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_of_the_size_and_the_type_that_were_asked_for() {
    with_stack(|stack| async move {
        let client = stack.merchant().await.client;
        let empty = page(&client, "").await;
        assert_eq!(empty, json!({ "data": [], "has_more": false, "next": null }));
        let mut ids = Vec::new();
        for _ in 0..12 {
            let made = client.post("/v1/payment", &order(&json!({}))).await.json();
            ids.push(made["payment_id"].as_str().unwrap().to_owned());
        }
        for id in &ids[..3] {
            stack.gateway.cancel_invoice(id).await.unwrap();
        }
        let first = page(&client, "").await;
        assert_eq!(texts(&first, "resource_id"), ids[..10]);
        assert_eq!(
            (&first["has_more"], &first["next"]),
            (&json!(true), &first["data"][9]["event_id"])
        );
        let next = first["next"].as_str().unwrap();
        let second = page(&client, &format!("?after={next}")).await;
        assert_eq!(texts(&second, "resource_id")[..2], ids[10..]);
        assert_eq!(
            (second["data"].as_array().unwrap().len(), &second["has_more"]),
            (5, &json!(false))
        );
        let end = second["next"].as_str().unwrap();
        let beyond = page(&client, &format!("?after={end}")).await;
        assert_eq!(beyond, json!({ "data": [], "has_more": false, "next": end }));

        let cancelled = page(&client, "?type=invoice.cancelled&limit=2").await;
        assert_eq!(texts(&cancelled, "resource_id"), ids[..2]);
        let next = cancelled["next"].as_str().unwrap();
        let rest = page(&client, &format!("?type=invoice.cancelled&limit=2&after={next}")).await;
        assert_eq!(texts(&rest, "resource_id"), ids[2..3]);
        assert_eq!(page(&client, "?limit=0").await["data"].as_array().unwrap().len(), 1);
        assert_eq!(page(&client, "?limit=1000").await["data"].as_array().unwrap().len(), 15);
        for query in ["?limit=x", "?type=invoice.finished", "?type=INVOICE.PAID", "?after=evt_none"]
        {
            let answer = client.get(&format!("/v1/events{query}")).await;
            answer.expect_error(400, "INVALID_REQUEST");
        }
    })
    .await;
}
