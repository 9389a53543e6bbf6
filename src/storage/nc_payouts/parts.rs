//! The recipients of a payout and their transactions. Signed bytes are here before any node has them.

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    nc_payout::TransactionState,
    payout::eip1559::{Signed, Transaction},
    storage::{PgConnection, StorageError, numeric},
};

const TABLE: &str = "nc_payout_transaction";

/// One recipient before anything is signed.
#[derive(Debug, Clone)]
pub struct NewOutput {
    pub address: String,
    pub amount: BaseUnits,
    pub reference: Option<String>,
}

/// One recipient with his transaction.
#[derive(Debug, Clone)]
pub struct Part {
    pub payout_id: Uuid,
    pub position: i32,
    pub address: String,
    pub amount: BaseUnits,
    pub reference: Option<String>,
    pub transaction: Transaction,
    /// The signed bytes.
    pub raw: Option<Vec<u8>>,
    pub tx_hash: Option<String>,
    pub state: TransactionState,
    /// Seconds since a node was last given it.
    pub sent_for_seconds: Option<i64>,
    pub confirmations: i64,
    /// What the network took, in its own coin.
    pub fee: Option<BaseUnits>,
    pub error: Option<String>,
}

/// Stores outputs and, in the same order, the transactions that pay them.
pub async fn insert_all(
    connection: &mut PgConnection,
    payout_id: Uuid,
    network: Network,
    sender: &str,
    outputs: &[(NewOutput, Transaction)],
) -> Result<(), StorageError> {
    for (position, (output, transaction)) in (0_i32..).zip(outputs) {
        sqlx::query!(
            "insert into nc_payout_output (payout_id, position, address, amount, reference) values ($1, $2, $3, $4, $5)",
            payout_id,
            position,
            output.address,
            numeric::from_units(output.amount),
            output.reference
        )
        .execute(&mut *connection)
        .await?;
        sqlx::query!(
            r#"
            insert into nc_payout_transaction (payout_id, position, network, sender, nonce, unsigned)
            values ($1, $2, $3, $4, $5, $6)
            "#,
            payout_id,
            position,
            network.name(),
            sender,
            to_column(transaction.nonce)?,
            transaction.unsigned()
        )
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Replaces transactions that nobody has signed.
pub async fn rebuild(
    connection: &mut PgConnection,
    payout_id: Uuid,
    transactions: &[Transaction],
) -> Result<(), StorageError> {
    for (position, transaction) in (0_i32..).zip(transactions) {
        sqlx::query!(
            "update nc_payout_transaction set nonce = $3, unsigned = $4 where payout_id = $1 and position = $2 and raw is null",
            payout_id,
            position,
            to_column(transaction.nonce)?,
            transaction.unsigned()
        )
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Stores signed bytes, in the order of the outputs. Fails on `nc_payout_nonce_once` if the sender's nonce was submitted
/// before: then nothing of the transaction may stay.
pub async fn store_signed(
    connection: &mut PgConnection,
    payout_id: Uuid,
    signed: &[Signed],
) -> Result<(), StorageError> {
    for (position, signed) in (0_i32..).zip(signed) {
        sqlx::query!(
            r#"
            update nc_payout_transaction
            set raw = $3, tx_hash = $4, state = 'signed'
            where payout_id = $1 and position = $2
            "#,
            payout_id,
            position,
            signed.raw,
            signed.hash
        )
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// The parts of some payouts, each payout's in the order of its outputs.
pub async fn of_payouts(
    connection: &mut PgConnection,
    ids: &[Uuid],
) -> Result<Vec<Part>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select o.payout_id, o.position, o.address, o.amount, o.reference, t.unsigned, t.raw, t.tx_hash, t.state,
               extract(epoch from now() - t.sent_at)::bigint as sent_for, t.confirmations, t.fee, t.error
        from nc_payout_output o
        join nc_payout_transaction t on t.payout_id = o.payout_id and t.position = o.position
        where o.payout_id = any ($1)
        order by o.payout_id, o.position
        "#,
        ids
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let damaged = |reason: &dyn ToString| StorageError::damaged(TABLE, reason.to_string());
            Ok(Part {
                payout_id: row.payout_id,
                position: row.position,
                address: row.address,
                amount: numeric::to_units(TABLE, &row.amount)?,
                reference: row.reference,
                transaction: Transaction::read_unsigned(&row.unsigned).map_err(|e| damaged(&e))?,
                raw: row.raw,
                tx_hash: row.tx_hash,
                state: row.state.parse().map_err(|e| damaged(&e))?,
                sent_for_seconds: row.sent_for,
                confirmations: row.confirmations,
                fee: row.fee.as_ref().map(|fee| numeric::to_units(TABLE, fee)).transpose()?,
                error: row.error,
            })
        })
        .collect()
}

/// What a look at the chain says of one transaction.
#[derive(Debug, Clone)]
pub struct Look {
    pub position: i32,
    pub state: TransactionState,
    /// A node was given the bytes just now.
    pub handed_in: bool,
    pub confirmations: u64,
    pub fee: Option<BaseUnits>,
    pub error: Option<String>,
}

/// Notes what was found. What has ended, another look cannot change.
pub async fn note(
    connection: &mut PgConnection,
    payout_id: Uuid,
    look: &Look,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update nc_payout_transaction
        set state = $3, sent_at = case when $4 then now() else sent_at end, confirmations = $5, fee = $6, error = $7
        where payout_id = $1 and position = $2 and state in ('signed', 'sent')
        "#,
        payout_id,
        look.position,
        look.state.as_str(),
        look.handed_in,
        to_column(look.confirmations)?,
        look.fee.map(numeric::from_units),
        look.error
    )
    .execute(connection)
    .await?;
    Ok(())
}

fn to_column(number: u64) -> Result<i64, StorageError> {
    i64::try_from(number).map_err(|_| StorageError::damaged(TABLE, "a number exceeds 63 bits"))
}
