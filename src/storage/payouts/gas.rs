//! Gas at the addresses of token orders: fronted, used and remaining amounts.

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{PgConnection, StorageError, numeric},
};

const TABLE: &str = "payout_payment";

/// Amounts of the network's coin at an order's address, according to the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OrderGas {
    /// Fronted and seen in a block.
    pub arrived: BaseUnits,
    /// Total fronted amount, pending payments included.
    pub fronted: BaseUnits,
    /// Fees of ended payments of the address, and the gas that it returned.
    pub used: BaseUnits,
    /// Number of fronted payments that are not final.
    pub on_the_way: u32,
    /// Number of refunds signed so far.
    pub refunds: u32,
}

pub async fn of_order(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<OrderGas, StorageError> {
    let row = sqlx::query!(
        r#"
        select coalesce(sum(amount) filter (
                   where purpose = 'gas' and (state = 'confirmed' or state = 'sent' and height is not null)), 0) as "arrived!",
               coalesce(sum(amount) filter (where purpose = 'gas' and state <> 'failed'), 0) as "fronted!",
               coalesce(sum(fee) filter (where purpose <> 'gas'), 0)
                   + coalesce(sum(amount) filter (where purpose = 'gas_return' and state <> 'failed'), 0) as "used!",
               count(*) filter (where purpose = 'gas' and state in ('signed', 'sent')) as "on_the_way!",
               count(*) filter (where purpose = 'refund') as "refunds!"
        from payout_payment
        where order_id = $1
        "#,
        order_id
    )
    .fetch_one(connection)
    .await?;
    let count = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    Ok(OrderGas {
        arrived: numeric::to_units(TABLE, &row.arrived)?,
        fronted: numeric::to_units(TABLE, &row.fronted)?,
        used: numeric::to_units(TABLE, &row.used)?,
        on_the_way: count(row.on_the_way),
        refunds: count(row.refunds),
    })
}

/// Network fees of an order's payments, its gas included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paid {
    /// Of payments that have ended.
    pub fees: BaseUnits,
    /// Number of payments that have not ended.
    pub open: u32,
}

pub async fn paid(connection: &mut PgConnection, order_id: Uuid) -> Result<Paid, StorageError> {
    let row = sqlx::query!(
        r#"
        select coalesce(sum(fee), 0) as "fees!", count(*) filter (where state in ('signed', 'sent')) as "open!"
        from payout_payment
        where order_id = $1
        "#,
        order_id
    )
    .fetch_one(connection)
    .await?;
    Ok(Paid {
        fees: numeric::to_units(TABLE, &row.fees)?,
        open: u32::try_from(row.open).unwrap_or(u32::MAX),
    })
}

/// Commitments of a network's gas wallet that its balance may not show yet, and the number of their
/// payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Promised {
    pub amount: BaseUnits,
    pub payments: u32,
}

/// Call it under the wallet's lock ([`super::payments::lock_sender`]).
pub async fn promised(
    connection: &mut PgConnection,
    network: Network,
) -> Result<Promised, StorageError> {
    let row = sqlx::query!(
        r#"
        select coalesce(sum(amount) filter (where height is null), 0) as "amount!", count(*) as "payments!"
        from payout_payment
        where network = $1 and purpose = 'gas' and state in ('signed', 'sent')
        "#,
        network.name()
    )
    .fetch_one(connection)
    .await?;
    Ok(Promised {
        amount: numeric::to_units(TABLE, &row.amount)?,
        payments: u32::try_from(row.payments).unwrap_or(u32::MAX),
    })
}

/// USD total that the gas wallet fronted in the last day on all networks. Concurrent signers that
/// read it wait for one another.
pub async fn fronted_lately(connection: &mut PgConnection) -> Result<Decimal, StorageError> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('payout:gas', 0)) as "locked?: ()""#
    )
    .fetch_one(&mut *connection)
    .await?;
    let row = sqlx::query!(
        r#"
        select coalesce(sum(value_usd), 0) as "day!"
        from payout_payment
        where created_at > now() - interval '24 hours' and purpose = 'gas'
        "#
    )
    .fetch_one(connection)
    .await?;
    numeric::to_decimal(TABLE, &row.day)
}

/// True if any order of the last month pays a token of `network`: then its gas wallet must not run
/// dry.
pub async fn is_needed(
    connection: &mut PgConnection,
    network: Network,
    native_token_id: &str,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"
        select exists(
            select from payout_order
            where network = $1 and token_id <> $2 and created_at > now() - interval '30 days'
        ) as "needed!"
        "#,
        network.name(),
        native_token_id
    )
    .fetch_one(connection)
    .await?;
    Ok(row.needed)
}

/// Stores whether gas may still lie at the order's address.
pub async fn set_open(
    connection: &mut PgConnection,
    order_id: Uuid,
    is_open: bool,
) -> Result<(), StorageError> {
    sqlx::query!("update payout_order set gas_open = $2 where id = $1", order_id, is_open)
        .execute(connection)
        .await?;
    Ok(())
}

/// True if a transaction fronted gas: then the value it brought is no deposit.
pub async fn fronted_by(
    connection: &mut PgConnection,
    order_id: Uuid,
    tx_hash: &str,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"
        select exists(
            select
            from payout_version v
            join payout_payment p on p.id = v.payment_id
            where v.tx_hash = $2 and p.order_id = $1 and p.purpose = 'gas'
        ) as "fronted!"
        "#,
        order_id,
        tx_hash
    )
    .fetch_one(connection)
    .await?;
    Ok(row.fronted)
}
