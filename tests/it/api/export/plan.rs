//! All parts of a ledger's export share one plan, which is made for the tables as they are.

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;
use gateway::{
    accounting::Range,
    storage::{
        Db,
        exports::{
            Asked,
            ledger::{self, After},
        },
    },
};
use sqlx::{Connection, Executor, PgConnection};
use support::server::{broker::eventually, database::TestDatabase};
use uuid::Uuid;

const ENTRIES: i64 = 100;
const FILL: &str = "
    insert into ledger_entry (kind, source, asset, debit, credit, amount, created_at)
    select 'deposit', md5(n::text)::uuid, 'usdtmatic@polygon', 'custody:polygon', 'merchant:' || $1, n,
           timestamptz '2026-01-15 00:00Z' + n * interval '1 second'
    from generate_series(1, $2) as n";
/// The deposits of these entries and many more, without the rows that they belong to.
const GROW: &str = "
    insert into deposit (id, network, deposit_key, tx_hash, address_id, invoice_id, amount_text, first_seen_at, state)
    select md5(n::text)::uuid, 'polygon', 'key-' || n, 'tx-' || n, gen_random_uuid(), gen_random_uuid(), '1', now(), 'seen'
    from generate_series(1, 5000) as n";
const LOOKED_UP: &str =
    "select idx_scan from pg_stat_user_indexes where indexrelname = 'deposit_pkey'";

/// Entries that an export of the merchant reads, of which each has its deposit's transaction.
async fn read(db: &Db, merchant_id: Uuid) -> (i64, usize) {
    let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
    let range = Range { from: at("2026-01-01T00:00:00Z"), to: at("2026-02-01T00:00:00Z") };
    let mut tx = db.begin_snapshot().await.unwrap();
    let most = ledger::begin_parts(&mut tx, merchant_id).await.unwrap();
    let begin = After::the_entries_before(range.from);
    let rows = ledger::read(&mut tx, Asked { merchant_id, range }, begin, most);
    let rows: Vec<_> = rows.try_collect().await.unwrap();
    let with_transaction = rows.iter().filter(|row| row.tx_hash.is_some()).count();
    (rows.len().try_into().unwrap(), with_transaction)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_was_empty_at_an_earlier_export_is_not_read_whole_for_each_row() {
    let database = TestDatabase::create().await;
    let mut hand = PgConnection::connect(&database.url).await.unwrap();
    let merchant_id = Uuid::now_v7();
    let fill = sqlx::query(FILL).bind(merchant_id.to_string()).bind(ENTRIES);
    fill.execute(&mut hand).await.unwrap();
    hand.execute("vacuum analyze").await.unwrap();
    // Both exports have the same connection, as those of a quiet day.
    let db = Db::connect_lazy(&database.url.clone().into(), 1).unwrap();
    assert_eq!(read(&db, merchant_id).await, (ENTRIES, 0));

    hand.execute("set session_replication_role = replica").await.unwrap();
    hand.execute(GROW).await.unwrap();
    let before: i64 = sqlx::query_scalar(LOOKED_UP).fetch_one(&mut hand).await.unwrap();
    assert_eq!(read(&db, merchant_id).await, (ENTRIES, 100));
    // The end of a session adds its readings to the statistics.
    db.close().await;
    eventually("each entry's deposit was looked up by its id", async || {
        let after: i64 = sqlx::query_scalar(LOOKED_UP).fetch_one(&mut hand).await.unwrap();
        (after - before >= ENTRIES).then_some(())
    })
    .await;
    database.remove().await;
}
