//! Announcements of operators: written, withdrawn, shown, and dismissed by their readers.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::storage::{PgConnection, StorageError};

/// An announcement in the operators' list.
#[derive(Debug, Clone)]
pub struct Announcement {
    pub id: Uuid,
    pub title: String,
    pub body: String,
    pub created_by: String,
    pub created_at: DateTime<Utc>,
    pub ends_at: Option<DateTime<Utc>>,
    pub withdrawn_at: Option<DateTime<Utc>>,
    /// When it was mailed to the owners of merchants, and by whom.
    pub mailed_at: Option<DateTime<Utc>>,
    pub mailed_by: Option<String>,
    /// True while merchants see it.
    pub is_shown: bool,
    pub dismissals: i64,
}

/// An announcement as its readers see it.
#[derive(Debug, Clone)]
pub struct Shown {
    pub id: Uuid,
    pub title: String,
    pub body: String,
}

/// Stores an announcement that ends after `days`, or with `None` when it is withdrawn. `false` if
/// the id is taken: its form was sent twice.
pub async fn insert(
    connection: &mut PgConnection,
    id: Uuid,
    (title, body): (&str, &str),
    days: Option<i32>,
    by: &str,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        insert into announcement (id, title, body, created_by, ends_at)
        values ($1, $2, $3, $4, clock_timestamp() + $5::int * interval '1 day')
        on conflict (id) do nothing
        "#,
        id,
        title,
        body,
        by,
        days
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// `false` if there is no such announcement, or it was withdrawn already.
pub async fn withdraw(connection: &mut PgConnection, id: Uuid) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "update announcement set withdrawn_at = clock_timestamp() where id = $1 and withdrawn_at is null",
        id
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Announcements older than a place, the newest first. Index: `announcement_by_time`.
pub async fn page(
    connection: &mut PgConnection,
    (before, id): (DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<Announcement>, StorageError> {
    let rows = sqlx::query_as!(
        Announcement,
        r#"
        select a.id, a.title, a.body, a.created_by, a.created_at, a.ends_at, a.withdrawn_at, a.mailed_at, a.mailed_by,
               a.withdrawn_at is null and coalesce(a.ends_at > clock_timestamp(), true) as "is_shown!",
               (select count(*) from announcement_dismissal d where d.announcement_id = a.id) as "dismissals!"
        from announcement a
        where (a.created_at, a.id) < ($1, $2)
        order by a.created_at desc, a.id desc
        limit $3
        "#,
        before,
        id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The announcements that an account has yet to dismiss, the newest first. Index:
/// `announcement_shown`.
pub async fn shown_to(
    connection: &mut PgConnection,
    account_id: Uuid,
    limit: i64,
) -> Result<Vec<Shown>, StorageError> {
    let rows = sqlx::query_as!(
        Shown,
        r#"
        select id, title, body
        from announcement a
        where withdrawn_at is null and coalesce(ends_at > clock_timestamp(), true)
          and not exists (
              select from announcement_dismissal d where d.announcement_id = a.id and d.account_id = $1
          )
        order by created_at desc, id desc
        limit $2
        "#,
        account_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Notes that an account has dismissed an announcement. `false` if there is no such announcement.
pub async fn dismiss(
    connection: &mut PgConnection,
    id: Uuid,
    account_id: Uuid,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"
        with known as (select id from announcement where id = $1),
        noted as (
            insert into announcement_dismissal (announcement_id, account_id)
            select id, $2 from known
            on conflict do nothing
        )
        select exists (select from known) as "known!"
        "#,
        id,
        account_id
    )
    .fetch_one(connection)
    .await?;
    Ok(row.known)
}
