//! Settlements as the API makes them and waits for them.

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{PgConnection, StorageError, numeric},
    x402::{Word, settlement::State},
};

/// A verified payment that is to be settled.
#[derive(Debug, Clone)]
pub struct NewSettlement {
    pub id: Uuid,
    pub merchant_id: Uuid,
    pub address_id: Uuid,
    pub network: Network,
    /// The token's contract in lower case.
    pub asset: String,
    pub payer: String,
    pub nonce: Word,
    pub amount: BaseUnits,
    pub call: Vec<u8>,
    pub call_sha256: Vec<u8>,
    /// Unix seconds.
    pub valid_before: i64,
}

/// A settlement as its callers see it.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub id: Uuid,
    pub merchant_id: Uuid,
    pub call_sha256: Vec<u8>,
    pub state: State,
    pub reason: Option<String>,
    pub message: Option<String>,
    pub payer: String,
    pub amount: BaseUnits,
    /// The transaction that was answered first.
    pub answered_hash: Option<String>,
}

/// Stores a settlement, unless this authorization has one: whatever races it, there is one row.
pub async fn insert(
    connection: &mut PgConnection,
    new: &NewSettlement,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into x402_settlement (id, merchant_id, address_id, network, asset, payer, nonce, amount, call, call_sha256,
            valid_before)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        on conflict (network, asset, payer, nonce) do nothing
        "#,
        new.id,
        new.merchant_id,
        new.address_id,
        new.network.name(),
        new.asset,
        new.payer,
        &new.nonce.bytes()[..],
        numeric::from_units(new.amount),
        new.call,
        new.call_sha256,
        new.valid_before
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Gives the success of a settlement to one request: `true` for the first that asks and for its
/// repeats under the same key. A request without a key has no repeats.
pub async fn tell_once(
    connection: &mut PgConnection,
    id: Uuid,
    request_key: Option<&str>,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update x402_settlement
        set told_at = coalesce(told_at, now()), told_key = coalesce(told_key, $2)
        where id = $1 and (told_at is null or told_key = $2)
        "#,
        id,
        request_key
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The settlement of an authorization. Index: `x402_settlement_once`.
pub async fn of_authorization(
    connection: &mut PgConnection,
    network: Network,
    (asset, payer): (&str, &str),
    nonce: &Word,
) -> Result<Option<Outcome>, StorageError> {
    let row = sqlx::query_as!(
        Outcome,
        r#"
        select id, merchant_id, call_sha256, state as "state: _", reason, message, payer, amount as "amount: _", answered_hash
        from x402_settlement
        where network = $1 and asset = $2 and payer = $3 and nonce = $4
        "#,
        network.name(),
        asset,
        payer,
        &nonce.bytes()[..]
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// The sum that a payer has under way, except one nonce: of authorizations that his balance does
/// not show yet.
pub async fn promised(
    connection: &mut PgConnection,
    network: Network,
    (asset, payer): (&str, &str),
    except: &Word,
) -> Result<BaseUnits, StorageError> {
    let sum = sqlx::query_scalar!(
        r#"
        select coalesce(sum(amount), 0) as "sum!"
        from x402_settlement
        where network = $1 and asset = $2 and payer = $3 and nonce <> $4
          and state in ('verified', 'submitted') and height is null
        "#,
        network.name(),
        asset,
        payer,
        &except.bytes()[..]
    )
    .fetch_one(connection)
    .await?;
    numeric::to_units("x402_settlement", &sum)
}

/// The number of a merchant's settlements that have no end yet. Index: `x402_settlement_open`.
pub async fn count_open(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<i64, StorageError> {
    let count = sqlx::query_scalar!(
        r#"
        select count(*) as "count!"
        from x402_settlement
        where merchant_id = $1 and state in ('verified', 'submitted') and height is null
        "#,
        merchant_id
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}
