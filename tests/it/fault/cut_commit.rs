//! The connection to the database breaks around a COMMIT, so that its outcome is unknown (F30).

use std::time::Duration;

use sqlx::{Connection, PgConnection};
use support::{
    fault::{
        cutting_proxy::{Cut, CuttingProxy},
        fired::fired,
    },
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::{Installation, Program},
        processes::within,
    },
    shop::trade::{Shop, stored_order_ids},
};

const RECOVERY_LIMIT: Duration = Duration::from_secs(90);
const ORDERS: usize = 8;

/// An installation whose workers and API, if started through it, reach the database over a proxy.
async fn with_proxy<F: Future<Output = ()>>(test: impl FnOnce(Installation, CuttingProxy) -> F) {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let proxy = CuttingProxy::before(&database.url).await;
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        test(installation, proxy).await;
        database.remove().await;
    })
    .await;
}

async fn through(
    proxy: &CuttingProxy,
    installation: &Installation,
    name: &str,
    roles: &[&str],
) -> Program {
    let url = proxy.url();
    let program = installation.launch(name, roles, &[("DATABASE_URL", &url)]);
    program.ready().await;
    program
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_whose_commit_is_cut_off_fails_and_its_repeat_makes_one_invoice() {
    with_proxy(|installation, proxy| async move {
        let workers = installation.start_workers(&["rate-refresher"]).await;
        workers.ready().await;
        let _api = through(&proxy, &installation, "gateway-api", &[]).await;
        let shop = Shop::open(&installation, 10).await;
        shop.create(&installation, 1).await;
        for (number, cut) in [Cut::Before, Cut::After].into_iter().enumerate() {
            let (mut request, order_id, _) = shop.next();
            request.headers.push(("idempotency-key".into(), format!("{cut:?}")));
            // The relay commits as well, as long as it has messages to publish.
            within(RECOVERY_LIMIT, "the relay rests", async || {
                let waiting = outbox(&installation).await;
                if waiting == 0 { Ok(()) } else { Err(format!("{waiting} messages")) }
            })
            .await;
            proxy.cut(cut, 0);
            let answer = request.once(installation.api).await.unwrap();
            assert_eq!(proxy.fired(), number + 1, "no COMMIT was cut");
            fired(1);
            answer.expect_error(500, "INTERNAL_ERROR");
            let stored = stored_order_ids(&installation).await.contains(&order_id);
            assert_eq!(stored, cut == Cut::After, "{cut:?}");
            let repeated = request.once(installation.api).await.unwrap();
            assert_eq!(repeated.status, 201, "{}", repeated.body);
            let replayed = repeated.header("x-gateway-idempotent-replay").is_some();
            assert_eq!(replayed, cut == Cut::After, "{cut:?}");
        }
        assert_eq!(stored_order_ids(&installation).await.len(), 3);
    })
    .await;
}

async fn outbox(installation: &Installation) -> i64 {
    let mut connection = PgConnection::connect(&installation.database_url).await.unwrap();
    sqlx::query_scalar("select count(*) from outbox").fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_whose_commits_are_cut_off_finish_every_order_once() {
    with_proxy(|installation, proxy| async move {
        let api = installation.start_api().await;
        let rates = installation.start_workers(&["rate-refresher"]).await;
        rates.ready().await;
        api.ready().await;
        let roles = ["chain-watcher", "deposit-matching", "ipn-delivery", "sweeper"];
        let _workers = through(&proxy, &installation, "gateway-worker", &roles).await;
        let shop = Shop::open(&installation, ORDERS).await;
        let mut orders = Vec::new();
        for number in 0..ORDERS {
            let order = shop.create(&installation, 1).await;
            let cut = if number % 2 == 0 { Cut::Before } else { Cut::After };
            // Another commit each time: a block's or a settlement's.
            proxy.cut(cut, number % 2);
            shop.pay(&installation, &order).await;
            orders.extend(order);
            within(RECOVERY_LIMIT, "a commit is cut", async || {
                let fired = proxy.fired();
                if fired > number { Ok(()) } else { Err(format!("{fired} cuts")) }
            })
            .await;
        }
        let outcome = shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
        println!("{} commits cut, everything done: {outcome:?}", proxy.fired());
        fired(proxy.fired());
    })
    .await;
}
