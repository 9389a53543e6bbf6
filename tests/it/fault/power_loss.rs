//! The machine of the database loses power: what was written and not synced is gone from its disk
//! (F69).

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use support::{
    fault::fired::fired,
    server::{
        broker::with_broker, installation::Installation, private_postgres::forgetful_postgres,
        processes::within,
    },
    shop::trade::{Shop, forget_unanswered, stored_order_ids},
};

use super::customers::Customers;

/// The reconnect delay is at most 15 s.
const RECOVERY_LIMIT: Duration = Duration::from_secs(90);

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
