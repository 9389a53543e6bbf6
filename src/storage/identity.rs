//! Is this the database that it was, and may it be written?
//!
//! A standby that took over and a restored backup may lack the last commits: addresses that buyers
//! already have would be given again, and payouts that the chain already made would be made again.
//! Both come with connections that are all new, so each new connection asks once. A standby that
//! was handed the database lacks nothing and goes on (`handover`). Of any other, the first to
//! notice moves the address sequences far beyond all that can have been given, empties the pools,
//! stops all signing until an operator has compared wallets and books, and alerts the operators.
//!
//! A snapshot of the disk shows none of the marks; whoever restores one says so (`restored`).

use chrono::{DateTime, Utc};
use sqlx::Connection;

use super::{PgConnection, StorageError, alerts, payouts::safety};
use crate::asset::Family;

/// No installation gives more addresses of a family than this between its last backup and its end.
/// A key has room for two hundred such jumps.
pub const INDEX_JUMP: i64 = 10_000_000;
const EVERYWHERE: &str = "*";
const ALERT: &str = "database_replaced";

/// The server that a new connection leads to.
struct Found {
    replica: bool,
    identity: String,
    /// Of the table that holds the identity: another one after `pg_restore --clean`.
    table: i64,
    has_tables: bool,
}

/// Refuses a server that only repeats another, and makes one safe that has lost commits.
pub async fn check(connection: &mut PgConnection) -> Result<(), StorageError> {
    let found = look(connection).await?;
    if found.replica {
        return Err(StorageError::ReadOnly);
    }
    if !found.has_tables {
        // The migrations that make them have not run.
        return Ok(());
    }
    let row = sqlx::query!("select identity, table_id, handover from database_identity")
        .fetch_optional(&mut *connection)
        .await?;
    let Some(row) = row else { return note_first(connection, &found).await };
    if row.identity != found.identity || row.table_id.is_some_and(|table| table != found.table) {
        return make_safe(connection, &found).await;
    }
    if row.handover.is_some() {
        return Err(StorageError::HandedOver);
    }
    if row.table_id.is_none() {
        note_table(connection, &found).await?;
    }
    Ok(())
}

