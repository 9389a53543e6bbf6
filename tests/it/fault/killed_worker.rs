//! Workers are killed in the middle of their work, at random moments.

use std::{sync::Arc, time::Duration};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use support::{
    fault::fired::fired,
    seed::seed,
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::Installation,
        processes::{Signal, within},
    },
    shop::trade::{Order, Shop},
};

const ORDERS: usize = 40;
const KILLS: usize = 6;
const RECOVERY_LIMIT: Duration = Duration::from_secs(90);

/// Creates and pays orders one after the other, so that work is always in progress.
async fn trade(installation: Arc<Installation>, shop: Arc<Shop>) -> Vec<Order> {
    let mut orders = Vec::new();
    for _ in 0..ORDERS {
        let order = shop.create(&installation, 1).await;
        shop.pay(&installation, &order).await;
        orders.extend(order);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    orders
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_killed_at_random_moments_finish_all_work_once() {
    let mut random = StdRng::seed_from_u64(seed());
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Arc::new(Installation::new(&database.url, &(&*broker).into(), &[]));
        let (_api, mut workers) = installation.start().await;
        let shop = Arc::new(Shop::open(&installation, ORDERS).await);
        let trading = tokio::spawn(trade(installation.clone(), shop.clone()));
        for _ in 0..KILLS {
            let busy = Duration::from_millis(random.random_range(50..900));
            let told = shop.receiver.received().len();
            tokio::time::sleep(busy).await;
            workers.process.signal(Signal::Kill);
            workers.process.ended(RECOVERY_LIMIT).await;
            fired(1);
            workers = installation.start_workers(&["all"]).await;
            if !trading.is_finished() {
                // Some work was done between two kills, or the worker died idle.
                within(Duration::from_secs(90), "workers go on", async || {
                    let now = shop.receiver.received().len();
                    if now > told { Ok(()) } else { Err(format!("{now} IPNs")) }
                })
                .await;
            }
        }
        let orders = trading.await.unwrap();
        let outcome = shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
        println!("{KILLS} kills, everything done: {outcome:?}");
        database.remove().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_watcher_takes_over_when_the_first_is_killed() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let others = ["deposit-matching", "ipn-delivery", "expiry-timer", "rate-refresher"];
        let _others = installation.start_workers(&others).await;
        let api = installation.start_api().await;
        let first = installation.start_workers(&["chain-watcher"]).await;
        first.ready().await;
        let second = installation.start_workers(&["chain-watcher"]).await;
        api.ready().await;
        let shop = Shop::open(&installation, 20).await;
        let mut orders = shop.create(&installation, 10).await;
        shop.pay(&installation, &orders).await;
        shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
        assert!(!second.process.output().contains("looked"), "both watchers look");

        first.process.signal(Signal::Kill);
        let later = shop.create(&installation, 10).await;
        shop.pay(&installation, &later).await;
        orders.extend(later);
        let outcome = shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
        println!("the second watcher took over, everything done: {outcome:?}");
        assert!(second.process.output().contains("looked"), "nobody else could have looked");
        database.remove().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_watcher_that_wakes_up_credits_nothing_twice() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let (_api, workers) = installation.start().await;
        let shop = Shop::open(&installation, 30).await;
        let mut orders = shop.create(&installation, 10).await;
        workers.process.signal(Signal::Stop);
        let second = installation.start_workers(&["all"]).await;
        shop.pay(&installation, &orders).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        workers.process.signal(Signal::Continue);
        let later = shop.create(&installation, 20).await;
        shop.pay(&installation, &later).await;
        orders.extend(later);
        let outcome = shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
        println!("a process frozen for 3 s beside another, everything done: {outcome:?}");
        drop(second);
        database.remove().await;
    })
    .await;
}
