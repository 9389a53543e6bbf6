//! Merchants, as the operator's command line and the workers need them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::merchant::{
    api_key::ApiKeyRecord,
    settings::{Settings, UnderpayWhen},
};

/// A merchant as an operator sees it. It holds nothing secret.
#[derive(Debug, Clone)]
pub struct MerchantRow {
    pub id: Uuid,
    pub name: String,
    pub api_key_preview: String,
    pub overpay_bps: i32,
    pub underpay_bps: i32,
    pub underpay_when: UnderpayWhen,
    pub payment_window_seconds: i32,
    pub selection_window_seconds: i32,
    pub open_invoices_max: i32,
    pub accepted_tokens: Option<Vec<String>>,
    pub payout_webhook_url: Option<String>,
    pub default_ipn_callback_url: Option<String>,
    pub default_success_url: Option<String>,
    pub default_cancel_url: Option<String>,
    pub logo_url: Option<String>,
    pub suspended_at: Option<DateTime<Utc>>,
    pub slow_until: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

pub async fn insert(
    connection: &mut PgConnection,
    id: Uuid,
    name: &str,
    key: &ApiKeyRecord,
    webhook_secret_sealed: &[u8],
    settings: &Settings,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into merchant (id, name, api_key_sha256, api_key_preview, webhook_secret_sealed, overpay_bps,
            payment_window_seconds, selection_window_seconds, open_invoices_max, accepted_tokens, payout_webhook_url,
            underpay_bps, underpay_when, default_ipn_callback_url, default_success_url, default_cancel_url)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
        "#,
        id,
        name,
        key.sha256.as_slice(),
        key.preview,
        webhook_secret_sealed,
        column(settings.overpay_tolerance.get())?,
        column(settings.payment_window_seconds)?,
        column(settings.selection_window_seconds)?,
        column(settings.open_invoices_max)?,
        settings.accepted.as_deref(),
        settings.payout_webhook_url,
        column(settings.underpay.tolerance.get())?,
        settings.underpay.when.as_str(),
        settings.default_urls.ipn_callback,
        settings.default_urls.success,
        settings.default_urls.cancel,
    )
    .execute(connection)
    .await?;
    Ok(())
}

fn column(value: u32) -> Result<i32, StorageError> {
    i32::try_from(value).map_err(|_| StorageError::damaged("merchant", "a setting is too large"))
}

