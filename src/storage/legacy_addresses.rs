//! Deposit addresses of merchants that belong to no invoice: those of the `/legacy` adapter.

use uuid::Uuid;

use super::{
    PgConnection, StorageError,
    addresses::NewAddress,
    deposits::{DepositRow, deposit_rows},
};
use crate::legacy::address::Purpose;

/// An address to be given out.
#[derive(Debug, Clone)]
pub struct NewLegacyAddress {
    pub merchant_id: Uuid,
    pub network: &'static str,
    pub token_id: String,
    pub purpose: Purpose,
    pub ipn_url: Option<String>,
    pub label: Option<String>,
}

/// An address that a deposit reached.
#[derive(Debug, Clone)]
pub struct LegacyAddress {
    pub address_id: Uuid,
    pub merchant_id: Uuid,
    pub token_id: String,
    pub purpose: Purpose,
    pub ipn_url: Option<String>,
    pub label: Option<String>,
    pub address: String,
}

/// Gives an address out to a merchant. The caller holds the merchant's row lock.
pub async fn insert(
    connection: &mut PgConnection,
    address: &NewAddress,
    new: &NewLegacyAddress,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        with given as (
            insert into deposit_address (id, family, address, match_key, derivation_index, network, issued_height)
            values ($1, $2, $3, $4, $5, $6, (select height from chain_cursor where network = $6))
            returning id
        )
        insert into legacy_address (address_id, merchant_id, token_id, purpose, ipn_url, label)
        select id, $7, $8, $9, $10, $11 from given
        "#,
        address.id,
        address.family.name(),
        address.address,
        address.match_key,
        address.derivation_index,
        new.network,
        new.merchant_id,
        new.token_id,
        new.purpose.as_str(),
        new.ipn_url,
        new.label
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A merchant's standing address for a currency. Index: `legacy_address_standing`.
pub async fn standing(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    token_id: &str,
) -> Result<Option<String>, StorageError> {
    let address = sqlx::query_scalar!(
        r#"
        select a.address
        from legacy_address l
        join deposit_address a on a.id = l.address_id
        where l.merchant_id = $1 and l.token_id = $2 and l.purpose = 'standing'
        "#,
        merchant_id,
        token_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(address)
}

/// Number of a merchant's addresses in a family, counted no further than `most`. Index:
/// `legacy_address_by_merchant`.
pub async fn count(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    family: &str,
    most: i64,
) -> Result<i64, StorageError> {
    let count = sqlx::query_scalar!(
        r#"
        select count(*) as "count!"
        from (
            select
            from legacy_address l
            join deposit_address a on a.id = l.address_id
            where l.merchant_id = $1 and a.family = $2
            limit $3
        ) as given
        "#,
        merchant_id,
        family,
        most
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

/// The address that a deposit without an invoice reached. Index: `legacy_address_pkey`.
pub async fn of_deposit(
    connection: &mut PgConnection,
    deposit_id: Uuid,
) -> Result<Option<LegacyAddress>, StorageError> {
    let row = sqlx::query_as!(
        LegacyAddress,
        r#"
        select l.address_id, l.merchant_id, l.token_id, l.purpose as "purpose: _", l.ipn_url, l.label, a.address
        from deposit d
        join legacy_address l on l.address_id = d.address_id
        join deposit_address a on a.id = l.address_id
        where d.id = $1
        "#,
        deposit_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// Final deposits at an address that are not booked yet, at most `limit`, the oldest first. They
/// are locked: a reorganisation, or another copy of the message, finds them booked or not, never in
/// between. Index: `deposit_own_final`.
pub async fn lock_unsettled(
    connection: &mut PgConnection,
    address_id: Uuid,
    limit: i64,
) -> Result<Vec<DepositRow>, StorageError> {
    let rows = deposit_rows!(
        "where d.address_id = $1 and d.state = 'final' and d.invoice_id is null and d.payout_order_id is null
         order by d.first_seen_at, d.id limit $2 for update",
        address_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The value of a booked deposit, in the currency that it was valued in; `None` without a rate.
pub async fn value(
    connection: &mut PgConnection,
    deposit_id: Uuid,
) -> Result<Option<(String, String)>, StorageError> {
    let row = sqlx::query!(
        r#"
        select fiat_currency as "currency!", trim_scale(fiat_value)::text as "value!"
        from deposit
        where id = $1 and fiat_currency is not null and fiat_value is not null
        "#,
        deposit_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| (row.currency, row.value)))
}
