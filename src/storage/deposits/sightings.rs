//! Recording the watchers' findings, a whole block in a few statements: a stranger who fills a
//! block with transfers must not make its reading take minutes.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    asset::Network,
    deposit::FoundBy,
    money::BaseUnits,
    storage::{PgConnection, StorageError, cursors, numeric},
};

/// Rows that one statement writes, within the time that the database gives a statement.
const ROWS_MAX: usize = 5_000;

/// A transfer to one of our addresses, as a watcher found it.
#[derive(Debug, Clone)]
pub struct Sighting {
    pub found_by: FoundBy,
    pub deposit_key: String,
    pub tx_hash: String,
    pub address_id: Uuid,
    pub invoice_id: Option<Uuid>,
    pub payout_order_id: Option<Uuid>,
    pub token_id: Option<String>,
    pub contract: Option<String>,
    /// `None` when it does not fit 128 bits; `amount_text` has it then.
    pub amount: Option<BaseUnits>,
    pub amount_text: String,
    /// The sender's address, where the network names one.
    pub sender: Option<String>,
    /// Confirmations that this one needs where its network asks for fewer.
    pub min_confirmations: u64,
}

/// Height, hash and time of the block that sightings stand in.
pub type InBlock<'a> = (u64, &'a str, DateTime<Utc>);

/// A deposit that is new, came back, or stands in another block than before.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub id: Uuid,
    pub deposit_key: String,
    pub tx_hash: String,
    pub payout_order_id: Option<Uuid>,
    pub found_by_balance: bool,
    /// It was taken out of the books when it left the chain.
    pub was_reversed: bool,
}

/// Records sightings of one block, or of transactions that wait for one. The same movement seen
/// again only learns its new block; one that is not final yet takes its present content, for a
/// transaction of a contract may do something else in another block. The answer leaves out those
/// without any news. Of several with one key the first counts.
///
/// Call it under the invoices' row locks: `first_seen_at` is taken there, so that a deposit and the
/// deadline are always in one order.
pub async fn record(
    connection: &mut PgConnection,
    network: Network,
    sightings: &[Sighting],
    block: Option<InBlock<'_>>,
) -> Result<Vec<Recorded>, StorageError> {
    let mut keys = HashSet::with_capacity(sightings.len());
    // One statement must not write one row twice.
    let first: Vec<_> = sightings.iter().filter(|one| keys.insert(&one.deposit_key)).collect();
    let mut recorded = Vec::new();
    for rows in first.chunks(ROWS_MAX) {
        recorded.extend(record_rows(connection, network, rows, block).await?);
    }
    Ok(recorded)
}

async fn record_rows(
    connection: &mut PgConnection,
    network: Network,
    rows: &[&Sighting],
    block: Option<InBlock<'_>>,
) -> Result<Vec<Recorded>, StorageError> {
    let columns = Columns::of(rows)?;
    let height = block.map(|(height, ..)| cursors::to_column(height)).transpose()?;
    let recorded = sqlx::query_as!(
        Recorded,
        r#"
        insert into deposit as d (id, network, deposit_key, tx_hash, address_id, invoice_id, payout_order_id, token_id, contract,
            amount, amount_text, min_confirmations, sender, found_by_balance, height, block_hash, mined_at, first_seen_at, state)
        select t.id, $1, t.deposit_key, t.tx_hash, t.address_id, t.invoice_id, t.payout_order_id, t.token_id, t.contract,
               t.amount, t.amount_text, t.min_confirmations, t.sender, t.found_by_balance, $2, $3, $4, clock_timestamp(), 'seen'
        from unnest($5::uuid[], $6::text[], $7::text[], $8::uuid[], $9::uuid[], $10::uuid[], $11::text[], $12::text[],
                    $13::numeric[], $14::text[], $15::bigint[], $16::text[], $17::boolean[])
            as t (id, deposit_key, tx_hash, address_id, invoice_id, payout_order_id, token_id, contract, amount, amount_text,
                  min_confirmations, sender, found_by_balance)
        on conflict (network, deposit_key) do update
        set height = excluded.height, block_hash = excluded.block_hash, mined_at = excluded.mined_at,
            address_id = excluded.address_id, invoice_id = excluded.invoice_id,
            payout_order_id = excluded.payout_order_id, token_id = excluded.token_id,
            contract = excluded.contract, amount = excluded.amount, amount_text = excluded.amount_text,
            sender = coalesce(excluded.sender, d.sender),
            state = case when d.state = 'withdrawn' then 'seen' else d.state end,
            min_confirmations = greatest(d.min_confirmations, excluded.min_confirmations),
            orphaned_height = null, updated_at = clock_timestamp()
        -- A mempool entry says nothing about a deposit that already stands in a block.
        where (excluded.height is not null
               and (d.height, d.block_hash) is distinct from (excluded.height, excluded.block_hash)
               or d.state = 'withdrawn')
          and (d.state in ('seen', 'withdrawn')
               or (d.address_id, d.contract, d.amount_text)
                  is not distinct from (excluded.address_id, excluded.contract, excluded.amount_text))
        returning id, deposit_key, tx_hash, payout_order_id, found_by_balance, state = 'reversed' as "was_reversed!"
        "#,
        network.name(),
        height,
        block.map(|(_, hash, _)| hash),
        block.map(|(.., mined_at)| mined_at),
        &columns.ids,
        &columns.keys as &[&str],
        &columns.hashes as &[&str],
        &columns.addresses,
        &columns.invoices as &[Option<Uuid>],
        &columns.orders as &[Option<Uuid>],
        &columns.tokens as &[Option<&str>],
        &columns.contracts as &[Option<&str>],
        &columns.amounts as &[Option<bigdecimal::BigDecimal>],
        &columns.texts as &[&str],
        &columns.confirmations,
        &columns.senders as &[Option<&str>],
        &columns.by_balance
    )
    .fetch_all(connection)
    .await?;
    Ok(recorded)
}

