//! `POST /v1/events/resend`: after a receiver was down.

use std::collections::BTreeMap;

use gateway::{broker::route::Route, merchant::settings::Settings, storage::events};
use gateway_workers::Role;
use serde_json::{Value, json};
use support::{
    server::broker::eventually,
    shop::{
        Shop,
        announced::{any_invoice, new_event},
        with_shop,
    },
};
use uuid::Uuid;

const PATH: &str = "/v1/events/resend";

async fn resend(shop: &Shop, body: &Value) -> Value {
    let answer = shop.merchant.client.post(PATH, body).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    answer.json()
}

/// Calls until nothing is left, and returns the events of all answers.
async fn resend_all(shop: &Shop, mut body: Value) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let answer = resend(shop, &body).await;
        let ids = strings(&answer["event_ids"]);
        assert_eq!(answer["resent"], ids.len());
        assert!(ids.len() <= 100);
        all.extend(ids);
        if answer["has_more"] == false {
            return all;
        }
        body["after"] = answer["next"].clone();
    }
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap().iter();
    list.map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Writes `count` events of paid invoices that nobody has delivered yet, and returns their ids.
async fn announced(shop: &Shop, merchant_id: Uuid, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..count {
        let mut tx = shop.stack.gateway.db.begin().await.unwrap();
        let invoice = any_invoice(&mut tx, merchant_id).await;
        let event = new_event(merchant_id, invoice, &shop.receiver.url);
        ids.push(event.event_id.clone());
        events::tell(&mut tx, &[event], Route::Ipn.as_str()).await.unwrap();
        tx.commit().await.unwrap();
    }
    ids
}

/// How often the receiver has got each event, all under a good signature.
fn received(shop: &Shop) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for one in shop.receiver.received() {
        let id = shop.verified(&one)["event_id"].as_str().unwrap().to_owned();
        *counts.entry(id).or_default() += 1;
    }
    counts
}

fn once_each<'a>(ids: impl IntoIterator<Item = &'a String>) -> BTreeMap<String, usize> {
    ids.into_iter().map(|id| (id.clone(), 1)).collect()
}

