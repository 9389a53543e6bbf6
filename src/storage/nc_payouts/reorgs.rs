//! Transactions whose block a reorg replaced after they had ended.

use crate::{
    asset::Network,
    nc_payout::{State, lifecycle},
    storage::{PgConnection, StorageError, cursors},
};

/// Takes back the ends of a network's transactions in blocks above `height`: they are looked for
/// now, and if no node has them, sent again. Returns the number of their payouts. Index:
/// `nc_payout_transaction_by_height`.
pub async fn open_above(
    connection: &mut PgConnection,
    network: Network,
    height: u64,
) -> Result<u64, StorageError> {
    let (ended, after) = lifecycle::taken_back();
    let ended: Vec<_> = ended.into_iter().map(|state: State| state.as_str().to_owned()).collect();
    let done = sqlx::query!(
        r#"
        with open as (
            update nc_payout_transaction
            set state = 'sent', sent_at = now() - interval '1 minute', confirmations = 0, fee = null, error = null, height = null
            where network = $1 and height > $2 and state in ('confirmed', 'failed')
            returning payout_id
        )
        update nc_payout
        set state = case when state = any ($3) then $4 else state end, ended_at = null, look_at = now(), updated_at = now()
        where id in (select payout_id from open)
        "#,
        network.name(),
        cursors::to_column(height)?,
        &ended,
        after.as_str()
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
