//! Callers that give up while a transaction begins: a request that timed out, a look that took too
//! long.

use std::{pin::pin, task::Poll};

use gateway::storage::Db;
use sqlx::{Connection, Executor};
use support::{fault::fired::fired, server::database::TestDatabase};

/// More polls than a BEGIN over an open connection takes.
const POLLS: u32 = 12;

/// Polls `work` this many times and then drops it. Returns true if it was dropped before its end.
async fn dropped_after<F: Future>(polls: u32, work: F) -> bool {
    let mut work = pin!(work);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(true);
        }
        left -= 1;
        work.as_mut().poll(context).map(|_| false)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_dropped_while_it_begins_affects_no_later_statement() {
    let database = TestDatabase::create().await;
    let mut other = database.connect().await;
    other.execute("create table noted (number bigint)").await.unwrap();
    // One connection, so that the next caller gets the abandoned one.
    let db = Db::connect_lazy(&database.url.clone().into(), 1).unwrap();
    drop(db.connection().await.unwrap());
    let (mut noted, mut dropped) = (0_i64, 0);
    for round in 0..20 {
        for polls in 0..POLLS {
            dropped += usize::from(dropped_after(polls, db.begin()).await);
            let mut connection = db.connection().await.unwrap();
            let note = sqlx::query("insert into noted values ($1)").bind(noted);
            note.execute(&mut *connection).await.unwrap();
            drop(connection);
            noted += 1;
            let query = sqlx::query_scalar("select count(*) from noted");
            let kept: i64 = query.fetch_one(&mut other).await.unwrap();
            assert_eq!(kept, noted, "round {round}, dropped after {polls} polls");
        }
    }
    fired(dropped);
    other.close().await.unwrap();
    db.close().await;
    database.remove().await;
}
