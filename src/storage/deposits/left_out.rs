//! Transfers of unknown contracts of which an address has more than enough: counted, and not kept.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    asset::Network,
    storage::{PgConnection, StorageError},
};

/// A deposit of an unknown contract that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unknown {
    pub address_id: Uuid,
    pub contract: Option<String>,
    pub deposit_key: String,
}

/// The kept deposits of unknown contracts at these addresses. Index: `deposit_unknown`.
pub async fn unknown_at(
    connection: &mut PgConnection,
    network: Network,
    address_ids: &[Uuid],
) -> Result<Vec<Unknown>, StorageError> {
    let rows = sqlx::query_as!(
        Unknown,
        "select address_id, contract, deposit_key from deposit
         where address_id = any ($2) and token_id is null and network = $1",
        network.name(),
        address_ids
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// A number of further transfers left out at an address, with the transaction of one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct More {
    pub address_id: Uuid,
    pub transfers: i64,
    pub tx_hash: String,
}

pub async fn count(
    connection: &mut PgConnection,
    network: Network,
    more: &[More],
) -> Result<(), StorageError> {
    let addresses: Vec<_> = more.iter().map(|one| one.address_id).collect();
    let transfers: Vec<_> = more.iter().map(|one| one.transfers).collect();
    let hashes: Vec<_> = more.iter().map(|one| one.tx_hash.clone()).collect();
    sqlx::query!(
        r#"
        insert into transfers_left_out as l (network, address_id, transfers, last_tx_hash)
        select $1, t.address_id, t.transfers, t.tx_hash
        from unnest($2::uuid[], $3::bigint[], $4::text[]) as t (address_id, transfers, tx_hash)
        on conflict (network, address_id) do update
        set transfers = l.transfers + excluded.transfers, last_tx_hash = excluded.last_tx_hash, last_at = clock_timestamp()
        "#,
        network.name(),
        &addresses,
        &transfers,
        &hashes
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The transfers left out at an invoice's address on one network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub network: Network,
    pub transfers: i64,
    pub last_tx_hash: String,
    pub first_at: DateTime<Utc>,
    pub last_at: DateTime<Utc>,
}

/// Indices: `deposit_address_by_invoice`, the primary key.
pub async fn of_invoice(
    connection: &mut PgConnection,
    invoice_id: Uuid,
) -> Result<Vec<LeftOut>, StorageError> {
    let rows = sqlx::query_as!(
        LeftOut,
        r#"
        select l.network as "network: _", l.transfers, l.last_tx_hash, l.first_at, l.last_at
        from deposit_address a
        join transfers_left_out l on l.address_id = a.id
        where a.invoice_id = $1
        order by l.network
        "#,
        invoice_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
