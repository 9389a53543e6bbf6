//! Figures of one merchant for the first page of the dashboard.

use uuid::Uuid;

use super::{PgConnection, StorageError};

/// The value of credited deposits in one fiat currency, as plain decimals.
#[derive(Debug, Clone)]
pub struct Taken {
    pub fiat: String,
    pub today: String,
    pub week: String,
    pub month: String,
}

/// Numbers of things that ask for somebody's attention.
#[derive(Debug, Clone, Copy)]
pub struct Attention {
    pub open_invoices: i64,
    pub dead_letters: i64,
    pub late_deposits: i64,
    pub foreign_deposits: i64,
}

/// Value of what was credited today, within seven days and within thirty days, at the rates of the
/// bookings. Of invoices that were created within 60 days. Indices: `invoice_by_created`,
/// `deposit_by_invoice`.
pub async fn taken(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<Vec<Taken>, StorageError> {
    let rows = sqlx::query_as!(
        Taken,
        r#"
        select d.fiat_currency as "fiat!",
               coalesce(round(sum(d.fiat_value) filter (where d.settled_at >= date_trunc('day', now())), 2), 0)::text
                   as "today!",
               coalesce(round(sum(d.fiat_value) filter (where d.settled_at >= now() - interval '7 days'), 2), 0)::text
                   as "week!",
               round(sum(d.fiat_value), 2)::text as "month!"
        from invoice i
        join deposit d on d.invoice_id = i.id
        where i.merchant_id = $1 and i.token_id is not null and i.created_at > now() - interval '60 days'
          and d.state = 'settled' and d.booked_as = 'credit' and d.settled_at >= now() - interval '30 days'
          and d.fiat_value is not null
        group by d.fiat_currency
        order by sum(d.fiat_value) desc, d.fiat_currency
        limit 20
        "#,
        merchant_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Open invoices, given-up webhooks, and the late and the foreign deposits of 30 days. Indices:
/// `invoice_open`, `delivery_dead`, `invoice_by_created`, `deposit_by_invoice`.
pub async fn attention(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<Attention, StorageError> {
    let row = sqlx::query_as!(
        Attention,
        r#"
        with odd as (
            select d.booked_as
            from invoice i
            join deposit d on d.invoice_id = i.id
            where i.merchant_id = $1 and i.token_id is not null and i.created_at > now() - interval '60 days'
              and d.booked_as in ('late', 'foreign') and d.settled_at >= now() - interval '30 days'
        )
        select (select count(*) from invoice
                where merchant_id = $1 and status in ('draft', 'pending', 'partial')) as "open_invoices!",
               (select count(*) from delivery where merchant_id = $1 and state = 'dead') as "dead_letters!",
               (select count(*) from odd where booked_as = 'late') as "late_deposits!",
               (select count(*) from odd where booked_as = 'foreign') as "foreign_deposits!"
        "#,
        merchant_id
    )
    .fetch_one(connection)
    .await?;
    Ok(row)
}
