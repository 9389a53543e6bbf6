//! The oracle of these tests says no where it should.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use gateway::broker::route::DeadLetterQueue;
use http::Method;
use sqlx::{Connection, PgConnection};
use support::{
    broker::with_broker,
    database::TestDatabase,
    exchange::Exchange,
    installation::Installation,
    trade::{Order, Shop},
};

const LIMIT: Duration = Duration::from_secs(60);

/// What the oracle complains of.
async fn complaint(installation: &Installation, shop: &Shop, orders: &[Order]) -> String {
    let judging = AssertUnwindSafe(shop.converge(installation, orders, LIMIT)).catch_unwind();
    let complaint = judging.await.expect_err("the oracle was content");
    *complaint.downcast::<String>().unwrap()
}

async fn doctor(installation: &Installation, statement: &'static str) {
    let mut connection = PgConnection::connect(&installation.database_url).await.unwrap();
    let done = sqlx::query(statement).execute(&mut connection).await.unwrap();
    assert!(done.rows_affected() > 0, "{statement}");
}

/// Sends the first webhook once more, as it was.
async fn repeat_first(shop: &Shop) {
    let first = shop.receiver.received().remove(0);
    let url = url::Url::parse(&shop.receiver.url).unwrap();
    let header = |name: &str| (name.to_owned(), first.header(name).to_owned());
    let again = Exchange {
        method: Method::POST,
        path: url.path().to_owned(),
        headers: ["x-gateway-event-id", "x-gateway-sig", "user-agent"].map(header).to_vec(),
        body: String::from_utf8(first.body.to_vec()).unwrap(),
    };
    let receiver = url.socket_addrs(|| None).unwrap()[0];
    assert_eq!(again.once(receiver).await.unwrap().status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oracle_sees_dead_letters_false_credits_and_repeats_without_a_reason() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let (api, workers) = installation.start().await;
        let shop = Shop::open(&installation, 2).await;
        let orders = shop.create(&installation, 2).await;
        shop.pay(&installation, &orders).await;
        shop.converge(&installation, &orders, LIMIT).await;
        drop((api, workers));

        let dead = broker.topology.dead_letter_queue(DeadLetterQueue::Ipn);
        broker.publish_by_hand(&dead, "{}").await;
        assert!(complaint(&installation, &shop, &orders).await.contains("dead letter"));
        broker.arrival(&dead).await;
        shop.converge(&installation, &orders, LIMIT).await;

        doctor(&installation, "update sim_transfer set amount = amount + 1").await;
        assert!(complaint(&installation, &shop, &orders).await.contains("moved by the chain"));
        doctor(&installation, "update sim_transfer set amount = amount - 1").await;

        doctor(&installation, "delete from delivery_attempt").await;
        shop.converge(&installation, &orders, LIMIT).await;
        repeat_first(&shop).await;
        assert!(complaint(&installation, &shop, &orders).await.contains("2 POSTs, 0 attempts"));

        doctor(
            &installation,
            "update invoice set received = received + 1, credited = credited + 1",
        )
        .await;
        assert!(complaint(&installation, &shop, &orders).await.contains("otherwise than booked"));
        database.remove().await;
    })
    .await;
}
