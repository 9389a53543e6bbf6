//! Mails that were given up, in groups of one kind and one cause, without their addresses.

use chrono::{DateTime, Utc};

use crate::{
    mail::MailKind,
    storage::{PgConnection, StorageError},
};

/// A group with its size.
#[derive(Debug, Clone)]
pub struct DeadMailGroup {
    pub kind: MailKind,
    /// The last error, which names no address.
    pub cause: String,
    pub count: i64,
    pub oldest: DateTime<Utc>,
    pub newest: DateTime<Utc>,
}

/// The largest groups. Index: `mail_dead`.
pub async fn groups(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<Vec<DeadMailGroup>, StorageError> {
    let rows = sqlx::query_as!(
        DeadMailGroup,
        r#"
        select kind as "kind: MailKind", coalesce(last_error, 'unknown') as "cause!", count(*) as "count!",
               min(coalesce(dead_since, updated_at)) as "oldest!", max(coalesce(dead_since, updated_at)) as "newest!"
        from mail
        where state = 'dead'
        group by 1, 2
        order by 3 desc, 1, 2
        limit $1
        "#,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Queues a message with (cycle + 1, 1) for the mails of a group, up to `limit`, and returns their
/// number. Twice starts one cycle. Index: `mail_dead`.
pub async fn queue(
    connection: &mut PgConnection,
    route: &str,
    (kind, cause): (MailKind, &str),
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        insert into outbox (route, body)
        select $1, json_build_object('v', 1, 'type', 'mail', 'mail_id', id, 'cycle', cycle + 1, 'attempt', 1)::text
        from mail
        where state = 'dead' and kind = $2 and coalesce(last_error, 'unknown') = $3
        order by dead_since, id
        limit $4
        "#,
        route,
        kind.as_str(),
        cause,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
