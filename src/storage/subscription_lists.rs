//! Subscriptions as the dashboard shows them: page by page, by state, and each with its invoices
//! and reminders.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{
    PgConnection, StorageError,
    payment_search::Side,
    subscriptions::{Raw, Subscription, subscriptions_where},
};
use crate::{
    invoice::Status,
    subscription::{Interval, State},
};

/// Invoices, and reminders, that the page of a subscription shows.
pub const SHOWN_MAX: i64 = 50;

/// Up to `limit` subscriptions that were paid once, on one side of a place; the newest first.
/// Indices: `subscription_by_created`, `subscription_by_state`.
pub async fn page(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    state: Option<State>,
    (side, at, id): (Side, DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<Subscription>, StorageError> {
    let rows = match (state.map(State::as_str), side) {
        (None, Side::Older) => {
            subscriptions_where!(
                "s.merchant_id = $1 and (s.created_at, s.id) < ($2, $3) and s.state <> 'pending'
                 order by s.created_at desc, s.id desc limit $4";
                merchant_id, at, id, limit
            )
            .fetch_all(connection)
            .await?
        }
        (None, Side::Newer) => {
            subscriptions_where!(
                "s.merchant_id = $1 and (s.created_at, s.id) > ($2, $3) and s.state <> 'pending'
                 order by s.created_at, s.id limit $4";
                merchant_id, at, id, limit
            )
            .fetch_all(connection)
            .await?
        }
        (Some(state), Side::Older) => {
            subscriptions_where!(
                "s.merchant_id = $1 and (s.created_at, s.id) < ($2, $3) and s.state <> 'pending' and s.state = $5
                 order by s.created_at desc, s.id desc limit $4";
                merchant_id, at, id, limit, state
            )
            .fetch_all(connection)
            .await?
        }
        (Some(state), Side::Newer) => {
            subscriptions_where!(
                "s.merchant_id = $1 and (s.created_at, s.id) > ($2, $3) and s.state <> 'pending' and s.state = $5
                 order by s.created_at, s.id limit $4";
                merchant_id, at, id, limit, state
            )
            .fetch_all(connection)
            .await?
        }
    };
    let found: Result<Vec<Subscription>, _> = rows.into_iter().map(TryInto::try_into).collect();
    let mut found = found?;
    if side == Side::Newer {
        found.reverse();
    }
    Ok(found)
}

/// An invoice of a subscription.
#[derive(Debug)]
pub struct CycleInvoice {
    pub payment_id: String,
    pub status: Status,
    /// A plain decimal.
    pub price_amount: String,
    pub price_currency: String,
    /// The cycle that it covers, or would.
    pub cycle: Option<i32>,
    pub created_at: DateTime<Utc>,
}

/// The newest invoices of a subscription, drafts too. Index: `invoice_by_subscription`.
pub async fn invoices(
    connection: &mut PgConnection,
    subscription: Uuid,
) -> Result<Vec<CycleInvoice>, StorageError> {
    let rows = sqlx::query_as!(
        CycleInvoice,
        r#"
        select payment_id, status as "status: Status", trim_scale(price_amount)::text as "price_amount!",
               price_currency, subscription_cycle as cycle, created_at
        from invoice
        where subscription_id = $1
        order by created_at desc, id desc
        limit $2
        "#,
        subscription,
        SHOWN_MAX
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// A reminder that was written.
#[derive(Debug)]
pub struct SentReminder {
    pub cycle: i32,
    /// Days from the renewal, -3 to 3.
    pub day_offset: i16,
    pub event_id: String,
    pub created_at: DateTime<Utc>,
}

/// The newest reminders of a subscription. Index: `subscription_reminder_pkey`.
pub async fn reminders(
    connection: &mut PgConnection,
    subscription: Uuid,
) -> Result<Vec<SentReminder>, StorageError> {
    let rows = sqlx::query_as!(
        SentReminder,
        r#"
        select cycle, day_offset, event_id, created_at
        from subscription_reminder
        where subscription_id = $1
        order by cycle desc, day_offset desc
        limit $2
        "#,
        subscription,
        SHOWN_MAX
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
