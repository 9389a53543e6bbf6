//! Connections to the database that are open before the first request needs one.

use gateway::storage::Db;
use sqlx::{Connection, PgConnection};
use support::server::{broker::eventually, database::TestDatabase};
use tokio_util::sync::CancellationToken;

/// Those of everybody else.
const OPEN: &str = "select count(*) from pg_stat_activity where datname = current_database() \
                    and backend_type = 'client backend' and pid <> pg_backend_pid()";

#[tokio::test(flavor = "multi_thread")]
async fn a_few_connections_are_open_before_anybody_asks_and_never_more_than_the_pool_may_have() {
    for (connections_max, expected) in [(16, 4), (2, 2)] {
        let database = TestDatabase::create().await;
        let db = Db::connect_lazy(&database.url.clone().into(), connections_max).unwrap();
        let stop = CancellationToken::new();
        let keeping = tokio::spawn(db.clone().keep_connections(stop.clone()));
        let mut connection = PgConnection::connect(&database.url).await.unwrap();
        eventually("they are open", async || {
            let open: i64 = sqlx::query_scalar(OPEN).fetch_one(&mut connection).await.unwrap();
            (open == expected).then_some(())
        })
        .await;
        stop.cancel();
        keeping.await.unwrap();
        db.close().await;
        database.remove().await;
    }
}