async fn note_first(connection: &mut PgConnection, found: &Found) -> Result<(), StorageError> {
    sqlx::query!(
        "insert into database_identity (identity, table_id) values ($1, $2) on conflict do nothing",
        found.identity,
        found.table
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Of a row that the release before wrote.
async fn note_table(connection: &mut PgConnection, found: &Found) -> Result<(), StorageError> {
    sqlx::query!(
        "update database_identity set table_id = $1 where table_id is null and identity = $2",
        found.table,
        found.identity
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Makes safe a database that was restored, whatever its marks say. `false` if no program has ever
/// used it.
pub(super) async fn restored(connection: &mut PgConnection) -> Result<bool, StorageError> {
    let found = look(connection).await?;
    if found.replica {
        return Err(StorageError::ReadOnly);
    }
    let done = sqlx::query!(
        "update database_identity set identity = 'restored ' || identity, handover = null"
    )
    .execute(&mut *connection)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    make_safe(connection, &found).await?;
    Ok(true)
}

/// When the last loss of commits was noticed; none if there never was one. A hand-over since then
/// counts as one.
pub async fn restored_at(
    connection: &mut PgConnection,
) -> Result<Option<DateTime<Utc>>, StorageError> {
    let at = sqlx::query_scalar!("select updated_at from database_identity where returns > 0");
    Ok(at.fetch_optional(connection).await?)
}

async fn look(connection: &mut PgConnection) -> Result<Found, StorageError> {
    let row = sqlx::query!(
        r#"
        select pg_is_in_recovery() as "replica!",
               exists(
                   select from pg_attribute
                   where attrelid = to_regclass('database_identity') and attname = 'table_id'
               ) as "has_tables!",
               coalesce(to_regclass('database_identity')::oid::bigint, 0) as "table!",
               case when pg_is_in_recovery() then '' else concat_ws('/',
                   (select system_identifier from pg_control_system()),
                   (select oid from pg_database where datname = current_database()),
                   left(pg_walfile_name(pg_current_wal_lsn()), 8)
               ) end as "identity!"
        "#
    )
    .fetch_one(connection)
    .await?;
    Ok(Found {
        replica: row.replica,
        identity: row.identity,
        table: row.table,
        has_tables: row.has_tables,
    })
}

/// Returns whether this is the server that the programs know, and open to them. One round trip,
/// for each transaction behind a pooler.
pub(super) async fn is_known(connection: &mut PgConnection) -> Result<bool, StorageError> {
    // As `look` reads it, which must do without the table.
    let known = sqlx::query_scalar!(
        r#"
        select not pg_is_in_recovery() and exists(
            select from database_identity
            where handover is null and table_id = 'database_identity'::regclass::oid::bigint
                and identity = case when pg_is_in_recovery() then '' else concat_ws('/',
                (select system_identifier from pg_control_system()),
                (select oid from pg_database where datname = current_database()),
                left(pg_walfile_name(pg_current_wal_lsn()), 8)
            ) end
        ) as "known!"
        "#
    )
    .fetch_one(connection)
    .await?;
    Ok(known)
}

/// Runs once per replaced database, by the first to come; the others wait for it. If it dies
/// halfway, the next one repeats it.
async fn make_safe(connection: &mut PgConnection, found: &Found) -> Result<(), StorageError> {
    let identity = &*found.identity;
    let mut tx = connection.begin().await?;
    // Long after a hand-over it is a copy of the old primary that was restored, while another went
    // on.
    let row = sqlx::query!(
        r#"
        select identity, table_id, handover = 'closed' and updated_at > now() - interval '1 hour' as "handed_over"
        from database_identity
        for update
        "#
    )
    .fetch_one(&mut *tx)
    .await?;
    if row.identity == identity && row.table_id == Some(found.table) {
        return Ok(());
    }
    if row.handed_over == Some(true) {
        adopt(&mut tx, found).await?;
        tx.commit().await?;
        tracing::warn!(
            was = row.identity,
            is = identity,
            "a planned failover was detected; no commit is missing"
        );
        return Ok(());
    }
    for family in Family::ALL.into_iter().filter(|family| !family.has_pool()) {
        jump(&mut tx, family).await?;
    }
    sqlx::query!("update address_pool set taken_at = now() where taken_at is null")
        .execute(&mut *tx)
        .await?;
    let detail = format!(
        "was {}, is {identity}: addresses go on {INDEX_JUMP} further, pools are to be filled again, nothing is signed",
        row.identity
    );
    let reason = "the database was replaced and may lack payments: compare each wallet with the books, then resume";
    safety::stop(&mut tx, EVERYWHERE, reason).await?;
    alerts::raise(&mut tx, ALERT, identity, &detail).await?;
    sqlx::query!(
        r#"
        update database_identity
        set identity = $1, table_id = $2, returns = returns + 1, handover = null, updated_at = now()
        "#,
        identity,
        found.table
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    tracing::error!(
        was = row.identity,
        is = identity,
        "the database was replaced; payouts are stopped"
    );
    Ok(())
}

async fn adopt(connection: &mut PgConnection, found: &Found) -> Result<(), StorageError> {
    sqlx::query!(
        "update database_identity set identity = $1, table_id = $2, handover = null, updated_at = now()",
        found.identity,
        found.table
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Sequences do not roll back: the jump counts from this moment.
async fn jump(connection: &mut PgConnection, family: Family) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        select setval(name, nextval(name) + $2) as "index!"
        from (select ('address_index_' || $1::text)::regclass as name) as sequence
        "#,
        family.name(),
        INDEX_JUMP
    )
    .fetch_one(connection)
    .await?;
    Ok(())
}
