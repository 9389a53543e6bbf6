//! The ledger is read part by part; the file does not show where one ends.

use std::collections::HashMap;

use support::server::{broker::eventually, stack::with_stack};

/// A part has 300 entries, and may end among those of one moment. The entries between two accounts
/// of the merchant are in both.
const ENTRIES: &str = "
    insert into ledger_entry (kind, source, asset, debit, credit, amount, created_at)
    select kind, gen_random_uuid(), 'usdtmatic@polygon', debit || case when debit like '%:' then m.id::text else '' end, credit || m.id, n,
           timestamptz '2026-03-01 00:00:00Z' + greatest(0, n - after) * interval '1 second'
    from merchant m
    cross join (values
        ('deposit', 'custody:polygon', 'merchant:', 25000, 0),
        ('late_deposit', 'custody:polygon', 'late:', 15000, 12000),
        ('payout_refund', 'late:', 'merchant:', 11000, 300)
    ) as of (kind, debit, credit, entries, after)
    cross join lateral generate_series(1, of.entries) as n";
const SUMS: &str = "
    select account, sum(amount)::int8 from (
        select credit as account, amount from ledger_entry
        union all select debit, -amount from ledger_entry
    ) side group by account";
const ORDER: &str = "select id from ledger_entry order by created_at, id";
/// Readings of the whole ledger, and readings by an index.
const SCANS: &str = "
    select coalesce(seq_scan, 0), coalesce(idx_scan, 0) from pg_stat_user_tables where relname = 'ledger_entry'";

#[tokio::test(flavor = "multi_thread")]
async fn the_parts_of_a_ledger_are_one_file_in_the_order_of_time() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        stack.sql(ENTRIES).await;
        stack.sql("vacuum analyze ledger_entry").await;
        let mut connection = stack.database.connect().await;
        let before: (i64, i64) = sqlx::query_as(SCANS).fetch_one(&mut connection).await.unwrap();
        let path = "/v1/export/ledger?from=2026-03-01&to=2026-04-01";
        let file = merchant.client.get(path).await;
        assert_eq!((file.status, file.header("x-gateway-row-count")), (200, Some("102000")));

        // A transaction's readings are counted together, some time after its end.
        let whole = eventually("the readings are counted", async || {
            let after: (i64, i64) = sqlx::query_as(SCANS).fetch_one(&mut connection).await.unwrap();
            (after.1 > before.1).then_some(after.0 - before.0)
        });
        assert_eq!(whole.await, 0, "the whole ledger was read for a part of it");
        let order: Vec<i64> = sqlx::query_scalar(ORDER).fetch_all(&mut connection).await.unwrap();
        let sums: Vec<(String, i64)> =
            sqlx::query_as(SUMS).fetch_all(&mut connection).await.unwrap();
        let mut reader = csv::Reader::from_reader(file.body.as_bytes());
        let (mut ids, mut balances) = (Vec::new(), HashMap::new());
        for record in reader.records().map(Result::unwrap) {
            ids.push(record[0].parse::<i64>().unwrap());
            balances.insert(record[2].to_owned(), record[6].replace('\'', ""));
        }
        // Two rows of each entry, one behind the other.
        let (debits, credits): (Vec<_>, Vec<_>) = ids.chunks(2).map(|two| (two[0], two[1])).unzip();
        assert_eq!(debits, order);
        assert_eq!(credits, order);
        assert_eq!(balances.len(), sums.len());
        for (account, units) in sums {
            let coins = rust_decimal::Decimal::new(units, 6).normalize();
            assert_eq!(balances[&account], coins.to_string(), "{account}");
        }
    })
    .await;
}
