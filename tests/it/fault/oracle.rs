//! Negative tests of the oracle.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use gateway::broker::route::DeadLetterQueue;
use http::Method;
use sqlx::{Connection, PgConnection};
use support::{
    client::exchange::Exchange,
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::Installation,
        metrics::{Page, contradictions},
    },
    shop::trade::{Order, Shop},
};

const LIMIT: Duration = Duration::from_secs(60);

/// Complaint of the oracle.
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
async fn the_oracle_reports_wrong_dead_letters_false_credits_and_unexplained_repeats() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let (api, workers) = installation.start().await;
        let shop = Shop::open(&installation, 2).await;
        let orders = shop.create(&installation, 2).await;
        shop.pay(&installation, &orders).await;
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        assert_eq!(outcome.programs, 2, "whose metrics were compared");
        let pages = installation.metrics().await.unwrap();
        let counted: u64 =
            pages.iter().map(|page| page.sum("invoice_transitions_total", "to=\"paid\"")).sum();
        assert_eq!(counted, 2, "in calm all is counted");
        assert!(contradictions(&pages, 1).concat().contains("is 2, and at most 1 happened"));
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

#[test]
fn the_oracle_reports_metrics_that_contradict_the_books() {
    let page = |more: &str| {
        let calm = "database_up 1\noutbox_waiting 0\nipn_dead_letters 0\npayout_webhook_dead_letters 0\n\
                    ipn_attempts_total{outcome=\"delivered\"} 2\nipn_attempts_total{outcome=\"dead\"} 0\n";
        Page(format!("{calm}{more}"))
    };
    assert_eq!(contradictions(&[page("")], 2), Vec::<String>::new());
    for (pages, complaint) in [
        (vec![page(""), page("")], "outcome=\"delivered\" is 4"),
        (vec![page("ipn_attempts_total{outcome=\"dead\"} 1")], "outcome=\"dead\" is 1"),
        (vec![page("outbox_waiting 3")], "outbox_waiting is told as 3"),
        (vec![page("ipn_dead_letters 1")], "ipn_dead_letters is told as 1"),
        (vec![Page(String::new())], "database_up is told as 0"),
    ] {
        assert!(contradictions(&pages, 2).concat().contains(complaint), "{complaint}");
    }
}
