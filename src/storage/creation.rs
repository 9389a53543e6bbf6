//! A new invoice with all its dependent rows. Creation is the most frequent write of the API, so it
//! takes two statements.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{
    PgConnection, StorageError,
    addresses::NewAddress,
    invoices::{Invoice, small},
    numeric, timers,
};
use crate::{asset::Family, webhook::event::EventKind};

/// Data for the decision on a creation, read after the merchant's row is locked.
#[derive(Debug, Clone)]
pub struct Facts {
    pub now: DateTime<Utc>,
    /// Number of open invoices, counted no further than the quota.
    pub open: i64,
    /// The next derivation index of the requested family. Never given out twice: sequences do not
    /// roll back.
    pub index: Option<i64>,
}

/// Counts the invoices that the merchant created himself; those of his links have quotas of their
/// own. Index: `invoice_open_by_link`.
pub async fn facts(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    quota: i64,
    family: Option<Family>,
) -> Result<Facts, StorageError> {
    let row = sqlx::query!(
        r#"
        select now() as "now!", (
            select count(*)
            from (
                select from invoice
                where merchant_id = $1 and link_id is null and status in ('draft', 'pending', 'partial')
                limit $2
            ) as open
        ) as "open!", nextval(('address_index_' || $3::text)::regclass) as index
        "#,
        merchant_id,
        quota,
        family.map(Family::name)
    )
    .fetch_one(connection)
    .await?;
    Ok(Facts { now: row.now, open: row.open, index: row.index })
}

/// A new invoice and its dependent rows.
#[derive(Debug)]
pub struct Opening<'a> {
    pub invoice: &'a Invoice,
    /// The id and the payload of the event that it was created.
    pub event: (&'a str, &'a str),
    /// `None` for a draft.
    pub address: Option<&'a NewAddress>,
    pub route: &'a str,
    pub message: &'a str,
}

/// Writes the invoice, its address, its deadline, its event and its message.
#[expect(clippy::too_many_lines, reason = "one statement and its forty parameters")]
pub async fn open(connection: &mut PgConnection, new: &Opening<'_>) -> Result<(), StorageError> {
    let (invoice, view) = (new.invoice, &new.invoice.view);
    let asset = view.asset.as_ref();
    let donation = invoice.donation.as_ref().map(serde_json::to_string).transpose();
    let donation = donation.map_err(|error| StorageError::damaged("invoice", error))?;
    sqlx::query!(
        r#"
        with made as (
            insert into invoice (id, payment_id, merchant_id, status, price_amount, price_currency, pricing_mode,
                token_id, network, decimals, contract, pay_address, pay_amount, rate, rate_source, rate_at, overpay_bps,
                order_id, order_description, ipn_callback_url, success_url, cancel_url, invoice_type, accepted_tokens,
                payment_window_seconds, window_seconds, deadline_at, created_at, updated_at, link_id, donation,
                subscription_id, subscriber_email, subscription_cycle, next_renewal_at, underpay_bps, underpay_when)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
                $23, $24, $25, $26, $27, $28, $28, $39, $40,
                $41, $42, $43, $44,
                (select underpay_bps from merchant where merchant.id = $3),
                (select underpay_when from merchant where merchant.id = $3))
            returning id, payment_id, merchant_id, network, pay_address, deadline_at
        ),
        given as (
            insert into deposit_address (id, family, address, match_key, derivation_index, network, invoice_id,
                issued_height)
            select $29, $30, pay_address, $31, $32, network, id,
                   (select height from chain_cursor where chain_cursor.network = made.network)
            from made
            where $29::uuid is not null
        ),
        timed as (insert into timer (kind, ref, due_at) select $33, id, deadline_at from made),
        told as (insert into event (event_id, merchant_id, type, resource_id, payload)
            select $36, merchant_id, $37, payment_id, $38 from made)
        insert into outbox (route, body) values ($34, $35)
        "#,
        invoice.id,
        view.payment_id,
        invoice.merchant_id,
        view.status.as_str(),
        numeric::from_price(view.price_amount),
        view.price_currency,
        invoice.pricing_mode.as_str(),
        invoice.token_id,
        asset.map(|asset| asset.network.name()),
        asset.map(|asset| i16::from(asset.decimals)),
        asset.and_then(|asset| asset.contract.as_deref()),
        asset.map(|asset| asset.pay_address.as_str()),
        asset.map(|asset| numeric::from_units(asset.pay_amount)),
        invoice.rate.map(numeric::from_decimal),
        invoice.rate_source,
        invoice.rate_at,
        small(invoice.overpay_tolerance.get())?,
        view.order_id,
        view.order_description,
        view.ipn_callback_url,
        invoice.success_url,
        invoice.cancel_url,
        view.invoice_type.as_str(),
        invoice.accepted_tokens.as_deref(),
        invoice.payment_window_seconds,
        small(view.window_seconds)?,
        view.deadline,
        view.created_at,
        new.address.map(|address| address.id),
        new.address.map(|address| address.family.name()),
        new.address.map(|address| address.match_key.as_str()),
        new.address.map(|address| address.derivation_index),
        timers::INVOICE_DEADLINE,
        new.route,
        new.message,
        new.event.0,
        EventKind::InvoiceCreated.as_str(),
        new.event.1,
        invoice.link_id,
        donation,
        invoice.subscription_id,
        view.subscription.as_ref().map(|subscription| subscription.subscriber_email.as_str()),
        view.subscription.as_ref().map(|subscription| subscription.cycle),
        view.subscription.as_ref().map(|subscription| subscription.next_renewal_at)
    )
    .execute(connection)
    .await?;
    Ok(())
}
