//! Bugs that panic. On work that strangers write they stop one network and nothing else; anywhere
//! else they end the process, so that a fresh one begins from the rows (F65).

use std::time::Duration;

use sqlx::Connection;
use support::{
    client::exchange::Exchange,
    fault::fired::fired,
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::{Installation, Program},
        processes::within,
    },
    shop::trade::Shop,
};

const LIMIT: Duration = Duration::from_secs(60);
const RECOVERY_LIMIT: Duration = Duration::from_secs(90);
const PANIC_POINT: &str = "PANIC_POINT";
const ROLES: [&str; 1] = ["all"];

async fn with_installation<F: Future<Output = ()>>(test: impl FnOnce(Installation) -> F) {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        test(Installation::new(&database.url, &(&*broker).into(), &[])).await;
        database.remove().await;
    })
    .await;
}

/// The alerts about a panic of Polygon's watcher.
async fn alerts(installation: &Installation) -> i64 {
    let mut connection = sqlx::PgConnection::connect(&installation.database_url).await.unwrap();
    let query = "select count(*) from operator_alert where kind = 'panicked' and subject = 'chain-watcher.polygon'";
    sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
}

/// Whether a part of the program says that it works; `None` if it has not said a word.
async fn part(program: &Program, name: &str) -> Option<bool> {
    let answer = Exchange::get(program.metrics(), "/readyz").await.ok()?;
    let answer: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    answer["parts"][name].as_bool()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panicking_watcher_raises_an_alert_and_the_other_networks_go_on() {
    with_installation(|installation| async move {
        let api = installation.start_api().await;
        let sound = installation.start_workers(&["rate-refresher"]).await;
        api.ready().await;
        sound.ready().await;
        let shop = Shop::open(&installation, 1).await;
        let orders = shop.create(&installation, 1).await;
        shop.pay(&installation, &orders).await;
        let ever = (PANIC_POINT, "watch.recorded:polygon:1000000");
        let workers = installation.launch("gateway-worker", &ROLES, &[ever]);
        within(LIMIT, "Polygon alone is not ready", async || {
            let polygon = part(&workers, "chain-watcher.polygon").await;
            let litecoin = part(&workers, "chain-watcher.litecoin").await;
            match (polygon, litecoin, alerts(&installation).await) {
                (Some(false), Some(true), 1) => Ok(()),
                other => Err(format!("{other:?}\n{}", workers.process.said())),
            }
        })
        .await;
        workers.unready().await;
        assert!(workers.process.is_alive());
        drop(workers);
        // What panics twice begins anew twice, and everything is done once in the end.
        let twice = (PANIC_POINT, "watch.recorded:polygon:2");
        let workers = installation.launch("gateway-worker", &ROLES, &[twice]);
        let outcome = shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
        println!("{outcome:?}");
        workers.ready().await;
        let panics = workers.process.output().matches("panicked; its work restarts").count();
        assert_eq!(panics, 2, "{}", workers.process.said());
        fired(panics);
        assert_eq!(alerts(&installation).await, 1);
        drop(sound);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_the_relay_ends_the_process_with_a_failure_code() {
    with_installation(|installation| async move {
        let api =
            installation.launch("gateway-api", &[], &[(PANIC_POINT, "relay.confirmed:batch:1")]);
        api.listening().await;
        let sound = installation.start_workers(&["rate-refresher"]).await;
        sound.ready().await;
        let shop = Shop::open(&installation, 1).await;
        drop(sound);
        let created = tokio::spawn(async move {
            // Whether its answer still comes is not what this is about.
            shop.create(&installation, 1).await
        });
        api.process.ended(LIMIT).await;
        let said = api.process.output();
        assert!(said.contains("Error: a part of the process panicked"), "{said}");
        fired(1);
        created.abort();
    })
    .await;
}
