//! Seals of the ledger. See [`crate::accounting::seal`] for the chain.

use chrono::{DateTime, Utc};

use super::{PgConnection, StorageError};
use crate::accounting::seal::Entry;

/// A batch of sealed entries.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    pub through_id: i64,
    pub entries: i32,
}

/// The hash of an account behind a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    pub account: String,
    pub hash: Vec<u8>,
}

/// Lock for sealing, held until the transaction ends. Read only behind it: two sealers that
/// continue the same seals would fork the chain, and the lock of the role's session can be lost
/// unnoticed.
pub async fn lock(connection: &mut PgConnection) -> Result<(), StorageError> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('ledger-seal', 0)) as "locked?: ()""#
    )
    .fetch_one(connection)
    .await?;
    Ok(())
}

/// The last sealed entry; 0 if there is none.
pub async fn sealed_through(connection: &mut PgConnection) -> Result<i64, StorageError> {
    let id = sqlx::query_scalar!(
        r#"select coalesce(max(through_id), 0) as "id!" from ledger_seal_batch"#
    )
    .fetch_one(connection)
    .await?;
    Ok(id)
}

/// Entries behind `after` that no transaction can still come before: ids are not in the order of
/// commits, so the newest ten minutes are left for later. Index: `ledger_entry_pkey`.
pub async fn settled_after(
    connection: &mut PgConnection,
    after: i64,
    limit: i64,
) -> Result<Vec<Entry>, StorageError> {
    let rows = sqlx::query_as!(
        Entry,
        r#"
        select id, kind, source, asset, debit, credit, amount::text as "amount!", created_at
        from ledger_entry
        where id > $1
          and id < coalesce((
              select id from ledger_entry where id > $1 and created_at >= now() - interval '10 minutes' order by id limit 1
          ), 9223372036854775807)
        order by id
        limit $2
        "#,
        after,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The first entries of `(after, through]`. Index: `ledger_entry_pkey`.
pub async fn entries(
    connection: &mut PgConnection,
    (after, through): (i64, i64),
    limit: i64,
) -> Result<Vec<Entry>, StorageError> {
    let rows = sqlx::query_as!(
        Entry,
        r#"
        select id, kind, source, asset, debit, credit, amount::text as "amount!", created_at
        from ledger_entry
        where id > $1 and id <= $2
        order by id
        limit $3
        "#,
        after,
        through,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The newest hashes of some accounts. Index: `ledger_seal_pkey`.
pub async fn heads(
    connection: &mut PgConnection,
    accounts: &[String],
) -> Result<Vec<Seal>, StorageError> {
    let rows = sqlx::query_as!(
        Seal,
        r#"
        select wanted.account as "account!", newest.hash
        from unnest($1::text[]) as wanted (account)
        cross join lateral (
            select s.hash from ledger_seal s where s.account = wanted.account order by s.through_id desc limit 1
        ) newest
        "#,
        accounts
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Writes a batch with the hashes of its accounts.
pub async fn insert(
    connection: &mut PgConnection,
    batch: Batch,
    accounts: &[String],
    hashes: &[Vec<u8>],
) -> Result<(), StorageError> {
    sqlx::query!(
        "insert into ledger_seal_batch (through_id, entries) values ($1, $2)",
        batch.through_id,
        batch.entries
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        r#"
        insert into ledger_seal (account, through_id, hash)
        select account, $1, hash from unnest($2::text[], $3::bytea[]) as sealed (account, hash)
        "#,
        batch.through_id,
        accounts,
        hashes
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Sums of what is sealed, of one account and asset. Base units as digits, with a sign.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subtotal {
    pub account: String,
    pub asset: String,
    pub units: String,
}

/// The sums that are not zero, if `through` is the last sealed entry; `None` if more were sealed
/// meanwhile.
pub async fn subtotals_at(
    connection: &mut PgConnection,
    through: i64,
) -> Result<Option<Vec<Subtotal>>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select (select coalesce(max(through_id), 0) from ledger_seal_batch) as "through!",
               s.account as "account?", s.asset as "asset?", s.units::text as "units?"
        from (values (true)) as always (one)
        left join ledger_subtotal s on s.units <> 0
        "#
    )
    .fetch_all(connection)
    .await?;
    if rows.first().is_none_or(|row| row.through != through) {
        return Ok(None);
    }
    let read = rows.into_iter().filter_map(|row| {
        Some(Subtotal { account: row.account?, asset: row.asset?, units: row.units? })
    });
    Ok(Some(read.collect()))
}

/// Batches behind `after` that were sealed by `as_of`.
pub async fn batches(
    connection: &mut PgConnection,
    after: i64,
    as_of: Option<DateTime<Utc>>,
    limit: i64,
) -> Result<Vec<Batch>, StorageError> {
    let rows = sqlx::query_as!(
        Batch,
        r#"
        select through_id, entries
        from ledger_seal_batch
        where through_id > $1 and ($2::timestamptz is null or sealed_at <= $2)
        order by through_id
        limit $3
        "#,
        after,
        as_of,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The hashes of a batch. Index: `ledger_seal_by_batch`.
pub async fn of_batch(
    connection: &mut PgConnection,
    through_id: i64,
) -> Result<Vec<Seal>, StorageError> {
    let rows = sqlx::query_as!(
        Seal,
        "select account, hash from ledger_seal where through_id = $1 order by account",
        through_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Notes the result of a verification.
pub async fn note_check(
    connection: &mut PgConnection,
    (entries, faults): (i64, i64),
    detail: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into ledger_check (single, checked_at, entries, faults, detail)
        values (true, clock_timestamp(), $1, $2, $3)
        on conflict (single) do update
        set checked_at = excluded.checked_at, entries = excluded.entries, faults = excluded.faults, detail = excluded.detail
        "#,
        entries,
        faults,
        detail
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The faults of the last verification, and the hours since it; `None` before the first.
pub async fn last_check(connection: &mut PgConnection) -> Result<Option<(i64, i64)>, StorageError> {
    let row = sqlx::query!(
        r#"select faults, (extract(epoch from clock_timestamp() - checked_at) / 3600)::bigint as "hours!" from ledger_check"#
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| (row.faults, row.hours)))
}
