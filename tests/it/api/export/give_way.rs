//! An export waits for requests that use the database, and only for a moment.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use gateway::{app::accounting::give_way::GiveWay, storage::Db};
use support::server::{broker::eventually, database::TestDatabase};

/// A moment, as an export waits before it goes on all the same.
const MOMENT: Duration = Duration::from_millis(10);

async fn waits(way: &mut GiveWay) -> Duration {
    let began = Instant::now();
    way.to_others().await;
    began.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_waits_a_moment_for_whoever_uses_the_database_and_not_for_other_exports() {
    let database = TestDatabase::create().await;
    let db = Db::connect_lazy(&database.url.clone().into(), 4).unwrap();
    let mut way = GiveWay::over(&db, 3 * MOMENT);
    let snapshots = [db.begin_snapshot().await.unwrap(), db.begin_snapshot().await.unwrap()];
    assert!(!db.does_more_than_snapshots());

    let request = db.connection().await.unwrap();
    assert!(db.does_more_than_snapshots());
    assert!(waits(&mut way).await >= MOMENT);
    drop(request);
    eventually("the request's connection is given back", async || {
        (!db.does_more_than_snapshots()).then_some(())
    })
    .await;

    drop(snapshots);
    eventually("the connections of the snapshots are given back", async || {
        (!db.does_more_than_snapshots()).then_some(())
    })
    .await;
    let _request = db.connection().await.unwrap();
    assert!(db.does_more_than_snapshots());
    waits(&mut way).await;
    waits(&mut way).await;
    // The time in which it gives way has ended.
    assert!(way.to_others().now_or_never().is_some());
    database.remove().await;
}
