//! The outbox: messages to publish. Every change of a row writes its messages here, in the same
//! transaction.

use chrono::{DateTime, Utc};

use super::{PgConnection, StorageError};

/// A message waiting for the relay.
#[derive(Debug, Clone)]
pub struct OutboxRow {
    pub id: i64,
    pub route: String,
    pub body: String,
    pub created_at: DateTime<Utc>,
}

pub async fn insert(
    connection: &mut PgConnection,
    route: &str,
    body: &str,
) -> Result<(), StorageError> {
    sqlx::query!("insert into outbox (route, body) values ($1, $2)", route, body)
        .execute(connection)
        .await?;
    Ok(())
}

/// Locks up to `limit` messages, oldest first, without the routes that a full queue refuses at the
/// moment.
pub async fn lock_batch(
    connection: &mut PgConnection,
    paused_routes: &[String],
    limit: i64,
) -> Result<Vec<OutboxRow>, StorageError> {
    let rows = sqlx::query_as!(
        OutboxRow,
        r#"
        select id, route, body, created_at
        from outbox
        where route <> all ($1)
        order by id
        limit $2
        for update skip locked
        "#,
        paused_routes,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

pub async fn delete(connection: &mut PgConnection, ids: &[i64]) -> Result<(), StorageError> {
    sqlx::query!("delete from outbox where id = any ($1)", ids).execute(connection).await?;
    Ok(())
}

/// Quarantines a message that no queue accepts.
pub async fn quarantine(
    connection: &mut PgConnection,
    id: i64,
    reason: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        with moved as (
            delete from outbox where id = $1 returning id, route, body, created_at
        )
        insert into outbox_quarantine (id, route, body, reason, created_at)
        select id, route, body, $2, created_at from moved
        on conflict (id) do nothing
        "#,
        id,
        reason
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Number of waiting messages, counted up to `limit`, and the age of the oldest.
pub async fn backlog(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<(i64, i64), StorageError> {
    let row = sqlx::query!(
        r#"
        select count(*) as "count!", coalesce(extract(epoch from now() - min(created_at)), 0)::bigint as "age!"
        from (select created_at from outbox order by id limit $1) as oldest
        "#,
        limit
    )
    .fetch_one(connection)
    .await?;
    Ok((row.count, row.age))
}
