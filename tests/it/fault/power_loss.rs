//! The machine of the database or of the broker loses power: what was written and not synced is
//! gone from its disk (F69).

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use support::{
    fault::fired::fired,
    server::{
        broker::with_broker, database::TestDatabase, installation::Installation,
        private_postgres::forgetful_postgres, private_rabbitmq::forgetful_rabbitmq,
        processes::within,
    },
    shop::trade::{Shop, forget_unanswered, stored_order_ids},
};

use super::customers::Customers;

/// The reconnect delay is at most 15 s.
const RECOVERY_LIMIT: Duration = Duration::from_secs(90);
/// Cuts of the broker's power, and orders that are paid before each.
const CUTS: usize = 2;
const ORDERS: usize = 20;
/// So long that messages which come meanwhile are written and not synced.
const SLOW_SYNC: Duration = Duration::from_secs(10);
/// Smaller than a message with its headers.
const MESSAGE: u64 = 200;

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_loses_power_keeps_every_acknowledged_order_and_credit() {
    with_broker(|broker| async move {
        let mut database = forgetful_postgres().await;
        let url = database.create_database().await;
        let installation = Arc::new(Installation::new(&url, &(&*broker).into(), &[]));
        let (api, workers) = installation.start().await;
        let shop = Arc::new(Shop::open(&installation, 1_000).await);

        // First while orders are created, then while payments are credited and told.
        let customers = Customers::come(&installation, &shop);
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut lost = vec![database.lose_power().await];
        database.start().await;
        api.ready_within(RECOVERY_LIMIT).await;
        workers.ready_within(RECOVERY_LIMIT).await;
        let seen = customers.leave().await;
        let stored = stored_order_ids(&installation).await;
        let acknowledged: BTreeSet<_> =
            seen.acknowledged.iter().map(|order| order.order_id.clone()).collect();
        let missing: Vec<_> = acknowledged.difference(&stored).collect();
        assert!(missing.is_empty(), "acknowledged and not stored: {missing:?}");

        forget_unanswered(&url, &acknowledged).await;
        shop.pay(&installation, &seen.acknowledged).await;
        within(RECOVERY_LIMIT, "the first IPN arrives", async || {
            if shop.receiver.received().is_empty() { Err("none".to_owned()) } else { Ok(()) }
        })
        .await;
        lost.push(database.lose_power().await);
        database.start().await;
        let outcome = shop.converge(&installation, &seen.acknowledged, RECOVERY_LIMIT).await;
        println!(
            "{} orders acknowledged, {} refused; bytes lost: {lost:?}; {outcome:?}",
            acknowledged.len(),
            seen.failed
        );
        assert!(lost.iter().all(|bytes| *bytes > 0), "nothing was lost: {lost:?}");
        fired(lost.len());
    })
    .await;
}

/// The broker confirms a message once it has synced it, and what it had not confirmed is sent
/// again. Of messages that were acknowledged, it may have lost the acknowledgement.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_loses_power_loses_no_credit_and_no_event() {
    let database = TestDatabase::create().await;
    let mut broker = forgetful_rabbitmq().await;
    let access = broker.access().await;
    let installation = Installation::new(&database.url, &access, &[]);
    let (api, workers) = installation.start().await;
    let shop = Shop::open(&installation, 2 * CUTS * ORDERS).await;
    let (mut orders, mut lost) = (Vec::new(), Vec::new());
    for _ in 0..CUTS {
        // A kernel writes within half a minute. RabbitMQ 3.10 leaves the sync of its schema to it
        // after a start, and does not start again on this disk if a cut comes before.
        broker.disk().sync_all();
        let mut early = shop.create(&installation, ORDERS).await;
        let late = shop.create(&installation, ORDERS).await;
        let told = shop.receiver.received().len();
        shop.pay(&installation, &early).await;
        within(RECOVERY_LIMIT, "an IPN arrives", async || match shop.receiver.received().len() {
            now if now > told => Ok(()),
            now => Err(format!("{now} so far")),
        })
        .await;
        broker.disk().sync_takes(SLOW_SYNC);
        let before = broker.disk().unsynced();
        shop.pay(&installation, &late).await;
        within(RECOVERY_LIMIT, "messages are written", async || match broker.disk().unsynced() {
            now if now > before + MESSAGE => Ok(()),
            now => Err(format!("{now} bytes, {before} before")),
        })
        .await;
        lost.push(broker.lose_power());
        broker.disk().sync_takes(Duration::ZERO);
        broker.start().await;
        api.ready_within(RECOVERY_LIMIT).await;
        workers.ready_within(RECOVERY_LIMIT).await;
        orders.append(&mut early);
        orders.extend(late);
    }
    let outcome = shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
    println!("bytes lost: {lost:?}; {outcome:?}");
    assert!(lost.iter().all(|bytes| *bytes > MESSAGE), "nothing was lost: {lost:?}");
    fired(lost.len());
    drop((api, workers));
    database.remove().await;
}
