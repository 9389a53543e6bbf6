//! Charges of tills: each is an invoice, made once by a device and the key of its form.

use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError, numeric};
use crate::{invoice::Status, money::Price};

/// Charges that the list of a day shows.
pub const LISTED_MAX: i64 = 100;
/// A payment is late by the two windows of an invoice, of 100 hours each at most, and by its
/// confirmations; older charges are not searched.
const LATE_DAYS: i32 = 14;

/// The row of a device that makes a charge, locked.
#[derive(Debug)]
pub struct Desk {
    pub is_revoked: bool,
    /// Row id of the invoice that it shows.
    pub shown: Option<Uuid>,
}

/// Locks a device: it makes one charge after the other.
pub async fn lock_device(
    connection: &mut PgConnection,
    device: Uuid,
) -> Result<Option<Desk>, StorageError> {
    let row = sqlx::query!(
        r#"
        select shown_invoice, revoked_at is not null as "is_revoked!"
        from till_device
        where id = $1
        for no key update
        "#,
        device
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Desk { is_revoked: row.is_revoked, shown: row.shown_invoice }))
}

/// The price of the charge that this form of the device made already. Index: `till_charge_pkey`.
pub async fn price_of_made(
    connection: &mut PgConnection,
    device: Uuid,
    key: Uuid,
) -> Result<Option<Price>, StorageError> {
    let amount = sqlx::query_scalar!(
        r#"
        select i.price_amount
        from till_charge c
        join invoice i on i.id = c.invoice_id
        where c.device_id = $1 and c.key = $2
        "#,
        device,
        key
    )
    .fetch_optional(connection)
    .await?;
    amount.map(|amount| numeric::to_price("invoice", &amount)).transpose()
}

/// Notes a charge and shows it. The caller holds the lock of the device.
pub async fn keep(
    connection: &mut PgConnection,
    device: Uuid,
    key: Uuid,
    invoice: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!(
        "insert into till_charge (device_id, key, invoice_id) values ($1, $2, $3)",
        device,
        key,
        invoice
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!("update till_device set shown_invoice = $2 where id = $1", device, invoice)
        .execute(connection)
        .await?;
    Ok(())
}

/// Shows a charge no more. Another one that is shown by now stays.
pub async fn hide(
    connection: &mut PgConnection,
    device: Uuid,
    payment_id: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update till_device
        set shown_invoice = null
        where id = $1 and shown_invoice = (select id from invoice where payment_id = $2)
        "#,
        device,
        payment_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A till's day.
#[derive(Debug)]
pub struct Day {
    /// `2026-11-25`, in the till's time zone.
    pub date: String,
    /// The sum of the prices of what was paid on this day, by currency.
    pub takings: Vec<Takings>,
    /// Charges that were made or paid on this day, the newest first, at most [`LISTED_MAX`].
    pub charges: Vec<DayCharge>,
}

#[derive(Debug)]
pub struct Takings {
    pub currency: String,
    pub amount: Price,
    pub payments: i64,
}

#[derive(Debug)]
pub struct DayCharge {
    pub payment_id: String,
    pub status: Status,
    /// A plain decimal.
    pub price_amount: String,
    pub price_currency: String,
    /// `14:05`, in the till's time zone; with its date if it was made on an earlier day.
    pub time: String,
    /// Name of the device that made it.
    pub device: Option<String>,
}

/// The day that it is at `now` in a time zone. Indices: `invoice_by_link`, `invoice_finish_pkey`,
/// `till_charge_invoice_unique`.
pub async fn day(
    connection: &mut PgConnection,
    link: Uuid,
    time_zone: &str,
    now: DateTime<Utc>,
) -> Result<Day, StorageError> {
    let date = sqlx::query_scalar!(
        r#"select to_char($2::timestamptz at time zone $1, 'YYYY-MM-DD') as "date!""#,
        time_zone,
        now
    )
    .fetch_one(&mut *connection)
    .await?;
    let sums = sqlx::query!(
        r#"
        select i.price_currency, sum(i.price_amount) as "amount!: BigDecimal", count(*) as "payments!"
        from invoice i
        join invoice_finish f on f.invoice_id = i.id
        where i.link_id = $1 and i.status in ('paid', 'overpaid')
          and i.created_at >= date_trunc('day', $4::timestamptz, $2) - $3::int * interval '1 day'
          and f.finished_at >= date_trunc('day', $4::timestamptz, $2)
        group by i.price_currency
        order by i.price_currency
        "#,
        link,
        time_zone,
        LATE_DAYS,
        now
    )
    .fetch_all(&mut *connection)
    .await?;
    let charges = sqlx::query_as!(
        DayCharge,
        r#"
        select i.payment_id, i.status as "status: Status", trim_scale(i.price_amount)::text as "price_amount!",
               i.price_currency, d.name as "device?",
               to_char(i.created_at at time zone $2, case when i.created_at < date_trunc('day', $5::timestamptz, $2)
                                                          then 'YYYY-MM-DD HH24:MI' else 'HH24:MI' end) as "time!"
        from invoice i
        left join invoice_finish f on f.invoice_id = i.id
        left join till_charge c on c.invoice_id = i.id
        left join till_device d on d.id = c.device_id
        where i.link_id = $1 and i.created_at >= date_trunc('day', $5::timestamptz, $2) - $4::int * interval '1 day'
          and (i.created_at >= date_trunc('day', $5::timestamptz, $2)
               or f.finished_at >= date_trunc('day', $5::timestamptz, $2))
        order by i.created_at desc, i.id desc
        limit $3
        "#,
        link,
        time_zone,
        LISTED_MAX,
        LATE_DAYS,
        now
    )
    .fetch_all(connection)
    .await?;
    let takings = sums.into_iter().map(|row| {
        let amount = numeric::to_price("invoice", &row.amount)?;
        Ok(Takings { currency: row.price_currency, amount, payments: row.payments })
    });
    let takings = takings.collect::<Result<_, StorageError>>()?;
    Ok(Day { date, takings, charges })
}
