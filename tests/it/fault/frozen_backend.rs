//! One PostgreSQL backend stops responding: its request ends within the limit, the others do not
//! notice.

use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use support::{
    fault::fired::fired,
    server::{
        broker::with_broker, installation::Installation, private_postgres::fresh_postgres,
        private_rabbitmq::Frozen, processes::within,
    },
    shop::trade::{Shop, stored_order_ids},
};

/// The API's own limit is 12 s.
const ANSWER_LIMIT: Duration = Duration::from_secs(14);
const ORDERS: usize = 30;

/// The backends of programs, without the database's own workers: freezing an autovacuum worker
/// fails no request.
async fn backends(url: &str, condition: &str) -> Vec<i32> {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let query = format!(
        "select pid from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()
           and backend_type = 'client backend' and {condition}"
    );
    sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_all(&mut connection).await.unwrap()
}

fn freeze(pid: i32) -> Frozen {
    Frozen::freeze(u32::try_from(pid).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_that_died_silently_fails_at_most_its_request() {
    with_broker(|broker| async move {
        let database = fresh_postgres().await;
        let url = database.create_database().await;
        let installation = Installation::new(&url, &(&*broker).into(), &[]);
        let (api, workers) = installation.start().await;
        let shop = Shop::open(&installation, 200).await;
        shop.create(&installation, 5).await;
        // Only the API's connections are left, and the test's own.
        drop(workers);
        installation.gateway.db.close().await;
        let (idle, _) = within(Duration::from_secs(60), "an idle connection", async || {
            backends(&url, "state = 'idle'").await.first().copied().ok_or_else(|| "none".to_owned())
        })
        .await;
        let frozen = freeze(idle);
        let mut failed = Vec::new();
        let mut answered = 0;
        for _ in 0..ORDERS {
            let started = Instant::now();
            match shop.try_create(&installation).await {
                Ok(_) => answered += 1,
                Err(reason) => {
                    assert!(reason.contains("INTERNAL_ERROR"), "{reason}");
                    failed.push(started.elapsed());
                }
            }
            let took = started.elapsed();
            assert!(took < ANSWER_LIMIT, "a request took {took:?}");
        }
        println!("idle connection frozen: {answered} answered, failed after {failed:?}");
        assert!(failed.len() <= 1, "one dead connection failed {} requests", failed.len());
        fired(usize::from(frozen.is_frozen()));
        drop(frozen);
        api.ready().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_database_backend_freezes_gets_a_500_in_time_and_later_ones_work() {
    with_broker(|broker| async move {
        let database = fresh_postgres().await;
        let url = database.create_database().await;
        let installation = Installation::new(&url, &(&*broker).into(), &[]);
        let (api, workers) = installation.start().await;
        let shop = Shop::open(&installation, 50).await;
        let others = Shop::open(&installation, 50).await;
        let before = shop.create(&installation, 5).await;
        others.create(&installation, 5).await;
        drop(workers);
        installation.gateway.db.close().await;

        // Holds the request in the middle of its work until its backend is frozen.
        let mut holder = PgConnection::connect(&url).await.unwrap();
        let mut lock = holder.begin().await.unwrap();
        sqlx::query("lock table invoice in exclusive mode").execute(&mut *lock).await.unwrap();
        let (exchange, order_id, _) = shop.next();
        let server = installation.api;
        let started = Instant::now();
        let request = tokio::spawn(async move { exchange.once(server).await });
        let (busy, _) =
            within(Duration::from_secs(10), "a request waits for the lock", async || {
                let waiting = backends(&url, "wait_event_type = 'Lock'").await;
                waiting.first().copied().ok_or_else(|| "none".to_owned())
            })
            .await;
        let frozen = freeze(busy);
        lock.rollback().await.unwrap();

        // Orders of other merchants: the frozen backend keeps its own merchant's row until it is
        // thawed or killed.
        let mut slowest = Duration::ZERO;
        for _ in 0..ORDERS {
            let (_, took) = others.try_create(&installation).await.unwrap();
            slowest = slowest.max(took);
        }
        let answer = request.await.unwrap().unwrap();
        let took = started.elapsed();
        answer.expect_error(500, "INTERNAL_ERROR");
        assert!(took < ANSWER_LIMIT, "it took {took:?}");
        fired(usize::from(frozen.is_frozen()));
        println!("its request: 500 after {took:?}; {ORDERS} others: 201, slowest {slowest:?}");
        drop(frozen);
        api.ready().await;
        let after = shop.create(&installation, before.len()).await;
        assert_eq!(after.len(), before.len());
        assert!(
            !stored_order_ids(&installation).await.contains(&order_id),
            "a refused order is stored"
        );
    })
    .await;
}