pub async fn by_id(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<MerchantRow>, StorageError> {
    let row = sqlx::query_as!(
        MerchantRow,
        r#"
        select id, name, api_key_preview, overpay_bps, underpay_bps, underpay_when as "underpay_when: _",
               payment_window_seconds, selection_window_seconds,
               open_invoices_max, accepted_tokens, payout_webhook_url, default_ipn_callback_url, default_success_url,
               default_cancel_url, logo_url, suspended_at, slow_until, created_at
        from merchant
        where id = $1
        "#,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// All merchants, oldest first, at most `limit`.
pub async fn list(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<Vec<MerchantRow>, StorageError> {
    let rows = sqlx::query_as!(
        MerchantRow,
        r#"
        select id, name, api_key_preview, overpay_bps, underpay_bps, underpay_when as "underpay_when: _",
               payment_window_seconds, selection_window_seconds,
               open_invoices_max, accepted_tokens, payout_webhook_url, default_ipn_callback_url, default_success_url,
               default_cancel_url, logo_url, suspended_at, slow_until, created_at
        from merchant
        order by created_at, id
        limit $1
        "#,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Merchants older than a place, the newest first; of all, or those whose name or id begins with
/// `words`.
pub async fn page(
    connection: &mut PgConnection,
    words: &str,
    (before, id): (DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<MerchantRow>, StorageError> {
    let rows = sqlx::query_as!(
        MerchantRow,
        r#"
        select id, name, api_key_preview, overpay_bps, underpay_bps, underpay_when as "underpay_when: _",
               payment_window_seconds, selection_window_seconds,
               open_invoices_max, accepted_tokens, payout_webhook_url, default_ipn_callback_url, default_success_url,
               default_cancel_url, logo_url, suspended_at, slow_until, created_at
        from merchant
        where (created_at, id) < ($2, $3)
          and ($1 = '' or starts_with(lower(name), lower($1)) or starts_with(id::text, lower($1)))
        order by created_at desc, id desc
        limit $4
        "#,
        words,
        before,
        id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// A text that another sealed secret changes.
pub async fn secret_version(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<String>, StorageError> {
    let version = sqlx::query_scalar!(
        r#"select left(encode(sha256(webhook_secret_sealed), 'hex'), 16) as "version!" from merchant where id = $1"#,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(version)
}

/// Locks a merchant's row for a change of its settings. `false` if there is no such merchant.
pub async fn lock(connection: &mut PgConnection, id: Uuid) -> Result<bool, StorageError> {
    let row = sqlx::query!("select id from merchant where id = $1 for no key update", id)
        .fetch_optional(connection)
        .await?;
    Ok(row.is_some())
}

/// Settings that concern people alone.
#[derive(Debug, Clone)]
pub struct Profile {
    pub name: String,
    pub logo_url: Option<String>,
}

/// Replaces all settings. The caller holds the row lock.
pub async fn update(
    connection: &mut PgConnection,
    id: Uuid,
    profile: &Profile,
    settings: &Settings,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update merchant
        set name = $2, logo_url = $3, overpay_bps = $4, underpay_bps = $10, underpay_when = $11, payment_window_seconds = $5, selection_window_seconds = $6,
            open_invoices_max = $7, accepted_tokens = $8, payout_webhook_url = $9,
            default_ipn_callback_url = $12, default_success_url = $13, default_cancel_url = $14
        where id = $1
        "#,
        id,
        profile.name,
        profile.logo_url,
        column(settings.overpay_tolerance.get())?,
        column(settings.payment_window_seconds)?,
        column(settings.selection_window_seconds)?,
        column(settings.open_invoices_max)?,
        settings.accepted.as_deref(),
        settings.payout_webhook_url,
        column(settings.underpay.tolerance.get())?,
        settings.underpay.when.as_str(),
        settings.default_urls.ipn_callback,
        settings.default_urls.success,
        settings.default_urls.cancel,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces the key; the old one is unknown from the next request on. `false` if there is no such
/// merchant.
pub async fn replace_key(
    connection: &mut PgConnection,
    id: Uuid,
    key: &ApiKeyRecord,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "update merchant set api_key_sha256 = $2, api_key_preview = $3 where id = $1",
        id,
        key.sha256.as_slice(),
        key.preview
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn replace_secret(
    connection: &mut PgConnection,
    id: Uuid,
    webhook_secret_sealed: &[u8],
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "update merchant set webhook_secret_sealed = $2 where id = $1",
        id,
        webhook_secret_sealed
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn set_suspended(
    connection: &mut PgConnection,
    id: Uuid,
    suspended: bool,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "update merchant set suspended_at = case when $2 then coalesce(suspended_at, now()) end where id = $1",
        id,
        suspended
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A merchant's own payout limits in whole USD; `None` where the settings' hold.
#[derive(Debug, Clone, Copy)]
pub struct PayoutLimits {
    pub hour: Option<u64>,
    pub day: Option<u64>,
}

pub async fn payout_limits(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<PayoutLimits, StorageError> {
    let row = sqlx::query!(
        "select payout_hour_usd_max, payout_day_usd_max from merchant where id = $1",
        id
    )
    .fetch_one(connection)
    .await?;
    let limit = |value: Option<i64>| value.map(i64::unsigned_abs);
    Ok(PayoutLimits { hour: limit(row.payout_hour_usd_max), day: limit(row.payout_day_usd_max) })
}

/// Sets a merchant's own payout limits; `None` leaves one as it is. `false` if there is no such
/// merchant.
pub async fn set_payout_limits(
    connection: &mut PgConnection,
    id: Uuid,
    hour: Option<u64>,
    day: Option<u64>,
) -> Result<bool, StorageError> {
    let column = |value: Option<u64>| value.map(|usd| i64::try_from(usd).unwrap_or(i64::MAX));
    let done = sqlx::query!(
        r#"
        update merchant
        set payout_hour_usd_max = coalesce($2, payout_hour_usd_max),
            payout_day_usd_max = coalesce($3, payout_day_usd_max)
        where id = $1
        "#,
        id,
        column(hour),
        column(day)
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes slow answers, each with its merchant. Three within five minutes put a merchant into the
/// slow lane for ten.
///
/// Locks in the order of the ids: another process may note answers of the same merchants.
pub async fn note_slow_answers(
    connection: &mut PgConnection,
    merchants: &[Uuid],
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        with answered as (
            select id, count(*)::int as answers from unnest($1::uuid[]) as t (id) group by id
        ),
        noted as (
            select id, goes_on, case when goes_on then slow_results else 0 end + answers as results
            from merchant m
            join answered using (id)
            cross join lateral (select m.slow_results_since > now() - interval '5 minutes' as goes_on) s
            order by id
            for no key update of m
        )
        update merchant m
        set slow_results = results,
            slow_results_since = case when goes_on then slow_results_since else now() end,
            slow_until = case when results >= 3 then now() + interval '10 minutes' else slow_until end
        from noted n
        where m.id = n.id
        "#,
        merchants
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The row that `merchant` operations of one kind serialise on, and whether it may still create
/// anything.
///
/// Readers of the key and foreign keys are not blocked.
pub async fn lock_for_creation(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"select suspended_at is null as "active!" from merchant where id = $1 for no key update"#,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.is_some_and(|row| row.active))
}
