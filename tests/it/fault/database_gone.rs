//! The database restarts, in order and by a crash, under running programs.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use support::{
    fault::fired::fired,
    server::{broker::with_broker, installation::Installation, private_postgres::fresh_postgres},
    shop::trade::{Shop, forget_unanswered, stored_order_ids},
};

use super::customers::Customers;

/// Recovery time of the programs, once the database responds again. The reconnect delay is at most
/// 15 s.
const RECOVERY_LIMIT: Duration = Duration::from_secs(60);
/// A request gets some response within the API's own limit.
const ANSWER_LIMIT: Duration = Duration::from_secs(14);

async fn survives(crash: bool) {
    with_broker(|broker| async move {
        let mut database = fresh_postgres().await;
        let url = database.create_database().await;
        let installation = Arc::new(Installation::new(&url, &(&*broker).into(), &[]));
        let (api, workers) = installation.start().await;
        let shop = Arc::new(Shop::open(&installation, 1_000).await);
        let customers = Customers::come(&installation, &shop);
        tokio::time::sleep(Duration::from_secs(1)).await;
        if crash { database.kill().await } else { database.stop().await }
        tokio::time::sleep(Duration::from_secs(2)).await;
        let start = database.start().await;
        let (api_ready, workers_ready) = (api.ready().await, workers.ready().await);
        assert!(api_ready.max(workers_ready) < RECOVERY_LIMIT);
        tokio::time::sleep(Duration::from_millis(500)).await;
        let seen = customers.leave().await;
        // A request may wait for a short outage of the database; then none is refused.
        let noticed = seen.failed > 0 || seen.slowest > Duration::from_secs(1);
        assert!(noticed, "the database was never away");
        fired(1);
        assert!(seen.slowest < ANSWER_LIMIT, "a request took {:?}", seen.slowest);

        let stored = stored_order_ids(&installation).await;
        let acknowledged: BTreeSet<_> =
            seen.acknowledged.iter().map(|order| order.order_id.clone()).collect();
        let lost: Vec<_> = acknowledged.difference(&stored).collect();
        assert!(lost.is_empty(), "acknowledged and not stored: {lost:?}");
        println!(
            "database back in {start:?}; api ready after {api_ready:?}, workers after {workers_ready:?}; {} orders \
             acknowledged, {} refused, slowest answer {:?}, {} stored",
            acknowledged.len(), seen.failed, seen.slowest, stored.len()
        );
        forget_unanswered(&url, &acknowledged).await;
        shop.pay(&installation, &seen.acknowledged).await;
        let outcome = shop.converge(&installation, &seen.acknowledged, RECOVERY_LIMIT).await;
        println!("everything done: {outcome:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_database_is_found_again_by_every_process() {
    survives(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_database_recovers_with_every_acknowledged_order() {
    survives(true).await;
}
