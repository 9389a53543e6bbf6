//! Deletion of expired rows, in bounded batches. Money, deliveries and deposits are not in this
//! file.

use super::{PgConnection, StorageError};

/// Rows that expire, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiring {
    /// Responses kept for repeated requests.
    Answers,
    /// The history of rates.
    Rates,
    /// Events of the feed. Their deliveries stay.
    Events,
    /// Hourly sums of credited deposits.
    HourTakings,
    /// Hourly counts of events.
    HourEvents,
    /// Mails with their attempts.
    Mails,
    /// What addresses and links got per day.
    MailBudgets,
    /// Refusals of addresses.
    MailBounces,
    /// Tokens that stop reminders.
    MailTokens,
    /// Codes of devices that nobody enrolled.
    DeviceCodes,
}

impl Expiring {
    pub const ALL: [Self; 10] = [
        Self::Answers,
        Self::Rates,
        Self::Events,
        Self::HourTakings,
        Self::HourEvents,
        Self::Mails,
        Self::MailBudgets,
        Self::MailBounces,
        Self::MailTokens,
        Self::DeviceCodes,
    ];
}

/// Deletes up to `limit` expired rows of a kind, and returns their number: fewer than `limit` if no
/// more have expired.
pub async fn forget(
    connection: &mut PgConnection,
    kind: Expiring,
    limit: i64,
) -> Result<u64, StorageError> {
    match kind {
        Expiring::Answers => forget_answers(connection, limit).await,
        Expiring::Rates => forget_rates(connection, limit).await,
        Expiring::Events => forget_events(connection, limit).await,
        Expiring::HourTakings => forget_hour_takings(connection, limit).await,
        Expiring::HourEvents => forget_hour_events(connection, limit).await,
        Expiring::Mails => forget_mails(connection, limit).await,
        Expiring::MailBudgets => forget_mail_budgets(connection, limit).await,
        Expiring::MailBounces => forget_mail_bounces(connection, limit).await,
        Expiring::MailTokens => forget_mail_tokens(connection, limit).await,
        Expiring::DeviceCodes => forget_device_codes(connection, limit).await,
    }
}

/// Deletes up to `limit` expired responses, which no repeated request can ask for. Index:
/// `idempotency_by_age`.
///
/// By physical position (`ctid`): joined by key, the planner would read the whole table for each
/// batch.
async fn forget_answers(connection: &mut PgConnection, limit: i64) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        delete from idempotency
        where ctid = any (array(
            select ctid
            from idempotency
            where created_at < now() - interval '24 hours'
            order by created_at
            limit $1
            for update skip locked
        ))
        "#,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes up to `limit` rates of the history that are older than 400 days. Index:
/// `rate_history_pkey`.
async fn forget_rates(connection: &mut PgConnection, limit: i64) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        delete from rate_history
        where ctid = any (array(
            select ctid
            from rate_history
            where minute < now() - interval '400 days'
            order by minute
            limit $1
            for update skip locked
        ))
        "#,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes up to `limit` events of the feed that are older than 90 days, as
/// `docs/webhooks.md` promises. Their deliveries stay. Index: `event_by_age`.
async fn forget_events(connection: &mut PgConnection, limit: i64) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        delete from event
        where ctid = any (array(
            select ctid
            from event
            where created_at < now() - interval '90 days'
            order by created_at
            limit $1
            for update skip locked
        ))
        "#,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes up to `limit` hourly sums older than 100 days, which no page shows. Index:
/// `merchant_hour_taking_by_age`.
async fn forget_hour_takings(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        delete from merchant_hour_taking
        where ctid = any (array(
            select ctid
            from merchant_hour_taking
            where hour < now() - interval '100 days'
            order by hour
            limit $1
            for update skip locked
        ))
        "#,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes up to `limit` hourly counts older than 100 days, which no page shows. Index:
/// `merchant_hour_event_by_age`.
async fn forget_hour_events(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        delete from merchant_hour_event
        where ctid = any (array(
            select ctid
            from merchant_hour_event
            where hour < now() - interval '100 days'
            order by hour
            limit $1
            for update skip locked
        ))
        "#,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes up to `limit` mails older than 90 days, with their attempts; none is sent so late.
/// Index: `mail_by_age`.
async fn forget_mails(connection: &mut PgConnection, limit: i64) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        delete from mail
        where ctid = any (array(
            select ctid
            from mail
            where created_at < now() - interval '90 days'
            order by created_at
            limit $1
            for update skip locked
        ))
        "#,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes up to `limit` counts of days that are over. Index: `mail_budget_by_age`.
async fn forget_mail_budgets(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        delete from mail_budget
        where ctid = any (array(
            select ctid
            from mail_budget
            where day < (now() - interval '2 days')::date
            order by day
            limit $1
            for update skip locked
        ))
        "#,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes up to `limit` refusals older than 90 days: a mailbox may exist again. Index:
/// `mail_bounce_by_age`.
async fn forget_mail_bounces(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        delete from mail_bounce
        where ctid = any (array(
            select ctid
            from mail_bounce
            where bounced_at < now() - interval '90 days'
            order by bounced_at
            limit $1
            for update skip locked
        ))
        "#,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes up to `limit` tokens older than 400 days, as those that renew. Index:
/// `mail_unsubscribe_by_age`.
async fn forget_mail_tokens(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        delete from mail_unsubscribe
        where ctid = any (array(
            select ctid
            from mail_unsubscribe
            where created_at < now() - interval '400 days'
            order by created_at
            limit $1
            for update skip locked
        ))
        "#,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Number of pages of the callers' windows.
pub async fn window_pages(connection: &mut PgConnection) -> Result<i64, StorageError> {
    let row = sqlx::query!(
        r#"select pg_relation_size('request_window') / current_setting('block_size')::bigint as "pages!""#
    )
    .fetch_one(connection)
    .await?;
    Ok(row.pages)
}

/// Deletes the windows of inactive callers, among the `count` pages from `page` on.
///
/// By physical position (`ctid`) and not by an index: an index on `last_at` would cost each request
/// an index write.
pub async fn forget_windows(
    connection: &mut PgConnection,
    page: i64,
    count: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        delete from request_window
        where ctid = any (array(
            select ctid
            from request_window
            where ctid >= ('(' || $1::bigint || ',0)')::tid and ctid < ('(' || $1::bigint + $2::bigint || ',0)')::tid
              and last_at < now() - interval '5 minutes'
            for update skip locked
        ))
        "#,
        page,
        count
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes up to `limit` devices of tills whose codes nobody used for 30 days. Nothing refers to
/// them. Index: `till_device_unused`.
async fn forget_device_codes(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        delete from till_device
        where id = any (array(
            select id
            from till_device
            where enrolled_at is null and code_expires_at < now() - interval '30 days'
            order by code_expires_at
            limit $1
            for update skip locked
        ))
        "#,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
