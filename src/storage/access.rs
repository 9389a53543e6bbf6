//! Authentication and authorization of callers: the key lookup and both rate limits.
//!
//! The limit is an exact rolling window over all replicas: a ring of the last 60 accepted times per
//! caller, in one row. A request is accepted if the slot it would overwrite is older than the
//! window. Refused requests do not count.

use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::{merchant::settings::DefaultUrls, money::Bps};

/// Data of the merchant that an authenticated request needs.
#[derive(Debug, Clone)]
pub struct Caller {
    pub merchant_id: Uuid,
    pub suspended: bool,
    /// True if the rate limit accepted this request. A suspended merchant's requests are not
    /// counted.
    pub admitted: bool,
    pub overpay_tolerance: Bps,
    pub payment_window_seconds: i32,
    pub selection_window_seconds: i32,
    pub open_invoices_max: i32,
    pub accepted_tokens: Option<Vec<String>>,
    pub default_urls: DefaultUrls,
}

/// Finds the merchant of a key and takes one request from its budget, in one round trip.
///
/// Index: `merchant_api_key_unique`, `request_window_pkey`.
pub async fn admit_merchant(
    connection: &mut PgConnection,
    api_key_sha256: &[u8],
) -> Result<Option<Caller>, StorageError> {
    let row = sqlx::query!(
        r#"
        with caller as (
            select id, suspended_at is not null as suspended, overpay_bps, payment_window_seconds,
                   selection_window_seconds, open_invoices_max, accepted_tokens, default_ipn_callback_url,
                   default_success_url, default_cancel_url
            from merchant
            where api_key_sha256 = $1
        ),
        taken as (
            insert into request_window as w (key, slots, next_slot, last_at)
            select 'merchant:' || id, array[clock_timestamp()] || array_fill(null::timestamptz, array[59]), 1,
                   clock_timestamp()
            from caller
            where not suspended
            on conflict (key) do update
            set slots[w.next_slot + 1] = clock_timestamp(),
                next_slot = (w.next_slot + 1) % 60,
                last_at = clock_timestamp()
            where w.slots[w.next_slot + 1] is null
               or w.slots[w.next_slot + 1] <= clock_timestamp() - interval '60 seconds'
            returning key
        )
        select id, suspended as "suspended!", overpay_bps, payment_window_seconds, selection_window_seconds,
               open_invoices_max, accepted_tokens, default_ipn_callback_url, default_success_url, default_cancel_url,
               exists (select from taken) as "admitted!"
        from caller
        "#,
        api_key_sha256
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Caller {
        merchant_id: row.id,
        suspended: row.suspended,
        admitted: row.admitted,
        overpay_tolerance: Bps::new(row.overpay_bps.unsigned_abs()),
        payment_window_seconds: row.payment_window_seconds,
        selection_window_seconds: row.selection_window_seconds,
        open_invoices_max: row.open_invoices_max,
        accepted_tokens: row.accepted_tokens,
        default_urls: DefaultUrls {
            ipn_callback: row.default_ipn_callback_url,
            success: row.default_success_url,
            cancel: row.default_cancel_url,
        },
    }))
}

/// Takes one request from the budget of a merchant who was authenticated in another way than by an
/// API key: the same budget as in [`admit_merchant`].
pub async fn take_request(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"
        insert into request_window as w (key, slots, next_slot, last_at)
        values ('merchant:' || $1::uuid, array[clock_timestamp()] || array_fill(null::timestamptz, array[59]), 1,
                clock_timestamp())
        on conflict (key) do update
        set slots[w.next_slot + 1] = clock_timestamp(),
            next_slot = (w.next_slot + 1) % 60,
            last_at = clock_timestamp()
        where w.slots[w.next_slot + 1] is null
           or w.slots[w.next_slot + 1] <= clock_timestamp() - interval '60 seconds'
        returning key
        "#,
        merchant_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.is_some())
}

/// Counts one try of a visitor to create an invoice by a link; `false` once 10 were accepted in
/// five minutes from this address on this link.
///
/// A window no longer than that: rows of callers that were inactive for five minutes are deleted.
pub async fn admit_visitor(
    connection: &mut PgConnection,
    link_id: &str,
    client: &str,
) -> Result<bool, StorageError> {
    let key = format!("link:{link_id}:{client}");
    let row = sqlx::query!(
        r#"
        insert into request_window as w (key, slots, next_slot, last_at)
        values ($1, array[clock_timestamp()] || array_fill(null::timestamptz, array[9]), 1, clock_timestamp())
        on conflict (key) do update
        set slots[w.next_slot + 1] = clock_timestamp(),
            next_slot = (w.next_slot + 1) % 10,
            last_at = clock_timestamp()
        where w.slots[w.next_slot + 1] is null
           or w.slots[w.next_slot + 1] <= clock_timestamp() - interval '300 seconds'
        returning key
        "#,
        key
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.is_some())
}

/// The same data of a merchant whose account acts in the dashboard: no key, no budget.
pub async fn caller(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<Option<Caller>, StorageError> {
    let row = sqlx::query!(
        r#"
        select id, suspended_at is not null as "suspended!", overpay_bps, payment_window_seconds, selection_window_seconds,
               open_invoices_max, accepted_tokens, default_ipn_callback_url, default_success_url, default_cancel_url
        from merchant
        where id = $1
        "#,
        merchant_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Caller {
        merchant_id: row.id,
        suspended: row.suspended,
        admitted: true,
        overpay_tolerance: Bps::new(row.overpay_bps.unsigned_abs()),
        payment_window_seconds: row.payment_window_seconds,
        selection_window_seconds: row.selection_window_seconds,
        open_invoices_max: row.open_invoices_max,
        accepted_tokens: row.accepted_tokens,
        default_urls: DefaultUrls {
            ipn_callback: row.default_ipn_callback_url,
            success: row.default_success_url,
            cancel: row.default_cancel_url,
        },
    }))
}

/// Separate rate limits of a buyer's address: polling the status too often leaves choosing and
/// cancelling unaffected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BuyerBudget {
    /// Polls of the status.
    Status,
    /// Changes of an invoice on the checkout.
    Action,
}

/// Counts one request against a rate limit of a buyer's address; `false` once 60 were accepted in
/// 60 seconds.
pub async fn admit_buyer(
    connection: &mut PgConnection,
    budget: BuyerBudget,
    client: &str,
) -> Result<bool, StorageError> {
    let key = match budget {
        BuyerBudget::Status => format!("buyer:{client}"),
        BuyerBudget::Action => format!("action:{client}"),
    };
    let row = sqlx::query!(
        r#"
        insert into request_window as w (key, slots, next_slot, last_at)
        values ($1, array[clock_timestamp()] || array_fill(null::timestamptz, array[59]), 1,
                clock_timestamp())
        on conflict (key) do update
        set slots[w.next_slot + 1] = clock_timestamp(),
            next_slot = (w.next_slot + 1) % 60,
            last_at = clock_timestamp()
        where w.slots[w.next_slot + 1] is null
           or w.slots[w.next_slot + 1] <= clock_timestamp() - interval '60 seconds'
        returning key
        "#,
        key
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.is_some())
}