async fn all_are(shop: &Shop, state: &'static str) {
    eventually(&format!("all are {state}"), async || {
        let mut connection = shop.stack.gateway.db.connection().await.unwrap();
        let left: i64 = sqlx::query_scalar("select count(*) from delivery where state <> $1")
            .bind(state)
            .fetch_one(&mut *connection)
            .await
            .unwrap();
        (left == 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_comes_back_gets_every_event_that_failed_once_under_its_id() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start(&[Role::IpnDelivery]);
        // Taken before it went down.
        let taken = shop.expired(json!({})).await;
        shop.delivery_becomes(&taken, "delivered").await;
        let taken = shop.delivery(&taken).await.0.event_id;
        // Down until every attempt has failed.
        shop.receiver.answer(503);
        let mut missed = vec![shop.expired(json!({})).await, shop.expired(json!({})).await];
        for id in &mut missed {
            shop.delivery_becomes(id, "dead").await;
            *id = shop.delivery(id).await.0.event_id;
        }
        shop.receiver.forget();
        shop.receiver.answer(200);
        let again = resend(&shop, &json!({})).await;
        assert_eq!(
            again,
            json!({ "resent": 2, "event_ids": missed, "has_more": false, "next": missed[1] })
        );
        all_are(&shop, "delivered").await;
        assert_eq!(received(&shop), once_each(&missed));
        // Nothing is left to send, from anywhere.
        assert_eq!(resend(&shop, &json!({})).await["resent"], 0);
        assert_eq!(resend(&shop, &json!({ "after": taken })).await["resent"], 0);
        // What was taken and lost comes again when it is asked for.
        let lost = resend(&shop, &json!({ "state": "delivered", "after": missed[0] })).await;
        assert_eq!(strings(&lost["event_ids"]), missed[1..]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_are_sent_again_page_by_page_and_by_calls_at_once_without_a_double() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let rival = shop.stack.merchant_with(Settings::default()).await;
        let under_way = announced(&shop, shop.merchant.new.id, 1).await;
        let dead = announced(&shop, shop.merchant.new.id, 230).await;
        let of_rival = announced(&shop, rival.new.id, 3).await;
        let die = "update delivery set state = 'dead', attempts = 5, next_attempt_at = null, dead_since = now() \
                   where event_id <> (select min(event_id) from delivery)";
        assert_eq!(shop.run(die).await, 233);

        let walks = (0..4).map(|_| resend_all(&shop, json!({})));
        let walks = futures_util::future::join_all(walks).await;
        let mut resent = walks.concat();
        assert_eq!(resent.len(), 230, "each was started by one call");
        resent.sort();
        let mut expected = dead.clone();
        expected.sort();
        assert_eq!(resent, expected);
        let cycles = "select count(*) from delivery where state = 'pending' and cycle = 2";
        assert_eq!(shop.number(cycles).await, 230);
        let untouched = "select count(*) from delivery where state = 'dead' and cycle = 1";
        assert_eq!(shop.number(untouched).await, 3, "another merchant's are his own");
        // Those of another merchant are no place of ours either.
        let refused = shop.merchant.client.post(PATH, &json!({ "after": of_rival[0] })).await;
        refused.expect_error(400, "INVALID_REQUEST");

        shop.stack.start(&[Role::IpnDelivery]);
        let expected: Vec<_> = dead.into_iter().chain(under_way).collect();
        let count = "select count(*) from delivery where state = 'delivered'";
        eventually("all have come", async || (shop.number(count).await == 231).then_some(())).await;
        // The messages of the first cycles, which are in the queue too, deliver nothing.
        assert_eq!(received(&shop), once_each(&expected));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_narrows_by_time_type_state_and_place() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let ids = announced(&shop, shop.merchant.new.id, 6).await;
        let minutes = "update delivery d set created_at = '2026-01-01T12:00:00Z'::timestamptz + n * interval '1 minute', \
                       state = case when n = 5 then 'delivered' when n = 4 then 'dropped' else 'dead' end, \
                       attempts = 5, next_attempt_at = null, \
                       dead_since = case when n < 4 then now() end \
                       from (select event_id, row_number() over (order by created_at, id) - 1 as n from delivery) as o \
                       where o.event_id = d.event_id";
        shop.run(minutes).await;
        let cases = [
            (json!({}), vec![0, 1, 2, 3, 4]),
            (json!({ "from": "2026-01-01T12:02:00Z" }), vec![2, 3, 4]),
            (json!({ "to": "2026-01-01T13:02:00+01:00" }), vec![0, 1]),
            (json!({ "from": "2026-01-01T12:01:00Z", "to": "2026-01-01T12:03:00Z" }), vec![1, 2]),
            (json!({ "after": ids[2] }), vec![3, 4]),
            (json!({ "after": ids[2], "from": "2026-01-01T12:01:00Z" }), vec![3, 4]),
            (json!({ "after": ids[0], "from": "2026-01-01T12:03:00Z" }), vec![3, 4]),
            (json!({ "state": "dead" }), vec![0, 1, 2, 3]),
            (json!({ "state": "dropped" }), vec![4]),
            (json!({ "state": "delivered" }), vec![5]),
            (json!({ "type": "invoice.paid" }), vec![0, 1, 2, 3, 4]),
            (json!({ "type": "invoice.expired" }), vec![]),
            (json!({ "from": null, "state": null, "something": 1 }), vec![0, 1, 2, 3, 4]),
        ];
        for (body, expected) in cases {
            let expected: Vec<_> = expected.into_iter().map(|n: usize| ids[n].clone()).collect();
            assert_eq!(resend_all(&shop, body.clone()).await, expected, "{body}");
            // As they were.
            let back = "update delivery set state = case when created_at < '2026-01-01T12:04:00Z' then 'dead' \
                        when created_at < '2026-01-01T12:05:00Z' then 'dropped' else 'delivered' end, \
                        next_attempt_at = null, \
                        dead_since = case when created_at < '2026-01-01T12:04:00Z' then now() end";
            shop.run(back).await;
        }
        for wrong in [
            json!({ "state": "pending" }),
            json!({ "state": "gone" }),
            json!({ "type": "invoice.created" }),
            json!({ "type": "nothing" }),
            json!({ "from": "yesterday" }),
            json!({ "to": 1_767_225_600 }),
            json!({ "after": "evt_none" }),
            json!({ "after": "" }),
        ] {
            let refused = shop.merchant.client.post(PATH, &wrong).await;
            refused.expect_error(400, "INVALID_REQUEST");
        }
    })
    .await;
}
