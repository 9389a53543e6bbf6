//! Sweeps: plans, their transactions, and the coins that these take.

pub mod candidates;
pub mod following;
pub mod held;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError, cursors, numeric};
use crate::{asset::Network, money::BaseUnits, payout::coins::Place, sweep::State};

/// A transaction to be stored with its plan.
#[derive(Debug, Clone)]
pub struct NewTransaction {
    pub id: Uuid,
    pub network: Network,
    pub token_id: String,
    /// The account that sends, and its nonce.
    pub account: Option<(String, u64)>,
    /// That is the wallet that pays for gas.
    pub relayed: bool,
    pub recipient: String,
    pub amount: BaseUnits,
    pub fee_max: BaseUnits,
    /// The newest block, which cannot contain it yet.
    pub begin: Place,
    pub coins: Vec<NewCoin>,
}

/// Coins that it takes from one address.
#[derive(Debug, Clone)]
pub struct NewCoin {
    pub name: String,
    pub address_id: Uuid,
    pub amount: BaseUnits,
}

/// Another plan has one of the coins, or of the nonces.
pub const TAKEN: [&str; 2] = ["sweep_coin_once", "sweep_transaction_nonce_once"];

/// Stores a plan. Fails on one of [`TAKEN`] if another one has one of its coins.
pub async fn insert(
    connection: &mut PgConnection,
    id: Uuid,
    (plan_id, plan): (&str, &str),
    transactions: &[NewTransaction],
) -> Result<(), StorageError> {
    sqlx::query!("insert into sweep (id, plan_id, plan) values ($1, $2, $3)", id, plan_id, plan)
        .execute(&mut *connection)
        .await?;
    for (position, transaction) in (0_i32..).zip(transactions) {
        insert_one(connection, id, position, transaction).await?;
    }
    Ok(())
}

async fn insert_one(
    connection: &mut PgConnection,
    sweep_id: Uuid,
    position: i32,
    new: &NewTransaction,
) -> Result<(), StorageError> {
    let sender = new.account.as_ref().map(|(sender, _)| sender.as_str());
    let nonce = new.account.as_ref().map(|(_, nonce)| cursors::to_column(*nonce)).transpose()?;
    sqlx::query!(
        r#"
        insert into sweep_transaction (id, sweep_id, position, network, token_id, sender, nonce, recipient, amount, fee_max,
            search_height, search_hash, relayed)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        "#,
        new.id,
        sweep_id,
        position,
        new.network.name(),
        new.token_id,
        sender,
        nonce,
        new.recipient,
        numeric::from_units(new.amount),
        numeric::from_units(new.fee_max),
        cursors::to_column(new.begin.height)?,
        new.begin.hash,
        new.relayed
    )
    .execute(&mut *connection)
    .await?;
    let names: Vec<_> = new.coins.iter().map(|coin| coin.name.clone()).collect();
    let addresses: Vec<_> = new.coins.iter().map(|coin| coin.address_id).collect();
    let amounts: Vec<_> = new.coins.iter().map(|coin| numeric::from_units(coin.amount)).collect();
    sqlx::query!(
        r#"
        insert into sweep_coin (transaction_id, network, token_id, coin, address_id, amount)
        select $1, $2, $3, t.coin, t.address_id, t.amount
        from unnest($4::text[], $5::uuid[], $6::numeric[]) as t (coin, address_id, amount)
        "#,
        new.id,
        new.network.name(),
        new.token_id,
        &names,
        &addresses,
        &amounts
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A plan without its transactions.
#[derive(Debug, Clone)]
pub struct SweepRow {
    pub id: Uuid,
    pub plan_id: String,
    /// Its file.
    pub plan: String,
    pub created_at: DateTime<Utc>,
    pub signed_at: Option<DateTime<Utc>>,
    pub dropped_at: Option<DateTime<Utc>>,
}

/// The plan of an id. Index: `sweep_plan_id_unique`.
pub async fn of_id(
    connection: &mut PgConnection,
    plan_id: &str,
) -> Result<Option<SweepRow>, StorageError> {
    let row = sqlx::query_as!(
        SweepRow,
        "select id, plan_id, plan, created_at, signed_at, dropped_at from sweep where plan_id = $1",
        plan_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// As [`of_id`], and keeps others from changing it until the transaction ends.
pub async fn lock(
    connection: &mut PgConnection,
    plan_id: &str,
) -> Result<Option<SweepRow>, StorageError> {
    let row = sqlx::query_as!(
        SweepRow,
        r#"
        select id, plan_id, plan, created_at, signed_at, dropped_at
        from sweep
        where plan_id = $1
        for update
        "#,
        plan_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// Plans, the newest first.
pub async fn newest(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<Vec<SweepRow>, StorageError> {
    let rows = sqlx::query_as!(
        SweepRow,
        r#"
        select id, plan_id, plan, created_at, signed_at, dropped_at
        from sweep
        order by created_at desc, id desc
        limit $1
        "#,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// A transaction of a plan.
#[derive(Debug, Clone)]
pub struct TransactionRow {
    pub id: Uuid,
    pub position: i32,
    pub network: Network,
    pub token_id: String,
    pub sender: Option<String>,
    pub nonce: Option<i64>,
    pub relayed: bool,
    pub recipient: String,
    pub amount: BaseUnits,
    pub fee_max: BaseUnits,
    pub state: State,
    pub raw: Option<Vec<u8>>,
    pub tx_hash: Option<String>,
    /// Seconds since a node last took it.
    pub sent_for_seconds: Option<i64>,
    pub height: Option<i64>,
    pub fee: Option<BaseUnits>,
    pub error: Option<String>,
    pub ended_at: Option<DateTime<Utc>>,
    /// A block that was made before its bytes were, or a later one in which it is not.
    pub search_height: i64,
}

/// The transactions of a plan in its order.
pub async fn transactions(
    connection: &mut PgConnection,
    sweep_id: Uuid,
) -> Result<Vec<TransactionRow>, StorageError> {
    let rows = sqlx::query_as!(
        TransactionRow,
        r#"
        select id, position, network as "network: _", token_id, sender, nonce, relayed, recipient, amount as "amount: _",
               fee_max as "fee_max: _", state as "state: _", raw, tx_hash,
               extract(epoch from now() - sent_at)::bigint as sent_for_seconds, height, fee as "fee: _", error, ended_at, search_height
        from sweep_transaction
        where sweep_id = $1
        order by position
        "#,
        sweep_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Gives a plan up of which nothing was signed here, and frees its coins.
pub async fn drop_plan(connection: &mut PgConnection, id: Uuid) -> Result<(), StorageError> {
    sqlx::query!("update sweep set dropped_at = now() where id = $1", id)
        .execute(&mut *connection)
        .await?;
    sqlx::query!(
        "update sweep_transaction set state = 'dropped', ended_at = now() where sweep_id = $1",
        id
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        r#"
        update sweep_coin
        set released = true
        where transaction_id in (select id from sweep_transaction where sweep_id = $1)
        "#,
        id
    )
    .execute(connection)
    .await?;
    Ok(())
}
