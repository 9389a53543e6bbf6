//! Sums of each hour that has ended, by merchant: credited deposits (of invoices, and at its own
//! addresses) and events of invoices.
//!
//! Bookings and events are dated by the clock when they are written, and committed moments later.
//! An hour is summed ten minutes after its end, longer than any transaction may last.

use chrono::{DateTime, NaiveDate, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};

/// Credited deposits of one day, in one currency and valued in one fiat currency.
#[derive(Debug, Clone)]
pub struct DayRow {
    pub day: NaiveDate,
    pub token_id: String,
    /// Empty where no rate was known at the booking.
    pub fiat: String,
    /// Base units, as digits.
    pub units: String,
    /// A plain decimal, rounded to cents.
    pub value: String,
}

/// Number of events of one type.
#[derive(Debug, Clone)]
pub struct EventCount {
    pub kind: String,
    pub count: i64,
}

/// Sums the next hour that has ended. `false` if there is none yet, or another process is summing.
/// `offset 0` keeps the planner, which does not know the hour, from reading all invoices for it.
/// Indices: `deposit_credited_by_time`, `deposit_own_by_time`, `event_by_age`.
pub async fn sum_next(connection: &mut PgConnection) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        with place as (
            select through
            from merchant_hours_summed
            where through + interval '70 minutes' <= clock_timestamp()
            for update skip locked
        ),
        taken as (
            insert into merchant_hour_taking (merchant_id, hour, token_id, fiat, units, value)
            select merchant_id, through, token_id, fiat, sum(amount), sum(value)
            from (
                select i.merchant_id, place.through, d.token_id, coalesce(d.fiat_currency, '') as fiat, d.amount,
                       coalesce(d.fiat_value, 0) as value
                from place
                join deposit d on d.settled_at >= place.through and d.settled_at < place.through + interval '1 hour'
                              and d.booked_as = 'credit' and d.invoice_id is not null
                cross join lateral (select merchant_id from invoice where id = d.invoice_id offset 0) as i
                union all
                select a.merchant_id, place.through, d.token_id, coalesce(d.fiat_currency, ''), d.amount,
                       coalesce(d.fiat_value, 0)
                from place
                join deposit d on d.settled_at >= place.through and d.settled_at < place.through + interval '1 hour'
                              and d.booked_as = 'credit' and d.invoice_id is null and d.payout_order_id is null
                cross join lateral (
                    select merchant_id from legacy_address where address_id = d.address_id offset 0
                ) as a
            ) as credited
            where token_id is not null and amount is not null
            group by merchant_id, through, token_id, fiat
            on conflict do nothing
        ),
        told as (
            insert into merchant_hour_event (merchant_id, hour, type, events)
            select e.merchant_id, place.through, e.type, count(*)
            from place
            join event e on e.created_at >= place.through and e.created_at < place.through + interval '1 hour'
            where e.type in ('invoice.created', 'invoice.paid', 'invoice.expired', 'invoice.cancelled')
            group by e.merchant_id, place.through, e.type
            on conflict do nothing
        )
        update merchant_hours_summed s
        set through = place.through + interval '1 hour'
        from place
        where s.through = place.through
        "#
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes back all sums, so that every hour is summed anew: rows were written for the past.
pub async fn forget_all(connection: &mut PgConnection) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        with takings as (delete from merchant_hour_taking),
        events as (delete from merchant_hour_event)
        update merchant_hours_summed set through = date_trunc('hour', now()) - interval '70 days'
        "#
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The time that figures cover, by the database's clock.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub today: NaiveDate,
    /// First of last month, or thirty days ago, whichever is longer ago.
    pub since: DateTime<Utc>,
    /// Thirty days ago.
    pub recent: DateTime<Utc>,
    /// Hours before this are summed.
    pub through: DateTime<Utc>,
}

