//! x402 as operators watch it: the wallet that pays the gas, its limits, and open settlements.

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{PgConnection, StorageError, numeric},
    x402::settlement::State,
};

const TABLE: &str = "x402_settlement";

/// The wallet on one network, as its role saw it last.
#[derive(Debug, Clone)]
pub struct GasRow {
    pub network: Network,
    pub address: String,
    /// In the network's own coin.
    pub balance: BaseUnits,
    /// Settlements that it pays for at the price of gas of that moment.
    pub settlements: i64,
    pub seen_at: DateTime<Utc>,
}

/// Notes the wallet's balance on a network, and the number of settlements that it pays for.
pub async fn note_gas(
    connection: &mut PgConnection,
    network: Network,
    address: &str,
    (balance, settlements): (BaseUnits, i64),
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into x402_gas (network, address, balance, settlements) values ($1, $2, $3, $4)
        on conflict (network) do update set address = $2, balance = $3, settlements = $4, seen_at = clock_timestamp()
        "#,
        network.name(),
        address,
        numeric::from_units(balance),
        settlements
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn gas(connection: &mut PgConnection) -> Result<Vec<GasRow>, StorageError> {
    let rows = sqlx::query_as!(
        GasRow,
        r#"
        select network as "network: _", address, balance as "balance: _", settlements, seen_at
        from x402_gas
        order by network
        limit 100
        "#
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// USD that gas may have cost within an hour and a day. Waits for no signer, unlike the sums by
/// which limits are kept. Index: `x402_settlement_by_signing`.
pub async fn gas_used(connection: &mut PgConnection) -> Result<(Decimal, Decimal), StorageError> {
    let row = sqlx::query!(
        r#"
        select coalesce(sum(gas_usd) filter (where signed_at > now() - interval '1 hour'), 0) as "hour!",
               coalesce(sum(gas_usd), 0) as "day!"
        from x402_settlement
        where signed_at > now() - interval '24 hours'
        "#
    )
    .fetch_one(connection)
    .await?;
    Ok((numeric::to_decimal(TABLE, &row.hour)?, numeric::to_decimal(TABLE, &row.day)?))
}

/// Settlements of one network that have not ended.
#[derive(Debug, Clone)]
pub struct OpenCounts {
    pub network: Network,
    /// Nothing is signed for them yet.
    pub verified: i64,
    pub submitted: i64,
    pub oldest: DateTime<Utc>,
}

/// Index: `x402_settlement_open`.
pub async fn open_counts(connection: &mut PgConnection) -> Result<Vec<OpenCounts>, StorageError> {
    let rows = sqlx::query_as!(
        OpenCounts,
        r#"
        select network as "network: _", count(*) filter (where state = 'verified') as "verified!",
               count(*) filter (where state = 'submitted') as "submitted!", min(created_at) as "oldest!"
        from x402_settlement
        where state in ('verified', 'submitted')
        group by network
        order by network
        "#
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The number of settlements that have been in no block for longer than their payers' signatures
/// usually hold. Index: `x402_settlement_open`.
pub async fn count_stuck(connection: &mut PgConnection) -> Result<i64, StorageError> {
    let count = sqlx::query_scalar!(
        r#"
        select count(*) as "count!"
        from x402_settlement
        where state in ('verified', 'submitted') and height is null and created_at < now() - interval '10 minutes'
        "#
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

/// A settlement that has not ended.
#[derive(Debug, Clone)]
pub struct Waiting {
    pub id: Uuid,
    pub merchant_id: Uuid,
    pub merchant_name: String,
    pub network: Network,
    pub payer: String,
    pub amount: BaseUnits,
    pub state: State,
    pub tx_hash: Option<String>,
    pub is_in_block: bool,
    pub created_at: DateTime<Utc>,
}

/// Up to `limit` settlements without an end behind a place, the oldest first. A merchant has few
/// of them (`x402.open_settlements_max`). Index: `x402_settlement_open`.
pub async fn waiting(
    connection: &mut PgConnection,
    (after, id): (DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<Waiting>, StorageError> {
    let rows = sqlx::query_as!(
        Waiting,
        r#"
        select s.id, s.merchant_id, m.name as merchant_name, s.network as "network: _", s.payer, s.amount as "amount: _",
               s.state as "state: _", s.tx_hash, s.height is not null as "is_in_block!", s.created_at
        from x402_settlement s
        join merchant m on m.id = s.merchant_id
        where s.state in ('verified', 'submitted') and (s.created_at, s.id) > ($1, $2)
        order by s.created_at, s.id
        limit $3
        "#,
        after,
        id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// A stop of settlements alone.
#[derive(Debug, Clone)]
pub struct Stop {
    pub reason: String,
    pub stopped_at: DateTime<Utc>,
}

/// The stop under this name, if it is thrown.
pub async fn stop(connection: &mut PgConnection, name: &str) -> Result<Option<Stop>, StorageError> {
    let stop = sqlx::query_as!(
        Stop,
        "select reason, stopped_at from payout_stop where network = $1",
        name
    )
    .fetch_optional(connection)
    .await?;
    Ok(stop)
}
