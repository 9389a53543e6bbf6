//! Recipients of a payout and the transactions that pay them: one per recipient, or one for all.
//! Signed bytes are stored here before any node has them.

use std::collections::HashMap;

use bigdecimal::BigDecimal;
use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    nc_payout::{Problem, TransactionState, Unsigned},
    storage::{PgConnection, StorageError, numeric},
};

const TABLE: &str = "nc_payout_transaction";

/// One recipient.
#[derive(Debug, Clone)]
pub struct OutputRow {
    pub address: String,
    pub amount: BaseUnits,
    pub reference: Option<String>,
}

/// One transaction.
#[derive(Debug, Clone)]
pub struct TransactionRow {
    pub position: i32,
    pub unsigned: Unsigned,
    /// The signed bytes.
    pub raw: Option<Vec<u8>>,
    pub tx_hash: Option<String>,
    pub state: TransactionState,
    /// Seconds since the last broadcast.
    pub sent_for_seconds: Option<i64>,
    pub confirmations: i64,
    /// Fee charged by the network, in its own coin.
    pub fee: Option<BaseUnits>,
    pub problem: Option<Problem>,
}

/// All of one payout, each in its order.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    pub outputs: Vec<OutputRow>,
    pub transactions: Vec<TransactionRow>,
}

/// Stores outputs and the transactions that pay them.
pub async fn insert_all(
    connection: &mut PgConnection,
    payout_id: Uuid,
    (network, sender): (Network, &str),
    outputs: &[OutputRow],
    transactions: &[Unsigned],
) -> Result<(), StorageError> {
    let addresses: Vec<_> = outputs.iter().map(|output| output.address.clone()).collect();
    let amounts: Vec<_> = outputs.iter().map(|output| numeric::from_units(output.amount)).collect();
    let references: Vec<_> = outputs.iter().map(|output| output.reference.clone()).collect();
    let (nonces, unsigned) = columns(transactions)?;
    sqlx::query!(
        r#"
        with output as (
            insert into nc_payout_output (payout_id, position, address, amount, reference)
            select $1, n - 1, address, amount, reference
            from unnest($4::text[], $5::numeric[], $6::text[]) with ordinality as given (address, amount, reference, n)
        )
        insert into nc_payout_transaction (payout_id, position, network, sender, nonce, unsigned)
        select $1, n - 1, $2, $3, nonce, unsigned
        from unnest($7::bigint[], $8::bytea[]) with ordinality as given (nonce, unsigned, n)
        "#,
        payout_id,
        network.name(),
        sender,
        &addresses,
        &amounts,
        &references as &[Option<String>],
        &nonces as &[Option<i64>],
        &unsigned
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces unsigned transactions.
pub async fn rebuild(
    connection: &mut PgConnection,
    payout_id: Uuid,
    transactions: &[Unsigned],
) -> Result<(), StorageError> {
    let (nonces, unsigned) = columns(transactions)?;
    sqlx::query!(
        r#"
        update nc_payout_transaction t
        set nonce = given.nonce, unsigned = given.unsigned
        from unnest($2::bigint[], $3::bytea[]) with ordinality as given (nonce, unsigned, n)
        where t.payout_id = $1 and t.position = given.n - 1 and t.raw is null
        "#,
        payout_id,
        &nonces as &[Option<i64>],
        &unsigned
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores signed bytes and their hashes, in the order of the transactions. Fails on
/// `nc_payout_nonce_once` if the sender's nonce was submitted before: then the transaction must be
/// rolled back.
pub async fn store_signed(
    connection: &mut PgConnection,
    payout_id: Uuid,
    signed: &[(Vec<u8>, String)],
) -> Result<(), StorageError> {
    let (raw, hashes): (Vec<_>, Vec<_>) = signed.iter().cloned().unzip();
    sqlx::query!(
        r#"
        update nc_payout_transaction t
        set raw = given.raw, tx_hash = given.tx_hash, state = 'signed'
        from unnest($2::bytea[], $3::text[]) with ordinality as given (raw, tx_hash, n)
        where t.payout_id = $1 and t.position = given.n - 1
        "#,
        payout_id,
        &raw,
        &hashes
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Nonces and unsigned bytes.
type Columns = (Vec<Option<i64>>, Vec<Vec<u8>>);

fn columns(transactions: &[Unsigned]) -> Result<Columns, StorageError> {
    let columns = |one: &Unsigned| Ok((one.nonce().map(to_column).transpose()?, one.bytes()));
    transactions.iter().map(columns).collect()
}

/// The parts of one payout.
pub async fn of_payout(connection: &mut PgConnection, id: Uuid) -> Result<Parts, StorageError> {
    Ok(of_payouts(connection, &[id]).await?.remove(&id).unwrap_or_default())
}

/// The parts of some payouts, by their ids.
pub async fn of_payouts(
    connection: &mut PgConnection,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, Parts>, StorageError> {
    let mut parts: HashMap<Uuid, Parts> = HashMap::new();
    let outputs = sqlx::query!(
        r#"
        select payout_id, address, amount, reference
        from nc_payout_output
        where payout_id = any ($1)
        order by payout_id, position
        "#,
        ids
    );
    for row in outputs.fetch_all(&mut *connection).await? {
        let (address, reference) = (row.address, row.reference);
        let amount = numeric::to_units(TABLE, &row.amount)?;
        let output = OutputRow { address, amount, reference };
        parts.entry(row.payout_id).or_default().outputs.push(output);
    }
    let transactions = sqlx::query_as!(
        Raw,
        r#"
        select payout_id, position, unsigned, raw, tx_hash, state,
               extract(epoch from now() - sent_at)::bigint as sent_for, confirmations, fee, error
        from nc_payout_transaction
        where payout_id = any ($1)
        order by payout_id, position
        "#,
        ids
    );
    for raw in transactions.fetch_all(connection).await? {
        parts.entry(raw.payout_id).or_default().transactions.push(raw.try_into()?);
    }
    Ok(parts)
}

struct Raw {
    payout_id: Uuid,
    position: i32,
    unsigned: Vec<u8>,
    raw: Option<Vec<u8>>,
    tx_hash: Option<String>,
    state: String,
    sent_for: Option<i64>,
    confirmations: i64,
    fee: Option<BigDecimal>,
    error: Option<String>,
}

impl TryFrom<Raw> for TransactionRow {
    type Error = StorageError;

    fn try_from(row: Raw) -> Result<Self, StorageError> {
        let damaged = |reason: &dyn ToString| StorageError::damaged(TABLE, reason.to_string());
        Ok(Self {
            position: row.position,
            unsigned: Unsigned::read(&row.unsigned).map_err(|e| damaged(&e))?,
            raw: row.raw,
            tx_hash: row.tx_hash,
            state: row.state.parse().map_err(|e| damaged(&e))?,
            sent_for_seconds: row.sent_for,
            confirmations: row.confirmations,
            fee: row.fee.as_ref().map(|fee| numeric::to_units(TABLE, fee)).transpose()?,
            problem: row.error.map(Problem::from_stored),
        })
    }
}

/// Result of a look at the chain for one transaction.
#[derive(Debug, Clone)]
pub struct Look {
    pub position: i32,
    pub state: TransactionState,
    /// True if the bytes were broadcast just now.
    pub handed_in: bool,
    pub confirmations: u64,
    /// The block in which it ended.
    pub height: Option<u64>,
    pub fee: Option<BaseUnits>,
    pub problem: Option<Problem>,
}

/// Stores the results of a look. Ended transactions never change.
pub async fn note(
    connection: &mut PgConnection,
    payout_id: Uuid,
    look: &Look,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update nc_payout_transaction
        set state = $3, sent_at = case when $4 then now() else sent_at end, confirmations = $5, fee = $6, error = $7,
            height = $8
        where payout_id = $1 and position = $2 and state in ('signed', 'sent')
        "#,
        payout_id,
        look.position,
        look.state.as_str(),
        look.handed_in,
        to_column(look.confirmations)?,
        look.fee.map(numeric::from_units),
        look.problem.as_ref().map(Problem::as_str),
        look.height.map(to_column).transpose()?
    )
    .execute(connection)
    .await?;
    Ok(())
}

fn to_column(number: u64) -> Result<i64, StorageError> {
    i64::try_from(number).map_err(|_| StorageError::damaged(TABLE, "a number exceeds 63 bits"))
}