/// Read before the sums and given to them, so that the planner sees how short the time is that is
/// read row by row.
pub async fn span(connection: &mut PgConnection) -> Result<Span, StorageError> {
    let span = sqlx::query_as!(
        Span,
        r#"
        select now()::date as "today!",
               least(date_trunc('month', now()) - interval '1 month', date_trunc('day', now()) - interval '29 days')
                   as "since!",
               date_trunc('hour', now()) - interval '30 days' as "recent!", through
        from merchant_hours_summed
        "#
    )
    .fetch_one(connection)
    .await?;
    Ok(span)
}

/// Credited deposits of a merchant day by day, less those that were reversed. Indices:
/// `merchant_hour_taking_pkey`, `deposit_credited_by_time`, `deposit_reversed_by_time`,
/// `deposit_own_by_time`, `deposit_own_reversed`.
pub async fn days(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    span: &Span,
) -> Result<Vec<DayRow>, StorageError> {
    let rows = sqlx::query_as!(
        DayRow,
        r#"
        with part as (
            select hour as at, token_id, fiat, units, value
            from merchant_hour_taking
            where merchant_id = $1 and hour >= $2
            union all
            select d.settled_at, d.token_id, coalesce(d.fiat_currency, ''), d.amount, coalesce(d.fiat_value, 0)
            from deposit d
            join invoice i on i.id = d.invoice_id
            where d.settled_at >= $3 and d.booked_as = 'credit' and d.invoice_id is not null and d.token_id is not null
              and d.amount is not null and i.merchant_id = $1
            union all
            select d.settled_at, d.token_id, coalesce(d.fiat_currency, ''), -d.amount, -coalesce(d.fiat_value, 0)
            from deposit d
            join invoice i on i.id = d.invoice_id
            where d.state = 'reversed' and d.booked_as = 'credit' and d.settled_at >= $2 and d.invoice_id is not null
              and d.token_id is not null and d.amount is not null and i.merchant_id = $1
            union all
            select d.settled_at, d.token_id, coalesce(d.fiat_currency, ''), d.amount, coalesce(d.fiat_value, 0)
            from deposit d
            join legacy_address a on a.address_id = d.address_id
            where d.settled_at >= $3 and d.booked_as = 'credit' and d.invoice_id is null and d.payout_order_id is null
              and d.token_id is not null and d.amount is not null and a.merchant_id = $1
            union all
            select d.settled_at, d.token_id, coalesce(d.fiat_currency, ''), -d.amount, -coalesce(d.fiat_value, 0)
            from deposit d
            join legacy_address a on a.address_id = d.address_id
            where d.state = 'reversed' and d.booked_as = 'credit' and d.settled_at >= $2 and d.invoice_id is null
              and d.payout_order_id is null and d.token_id is not null and d.amount is not null and a.merchant_id = $1
        )
        select at::date as "day!", token_id as "token_id!", fiat as "fiat!", trim_scale(sum(units))::text as "units!",
               round(sum(value), 2)::text as "value!"
        from part
        group by at::date, token_id, fiat
        having sum(units) > 0
        order by at::date, token_id, fiat
        "#,
        merchant_id,
        span.since,
        span.since.max(span.through)
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Events of a merchant's invoices within thirty days, by type. Indices:
/// `merchant_hour_event_pkey`, `event_by_age`.
pub async fn events(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    span: &Span,
) -> Result<Vec<EventCount>, StorageError> {
    let counts = sqlx::query_as!(
        EventCount,
        r#"
        select type as "kind!", sum(events)::bigint as "count!"
        from (
            select type, events
            from merchant_hour_event
            where merchant_id = $1 and hour >= $2
            union all
            select type, 1
            from event
            where created_at >= $3 and merchant_id = $1
              and type in ('invoice.created', 'invoice.paid', 'invoice.expired', 'invoice.cancelled')
        ) as counted
        group by type
        "#,
        merchant_id,
        span.recent,
        span.recent.max(span.through)
    )
    .fetch_all(connection)
    .await?;
    Ok(counts)
}
