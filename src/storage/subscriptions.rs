//! Subscriptions, and the invoices of their cycles.

use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError, numeric};
use crate::{
    asset::fiat::Fiat,
    mail::Language,
    money::Price,
    subscription::{
        Interval, State, calendar::Period, clock::Clock, lifecycle::Subscription as Rules,
    },
};

/// A subscription as it is stored.
#[derive(Debug, Clone)]
pub struct Subscription {
    pub id: Uuid,
    /// The public id.
    pub subscription_id: String,
    pub merchant_id: Uuid,
    pub link: Uuid,
    /// The public id of its link.
    pub link_id: String,
    pub email: String,
    pub price_amount: Price,
    pub price_currency: Fiat,
    pub rules: Rules,
    pub clock: Clock,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl Subscription {
    /// The time at which its timer fires next.
    pub fn due_at(&self) -> Option<DateTime<Utc>> {
        self.rules.next_due().map(|date| self.clock.time_of(date))
    }
}

pub(super) struct Raw {
    pub(super) id: Uuid,
    pub(super) subscription_id: String,
    pub(super) merchant_id: Uuid,
    pub(super) link: Uuid,
    pub(super) link_id: String,
    pub(super) email: String,
    pub(super) state: State,
    pub(super) price_amount: BigDecimal,
    pub(super) price_currency: String,
    pub(super) interval: Interval,
    pub(super) interval_count: i32,
    pub(super) payments_max: Option<i32>,
    pub(super) anchor: DateTime<Utc>,
    pub(super) covered: i32,
    pub(super) payments: i32,
    pub(super) reminded: Option<i16>,
    pub(super) day_seconds: i32,
    pub(super) clock_origin: DateTime<Utc>,
    pub(super) advanced_days: i32,
    pub(super) created_at: DateTime<Utc>,
    pub(super) updated_at: DateTime<Utc>,
}

/// Reads subscriptions by a condition.
macro_rules! subscriptions_where {
    ($condition:literal; $($argument:expr),+) => {
        sqlx::query_as!(
            Raw,
            r#"
            select s.id, s.subscription_id, s.merchant_id, s.link_id as link, l.link_id, s.email,
                   s.state as "state: State", s.price_amount, s.price_currency, s.interval as "interval: Interval",
                   s.interval_count, s.payments_max, s.anchor, s.covered, s.payments, s.reminded, s.day_seconds,
                   s.clock_origin, s.advanced_days, s.created_at, s.updated_at
            from subscription s join link l on l.id = s.link_id
            where "# + $condition,
            $($argument),+
        )
    };
}
pub(super) use subscriptions_where;

/// Stores a new subscription.
pub async fn insert(connection: &mut PgConnection, new: &Subscription) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into subscription (id, subscription_id, merchant_id, link_id, email, state, price_amount,
            price_currency, interval, interval_count, payments_max, anchor, day_seconds, clock_origin)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
        "#,
        new.id,
        new.subscription_id,
        new.merchant_id,
        new.link,
        new.email,
        new.rules.state.as_str(),
        numeric::from_price(new.price_amount),
        new.price_currency.code(),
        new.rules.period.interval.as_str(),
        small(new.rules.period.count)?,
        new.rules.payments_max.map(small).transpose()?,
        new.rules.anchor,
        small(new.clock.day_seconds)?,
        new.clock.origin
    )
    .execute(connection)
    .await?;
    Ok(())
}

fn small(value: u32) -> Result<i32, StorageError> {
    i32::try_from(value).map_err(|_| StorageError::damaged("subscription", "a number is too large"))
}

