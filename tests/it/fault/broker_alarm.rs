//! A real broker short of disk or of memory: it blocks publishers, and reports that (F23, F34).

use std::time::Duration;

use support::{
    fault::fired::fired,
    server::{
        database::TestDatabase,
        disk::Ballast,
        installation::Installation,
        private_rabbitmq::{
            DISK_FREE_LIMIT_MB, PrivateRabbitmq, cramped_rabbitmq, private_rabbitmq,
        },
        processes::within,
    },
    shop::trade::Shop,
};

const ORDERS: usize = 15;
const DISK_MB: u32 = 300;
/// The broker looks at its disk every ten seconds at the most.
const NOTICE_LIMIT: Duration = Duration::from_secs(40);
const RECOVERY_LIMIT: Duration = Duration::from_secs(90);
/// Limit of a request that must not notice the broker; the machine may be busy with other tests.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
const TOLD: &str = "the broker takes no messages for now";

/// Trades while `alarm` is on. The returned value lives as long as the alarm.
async fn trades_through<A>(
    broker: &PrivateRabbitmq,
    alarm: impl AsyncFnOnce(&PrivateRabbitmq) -> A,
    calm: impl AsyncFnOnce(&PrivateRabbitmq, A),
) {
    let database = TestDatabase::create().await;
    let access = broker.access().await;
    let installation = Installation::new(&database.url, &access, &[]);
    let (api, workers) = installation.start().await;
    let shop = Shop::open(&installation, 6 * ORDERS).await;
    let mut orders = shop.create(&installation, ORDERS).await;
    let under_alarm = alarm(broker).await;
    within(NOTICE_LIMIT, "our programs are told", async || {
        // A connection is blocked when it publishes.
        let (order, took) = shop.try_create(&installation).await?;
        assert!(took < ANSWER_LIMIT, "a request waited {took:?} for a broker that takes nothing");
        shop.pay(&installation, std::slice::from_ref(&order)).await;
        orders.push(order);
        if workers.process.said().contains(TOLD) { Ok(()) } else { Err("not yet".to_owned()) }
    })
    .await;
    let told = shop.receiver.received().len();
    for _ in 0..ORDERS {
        let (order, took) = shop.try_create(&installation).await.unwrap();
        assert!(took < ANSWER_LIMIT, "a request waited {took:?} for a broker that takes nothing");
        orders.push(order);
    }
    shop.pay(&installation, &orders[..ORDERS]).await;
    shop.pay(&installation, &orders[orders.len() - ORDERS..]).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let since = shop.receiver.received().len() - told;
    assert!(since < ORDERS, "the broker takes messages all the same: {since} told");
    fired(1);
    api.ready().await;
    assert!(workers.process.is_alive(), "{}", workers.process.said());
    calm(broker, under_alarm).await;
    let outcome = shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
    println!("{} orders, {told} told before; afterwards {outcome:?}", orders.len());
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_with_a_full_disk_delays_events_and_loses_none() {
    let broker = cramped_rabbitmq(DISK_MB).await;
    let fill = async |broker: &PrivateRabbitmq| {
        Ballast::leaving(&broker.data(), u64::from(DISK_FREE_LIMIT_MB / 3) << 20)
    };
    trades_through(&broker, fill, async |_, ballast| drop(ballast)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_out_of_memory_delays_events_and_loses_none() {
    let broker = private_rabbitmq().await;
    let set = |share: &str| broker.control(&["set_vm_memory_high_watermark", share]);
    trades_through(&broker, async |_| set("0.00001"), async |_, ()| set("0.5")).await;
}
