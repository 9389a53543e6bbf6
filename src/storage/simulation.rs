//! The sandbox's simulated chain. Writers hold one lock per network, so a chain has one history.

use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};

use super::{PgConnection, StorageError, cursors};
use crate::asset::Network;

/// Waiting transfers that one answer lists.
pub const WAITING_MAX: u16 = 10_000;

#[derive(Debug, Clone)]
pub struct SimBlock {
    pub height: u64,
    pub hash: String,
    pub parent_hash: String,
    pub mined_at: DateTime<Utc>,
}

#[derive(Debug, Clone)]
pub struct SimTransfer {
    pub txid: String,
    pub output: i32,
    /// Spelled as `asset::address::match_key` spells it.
    pub address: String,
    pub contract: Option<String>,
    /// Whole base units, of any size.
    pub amount: String,
    pub height: Option<u64>,
}

/// Takes the writer's lock of a network until the transaction ends, and mines its first block if
/// there is none.
pub async fn lock_chain(
    connection: &mut PgConnection,
    network: Network,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('simulation:' || $1::text, 0)) as "locked?: ()""#,
        network.name()
    )
    .fetch_one(&mut *connection)
    .await?;
    sqlx::query!(
        r#"
        insert into sim_block (network, height, hash, parent_hash, mined_at)
        select $1::text, 0, md5($1::text || random()::text) || md5($1::text || 'genesis' || random()::text),
               repeat('0', 64), now()
        where not exists (select from sim_block where network = $1)
        "#,
        network.name()
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn head(
    connection: &mut PgConnection,
    network: Network,
) -> Result<Option<SimBlock>, StorageError> {
    let row = sqlx::query!(
        r#"
        select height, hash, parent_hash, mined_at
        from sim_block
        where network = $1
        order by height desc
        limit 1
        "#,
        network.name()
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| {
        let height = cursors::from_column(row.height)?;
        let (hash, parent_hash) = (row.hash, row.parent_hash);
        Ok(SimBlock { height, hash, parent_hash, mined_at: row.mined_at })
    })
    .transpose()
}

/// A block and its transfers, of one moment: one statement sees one state of the chain.
pub async fn block(
    connection: &mut PgConnection,
    network: Network,
    height: u64,
) -> Result<Option<(SimBlock, Vec<SimTransfer>)>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select b.hash, b.parent_hash, b.mined_at, t.txid as "txid?", t.output as "output?", t.address as "address?",
               t.contract, t.amount::text as amount
        from sim_block b
        left join sim_transfer t on t.network = b.network and t.height = b.height
        where b.network = $1 and b.height = $2
        order by t.txid, t.output
        "#,
        network.name(),
        cursors::to_column(height)?
    )
    .fetch_all(connection)
    .await?;
    let Some(first) = rows.first() else { return Ok(None) };
    let (hash, parent_hash) = (first.hash.clone(), first.parent_hash.clone());
    let block = SimBlock { height, hash, parent_hash, mined_at: first.mined_at };
    let transfers = rows
        .into_iter()
        .filter_map(|row| {
            Some(SimTransfer {
                txid: row.txid?,
                output: row.output?,
                address: row.address?,
                contract: row.contract,
                amount: row.amount?,
                height: Some(height),
            })
        })
        .collect();
    Ok(Some((block, transfers)))
}

pub async fn mempool(
    connection: &mut PgConnection,
    network: Network,
) -> Result<Vec<SimTransfer>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select txid, output, address, contract, amount::text as "amount!"
        from sim_transfer
        where network = $1 and height is null
        order by txid, output
        limit $2
        "#,
        network.name(),
        i64::from(WAITING_MAX)
    )
    .fetch_all(connection)
    .await?;
    let transfers = rows.into_iter().map(|row| SimTransfer {
        txid: row.txid,
        output: row.output,
        address: row.address,
        contract: row.contract,
        amount: row.amount,
        height: None,
    });
    Ok(transfers.collect())
}

/// Mines one block on top of the head and returns it. Call under [`lock_chain`].
pub async fn mine(
    connection: &mut PgConnection,
    network: Network,
) -> Result<SimBlock, StorageError> {
    let row = sqlx::query!(
        r#"
        insert into sim_block (network, height, hash, parent_hash, mined_at)
        select network, height + 1, md5(hash || random()::text) || md5(hash || 'next' || random()::text), hash,
               clock_timestamp()
        from sim_block
        where network = $1
        order by height desc
        limit 1
        returning height, hash, parent_hash, mined_at
        "#,
        network.name()
    )
    .fetch_one(connection)
    .await?;
    let height = cursors::from_column(row.height)?;
    let (hash, parent_hash) = (row.hash, row.parent_hash);
    Ok(SimBlock { height, hash, parent_hash, mined_at: row.mined_at })
}

