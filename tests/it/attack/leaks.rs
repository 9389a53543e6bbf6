//! Data that a thief of the database, the broker's messages or the metrics would get: no key, no
//! secret, no password.

use gateway::{asset::Network, invoice::Status, telemetry};
use gateway_workers::Role;
use secrecy::ExposeSecret;
use serde_json::json;
use sqlx::Row;
use support::{
    server::stack::MASTER_KEY,
    shop::{Shop, with_shop},
};

/// Every row of every table as text.
async fn whole_database(shop: &Shop) -> String {
    let mut connection = shop.stack.database.connect().await;
    let dump = "select coalesce(string_agg(query_to_xml(format('select * from %I', table_name), true, false, '')::text, ''), '') as dump
                from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'";
    sqlx::query(dump).fetch_one(&mut connection).await.unwrap().get("dump")
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_the_database_nor_the_broker_nor_the_metrics_hold_a_secret() {
    telemetry::metrics();
    with_shop(|shop| async move {
        let (broker, roles) = (&shop.stack.broker, [Role::DepositMatching, Role::IpnDelivery]);
        let callback = format!("{}?token=CALLBACK-CANARY", shop.receiver.url);
        shop.receiver.answer(500);
        let id = shop
            .invoice_of(json!({ "ipn_callback_url": callback, "order_description": "BODY-CANARY" }))
            .await;
        shop.pay(&id, "100").await;
        shop.look(Network::Polygon).await;
        shop.stack.start(&roles);
        shop.becomes(&id, Status::Paid).await;
        // Five attempts, so that every kind of message has been sent and one is dead-lettered.
        shop.delivery_becomes(&id, "dead").await;
        let dead = broker.topology.dead_letter_queue(gateway::broker::route::DeadLetterQueue::Ipn);
        let parked = broker.arrival(&dead).await;
        let message = String::from_utf8_lossy(&parked.delivery.data).into_owned();
        let headers = format!("{:?}", parked.delivery.properties);

        let database = whole_database(&shop).await;
        let metrics = telemetry::metrics().render();
        assert!(
            database.contains(&id) && database.contains("BODY-CANARY"),
            "the dump holds the rows"
        );
        assert!(metrics.contains("ipn_attempts_total"), "{metrics}");
        let password = |url: &str| url::Url::parse(url).unwrap().password().map(ToOwned::to_owned);
        let new = &shop.merchant.new;
        let secrets = [
            Some(new.api_key.reveal().to_owned()),
            Some(new.webhook_secret.reveal().to_owned()),
            Some(MASTER_KEY.to_owned()),
            password(broker.url.expose_secret()),
            password(&shop.stack.database.url),
        ];
        for secret in secrets.into_iter().flatten() {
            for (place, text) in [
                ("database", &database),
                ("message", &message),
                ("headers", &headers),
                ("metrics", &metrics),
            ] {
                assert!(!text.contains(&secret), "a secret is in the {place}");
            }
        }
        // Text written by a merchant is only in the database.
        for canary in ["CALLBACK-CANARY", "BODY-CANARY"] {
            for (place, text) in
                [("message", &message), ("headers", &headers), ("metrics", &metrics)]
            {
                assert!(!text.contains(canary), "a merchant's words are in the {place}");
            }
        }
    })
    .await;
}
