//! Settlements as operators look at them.

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{PgConnection, StorageError, cursors, numeric},
};

/// The settlements of a network that have not ended.
#[derive(Debug, Clone)]
pub struct Open {
    pub network: String,
    /// Nothing is signed for these.
    pub verified: i64,
    /// These are signed, and no block holds them.
    pub submitted: i64,
    /// These wait in a block for their confirmations.
    pub in_block: i64,
    /// Age of the oldest of those that no block holds; zero without any.
    pub waits_seconds: i64,
}

/// Of every network that has any, by name. Index: `x402_settlement_open`.
pub async fn open(connection: &mut PgConnection) -> Result<Vec<Open>, StorageError> {
    let rows = sqlx::query_as!(
        Open,
        r#"
        select network, count(*) filter (where state = 'verified') as "verified!",
               count(*) filter (where state = 'submitted' and height is null) as "submitted!",
               count(*) filter (where height is not null) as "in_block!",
               coalesce(extract(epoch from now() - min(created_at) filter (where height is null))::bigint, 0) as "waits_seconds!"
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

/// The network of a settlement that has not ended.
pub async fn network_of(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<Network>, StorageError> {
    let network = sqlx::query_scalar!(
        "select network from x402_settlement where id = $1 and state in ('verified', 'submitted')",
        id
    )
    .fetch_optional(connection)
    .await?;
    let network = network.map(|name| name.parse::<Network>()).transpose();
    network.map_err(|error| StorageError::damaged("x402_settlement", error))
}

/// Deposits around a settlement, without those that a reorg took away.
#[derive(Debug, Clone)]
pub struct Deposited {
    /// The transaction of the settlement, if a deposit of it is known.
    pub own: Option<String>,
    /// What other transactions of the block brought its address, in its token.
    pub beside: BaseUnits,
}

/// Deposits of a settlement, and those beside it in the block at `height`. Index:
/// `deposit_by_address`.
pub async fn deposited(
    connection: &mut PgConnection,
    id: Uuid,
    height: u64,
) -> Result<Deposited, StorageError> {
    let row = sqlx::query!(
        r#"
        select max(d.tx_hash) filter (where v.version is not null) as own,
               coalesce(sum(d.amount) filter (where v.version is null and d.height = $2 and lower(d.contract) = s.asset), 0)
                   as "beside!"
        from x402_settlement s
        join deposit d on d.address_id = s.address_id and d.network = s.network and d.state not in ('withdrawn', 'reversed')
        left join x402_version v on v.settlement_id = s.id and v.tx_hash = d.tx_hash
        where s.id = $1
        "#,
        id,
        cursors::to_column(height)?
    )
    .fetch_one(connection)
    .await?;
    Ok(Deposited { own: row.own, beside: numeric::to_units("x402_settlement", &row.beside)? })
}
