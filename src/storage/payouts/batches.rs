//! Batches: rows that are reported together.

use uuid::Uuid;

use crate::{
    asset::Network,
    payout::{
        batch::{BatchState, Tally},
        order::BatchView,
    },
    storage::{PgConnection, StorageError, numeric},
};

const TABLE: &str = "payout_batch";

pub async fn insert_all(
    connection: &mut PgConnection,
    order_id: Uuid,
    batches: &[(Uuid, String)],
) -> Result<(), StorageError> {
    let (ids, batch_ids): (Vec<_>, Vec<_>) = batches.iter().cloned().unzip();
    sqlx::query!(
        r#"
        insert into payout_batch (id, batch_id, order_id, index, state)
        select t.id, t.batch_id, $1, t.position - 1, 'pending'
        from unnest($2::uuid[], $3::text[]) with ordinality as t (id, batch_id, position)
        "#,
        order_id,
        &ids,
        &batch_ids
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// An open batch with its stored state and the states of its rows.
#[derive(Debug, Clone)]
pub struct OpenBatch {
    pub id: Uuid,
    /// The subject of its events.
    pub told_as: Uuid,
    pub state: BatchState,
    pub rows: Tally,
}

pub async fn open(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<Vec<OpenBatch>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select b.id, coalesce(b.told_as, b.id) as "told_as!", b.state,
               count(*) filter (where i.state = 'pending' and i.payment_id is null) as "pending!",
               count(*) filter (where i.state = 'pending' and i.payment_id is not null) as "signed!",
               count(*) filter (where i.state = 'sent') as "sent!",
               count(*) filter (where i.state = 'confirmed') as "confirmed!",
               count(*) filter (where i.state = 'failed') as "failed!"
        from payout_batch b
        join payout_item i on i.batch_id = b.id
        where b.order_id = $1 and b.state in ('pending', 'signing', 'broadcasted')
        group by b.id
        order by b.index
        "#,
        order_id
    )
    .fetch_all(connection)
    .await?;
    let count = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    rows.into_iter()
        .map(|row| {
            let rows = Tally {
                pending: count(row.pending),
                signed: count(row.signed),
                sent: count(row.sent),
                confirmed: count(row.confirmed),
                failed: count(row.failed),
            };
            let state = row.state.parse().map_err(|e| StorageError::damaged(TABLE, e))?;
            Ok(OpenBatch { id: row.id, told_as: row.told_as, state, rows })
        })
        .collect()
}

/// Stores a batch's state. The caller holds the order's row lock.
pub async fn set_state(
    connection: &mut PgConnection,
    id: Uuid,
    state: BatchState,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update payout_batch
        set state = $2,
            broadcast_at = case when $2 in ('broadcasted', 'confirmed') then coalesce(broadcast_at, now()) else broadcast_at end,
            confirmed_at = case when $2 = 'confirmed' then now() end,
            last_error = case when $2 = 'failed' then
                (select i.error from payout_item i where i.batch_id = $1 and i.state = 'failed' order by i.row_number limit 1)
                end
        where id = $1
        "#,
        id,
        state.as_str()
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns whether any batch of an order has failed, and the number of open ones.
pub async fn standing(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<(bool, i64), StorageError> {
    let row = sqlx::query!(
        r#"
        select coalesce(bool_or(state = 'failed'), false) as "failed!",
               count(*) filter (where state in ('pending', 'signing', 'broadcasted')) as "open!"
        from payout_batch
        where order_id = $1
        "#,
        order_id
    )
    .fetch_one(connection)
    .await?;
    Ok((row.failed, row.open))
}

/// Batches in a merchant's view: all of an order, or the one with this id.
pub async fn views(
    connection: &mut PgConnection,
    order_id: Uuid,
    network: Network,
    only: Option<Uuid>,
    required_confirmations: u64,
) -> Result<Vec<BatchView>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select b.batch_id, b.index, b.state, b.last_error, b.broadcast_at, b.confirmed_at, s.items as "items!",
               s.failed as "failed!", s.amount as "amount!", s.tx_hash, s.height,
               coalesce((select sum(p.fee) from payout_payment p
                         where p.id in (select i.payment_id from payout_item i where i.batch_id = b.id)), 0) as "fee!",
               array(select v.tx_hash
                     from payout_version v
                     join payout_payment p on p.id = v.payment_id
                     where v.tx_hash <> p.tx_hash
                       and p.id in (select i.payment_id from payout_item i where i.batch_id = b.id)
                     order by v.created_at) as "replaced!",
               (select c.height from chain_cursor c where c.network = $3) as head
        from payout_batch b
        join lateral (
            select count(*) as items, count(*) filter (where i.state = 'failed') as failed, sum(i.net_amount) as amount,
                   (array_agg(p.tx_hash order by i.row_number) filter (where p.tx_hash is not null))[1] as tx_hash,
                   case when bool_and(p.height is not null or i.state = 'failed') then max(p.height) end as height
            from payout_item i
            left join payout_payment p on p.id = i.payment_id
            where i.batch_id = b.id
        ) s on true
        where b.order_id = $1 and ($2::uuid is null or b.id = $2)
        order by b.index
        "#,
        order_id,
        only,
        network.name()
    )
    .fetch_all(connection)
    .await?;
    let count = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    rows.into_iter()
        .map(|row| {
            let depth = row.head.zip(row.height).map_or(0, |(head, height)| head - height + 1);
            let depth = u64::try_from(depth).unwrap_or(0);
            let state = row.state.parse().map_err(|e| StorageError::damaged(TABLE, e))?;
            // The node that confirmed it may be ahead of the blocks that were followed.
            let is_confirmed = state == BatchState::Confirmed;
            Ok(BatchView {
                id: row.batch_id,
                index: row.index.unsigned_abs(),
                state,
                item_count: count(row.items),
                failed_count: count(row.failed),
                amount: numeric::to_units(TABLE, &row.amount)?,
                fee: numeric::to_units(TABLE, &row.fee)?,
                tx_hash: row.tx_hash,
                replaced_tx_hashes: row.replaced,
                confirmations: if is_confirmed { depth.max(required_confirmations) } else { depth },
                required_confirmations,
                last_error: row.last_error,
                broadcast_at: row.broadcast_at,
                confirmed_at: row.confirmed_at,
            })
        })
        .collect()
}

/// The default batch in an order's object: the last one that has left `pending`.
pub async fn latest(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<Option<Uuid>, StorageError> {
    let row = sqlx::query!(
        "select id from payout_batch where order_id = $1 and state <> 'pending' order by index desc limit 1",
        order_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.id))
}
