//! Deposits of a payout order in batches: anyone who knows its address may send it as many as he
//! likes, and none of them may hide another.

use uuid::Uuid;

use super::{DepositRow, deposit_rows};
use crate::{
    asset::{Network, catalogue::Currency},
    storage::{PgConnection, StorageError},
};

/// Final deposits of an order that are not booked yet, whatever they brought, the oldest first.
/// Index: `deposit_payout_unsettled`.
///
/// Call it under the order's row lock; they are locked too, so that a reorganisation finds them
/// booked or not booked.
pub async fn lock_final(
    connection: &mut PgConnection,
    order_id: Uuid,
    limit: i64,
) -> Result<Vec<DepositRow>, StorageError> {
    let rows = deposit_rows!(
        "where d.payout_order_id = $1 and d.state = 'final'
         order by d.first_seen_at, d.id limit $2 for update",
        order_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Deposits of an order's own currency that are on their way or wait to be booked and that the
/// event `kind` was not written for, the oldest first. Index: `deposit_payout_unsettled`.
pub async fn untold(
    connection: &mut PgConnection,
    order_id: Uuid,
    own: &Currency,
    kind: &str,
    limit: i64,
) -> Result<Vec<DepositRow>, StorageError> {
    let rows = deposit_rows!(
        "where d.payout_order_id = $1 and d.state in ('seen', 'final')
           and d.network = $2 and d.token_id = $3 and d.amount is not null
           and not exists (select from delivery e
                           where e.payout_order_id = $1 and e.kind = $4 and e.subject = d.id)
         order by d.first_seen_at, d.id limit $5",
        order_id,
        own.network.name(),
        own.token_id(),
        kind,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The order's deposit with this key, if it is one. Index: `deposit_unique`.
///
/// Call it under the order's row lock; it is locked too, as those that are booked are.
pub async fn lock_by_key(
    connection: &mut PgConnection,
    order_id: Uuid,
    network: Network,
    deposit_key: &str,
) -> Result<Option<DepositRow>, StorageError> {
    let row = deposit_rows!(
        "where d.network = $2 and d.deposit_key = $3 and d.payout_order_id = $1 for update",
        order_id,
        network.name(),
        deposit_key
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// Returns whether there is a deposit of the order's own currency that is on its way or booked: one
/// that was replaced, or left the chain, is none. Index: `deposit_by_payout`.
pub async fn any(
    connection: &mut PgConnection,
    order_id: Uuid,
    own: &Currency,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"
        select exists(
            select from deposit
            where payout_order_id = $1 and state in ('seen', 'final', 'settled')
              and network = $2 and token_id = $3 and amount is not null
        ) as "any!"
        "#,
        order_id,
        own.network.name(),
        own.token_id()
    )
    .fetch_one(connection)
    .await?;
    Ok(row.any)
}
