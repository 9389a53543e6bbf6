//! Invoices.

use std::{collections::HashMap, str::FromStr};

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use uuid::Uuid;

use super::{PgConnection, StorageError, numeric, timers};
use crate::{
    asset::Network,
    invoice::{
        Pricing, Status, lifecycle,
        payment::{PaymentAsset, PaymentView, Subscription},
    },
    mail::Language,
    merchant::settings::Underpay,
    money::{BaseUnits, Bps, Price},
    webhook::donation::DonationBody,
};

/// An invoice as it is stored.
#[derive(Debug, Clone)]
pub struct Invoice {
    pub id: Uuid,
    pub merchant_id: Uuid,
    pub view: PaymentView,
    pub pricing_mode: Pricing,
    pub token_id: Option<String>,
    pub credited: BaseUnits,
    pub overpay_tolerance: Bps,
    /// Of a new one: what its merchant has is stored, whatever stands here.
    pub underpay: Underpay,
    pub success_url: Option<String>,
    pub cancel_url: Option<String>,
    pub accepted_tokens: Option<Vec<String>>,
    pub payment_window_seconds: i32,
    pub rate: Option<Decimal>,
    pub rate_source: Option<String>,
    pub rate_at: Option<DateTime<Utc>>,
    /// The link on whose page it was created.
    pub link_id: Option<Uuid>,
    pub donation: Option<DonationBody>,
    pub subscription_id: Option<Uuid>,
}

impl Invoice {
    /// The facts that the lifecycle decides on.
    pub fn for_lifecycle(&self) -> lifecycle::Invoice {
        lifecycle::Invoice {
            status: self.view.status,
            due: self.view.asset.as_ref().map_or(BaseUnits::ZERO, |asset| asset.pay_amount),
            credited: self.credited,
            overpay_tolerance: self.overpay_tolerance,
            underpay: self.underpay,
            deadline: self.view.deadline,
        }
    }

    /// True if it was created with a currency, or its buyer has chosen one. The list holds resolved
    /// invoices alone.
    pub const fn is_resolved(&self) -> bool {
        self.view.asset.is_some()
    }

    /// The network it is paid on; `None` while a draft.
    pub fn network(&self) -> Option<Network> {
        self.view.asset.as_ref().map(|asset| asset.network)
    }
}

/// The parts of a rate that are stored with the invoice it priced.
#[derive(Debug, Clone)]
pub struct UsedRate {
    pub price: Decimal,
    pub source: String,
    pub observed_at: DateTime<Utc>,
}

pub(super) fn small(value: u32) -> Result<i32, StorageError> {
    i32::try_from(value).map_err(|_| StorageError::damaged("invoice", "a setting is too large"))
}

/// Reads invoices by a condition. The columns are named one by one: `select *` would get another
/// shape by the next column that a migration adds, and PostgreSQL then refuses the prepared
/// statements of programs that still run.
macro_rules! invoices_where {
    ($($condition:literal),+; $($argument:expr),+) => {
        sqlx::query_as!(
            RawInvoice,
            r#"
            select id, payment_id, merchant_id, status, price_amount, price_currency, pricing_mode,
                   token_id, network, decimals, contract, pay_address, pay_amount, rate, rate_source,
                   rate_at, credited, received, overpay_bps, underpay_bps, underpay_when, order_id, order_description,
                   ipn_callback_url, success_url, cancel_url, invoice_type, link_id,
                   subscriber_email, subscription_cycle, next_renewal_at, accepted_tokens,
                   payment_window_seconds, window_seconds, deadline_at, created_at, updated_at, donation, subscription_id
            from invoice
            where "# $(+ $condition)+,
            $($argument),+
        )
    };
}

