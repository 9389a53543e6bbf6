//! Places of exports that are being made or sent, over all replicas.

use uuid::Uuid;

use crate::storage::{PgConnection, StorageError};

/// Exports of one merchant at a time.
const AT_ONCE: i16 = 2;

/// Takes a place for `seconds`; `false` if all are taken. Index: `export_slot_pkey`.
pub async fn take(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    taken_by: Uuid,
    seconds: i32,
) -> Result<bool, StorageError> {
    for slot in 1..=AT_ONCE {
        let done = sqlx::query!(
            r#"
            insert into export_slot as s (merchant_id, slot, taken_by, leased_until)
            values ($1, $2, $3, clock_timestamp() + $4::integer * interval '1 second')
            on conflict (merchant_id, slot) do update
            set taken_by = excluded.taken_by, leased_until = excluded.leased_until
            where s.leased_until <= clock_timestamp()
            "#,
            merchant_id,
            slot,
            taken_by,
            seconds
        )
        .execute(&mut *connection)
        .await?;
        if done.rows_affected() == 1 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Keeps a place for `seconds` from now.
pub async fn renew(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    taken_by: Uuid,
    seconds: i32,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update export_slot
        set leased_until = clock_timestamp() + $3::integer * interval '1 second'
        where merchant_id = $1 and taken_by = $2
        "#,
        merchant_id,
        taken_by,
        seconds
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Frees a place, unless another has taken it since.
pub async fn free(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    taken_by: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!(
        "delete from export_slot where merchant_id = $1 and taken_by = $2",
        merchant_id,
        taken_by
    )
    .execute(connection)
    .await?;
    Ok(())
}