/// Sightings as the arrays of a statement.
struct Columns<'a> {
    ids: Vec<Uuid>,
    keys: Vec<&'a str>,
    hashes: Vec<&'a str>,
    addresses: Vec<Uuid>,
    invoices: Vec<Option<Uuid>>,
    orders: Vec<Option<Uuid>>,
    tokens: Vec<Option<&'a str>>,
    contracts: Vec<Option<&'a str>>,
    amounts: Vec<Option<bigdecimal::BigDecimal>>,
    texts: Vec<&'a str>,
    confirmations: Vec<i64>,
    senders: Vec<Option<&'a str>>,
    by_balance: Vec<bool>,
}

impl<'a> Columns<'a> {
    fn of(rows: &[&'a Sighting]) -> Result<Self, StorageError> {
        let confirmations = rows.iter().map(|row| cursors::to_column(row.min_confirmations));
        Ok(Self {
            // Their order is the order in which deposits of one instant count.
            ids: rows.iter().map(|_| Uuid::now_v7()).collect(),
            keys: rows.iter().map(|row| row.deposit_key.as_str()).collect(),
            hashes: rows.iter().map(|row| row.tx_hash.as_str()).collect(),
            addresses: rows.iter().map(|row| row.address_id).collect(),
            invoices: rows.iter().map(|row| row.invoice_id).collect(),
            orders: rows.iter().map(|row| row.payout_order_id).collect(),
            tokens: rows.iter().map(|row| row.token_id.as_deref()).collect(),
            contracts: rows.iter().map(|row| row.contract.as_deref()).collect(),
            amounts: rows.iter().map(|row| row.amount.map(numeric::from_units)).collect(),
            texts: rows.iter().map(|row| row.amount_text.as_str()).collect(),
            confirmations: confirmations.collect::<Result<_, _>>()?,
            senders: rows.iter().map(|row| row.sender.as_deref()).collect(),
            by_balance: rows.iter().map(|row| row.found_by.is_balance()).collect(),
        })
    }
}

/// Deposits that were counted under a sighting's key and were another movement, each with the place
/// of its sighting.
pub async fn contradicted(
    connection: &mut PgConnection,
    network: Network,
    sightings: &[&Sighting],
) -> Result<Vec<(Uuid, usize)>, StorageError> {
    let mut contradicted = Vec::new();
    for (chunk, rows) in sightings.chunks(ROWS_MAX).enumerate() {
        let columns = Columns::of(rows)?;
        let found = sqlx::query!(
            r#"
            select d.id, t.place as "place!"
            from unnest($2::text[], $3::uuid[], $4::text[], $5::text[])
                with ordinality as t (deposit_key, address_id, contract, amount_text, place)
            join deposit d on d.network = $1 and d.deposit_key = t.deposit_key
            where (d.address_id, d.contract, d.amount_text) is distinct from (t.address_id, t.contract, t.amount_text)
            order by t.place
            "#,
            network.name(),
            &columns.keys as &[&str],
            &columns.addresses,
            &columns.contracts as &[Option<&str>],
            &columns.texts as &[&str]
        )
        .fetch_all(&mut *connection)
        .await?;
        contradicted.extend(found.into_iter().filter_map(|row| {
            let place = usize::try_from(row.place).ok()?.checked_sub(1)?;
            Some((row.id, chunk * ROWS_MAX + place))
        }));
    }
    Ok(contradicted)
}