/// Notes the language of the page on which a donation began, in which its receipt is written.
/// Index: `invoice_pkey`.
pub async fn set_language(
    connection: &mut PgConnection,
    id: Uuid,
    language: Language,
) -> Result<(), StorageError> {
    sqlx::query!("update invoice set language = $2 where id = $1", id, language.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

/// Locks an invoice: every decision about it is made under this row's lock. Index: `invoice_pkey`.
pub async fn lock(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<Invoice>, StorageError> {
    let row = invoices_where!("id = $1 for no key update"; id).fetch_optional(connection).await?;
    row.map(TryInto::try_into).transpose()
}

/// Locks the invoice that a deposit belongs to. `None` if there is no such deposit, or it belongs
/// to no invoice. Indices: `deposit_pkey`, `invoice_pkey`.
pub async fn lock_of_deposit(
    connection: &mut PgConnection,
    deposit_id: Uuid,
) -> Result<Option<Invoice>, StorageError> {
    let row = invoices_where!("id = (select invoice_id from deposit where id = $1) for no key update"; deposit_id)
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// Locks several invoices in one order, so that two callers never wait for each other in a ring.
pub async fn lock_all(connection: &mut PgConnection, ids: &[Uuid]) -> Result<(), StorageError> {
    sqlx::query!("select id from invoice where id = any ($1) order by id for no key update", ids)
        .fetch_all(connection)
        .await?;
    Ok(())
}

/// The same with their content. Left out are ids that name no invoice, and invoices that another
/// transaction has locked: one such must not keep all the others waiting.
pub async fn lock_free(
    connection: &mut PgConnection,
    ids: &[Uuid],
) -> Result<Vec<Invoice>, StorageError> {
    let rows = invoices_where!("id = any ($1) order by id for no key update skip locked"; ids)
        .fetch_all(connection)
        .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// Anyone who holds the id may read it: for the buyer and the operator. Index:
/// `invoice_payment_id_unique`.
pub async fn by_payment_id(
    connection: &mut PgConnection,
    payment_id: &str,
) -> Result<Option<Invoice>, StorageError> {
    let row = invoices_where!("payment_id = $1"; payment_id).fetch_optional(connection).await?;
    row.map(TryInto::try_into).transpose()
}

/// The newest invoice of each subscription. Index: `invoice_by_subscription`.
pub async fn latest_of_subscriptions(
    connection: &mut PgConnection,
    subscriptions: &[Uuid],
) -> Result<Vec<Invoice>, StorageError> {
    let rows = invoices_where!(
        "id = any (array(
            select (
                select newest.id from invoice newest
                where newest.subscription_id = wanted.id
                order by newest.created_at desc, newest.id desc
                limit 1
            )
            from unnest($1::uuid[]) as wanted (id)
        ))";
        subscriptions
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// A merchant's invoice by `payment_id`, else by its own `order_id`. Index: the unique one, then
/// `invoice_by_order`.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    reference: &str,
) -> Result<Option<Invoice>, StorageError> {
    let row = invoices_where!("payment_id = $2 and merchant_id = $1"; merchant_id, reference)
        .fetch_optional(&mut *connection)
        .await?;
    if let Some(row) = row {
        return row.try_into().map(Some);
    }
    let row = invoices_where!(
        "merchant_id = $1 and order_id = $2 order by created_at desc limit 1";
        merchant_id, reference
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// The column and direction of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOrder {
    CreatedDesc,
    CreatedAsc,
    UpdatedDesc,
    UpdatedAsc,
}

/// Lists are static text per order, so that each is served by its index.
macro_rules! page_query {
    ($order:literal, $connection:expr, $merchant:expr, $limit:expr, $offset:expr) => {
        invoices_where!(
            "merchant_id = $1 and token_id is not null order by ", $order, " limit $2 offset $3";
            $merchant, $limit, $offset
        )
        .fetch_all($connection)
        .await?
    };
}

/// One page of a merchant's invoices, without unresolved drafts. Indexes: `invoice_by_created`,
/// `invoice_by_updated`.
pub async fn page(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    order: ListOrder,
    limit: i64,
    offset: i64,
) -> Result<Vec<Invoice>, StorageError> {
    let rows = match order {
        ListOrder::CreatedDesc => {
            page_query!("created_at desc, id desc", connection, merchant_id, limit, offset)
        }
        ListOrder::CreatedAsc => {
            page_query!("created_at, id", connection, merchant_id, limit, offset)
        }
        ListOrder::UpdatedDesc => {
            page_query!("updated_at desc, id desc", connection, merchant_id, limit, offset)
        }
        ListOrder::UpdatedAsc => {
            page_query!("updated_at, id", connection, merchant_id, limit, offset)
        }
    };
    rows.into_iter().map(TryInto::try_into).collect()
}

/// The number of invoices that [`page`] walks through. The database counts them as they are made.
pub async fn count(connection: &mut PgConnection, merchant_id: Uuid) -> Result<i64, StorageError> {
    let listed = sqlx::query_scalar!(
        "select listed from merchant_invoices where merchant_id = $1",
        merchant_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(listed.unwrap_or(0))
}

/// Stores a step's decision, and with an end also that its deadline rings no more. The caller holds
/// the row lock. Returns the new `updated_at`.
pub async fn update_standing(
    connection: &mut PgConnection,
    id: Uuid,
    status: Status,
    credited: BaseUnits,
    received: BaseUnits,
) -> Result<DateTime<Utc>, StorageError> {
    let row = sqlx::query!(
        r#"
        with silenced as (
            delete from timer where kind = $5 and ref = $1 and $6
        ),
        finished as (
            insert into invoice_finish (invoice_id, finished_at)
            select $1, clock_timestamp()
            where $2 in ('paid', 'overpaid')
            on conflict (invoice_id) do nothing
        )
        update invoice
        set status = $2, credited = $3, received = $4, updated_at = clock_timestamp()
        where id = $1
        returning updated_at
        "#,
        id,
        status.as_str(),
        numeric::from_units(credited),
        numeric::from_units(received),
        timers::INVOICE_DEADLINE,
        status.is_terminal()
    )
    .fetch_one(connection)
    .await?;
    Ok(row.updated_at)
}

/// When an invoice was paid; `None` if it is not, or was before this was noted. Index:
/// `invoice_finish_pkey`.
pub async fn finished_at(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<DateTime<Utc>>, StorageError> {
    let at =
        sqlx::query_scalar!("select finished_at from invoice_finish where invoice_id = $1", id)
            .fetch_optional(connection)
            .await?;
    Ok(at)
}

/// Moves an open invoice's deadline to `now`. The caller holds the row lock, and sets the timer.
/// Returns the new `updated_at`.
pub async fn end_window(
    connection: &mut PgConnection,
    id: Uuid,
    now: DateTime<Utc>,
) -> Result<DateTime<Utc>, StorageError> {
    let row = sqlx::query!(
        "update invoice set deadline_at = $2, updated_at = clock_timestamp() where id = $1 returning updated_at",
        id,
        now
    )
    .fetch_one(connection)
    .await?;
    Ok(row.updated_at)
}

/// Stores the new statuses of invoices whose totals stay as they are. Returns when each was
/// changed. The caller moves their timers, of those that ended and of those that did not, in one
/// statement each.
pub async fn update_statuses(
    connection: &mut PgConnection,
    moved: &[(Uuid, Status)],
) -> Result<HashMap<Uuid, DateTime<Utc>>, StorageError> {
    let (ids, statuses): (Vec<_>, Vec<_>) =
        moved.iter().map(|(id, status)| (*id, status.as_str().to_owned())).unzip();
    let rows = sqlx::query!(
        r#"
        update invoice
        set status = t.status, updated_at = clock_timestamp()
        from unnest($1::uuid[], $2::text[]) as t (id, status)
        where invoice.id = t.id
        returning invoice.id, invoice.updated_at
        "#,
        &ids,
        &statuses
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.updated_at)).collect())
}

/// Turns a draft into an invoice: its amount, its address and its deadline. The caller holds the
/// row lock.
pub async fn resolve(connection: &mut PgConnection, invoice: &Invoice) -> Result<(), StorageError> {
    let view = &invoice.view;
    let asset = view.asset.as_ref();
    sqlx::query!(
        r#"
        update invoice
        set status = $2, token_id = $3, network = $4, decimals = $5, contract = $6, pay_address = $7, pay_amount = $8,
            rate = $9, rate_source = $10, rate_at = $11, window_seconds = $12, deadline_at = $13, updated_at = now()
        where id = $1
        "#,
        invoice.id,
        view.status.as_str(),
        invoice.token_id,
        asset.map(|asset| asset.network.name()),
        asset.map(|asset| i16::from(asset.decimals)),
        asset.and_then(|asset| asset.contract.as_deref()),
        asset.map(|asset| asset.pay_address.as_str()),
        asset.map(|asset| numeric::from_units(asset.pay_amount)),
        invoice.rate.map(numeric::from_decimal),
        invoice.rate_source,
        invoice.rate_at,
        small(view.window_seconds)?,
        view.deadline,
    )
    .execute(connection)
    .await?;
    Ok(())
}

struct RawInvoice {
    id: Uuid,
    payment_id: String,
    merchant_id: Uuid,
    status: String,
    price_amount: bigdecimal::BigDecimal,
    price_currency: String,
    pricing_mode: String,
    token_id: Option<String>,
    network: Option<String>,
    decimals: Option<i16>,
    contract: Option<String>,
    pay_address: Option<String>,
    pay_amount: Option<bigdecimal::BigDecimal>,
    rate: Option<bigdecimal::BigDecimal>,
    rate_source: Option<String>,
    rate_at: Option<DateTime<Utc>>,
    credited: bigdecimal::BigDecimal,
    received: bigdecimal::BigDecimal,
    overpay_bps: i32,
    underpay_bps: i32,
    underpay_when: String,
    order_id: Option<String>,
    order_description: Option<String>,
    ipn_callback_url: Option<String>,
    success_url: Option<String>,
    cancel_url: Option<String>,
    invoice_type: String,
    link_id: Option<Uuid>,
    subscriber_email: Option<String>,
    subscription_cycle: Option<i32>,
    next_renewal_at: Option<DateTime<Utc>>,
    accepted_tokens: Option<Vec<String>>,
    payment_window_seconds: i32,
    window_seconds: i32,
    deadline_at: DateTime<Utc>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    donation: Option<String>,
    subscription_id: Option<Uuid>,
}

impl RawInvoice {
    /// The five columns that are null together while a draft.
    fn asset(&self) -> Result<Option<PaymentAsset>, StorageError> {
        let (Some(token_id), Some(network), Some(decimals), Some(pay_address), Some(pay_amount)) = (
            self.token_id.as_ref(),
            self.network.as_ref(),
            self.decimals,
            self.pay_address.as_ref(),
            self.pay_amount.as_ref(),
        ) else {
            return Ok(None);
        };
        let code = token_id.split('@').next().unwrap_or(token_id);
        Ok(Some(PaymentAsset {
            pay_address: pay_address.clone(),
            pay_amount: numeric::to_units("invoice", pay_amount)?,
            code: code.to_owned(),
            network: known(network)?,
            decimals: u8::try_from(decimals).map_err(|e| StorageError::damaged("invoice", e))?,
            contract: self.contract.clone(),
        }))
    }

    fn subscription(&self) -> Option<Subscription> {
        Some(Subscription {
            subscriber_email: self.subscriber_email.clone()?,
            cycle: self.subscription_cycle?,
            next_renewal_at: self.next_renewal_at?,
        })
    }
}

/// The member of a vocabulary with this text.
fn known<T: FromStr<Err: ToString>>(text: &str) -> Result<T, StorageError> {
    text.parse().map_err(|error: T::Err| StorageError::damaged("invoice", error))
}

impl TryFrom<RawInvoice> for Invoice {
    type Error = StorageError;

    fn try_from(raw: RawInvoice) -> Result<Self, StorageError> {
        let (asset, subscription) = (raw.asset()?, raw.subscription());
        let donation = raw.donation.as_deref().map(serde_json::from_str).transpose();
        let donation = donation.map_err(|error| StorageError::damaged("invoice", error))?;
        let price_amount: Price = numeric::to_price("invoice", &raw.price_amount)?;
        let view = PaymentView {
            payment_id: raw.payment_id,
            status: known(&raw.status)?,
            price_amount,
            price_currency: raw.price_currency,
            asset,
            actually_paid: numeric::to_units("invoice", &raw.received)?,
            order_id: raw.order_id,
            order_description: raw.order_description,
            ipn_callback_url: raw.ipn_callback_url,
            invoice_type: known(&raw.invoice_type)?,
            window_seconds: raw.window_seconds.unsigned_abs(),
            deadline: raw.deadline_at,
            created_at: raw.created_at,
            updated_at: raw.updated_at,
            subscription,
        };
        Ok(Self {
            id: raw.id,
            merchant_id: raw.merchant_id,
            view,
            pricing_mode: known(&raw.pricing_mode)?,
            token_id: raw.token_id,
            credited: numeric::to_units("invoice", &raw.credited)?,
            overpay_tolerance: Bps::new(raw.overpay_bps.unsigned_abs()),
            underpay: Underpay {
                tolerance: Bps::new(raw.underpay_bps.unsigned_abs()),
                when: known(&raw.underpay_when)?,
            },
            success_url: raw.success_url,
            cancel_url: raw.cancel_url,
            accepted_tokens: raw.accepted_tokens,
            payment_window_seconds: raw.payment_window_seconds,
            rate: raw.rate.as_ref().map(|r| numeric::to_decimal("invoice", r)).transpose()?,
            rate_source: raw.rate_source,
            rate_at: raw.rate_at,
            link_id: raw.link_id,
            donation,
            subscription_id: raw.subscription_id,
        })
    }
}