/// Stores the outcome of steps and the next due times, of many at once, with `updated_at` as it is
/// in memory. The caller holds the row locks.
pub async fn save(
    connection: &mut PgConnection,
    changed: &[&Subscription],
) -> Result<(), StorageError> {
    let column = |of: fn(&Subscription) -> u32| -> Result<Vec<i32>, StorageError> {
        changed.iter().map(|one| small(of(one))).collect()
    };
    let (covered, payments) = (column(|one| one.rules.covered)?, column(|one| one.rules.payments)?);
    let advanced = column(|one| one.clock.advanced_days)?;
    let ids: Vec<_> = changed.iter().map(|one| one.id).collect();
    let states: Vec<_> = changed.iter().map(|one| one.rules.state.as_str().to_owned()).collect();
    let anchors: Vec<_> = changed.iter().map(|one| one.rules.anchor).collect();
    let reminded: Vec<_> = changed.iter().map(|one| one.rules.reminded.map(i16::from)).collect();
    let due: Vec<_> = changed.iter().map(|one| one.due_at()).collect();
    let prices: Vec<_> = changed.iter().map(|one| numeric::from_price(one.price_amount)).collect();
    let updated: Vec<_> = changed.iter().map(|one| one.updated_at).collect();
    let fiats: Vec<_> = changed.iter().map(|one| one.price_currency.code().to_owned()).collect();
    sqlx::query!(
        r#"
        update subscription
        set state = t.state, anchor = t.anchor, covered = t.covered, payments = t.payments, reminded = t.reminded,
            advanced_days = t.advanced_days, due_at = t.due_at, price_amount = t.price_amount,
            price_currency = t.price_currency, updated_at = t.updated_at
        from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::integer[], $5::integer[], $6::smallint[],
                    $7::integer[], $8::timestamptz[], $9::numeric[], $10::text[], $11::timestamptz[])
            as t (id, state, anchor, covered, payments, reminded, advanced_days, due_at, price_amount, price_currency,
                  updated_at)
        where subscription.id = t.id
        "#,
        &ids,
        &states,
        &anchors,
        &covered,
        &payments,
        &reminded as &[Option<i16>],
        &advanced,
        &due as &[Option<DateTime<Utc>>],
        &prices,
        &fiats,
        &updated
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A subscription, locked: every decision about it is made under this row's lock. Index:
/// `subscription_pkey`.
pub async fn lock(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<Subscription>, StorageError> {
    let row = subscriptions_where!("s.id = $1 for no key update of s"; id)
        .fetch_optional(connection)
        .await?;
    row.map(TryInto::try_into).transpose()
}

/// The subscription of an address on a link, locked, unless it is over. Index:
/// `subscription_once`.
pub async fn lock_of_subscriber(
    connection: &mut PgConnection,
    link: Uuid,
    email: &str,
) -> Result<Option<Subscription>, StorageError> {
    let row = subscriptions_where!(
        "s.link_id = $1 and s.email = $2 and s.state in ('pending', 'active', 'past_due')
         for no key update of s";
        link, email
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// The subscription of a token in a reminder. Index: `subscription_reminder_token_unique`.
pub async fn by_token(
    connection: &mut PgConnection,
    token_hash: &[u8; 32],
) -> Result<Option<Subscription>, StorageError> {
    let row = subscriptions_where!(
        "s.id = (select subscription_id from subscription_reminder where token_hash = $1)";
        token_hash.as_slice()
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// The same, locked.
pub async fn lock_by_token(
    connection: &mut PgConnection,
    token_hash: &[u8; 32],
) -> Result<Option<Subscription>, StorageError> {
    let row = subscriptions_where!(
        "s.id = (select subscription_id from subscription_reminder where token_hash = $1)
         for no key update of s";
        token_hash.as_slice()
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// A merchant's subscription by its public id, with a first payment. Index:
/// `subscription_id_unique`.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    subscription_id: &str,
) -> Result<Option<Subscription>, StorageError> {
    let row = subscriptions_where!(
        "s.subscription_id = $2 and s.merchant_id = $1 and s.state <> 'pending'";
        merchant_id, subscription_id
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// The same, locked.
pub async fn lock_of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    subscription_id: &str,
) -> Result<Option<Subscription>, StorageError> {
    let row = subscriptions_where!(
        "s.subscription_id = $2 and s.merchant_id = $1 and s.state <> 'pending' for no key update of s";
        merchant_id, subscription_id
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// One page of a merchant's subscriptions that were paid once, older than a place, the newest
/// first. Index: `subscription_by_created`.
pub async fn page(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    (before, id): (DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<Subscription>, StorageError> {
    let rows = subscriptions_where!(
        "s.merchant_id = $1 and (s.created_at, s.id) < ($2, $3) and s.state <> 'pending'
         order by s.created_at desc, s.id desc limit $4";
        merchant_id, before, id, limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// Subscriptions whose timer is due, at most `limit`, locked; those that others have locked are
/// just being decided. Index: `subscription_due`.
pub async fn lock_due(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<Vec<Subscription>, StorageError> {
    let rows = subscriptions_where!(
        "s.due_at <= now() order by s.due_at limit $1 for no key update of s skip locked"; limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// The invoice that the subscriber's own page opened last, while it is open.
pub async fn open_invoice(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<String>, StorageError> {
    let row = sqlx::query!(
        r#"
        select i.payment_id
        from subscription s join invoice i on i.id = s.opened_invoice
        where s.id = $1 and i.status in ('draft', 'pending', 'partial') and i.deadline_at > now()
        "#,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.payment_id))
}

/// Notes the invoice that the subscriber's own page opened. The caller holds the row's lock.
pub async fn set_opened(
    connection: &mut PgConnection,
    id: Uuid,
    invoice_id: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!("update subscription set opened_invoice = $2 where id = $1", id, invoice_id)
        .execute(connection)
        .await?;
    Ok(())
}

/// Notes the language of the page on which it began, in which its mails are written.
pub async fn set_language(
    connection: &mut PgConnection,
    id: Uuid,
    language: Language,
) -> Result<(), StorageError> {
    sqlx::query!("update subscription set language = $2 where id = $1", id, language.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

/// Writes the cycle that a paid invoice covers. The caller holds the row locks of both.
pub async fn set_cycle(
    connection: &mut PgConnection,
    invoice_id: Uuid,
    cycle: u32,
    next_renewal_at: DateTime<Utc>,
) -> Result<(), StorageError> {
    sqlx::query!(
        "update invoice set subscription_cycle = $2, next_renewal_at = $3 where id = $1",
        invoice_id,
        small(cycle)?,
        next_renewal_at
    )
    .execute(connection)
    .await?;
    Ok(())
}

impl TryFrom<Raw> for Subscription {
    type Error = StorageError;

    fn try_from(raw: Raw) -> Result<Self, StorageError> {
        let damaged = |reason: String| StorageError::damaged("subscription", reason);
        let number = |value: i32| u32::try_from(value).map_err(|e| damaged(e.to_string()));
        let period = Period::new(raw.interval, number(raw.interval_count)?);
        let reminded = raw.reminded.map(i8::try_from).transpose();
        let rules = Rules {
            state: raw.state,
            anchor: raw.anchor,
            period: period.map_err(|e| damaged(e.to_string()))?,
            covered: number(raw.covered)?,
            payments: number(raw.payments)?,
            payments_max: raw.payments_max.map(number).transpose()?,
            reminded: reminded.map_err(|e| damaged(e.to_string()))?,
        };
        let clock = Clock {
            origin: raw.clock_origin,
            day_seconds: number(raw.day_seconds)?,
            advanced_days: number(raw.advanced_days)?,
        };
        Ok(Self {
            id: raw.id,
            subscription_id: raw.subscription_id,
            merchant_id: raw.merchant_id,
            link: raw.link,
            link_id: raw.link_id,
            email: raw.email,
            price_amount: numeric::to_price("subscription", &raw.price_amount)?,
            price_currency: raw
                .price_currency
                .parse()
                .map_err(|_| damaged(raw.price_currency.clone()))?,
            rules,
            clock,
            created_at: raw.created_at,
            updated_at: raw.updated_at,
        })
    }
}
