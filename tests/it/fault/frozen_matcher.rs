//! A matcher that is stopped in the middle of its transaction, with a lock on an invoice's row
//! (F8): its connection stays open, so only the database's timeout ends it.

use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use support::{
    fault::fired::fired,
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::Installation,
        processes::{Signal, within},
    },
    shop::trade::{Order, Shop},
};

const ORDERS: usize = 12;
/// The broker requeues the message after three heartbeats at most, the database releases the row
/// after its `idle_in_transaction_session_timeout` of 30 s; then the message is retried within a
/// lock timeout of 8 s.
const RECOVERY_LIMIT: Duration = Duration::from_secs(120);
const MOMENT: &str = "match.written";

/// Returns true if the order's row is locked.
async fn is_held(connection: &mut PgConnection, order: &Order) -> bool {
    let query = "select id from invoice where payment_id = $1 for update skip locked";
    let free = sqlx::query(query).bind(&order.payment_id).fetch_optional(connection).await;
    free.unwrap().is_none()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_matcher_frozen_in_its_transaction_delays_others_only_until_the_database_timeout() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let api = installation.start_api().await;
        let others = ["chain-watcher", "ipn-delivery", "expiry-timer", "sweeper", "rate-refresher"];
        let others = installation.start_workers(&others).await;
        let matcher = ["deposit-matching"];
        let frozen = installation.launch("gateway-worker", &matcher, &[("STOP_POINT", MOMENT)]);
        for program in [&api, &others, &frozen] {
            program.ready().await;
        }
        let shop = Shop::open(&installation, ORDERS).await;
        let mut orders = shop.create(&installation, 1).await;
        let mut connection = database.connect().await;
        within(RECOVERY_LIMIT, "nobody holds the order", async || {
            if is_held(&mut connection, &orders[0]).await {
                Err("somebody does".to_owned())
            } else {
                Ok(())
            }
        })
        .await;
        shop.pay(&installation, &orders).await;
        within(RECOVERY_LIMIT, "it stands still", async || {
            let said = frozen.process.output();
            if said.contains(&format!("stands still at {MOMENT}")) { Ok(()) } else { Err(said) }
        })
        .await;
        let began = Instant::now();
        assert!(is_held(&mut connection, &orders[0]).await, "it stands still without the row");
        fired(1);

        let successor = installation.start_workers(&matcher).await;
        orders.extend(shop.create(&installation, ORDERS - 2).await);
        shop.pay(&installation, &orders[1..]).await;
        let outcome = shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
        println!("done {:?} after one stood still: {outcome:?}", began.elapsed());

        // It finds its transaction ended, its message requeued, and the work done.
        frozen.process.signal(Signal::Continue);
        within(RECOVERY_LIMIT, "it tries again", async || {
            let said = frozen.process.output();
            if said.contains("deposits settled") { Ok(()) } else { Err(said) }
        })
        .await;
        shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
        // And it works again.
        drop(successor);
        let last = shop.create(&installation, 1).await;
        shop.pay(&installation, &last).await;
        orders.extend(last);
        let outcome = shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
        println!("one more by whoever woke: {outcome:?}");
        connection.close().await.unwrap();
        database.remove().await;
    })
    .await;
}
