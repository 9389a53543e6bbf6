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
    let addresses: Vec<_> = outputs.iter().map(|(output, _)| output.address.clone()).collect();
    let amounts: Vec<_> =
        outputs.iter().map(|(output, _)| numeric::from_units(output.amount)).collect();
    let references: Vec<_> = outputs.iter().map(|(output, _)| output.reference.clone()).collect();
    let (nonces, unsigned) = columns(outputs.iter().map(|(_, transaction)| transaction))?;
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
        &nonces,
        &unsigned
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces transactions that nobody has signed.
pub async fn rebuild(
    connection: &mut PgConnection,
    payout_id: Uuid,
    transactions: &[Transaction],
) -> Result<(), StorageError> {
    let (nonces, unsigned) = columns(transactions.iter())?;
    sqlx::query!(
        r#"
        update nc_payout_transaction t
        set nonce = given.nonce, unsigned = given.unsigned
        from unnest($2::bigint[], $3::bytea[]) with ordinality as given (nonce, unsigned, n)
        where t.payout_id = $1 and t.position = given.n - 1 and t.raw is null
        "#,
        payout_id,
        &nonces,
        &unsigned
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores signed bytes, in the order of the outputs. Fails on `nc_payout_nonce_once` if the sender's nonce was submitted
/// before: then nothing of the transaction may stay.
pub async fn store_signed(
    connection: &mut PgConnection,
    payout_id: Uuid,
    signed: &[Signed],
) -> Result<(), StorageError> {
    let (raw, hashes): (Vec<_>, Vec<_>) =
        signed.iter().map(|signed| (signed.raw.clone(), signed.hash.clone())).unzip();
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
fn columns<'a>(
    transactions: impl Iterator<Item = &'a Transaction>,
) -> Result<(Vec<i64>, Vec<Vec<u8>>), StorageError> {
    transactions.map(|one| Ok((to_column(one.nonce)?, one.unsigned()))).collect()
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
