//! The addresses that a watcher reads: each once, none lost, in any order in which their
//! transactions end.

use std::cell::Cell;

use chrono::{DateTime, Utc};
use gateway::{
    asset::Family,
    storage::{
        Db,
        addresses::{ReadUpTo, watched_since},
    },
};
use sqlx::{Connection, Executor, PgConnection};
use support::server::{broker::eventually, database::TestDatabase};
use uuid::Uuid;

const FROM: (DateTime<Utc>, Uuid) = (DateTime::UNIX_EPOCH, Uuid::nil());

async fn give(connection: &mut PgConnection, key: &str) {
    let insert = "insert into deposit_address (id, family, address, match_key, derivation_index, network)
                  values (gen_random_uuid(), 'evm', $1, $1, nextval('address_index_evm'), 'polygon')";
    sqlx::query(insert).bind(key).execute(connection).await.unwrap();
}

async fn read(db: &Db, up_to: Option<ReadUpTo>) -> (Vec<String>, Option<ReadUpTo>) {
    let mut connection = db.connection().await.unwrap();
    let read = watched_since(&mut connection, Family::Evm, FROM, up_to, 100).await.unwrap();
    (read.0.into_iter().map(|address| address.match_key).collect(), Some(read.1))
}

/// Reads until nothing is new: addresses are not read again, once all transactions in progress at
/// the time have ended. Databases of one server count together.
async fn until_all_is_read(db: &Db, place: Option<ReadUpTo>) -> Option<ReadUpTo> {
    let place = Cell::new(place);
    eventually("nothing is read again", async || {
        let (keys, read) = read(db, place.get()).await;
        place.set(read);
        keys.is_empty().then_some(())
    })
    .await;
    place.get()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_gets_what_is_new_and_loses_nothing_that_is_committed_late() {
    let database = TestDatabase::create().await;
    let db = Db::connect_lazy(&database.url.clone().into(), 2).unwrap();
    let (mut slow, mut quick) = (database.connect().await, database.connect().await);
    give(&mut quick, "first").await;
    let (keys, place) = read(&db, None).await;
    assert_eq!(keys, ["first"]);
    let place = until_all_is_read(&db, place).await;

    // Begun before its neighbour and ended after it, part of it inside a savepoint.
    slow.execute("begin").await.unwrap();
    give(&mut slow, "late").await;
    slow.execute("savepoint inside").await.unwrap();
    give(&mut slow, "later").await;
    slow.execute("release savepoint inside").await.unwrap();
    give(&mut quick, "second").await;
    let (keys, place) = read(&db, place).await;
    assert_eq!(keys, ["second"]);
    let (_, place) = read(&db, place).await;
    slow.execute("commit").await.unwrap();
    let (mut keys, place) = read(&db, place).await;
    keys.retain(|key| key != "second");
    assert_eq!(keys, ["late", "later"]);
    until_all_is_read(&db, place).await;
    // A reader without a position on this server reads all.
    assert_eq!(read(&db, None).await.0.len(), 4);
    for connection in [slow, quick] {
        connection.close().await.unwrap();
    }
    db.close().await;
    database.remove().await;
}
