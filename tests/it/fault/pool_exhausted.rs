//! A row that is locked for long, and every connection of the API waiting for it (F35).

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use sqlx::{Connection, PgConnection};
use support::{
    fault::fired::fired,
    server::{
        broker::with_broker, database::TestDatabase, installation::Installation, processes::within,
    },
    shop::trade::Shop,
};

/// The API's own limit is 12 s; the machine may be busy.
const ANSWER_LIMIT: Duration = Duration::from_secs(16);
const CONNECTIONS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_whose_row_is_locked_gets_errors_in_time_and_all_are_served_afterwards() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let few = CONNECTIONS.to_string();
        let more = [("GATEWAY_DATABASE_CONNECTIONS_MAX", few.as_str())];
        let installation = Installation::new(&database.url, &(&*broker).into(), &more);
        let rates = installation.start_workers(&["rate-refresher"]).await;
        rates.ready().await;
        let api = installation.start_api().await;
        api.ready().await;
        let (held, other) = (Shop::open(&installation, 40).await, Shop::open(&installation, 40).await);
        held.create(&installation, 1).await;

        let mut holder = PgConnection::connect(&installation.database_url).await.unwrap();
        let mut lock = holder.begin().await.unwrap();
        let query = "select id from merchant where id = (select merchant_id from invoice limit 1) for update";
        sqlx::query(query).fetch_one(&mut *lock).await.unwrap();
        let started = Instant::now();
        let waiting = (0..2 * CONNECTIONS).map(|_| held.try_create(&installation));
        let answers = join_all(waiting).await;
        let took = started.elapsed();
        for answer in &answers {
            let reason = answer.as_ref().unwrap_err();
            assert!(reason.contains("INTERNAL_ERROR"), "{reason}");
        }
        assert!(took < ANSWER_LIMIT, "the held merchant's answers took {took:?}");
        fired(answers.len());
        lock.rollback().await.unwrap();

        within(Duration::from_secs(20), "both merchants are served again", async || {
            held.try_create(&installation).await?;
            other.try_create(&installation).await.map(drop)
        })
        .await;
        let stored: i64 = sqlx::query_scalar("select count(*) from invoice").fetch_one(&mut holder).await.unwrap();
        let open: i64 = sqlx::query_scalar("select count(*) from timer").fetch_one(&mut holder).await.unwrap();
        assert_eq!(stored, open, "an invoice without its deadline, or a deadline without its invoice");
        database.remove().await;
    })
    .await;
}
