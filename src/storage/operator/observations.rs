//! Operators who read a merchant's pages: a session and the merchant that it shows.

use uuid::Uuid;

use crate::storage::{PgConnection, StorageError};

/// The merchant whose pages a session shows to an operator.
#[derive(Debug, Clone)]
pub struct Observed {
    pub merchant_id: Uuid,
    pub name: String,
}

pub async fn begin(
    connection: &mut PgConnection,
    session_handle: Uuid,
    merchant_id: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into observation (session_handle, merchant_id)
        values ($1, $2)
        on conflict (session_handle) do update set merchant_id = excluded.merchant_id, began_at = clock_timestamp()
        "#,
        session_handle,
        merchant_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The merchant that was shown until now; `None` if none was.
pub async fn end(
    connection: &mut PgConnection,
    session_handle: Uuid,
) -> Result<Option<Uuid>, StorageError> {
    let ended = sqlx::query_scalar!(
        "delete from observation where session_handle = $1 returning merchant_id",
        session_handle
    )
    .fetch_optional(connection)
    .await?;
    Ok(ended)
}

pub async fn of_session(
    connection: &mut PgConnection,
    session_handle: Uuid,
) -> Result<Option<Observed>, StorageError> {
    let row = sqlx::query_as!(
        Observed,
        r#"
        select o.merchant_id, m.name
        from observation o
        join merchant m on m.id = o.merchant_id
        where o.session_handle = $1
        "#,
        session_handle
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}
