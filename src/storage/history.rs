//! Rows of the past, for the sandbox: what `app::sandbox::history` makes up, with its times.

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use uuid::Uuid;

use super::{PgConnection, StorageError, author, cursors, numeric};
use crate::{
    asset::{Fiat, Network},
    deposit::BookedAs,
    ledger::Entry,
    money::BaseUnits,
    storage::invoices::Invoice,
    webhook::{event::EventKind, retry::DeliveryState},
};

/// A deposit that was booked.
#[derive(Debug)]
pub struct PastDeposit {
    pub id: Uuid,
    pub network: Network,
    pub deposit_key: String,
    pub tx_hash: String,
    pub address_id: Uuid,
    pub invoice_id: Uuid,
    pub token_id: String,
    pub contract: Option<String>,
    pub amount: BaseUnits,
    pub height: u64,
    pub block_hash: String,
    pub seen_at: DateTime<Utc>,
    pub final_at: DateTime<Utc>,
    pub booked_as: BookedAs,
    pub fiat: Fiat,
    pub rate: Decimal,
    pub rate_source: String,
    pub decimals: i32,
}

/// An event with its delivery: the URL, how it ended, the attempts.
#[derive(Debug)]
pub struct PastEvent {
    pub event_id: String,
    pub kind: EventKind,
    pub merchant_id: Uuid,
    pub invoice_id: Uuid,
    pub payment_id: String,
    pub subject: Option<Uuid>,
    pub payload: String,
    pub at: DateTime<Utc>,
    pub delivery: Option<(String, DeliveryState, Vec<PastAttempt>)>,
}

#[derive(Debug)]
pub struct PastAttempt {
    pub number: i16,
    pub started_at: DateTime<Utc>,
    pub duration_ms: i32,
    pub status: i16,
}

/// Lets the triggers of the audit log note no row that follows on this connection.
pub async fn leave_unaudited(connection: &mut PgConnection) -> Result<(), StorageError> {
    author::name(connection, None).await
}

/// Returns whether a merchant has invoices of an earlier day. Index: `invoice_by_created`.
pub async fn has_past(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"
        select exists (
            select from invoice where merchant_id = $1 and created_at < now() - interval '1 day'
        ) as "has_past!"
        "#,
        merchant_id
    )
    .fetch_one(connection)
    .await?;
    Ok(row.has_past)
}

pub async fn age_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    at: DateTime<Utc>,
) -> Result<(), StorageError> {
    sqlx::query!(
        "update merchant set created_at = least(created_at, $2) where id = $1",
        merchant_id,
        at
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Dates what `creation::open` wrote back, and takes the deadline's timer away.
pub async fn age_opening(
    connection: &mut PgConnection,
    invoice_id: Uuid,
    event_id: &str,
    at: DateTime<Utc>,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        with given as (update deposit_address set created_at = $3 where invoice_id = $1),
        told as (update event set created_at = $3 where event_id = $2)
        delete from timer where ref = $1
        "#,
        invoice_id,
        event_id,
        at
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn deposit(
    connection: &mut PgConnection,
    past: &PastDeposit,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into deposit (id, network, deposit_key, tx_hash, address_id, invoice_id, token_id, contract, amount,
            amount_text, height, block_hash, mined_at, first_seen_at, state, booked_as, final_at, settled_at, updated_at,
            fiat_currency, fiat_value, fiat_rate, fiat_rate_source, fiat_rate_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, 'settled', $14, $15, $15, $15,
            $16, round($9::numeric * $17::numeric / 10::numeric ^ $18::integer, 8), $17, $19, $13)
        "#,
        past.id,
        past.network.name(),
        past.deposit_key,
        past.tx_hash,
        past.address_id,
        past.invoice_id,
        past.token_id,
        past.contract,
        numeric::from_units(past.amount),
        past.amount.get().to_string(),
        cursors::to_column(past.height)?,
        past.block_hash,
        past.seen_at,
        past.booked_as.as_str(),
        past.final_at,
        past.fiat.code(),
        numeric::from_decimal(past.rate),
        past.decimals,
        past.rate_source
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Books an entry as `ledger::book` does, at an earlier time. Once anything is sealed, a balance
/// has it only when it is sealed too, which takes minutes: what is newer is found by its time.
pub async fn book(
    connection: &mut PgConnection,
    entry: &Entry,
    at: DateTime<Utc>,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into ledger_entry (kind, source, asset, debit, credit, amount, created_at)
        values ($1, $2, $3, $4, $5, $6, $7)
        "#,
        entry.kind.as_str(),
        entry.source,
        entry.asset,
        entry.debit.to_string(),
        entry.credit.to_string(),
        numeric::from_units(entry.amount),
        at
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn finish(
    connection: &mut PgConnection,
    invoice_id: Uuid,
    at: DateTime<Utc>,
) -> Result<(), StorageError> {
    sqlx::query!(
        "insert into invoice_finish (invoice_id, finished_at) values ($1, $2) on conflict (invoice_id) do nothing",
        invoice_id,
        at
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores how an invoice stands after everything that happened to it.
pub async fn close(connection: &mut PgConnection, invoice: &Invoice) -> Result<(), StorageError> {
    sqlx::query!(
        "update invoice set status = $2, credited = $3, received = $4, updated_at = $5 where id = $1",
        invoice.id,
        invoice.view.status.as_str(),
        numeric::from_units(invoice.credited),
        numeric::from_units(invoice.view.actually_paid),
        invoice.view.updated_at
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn tell(connection: &mut PgConnection, past: &PastEvent) -> Result<(), StorageError> {
    let delivery_id = past.delivery.as_ref().map(|_| Uuid::now_v7());
    sqlx::query!(
        r#"
        insert into event (event_id, merchant_id, type, resource_id, subject, delivery_id, payload, created_at)
        values ($1, $2, $3, $4, $5, $6, case when $6::uuid is null then $7 end, $8)
        "#,
        past.event_id,
        past.merchant_id,
        past.kind.as_str(),
        past.payment_id,
        past.subject,
        delivery_id,
        past.payload,
        past.at
    )
    .execute(&mut *connection)
    .await?;
    let (Some(id), Some((url, state, attempts))) = (delivery_id, &past.delivery) else {
        return Ok(());
    };
    let last = attempts.last();
    let ended_at = last.map_or(past.at, |attempt| attempt.started_at);
    sqlx::query!(
        r#"
        insert into delivery (id, event_id, channel, kind, merchant_id, invoice_id, subject, url, payload, state, attempts,
            last_status, dead_since, created_at, updated_at)
        values ($1, $2, 'ipn', $3, $4, $5, coalesce($6, '00000000-0000-0000-0000-000000000000'::uuid), $7, $8, $9, $10, $11,
            case when $9 = 'dead' then $13::timestamptz end, $12, $13)
        "#,
        id,
        past.event_id,
        past.kind.delivery_name(),
        past.merchant_id,
        past.invoice_id,
        past.subject,
        url,
        past.payload,
        state.as_str(),
        last.map_or(0, |attempt| attempt.number),
        last.map(|attempt| attempt.status),
        past.at,
        ended_at
    )
    .execute(&mut *connection)
    .await?;
    for attempt in attempts {
        sqlx::query!(
            r#"
            insert into delivery_attempt (delivery_id, cycle, attempt, started_at, duration_ms, status)
            values ($1, 1, $2, $3, $4, $5)
            "#,
            id,
            attempt.number,
            attempt.started_at,
            attempt.duration_ms,
            attempt.status
        )
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
