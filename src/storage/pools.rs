//! Pools of addresses that cannot be derived from public material (Solana, NEAR), generated
//! elsewhere and used in index order.

use super::{PgConnection, StorageError, identity};
use crate::asset::Family;

/// State of a pool.
#[derive(Debug, Clone)]
pub struct Pool {
    pub free: i64,
    /// The first index beyond all of them, including those given out from a pool that was lost with
    /// its database.
    pub next: i64,
    /// The address at the lowest index; `None` for a pool that was never filled.
    pub first: Option<String>,
}

/// Data for the decision whether a family can be offered.
#[derive(Debug, Clone)]
pub struct Top {
    pub family: Family,
    pub has_free: bool,
    pub first: Option<String>,
}

/// Addresses that were given out.
#[derive(Debug, Clone, Copy)]
pub struct Given {
    pub count: i64,
    pub last_day: i64,
    /// The first index beyond them.
    pub next: i64,
}

/// Takes an address from the pool; `None` when it is empty. Index: `address_pool_free`.
pub async fn take(
    connection: &mut PgConnection,
    family: Family,
) -> Result<Option<(i64, String)>, StorageError> {
    let row = sqlx::query!(
        r#"
        update address_pool
        set taken_at = now()
        where (family, derivation_index) = (
            select family, derivation_index
            from address_pool
            where family = $1 and taken_at is null
            order by derivation_index
            limit 1
            for update skip locked
        )
        returning derivation_index, address
        "#,
        family.name()
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| (row.derivation_index, row.address)))
}

/// Lock for filling a pool, held until the transaction ends, so that two imports never choose the
/// same next index.
pub async fn lock(connection: &mut PgConnection, family: Family) -> Result<(), StorageError> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('address-pool:' || $1::text, 0)) as "locked?: ()""#,
        family.name()
    )
    .fetch_one(connection)
    .await?;
    Ok(())
}

/// Adds addresses of consecutive indices. If the pool has one of them already, all are refused.
pub async fn add(
    connection: &mut PgConnection,
    family: Family,
    first: i64,
    addresses: &[String],
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into address_pool (family, derivation_index, address)
        select $1, $2::bigint + place - 1, address
        from unnest($3::text[]) with ordinality as t (address, place)
        "#,
        family.name(),
        first,
        addresses
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// One of `addresses` that was given out before, from a pool that this database has lost.
pub async fn given_before(
    connection: &mut PgConnection,
    family: Family,
    addresses: &[String],
) -> Result<Option<String>, StorageError> {
    let row = sqlx::query!(
        "select address from deposit_address where family = $1 and match_key = any ($2) order by 1 limit 1",
        family.name(),
        addresses
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.address))
}

pub async fn load(connection: &mut PgConnection, family: Family) -> Result<Pool, StorageError> {
    let row = sqlx::query!(
        r#"
        select (select count(*) from address_pool where family = $1 and taken_at is null) as "free!",
               greatest(
                   coalesce((select max(derivation_index) + 1 from address_pool where family = $1), 0),
                   coalesce((select returns from database_identity), 0) * $2::bigint
               ) as "next!",
               (select address from address_pool where family = $1 order by derivation_index limit 1) as first
        "#,
        family.name(),
        identity::INDEX_JUMP
    )
    .fetch_one(connection)
    .await?;
    Ok(Pool { free: row.free, next: row.next, first: row.first })
}

/// State of every family with a pool, by two cheap index lookups each.
pub async fn tops(connection: &mut PgConnection) -> Result<Vec<Top>, StorageError> {
    let pools: Vec<_> = Family::ALL.into_iter().filter(|family| family.has_pool()).collect();
    let names: Vec<_> = pools.iter().map(|family| family.name().to_owned()).collect();
    let rows = sqlx::query!(
        r#"
        select name as "name!",
               exists (select from address_pool where family = name and taken_at is null) as "has_free!",
               (select address from address_pool where family = name order by derivation_index limit 1) as first
        from unnest($1::text[]) as pool (name)
        "#,
        &names
    )
    .fetch_all(connection)
    .await?;
    let top = |family: Family| {
        let row = rows.iter().find(|row| row.name == family.name())?;
        Some(Top { family, has_free: row.has_free, first: row.first.clone() })
    };
    Ok(pools.into_iter().filter_map(top).collect())
}

/// Number of a family's addresses given out, in total and in the last day. Index:
/// `deposit_address_by_age`.
pub async fn given(connection: &mut PgConnection, family: Family) -> Result<Given, StorageError> {
    let row = sqlx::query!(
        r#"
        select count(*) as "count!",
               count(*) filter (where created_at > now() - interval '1 day') as "last_day!",
               coalesce(max(derivation_index) + 1, 0) as "next!"
        from deposit_address
        where family = $1
        "#,
        family.name()
    )
    .fetch_one(connection)
    .await?;
    Ok(Given { count: row.count, last_day: row.last_day, next: row.next })
}
