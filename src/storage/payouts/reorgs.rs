//! Payments whose block a reorg replaced after they had ended.

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    payout::payment::Purpose,
    storage::{PgConnection, StorageError, cursors, numeric},
};

const TABLE: &str = "payout_payment";

/// Marks the ended payments of a network in blocks above `height`, which a reorg replaced, and has
/// their orders looked at now. Returns the number of marked payments. Index:
/// `payout_payment_by_height`.
pub async fn mark_above(
    connection: &mut PgConnection,
    network: Network,
    height: u64,
) -> Result<u64, StorageError> {
    let count = sqlx::query_scalar!(
        r#"
        with marked as (
            update payout_payment
            set reorged_at = now()
            where network = $1 and height > $2 and state in ('confirmed', 'failed') and reorged_at is null
            returning order_id
        ),
        due as (
            insert into timer (kind, ref, due_at)
            select distinct 'payout', order_id, now() from marked
            on conflict (kind, ref) do update set due_at = least(timer.due_at, excluded.due_at)
        )
        select count(*) as "count!" from marked
        "#,
        network.name(),
        cursors::to_column(height)?
    )
    .fetch_one(connection)
    .await?;
    Ok(count.unsigned_abs())
}

/// A payment that had ended in a block that is gone.
#[derive(Debug, Clone)]
pub struct Reorged {
    pub id: Uuid,
    pub purpose: Purpose,
    pub succeeded: bool,
    pub amount: BaseUnits,
    /// The fee that was booked with its end.
    pub fee: BaseUnits,
    pub tx_hash: String,
    pub height: u64,
}

/// The first `limit` of an order's payments that had ended in blocks that are gone, oldest first.
/// Index: `payout_payment_reorged`.
pub async fn of_order(
    connection: &mut PgConnection,
    order_id: Uuid,
    limit: i64,
) -> Result<Vec<Reorged>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select id, purpose, state = 'confirmed' as "succeeded!", amount, coalesce(fee, 0) as "fee!", tx_hash,
               height as "height!"
        from payout_payment
        where order_id = $1 and reorged_at is not null
        order by created_at, id
        limit $2
        "#,
        order_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Reorged {
                id: row.id,
                purpose: row.purpose.parse().map_err(|e| StorageError::damaged(TABLE, e))?,
                succeeded: row.succeeded,
                amount: numeric::to_units(TABLE, &row.amount)?,
                fee: numeric::to_units(TABLE, &row.fee)?,
                tx_hash: row.tx_hash,
                height: cursors::from_column(row.height)?,
            })
        })
        .collect()
}

/// Takes back the end of a payment: it waits for a block again, and so do the rows that it pays.
/// From now on its ledger entries have `booked_as` as their source. It is looked for first, and if
/// no node has it, the next step sends it again.
pub async fn take_back(
    connection: &mut PgConnection,
    id: Uuid,
    booked_as: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        with open as (
            update payout_payment
            set state = 'sent', sent_at = now() - interval '1 minute', fee = null, height = null, ended_at = null,
                reorged_at = null, booked_as = $2
            where id = $1 and state = 'confirmed'
            returning id
        )
        update payout_item i
        set state = 'sent'
        from open
        where i.payment_id = open.id and i.state = 'confirmed'
        "#,
        id,
        booked_as
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Leaves the end of a payment as it was told.
pub async fn keep(connection: &mut PgConnection, id: Uuid) -> Result<(), StorageError> {
    sqlx::query!("update payout_payment set reorged_at = null where id = $1", id)
        .execute(connection)
        .await?;
    Ok(())
}

/// Opens the ended batches of these payments again, and returns them. `told_as` is the subject of
/// their events from now on.
pub async fn open_batches(
    connection: &mut PgConnection,
    payment_ids: &[Uuid],
    told_as: Uuid,
) -> Result<Vec<Uuid>, StorageError> {
    let ids = sqlx::query_scalar!(
        r#"
        update payout_batch
        set state = 'broadcasted', confirmed_at = null, last_error = null, told_as = $2
        where id in (select batch_id from payout_item where payment_id = any ($1)) and state in ('confirmed', 'failed')
        returning id
        "#,
        payment_ids,
        told_as
    )
    .fetch_all(connection)
    .await?;
    Ok(ids)
}

/// The source of a payment's ledger entries.
pub async fn booked_as(connection: &mut PgConnection, id: Uuid) -> Result<Uuid, StorageError> {
    let source = sqlx::query_scalar!(
        r#"select coalesce(booked_as, id) as "source!" from payout_payment where id = $1"#,
        id
    )
    .fetch_one(connection)
    .await?;
    Ok(source)
}