/// Puts a transfer into the mempool. `false` if this transaction output exists: the same
/// transaction seen again.
pub async fn add_transfer(
    connection: &mut PgConnection,
    network: Network,
    transfer: &SimTransfer,
) -> Result<bool, StorageError> {
    let amount: BigDecimal =
        transfer.amount.parse().map_err(|e| StorageError::damaged("sim_transfer", e))?;
    let done = sqlx::query!(
        r#"
        insert into sim_transfer (network, txid, output, address, contract, amount)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (network, txid, output) do nothing
        "#,
        network.name(),
        transfer.txid,
        transfer.output,
        transfer.address,
        transfer.contract,
        amount
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The result of a simulated payment that was handed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spend {
    Taken,
    /// This very transaction was handed in before.
    Known,
    /// Another transaction used the nonce and is in a block.
    TooLow,
}

/// Uses a sender's nonce. A transaction that waits is replaced, as a node replaces one that pays
/// less. Call under [`lock_chain`], and add the transfers if it was taken.
pub async fn spend(
    connection: &mut PgConnection,
    network: Network,
    sender: &str,
    nonce: i64,
    txid: &str,
) -> Result<Spend, StorageError> {
    let before = sqlx::query!(
        r#"
        select s.txid, coalesce((select bool_or(t.height is not null) from sim_transfer t
                        where t.network = s.network and t.txid = s.txid), false) as "mined!"
        from sim_spend s
        where s.network = $1 and s.sender = $2 and s.nonce = $3
        "#,
        network.name(),
        sender,
        nonce
    )
    .fetch_optional(&mut *connection)
    .await?;
    match before {
        Some(before) if before.txid == txid => return Ok(Spend::Known),
        Some(before) if before.mined => return Ok(Spend::TooLow),
        Some(before) => drop_transaction(connection, network, &before.txid).await?,
        None => {}
    }
    sqlx::query!(
        r#"
        insert into sim_spend (network, sender, nonce, txid)
        values ($1, $2, $3, $4)
        on conflict (network, sender, nonce) do update set txid = excluded.txid
        "#,
        network.name(),
        sender,
        nonce,
        txid
    )
    .execute(connection)
    .await?;
    Ok(Spend::Taken)
}

/// One more than the highest nonce that a sender has used.
pub async fn next_nonce(
    connection: &mut PgConnection,
    network: Network,
    sender: &str,
) -> Result<u64, StorageError> {
    let row = sqlx::query!(
        r#"select coalesce(max(nonce) + 1, 0) as "next!" from sim_spend where network = $1 and sender = $2"#,
        network.name(),
        sender
    )
    .fetch_one(connection)
    .await?;
    cursors::from_column(row.next)
}

/// Where transactions stand: the block of each that is known, `None` in the mempool.
pub async fn heights(
    connection: &mut PgConnection,
    network: Network,
    txids: &[String],
) -> Result<Vec<(String, Option<u64>)>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select txid, max(height) as height
        from sim_transfer
        where network = $1 and txid = any ($2)
        group by txid
        "#,
        network.name(),
        txids
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| Ok((row.txid, row.height.map(cursors::from_column).transpose()?)))
        .collect()
}

/// Moves waiting transfers into the block at `height`: one transaction's, or all.
pub async fn include(
    connection: &mut PgConnection,
    network: Network,
    txid: Option<&str>,
    height: u64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        update sim_transfer
        set height = $3
        where network = $1 and height is null and ($2::text is null or txid = $2)
        "#,
        network.name(),
        txid,
        cursors::to_column(height)?
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// The amounts that an address had received up to a height, by contract.
pub async fn received(
    connection: &mut PgConnection,
    network: Network,
    address: &str,
    height: u64,
) -> Result<Vec<(Option<String>, String)>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select contract, sum(amount)::text as "sum!"
        from sim_transfer
        where network = $1 and address = $2 and height <= $3
        group by contract
        "#,
        network.name(),
        address,
        cursors::to_column(height)?
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.contract, row.sum)).collect())
}

/// The network of a transaction and the block it stands in, if any.
pub async fn find(
    connection: &mut PgConnection,
    txid: &str,
) -> Result<Option<(String, Option<u64>)>, StorageError> {
    let row =
        sqlx::query!("select network, height from sim_transfer where txid = $1 limit 1", txid)
            .fetch_optional(connection)
            .await?;
    row.map(|row| Ok((row.network, row.height.map(cursors::from_column).transpose()?))).transpose()
}

/// Networks and addresses that a transaction pays, in the spelling by which transfers are compared.
pub async fn payees(
    connection: &mut PgConnection,
    txid: &str,
) -> Result<Vec<(Network, String)>, StorageError> {
    let rows =
        sqlx::query!("select network, address from sim_transfer where txid = $1 limit 1000", txid)
            .fetch_all(connection)
            .await?;
    let read =
        |network: &str| network.parse().map_err(|e| StorageError::damaged("sim_transfer", e));
    rows.into_iter().map(|row| Ok((read(&row.network)?, row.address))).collect()
}

/// Takes a transaction out of the chain for ever.
pub async fn drop_transaction(
    connection: &mut PgConnection,
    network: Network,
    txid: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        with spend as (delete from sim_spend where network = $1 and txid = $2)
        delete from sim_transfer where network = $1 and txid = $2
        "#,
        network.name(),
        txid
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Gives the blocks from `height` to the head new hashes: the same heights on another branch.
pub async fn fork_from(
    connection: &mut PgConnection,
    network: Network,
    height: u64,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        with recursive branch as (
            select b.height, md5(b.hash || random()::text) || md5(b.hash || 'fork' || random()::text) as hash,
                   b.parent_hash
            from sim_block b
            where b.network = $1 and b.height = $2
            union all
            select b.height, md5(branch.hash || random()::text) || md5(branch.hash || 'fork' || random()::text),
                   branch.hash
            from branch
            join sim_block b on b.network = $1 and b.height = branch.height + 1
        )
        update sim_block
        set hash = branch.hash, parent_hash = branch.parent_hash
        from branch
        where sim_block.network = $1 and sim_block.height = branch.height
        "#,
        network.name(),
        cursors::to_column(height)?
    )
    .execute(connection)
    .await?;
    Ok(())
}
