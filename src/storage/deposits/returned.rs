//! Deposits that were reversed in the books and came back: new deposits replace them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    asset::Network,
    deposit::BookedAs,
    money::BaseUnits,
    storage::{PgConnection, StorageError, numeric},
};

/// A reversed deposit and its owner.
#[derive(Debug, Clone, Copy)]
pub struct Reversed {
    pub id: Uuid,
    pub invoice_id: Option<Uuid>,
    pub payout_order_id: Option<Uuid>,
}

/// The reversed deposit under a key, if there is one. Index: `deposit_unique`.
pub async fn reversed(
    connection: &mut PgConnection,
    network: Network,
    deposit_key: &str,
) -> Result<Option<Reversed>, StorageError> {
    let row = sqlx::query_as!(
        Reversed,
        r#"
        select id, invoice_id, payout_order_id
        from deposit
        where network = $1 and deposit_key = $2 and state = 'reversed'
        "#,
        network.name(),
        deposit_key
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// The time at which the first of the reversed deposits under these keys had been booked. Index:
/// `deposit_unique`.
pub async fn booked_at(
    connection: &mut PgConnection,
    network: Network,
    deposit_keys: &[String],
) -> Result<Option<DateTime<Utc>>, StorageError> {
    let at = sqlx::query_scalar!(
        r#"
        select min(settled_at) as at
        from deposit
        where network = $1 and deposit_key = any($2) and state = 'reversed'
        "#,
        network.name(),
        deposit_keys
    )
    .fetch_one(connection)
    .await?;
    Ok(at)
}

/// Removes the key from a reversed deposit, and the block in which it came back: both pass to its
/// successor. `false` if it is no longer reversed.
///
/// The row's own id is appended to the key, so keys stay unique however often a transfer comes
/// back.
pub async fn give_up_key(connection: &mut PgConnection, id: Uuid) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update deposit
        set deposit_key = deposit_key || '~' || id, height = null, block_hash = null, updated_at = clock_timestamp()
        where id = $1 and state = 'reversed'
        "#,
        id
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Records that the deposit under `deposit_key` replaces `reversed`. Its first-seen time is that of
/// the reversed one: a buyer who paid in time is not late because the payment was away. `None` if
/// there is no such deposit left to book.
pub async fn succeed(
    connection: &mut PgConnection,
    network: Network,
    deposit_key: &str,
    reversed: Uuid,
) -> Result<Option<Uuid>, StorageError> {
    let id = sqlx::query_scalar!(
        r#"
        update deposit d
        set replaces = $3, first_seen_at = least(d.first_seen_at, old.first_seen_at), updated_at = clock_timestamp()
        from deposit old
        where d.network = $1 and d.deposit_key = $2 and d.state = 'seen' and old.id = $3
        returning d.id
        "#,
        network.name(),
        deposit_key,
        reversed
    )
    .fetch_optional(connection)
    .await?;
    Ok(id)
}

/// Required depth of a deposit in a block, and whether it is reached.
#[derive(Debug, Clone, Copy)]
pub struct Depth {
    pub height: i64,
    pub min_confirmations: i64,
    pub is_final: bool,
}

pub async fn depth(connection: &mut PgConnection, id: Uuid) -> Result<Option<Depth>, StorageError> {
    let row = sqlx::query_as!(
        Depth,
        r#"
        select height as "height!", min_confirmations, state = 'final' as "is_final!"
        from deposit
        where id = $1 and height is not null
        "#,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// Booking of the reversed deposit that `id` replaces, if it was the very same transfer and its
/// owner's sums still contain it: then it is missing only in the books.
pub async fn counted_before(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<BookedAs>, StorageError> {
    let booked_as = sqlx::query_scalar!(
        r#"
        select old.booked_as as "booked_as: BookedAs"
        from deposit d
        join deposit old on old.id = d.replaces
        where d.id = $1 and old.still_counted
          and (old.address_id, old.contract, old.amount_text) is not distinct from (d.address_id, d.contract, d.amount_text)
        "#,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(booked_as.flatten())
}

/// Amount of the reversed deposit replaced by `id` that its payout order still counts, and its
/// booking; `None` if there is none, or if it was another transfer.
pub async fn counted_of_order(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<(BaseUnits, BookedAs)>, StorageError> {
    let row = sqlx::query!(
        r#"
        select coalesce(old.counted_units, d.amount) as "units!: BaseUnits", old.booked_as as "booked_as!: BookedAs"
        from deposit d
        join deposit old on old.id = d.replaces
        where d.id = $1 and old.still_counted and d.amount is not null
          and (old.address_id, old.contract, old.amount_text) is not distinct from (d.address_id, d.contract, d.amount_text)
        "#,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| (row.units, row.booked_as)))
}

/// Stores the amount of a reversed deposit that its payout order still counts.
pub async fn note_counted(
    connection: &mut PgConnection,
    id: Uuid,
    units: BaseUnits,
) -> Result<(), StorageError> {
    sqlx::query!(
        "update deposit set counted_units = $2 where id = $1 and state = 'reversed'",
        id,
        numeric::from_units(units)
    )
    .execute(connection)
    .await?;
    Ok(())
}
