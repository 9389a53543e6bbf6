//! A receiver that was down and comes back reads the feed from its place: nothing is missing, and
//! no event comes twice.

use std::collections::BTreeSet;

use gateway_workers::Role;
use serde_json::json;
use support::shop::{Shop, with_shop};

use super::{page, texts};

/// Ids of the events behind `place`, as a receiver reads them that asks for small pages.
async fn behind(shop: &Shop, place: &str) -> Vec<String> {
    let (mut ids, mut after) = (Vec::new(), place.to_owned());
    loop {
        let page = page(&shop.merchant.client, &format!("?limit=3&after={after}")).await;
        ids.extend(texts(&page, "event_id"));
        if page["has_more"] == false {
            return ids;
        }
        after = page["next"].as_str().unwrap().to_owned();
    }
}

async fn all_events(shop: &Shop) -> BTreeSet<String> {
    let mut connection = shop.stack.database.connect().await;
    let query = sqlx::query_scalar("select event_id from event where merchant_id = $1");
    let ids: Vec<String> =
        query.bind(shop.merchant.new.id).fetch_all(&mut connection).await.unwrap();
    ids.into_iter().collect()
}

/// An invoice's webhook that comes to this end, as its event's id.
async fn told(shop: &Shop, end: &str) -> String {
    let id = shop.expired(json!({})).await;
    shop.delivery_becomes(&id, end).await.0.event_id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_was_down_for_half_an_hour_gets_every_event_once_from_its_place() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start(&[Role::IpnDelivery]);
        told(&shop, "delivered").await;
        let first = page(&shop.merchant.client, "").await;
        let place = first["next"].as_str().unwrap().to_owned();
        let mut seen: BTreeSet<_> = texts(&first, "event_id").into_iter().collect();

        // Webhooks overtake each other: the last one that came is not the last one that was told.
        shop.receiver.answer(503);
        let overtaken = told(&shop, "dead").await;
        shop.receiver.answer(200);
        let taken = told(&shop, "delivered").await;
        // Down until every attempt has failed, half an hour ago.
        shop.receiver.answer(503);
        let mut missed = Vec::new();
        for _ in 0..4 {
            missed.push(told(&shop, "dead").await);
        }
        let past = "update event set created_at = created_at - interval '30 minutes'";
        assert_eq!(shop.run(past).await, 14);

        // Back, while invoices go on.
        shop.receiver.answer(200);
        let (read, new) = tokio::join!(behind(&shop, &place), told(&shop, "delivered"));
        let rest = behind(&shop, read.last().unwrap()).await;
        let read = [read, rest].concat();
        assert!(read.contains(&overtaken) && read.contains(&taken) && read.contains(&new));
        assert!(missed.iter().all(|id| read.contains(id)));
        for id in read {
            assert!(seen.insert(id.clone()), "{id} came twice");
        }
        assert_eq!(seen, all_events(&shop).await);

        // The id of the last webhook is no such place: what it overtook stands before it.
        assert!(!behind(&shop, &taken).await.contains(&overtaken));
    })
    .await;
}
