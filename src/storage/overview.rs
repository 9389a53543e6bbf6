//! Things of one merchant that ask for attention, for the first page of the dashboard.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::deposit::BookedAs;

/// Counts end here: the pages behind them list the rows.
pub const COUNTED_MAX: i64 = 10_001;

/// Numbers of things that ask for somebody's attention.
#[derive(Debug, Clone, Copy)]
pub struct Attention {
    pub open_invoices: i64,
    pub dead_letters: i64,
    pub payouts_on_hold: i64,
    pub subscriptions_past_due: i64,
}

/// A deposit that was not credited to its invoice, or at the merchant's own address.
#[derive(Debug, Clone)]
pub struct OddDeposit {
    /// `None` at an own address, where only another currency is odd: a deposit is never late there.
    pub payment_id: Option<String>,
    pub booked_as: Option<BookedAs>,
    pub token_id: Option<String>,
    /// Base units, as digits.
    pub amount: String,
    pub settled_at: Option<DateTime<Utc>>,
}

/// Open invoices, given-up webhooks, payout orders that wait for an operator, and subscriptions
/// past due. Indices: `invoice_open`, `delivery_failed_by_merchant`, `payout_order_held`,
/// `subscription_by_state`.
pub async fn attention(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<Attention, StorageError> {
    let row = sqlx::query_as!(
        Attention,
        r#"
        select (select count(*) from (select from invoice
                where merchant_id = $1 and status in ('draft', 'pending', 'partial') limit $2) as o) as "open_invoices!",
               (select count(*) from (select from delivery
                where merchant_id = $1 and state in ('dropped', 'dead') and state = 'dead' limit $2) as d)
                   as "dead_letters!",
               (select count(*) from payout_order where held_at is not null and merchant_id = $1) as "payouts_on_hold!",
               (select count(*) from (select from subscription
                where merchant_id = $1 and state <> 'pending' and state = 'past_due' limit $2) as s)
                   as "subscriptions_past_due!"
        "#,
        merchant_id,
        COUNTED_MAX
    )
    .fetch_one(connection)
    .await?;
    Ok(row)
}

/// The newest late and foreign deposits of thirty days. Indices: `deposit_odd_by_time`,
/// `deposit_own_by_time`.
pub async fn odd_deposits(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    limit: i64,
) -> Result<Vec<OddDeposit>, StorageError> {
    let rows = sqlx::query_as!(
        OddDeposit,
        r#"
        select payment_id, booked_as as "booked_as: _", token_id, amount as "amount!", settled_at
        from (
            select i.payment_id, d.booked_as, d.token_id, d.amount_text as amount, d.settled_at
            from deposit d
            join invoice i on i.id = d.invoice_id
            where d.booked_as in ('late', 'foreign') and d.invoice_id is not null
              and d.settled_at >= now() - interval '30 days' and d.state = 'settled' and i.merchant_id = $1
            union all
            select null, d.booked_as, d.token_id, d.amount_text, d.settled_at
            from deposit d
            join legacy_address a on a.address_id = d.address_id
            where d.booked_as = 'foreign' and d.invoice_id is null and d.payout_order_id is null
              and d.settled_at >= now() - interval '30 days' and d.state = 'settled' and a.merchant_id = $1
        ) as odd
        order by settled_at desc
        limit $2
        "#,
        merchant_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
