//! Payment links, and the invoices that their visitors have created.

use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError, invoices::ListOrder, numeric, payment_search::Side};
use crate::{
    asset::Family,
    invoice::Status,
    link::{LinkKind, terms::Terms},
    money::Price,
    subscription::{Interval, calendar::Period},
};

/// A link as it is stored.
#[derive(Debug, Clone)]
pub struct Link {
    pub id: Uuid,
    /// The public id.
    pub link_id: String,
    pub merchant_id: Uuid,
    pub terms: Terms,
    /// False once its merchant has switched it off.
    pub active: bool,
    /// Of a till: its devices are enrolled with the PIN that its merchant has set.
    pub has_pin: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

struct RawLink {
    id: Uuid,
    link_id: String,
    merchant_id: Uuid,
    kind: LinkKind,
    title: String,
    description: Option<String>,
    price_amount: Option<BigDecimal>,
    price_currency: String,
    min_amount: Option<BigDecimal>,
    max_amount: Option<BigDecimal>,
    suggested_amounts: Vec<BigDecimal>,
    accepted_tokens: Option<Vec<String>>,
    single_use: bool,
    active: bool,
    success_url: Option<String>,
    cancel_url: Option<String>,
    ipn_callback_url: Option<String>,
    order_id: Option<String>,
    interval: Option<Interval>,
    interval_count: Option<i32>,
    cycles_max: Option<i32>,
    sandbox_day_seconds: Option<i32>,
    time_zone: Option<String>,
    has_pin: bool,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

/// Reads links by a condition.
macro_rules! links_where {
    ($condition:literal; $($argument:expr),+) => {
        sqlx::query_as!(
            RawLink,
            r#"
            select id, link_id, merchant_id, type as "kind: _", title, description, price_amount, price_currency,
                   min_amount, max_amount, suggested_amounts, accepted_tokens, single_use, active, success_url,
                   cancel_url, ipn_callback_url, order_id, interval as "interval: _", interval_count, cycles_max,
                   sandbox_day_seconds, time_zone, pin_digest is not null as "has_pin!", created_at, updated_at
            from link
            where "# + $condition,
            $($argument),+
        )
    };
}

/// A new link: its terms, and of a till the digest of its PIN.
#[derive(Debug, Clone, Copy)]
pub struct NewLink<'a> {
    pub link_id: &'a str,
    pub terms: &'a Terms,
    pub pin_digest: Option<[u8; 32]>,
}

/// Stores a new link. Its times are the database's.
pub async fn insert(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    new: NewLink<'_>,
) -> Result<Link, StorageError> {
    let NewLink { link_id, terms, pin_digest } = new;
    let id = Uuid::now_v7();
    let row = sqlx::query!(
        r#"
        insert into link (id, link_id, merchant_id, type, title, description, price_amount, price_currency, min_amount,
            max_amount, suggested_amounts, accepted_tokens, single_use, success_url, cancel_url, ipn_callback_url,
            order_id, interval, interval_count, cycles_max, sandbox_day_seconds, time_zone, pin_digest)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
                $23)
        returning created_at, updated_at
        "#,
        id,
        link_id,
        merchant_id,
        terms.kind.as_str(),
        terms.title,
        terms.description,
        terms.price_amount.map(numeric::from_price),
        terms.price_currency.code(),
        terms.min_amount.map(numeric::from_price),
        terms.max_amount.map(numeric::from_price),
        &suggestions(terms),
        terms.accepted.as_deref(),
        terms.single_use,
        terms.success_url,
        terms.cancel_url,
        terms.ipn_callback_url,
        terms.order_id,
        terms.period.map(|period| period.interval.as_str()),
        terms.period.map(|period| small(period.count)).transpose()?,
        terms.cycles_max.map(small).transpose()?,
        terms.sandbox_day_seconds.map(small).transpose()?,
        terms.time_zone,
        pin_digest.as_ref().map(<[u8; 32]>::as_slice)
    )
    .fetch_one(connection)
    .await?;
    Ok(Link {
        id,
        link_id: link_id.to_owned(),
        merchant_id,
        terms: terms.clone(),
        active: true,
        has_pin: pin_digest.is_some(),
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}

fn small(value: u32) -> Result<i32, StorageError> {
    i32::try_from(value).map_err(|_| StorageError::damaged("link", "a number is too large"))
}

fn period(raw: &RawLink) -> Result<Option<Period>, StorageError> {
    let (Some(interval), Some(count)) = (raw.interval, raw.interval_count) else { return Ok(None) };
    let period = Period::new(interval, count.unsigned_abs());
    period.map(Some).map_err(|error| StorageError::damaged("link", error))
}

fn suggestions(terms: &Terms) -> Vec<BigDecimal> {
    terms.suggested_amounts.iter().copied().map(numeric::from_price).collect()
}

/// Stores changed terms. The caller holds the row lock. Returns the new `updated_at`.
pub async fn update(
    connection: &mut PgConnection,
    id: Uuid,
    terms: &Terms,
    active: bool,
) -> Result<DateTime<Utc>, StorageError> {
    let row = sqlx::query!(
        r#"
        update link
        set title = $2, description = $3, price_amount = $4, price_currency = $5, min_amount = $6, max_amount = $7,
            suggested_amounts = $8, accepted_tokens = $9, single_use = $10, success_url = $11, cancel_url = $12,
            ipn_callback_url = $13, order_id = $14, active = $15, time_zone = $16, updated_at = clock_timestamp()
        where id = $1
        returning updated_at
        "#,
        id,
        terms.title,
        terms.description,
        terms.price_amount.map(numeric::from_price),
        terms.price_currency.code(),
        terms.min_amount.map(numeric::from_price),
        terms.max_amount.map(numeric::from_price),
        &suggestions(terms),
        terms.accepted.as_deref(),
        terms.single_use,
        terms.success_url,
        terms.cancel_url,
        terms.ipn_callback_url,
        terms.order_id,
        active,
        terms.time_zone
    )
    .fetch_one(connection)
    .await?;
    Ok(row.updated_at)
}

/// A merchant's link by its public id. Index: `link_link_id_unique`.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    link_id: &str,
) -> Result<Option<Link>, StorageError> {
    let row = links_where!("link_id = $2 and merchant_id = $1"; merchant_id, link_id)
        .fetch_optional(connection)
        .await?;
    row.map(TryInto::try_into).transpose()
}

/// The same, locked for a change.
pub async fn lock_of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    link_id: &str,
) -> Result<Option<Link>, StorageError> {
    let row = links_where!(
        "link_id = $2 and merchant_id = $1 for no key update";
        merchant_id, link_id
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// A link by its public id, for anybody who has it. Index: `link_link_id_unique`.
pub async fn by_link_id(
    connection: &mut PgConnection,
    link_id: &str,
) -> Result<Option<Link>, StorageError> {
    let row = links_where!("link_id = $1"; link_id).fetch_optional(connection).await?;
    row.map(TryInto::try_into).transpose()
}

/// The public id of a link where a payment can be started once more: it is active, and neither a
/// till nor a subscription, whose renewals have pages of their own. Index: `link_pkey`.
pub async fn startable(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<String>, StorageError> {
    let link_id = sqlx::query_scalar!(
        "select link_id from link where id = $1 and active and type in ('payment', 'donation')",
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(link_id)
}

/// The link of [`by_link_id`], locked: visitors of one link create one invoice after the other, so
/// its quota and its single use are exact.
pub async fn lock(
    connection: &mut PgConnection,
    link_id: &str,
) -> Result<Option<Link>, StorageError> {
    let row =
        links_where!("link_id = $1 for no key update"; link_id).fetch_optional(connection).await?;
    row.map(TryInto::try_into).transpose()
}

/// Lists are static text per order.
macro_rules! page_query {
    ($condition:literal, $connection:expr, $merchant:expr, $limit:expr, $offset:expr) => {
        links_where!($condition; $merchant, $limit, $offset).fetch_all($connection).await?
    };
}

/// One page of a merchant's links. Index: `link_by_created`; by the last change all of its links
/// are sorted, of which there are [`LINKS_MAX`](crate::link::LINKS_MAX) at most.
pub async fn page(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    order: ListOrder,
    limit: i64,
    offset: i64,
) -> Result<Vec<Link>, StorageError> {
    let rows = match order {
        ListOrder::CreatedDesc => page_query!(
            "merchant_id = $1 order by created_at desc, id desc limit $2 offset $3",
            connection,
            merchant_id,
            limit,
            offset
        ),
        ListOrder::CreatedAsc => page_query!(
            "merchant_id = $1 order by created_at, id limit $2 offset $3",
            connection,
            merchant_id,
            limit,
            offset
        ),
        ListOrder::UpdatedDesc => page_query!(
            "merchant_id = $1 order by updated_at desc, id desc limit $2 offset $3",
            connection,
            merchant_id,
            limit,
            offset
        ),
        ListOrder::UpdatedAsc => page_query!(
            "merchant_id = $1 order by updated_at, id limit $2 offset $3",
            connection,
            merchant_id,
            limit,
            offset
        ),
    };
    rows.into_iter().map(TryInto::try_into).collect()
}

/// Up to `limit` links on one side of a place, the newest first. Index: `link_by_created`.
pub async fn beside(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    (side, at, id): (Side, DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<Link>, StorageError> {
    let rows = match side {
        Side::Older => {
            links_where!(
                "merchant_id = $1 and (created_at, id) < ($2, $3) order by created_at desc, id desc limit $4";
                merchant_id, at, id, limit
            )
            .fetch_all(connection)
            .await?
        }
        Side::Newer => {
            links_where!(
                "merchant_id = $1 and (created_at, id) > ($2, $3) order by created_at, id limit $4";
                merchant_id, at, id, limit
            )
            .fetch_all(connection)
            .await?
        }
    };
    let found: Result<Vec<Link>, _> = rows.into_iter().map(TryInto::try_into).collect();
    let mut found = found?;
    if side == Side::Newer {
        found.reverse();
    }
    Ok(found)
}

/// Number of a merchant's links, which is bounded by [`LINKS_MAX`](crate::link::LINKS_MAX). Index:
/// `link_by_created`.
pub async fn count(connection: &mut PgConnection, merchant_id: Uuid) -> Result<i64, StorageError> {
    let row = sqlx::query!(
        r#"select count(*) as "count!" from link where merchant_id = $1"#,
        merchant_id
    )
    .fetch_one(connection)
    .await?;
    Ok(row.count)
}

/// The tokens that a link lists; `None` if it leaves them to its merchant.
pub async fn accepted_tokens(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<Vec<String>>, StorageError> {
    let row = sqlx::query!("select accepted_tokens from link where id = $1", id)
        .fetch_optional(connection)
        .await?;
    Ok(row.and_then(|row| row.accepted_tokens))
}

/// Number of open invoices of a link, counted no further than the quota, and the time. Index:
/// `invoice_open_by_link`.
pub async fn open_invoices(
    connection: &mut PgConnection,
    link: &Link,
    quota: i64,
) -> Result<(i64, DateTime<Utc>), StorageError> {
    let row = sqlx::query!(
        r#"
        select now() as "now!", (
            select count(*)
            from (
                select from invoice
                where merchant_id = $1 and link_id = $2 and status in ('draft', 'pending', 'partial')
                limit $3
            ) as open
        ) as "open!"
        "#,
        link.merchant_id,
        link.id,
        quota
    )
    .fetch_one(connection)
    .await?;
    Ok((row.open, row.now))
}

/// Number of addresses of `family` that unpaid invoices of a link took in the last day, counted no
/// further than `most`. No draft is open for as long as the five days by which older invoices are
/// left out. Indices: `invoice_by_link`, `deposit_address_by_invoice`.
pub async fn unpaid_addresses(
    connection: &mut PgConnection,
    id: Uuid,
    family: Family,
    most: i64,
) -> Result<i64, StorageError> {
    let taken = sqlx::query_scalar!(
        r#"
        select count(*) as "count!"
        from (
            select from invoice i
            join deposit_address a on a.invoice_id = i.id
            where i.link_id = $1 and i.created_at > now() - interval '6 days' and i.received = 0
              and a.family = $2 and a.created_at > now() - interval '1 day'
            limit $3
        ) as taken
        "#,
        id,
        family.name(),
        most
    )
    .fetch_one(connection)
    .await?;
    Ok(taken)
}

/// The invoice that occupies a single-use link: a paid one for ever, an open one while it is open.
/// Index: `invoice_by_link`.
pub async fn occupant(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<(String, Status)>, StorageError> {
    let row = sqlx::query!(
        r#"
        select payment_id, status as "status: Status"
        from invoice
        where link_id = $1 and status in ('draft', 'pending', 'partial', 'paid', 'overpaid')
        order by status in ('paid', 'overpaid') desc, created_at desc
        limit 1
        "#,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| (row.payment_id, row.status)))
}

fn price(value: &BigDecimal) -> Result<Price, StorageError> {
    numeric::to_price("link", value)
}

impl TryFrom<RawLink> for Link {
    type Error = StorageError;

    fn try_from(raw: RawLink) -> Result<Self, StorageError> {
        let (period, price_currency) = (period(&raw)?, raw.price_currency.parse());
        let terms = Terms {
            kind: raw.kind,
            title: raw.title,
            description: raw.description,
            price_amount: raw.price_amount.as_ref().map(price).transpose()?,
            price_currency: price_currency.map_err(|e| StorageError::damaged("link", e))?,
            min_amount: raw.min_amount.as_ref().map(price).transpose()?,
            max_amount: raw.max_amount.as_ref().map(price).transpose()?,
            suggested_amounts: raw.suggested_amounts.iter().map(price).collect::<Result<_, _>>()?,
            accepted: raw.accepted_tokens,
            single_use: raw.single_use,
            period,
            cycles_max: raw.cycles_max.map(i32::unsigned_abs),
            sandbox_day_seconds: raw.sandbox_day_seconds.map(i32::unsigned_abs),
            time_zone: raw.time_zone,
            success_url: raw.success_url,
            cancel_url: raw.cancel_url,
            ipn_callback_url: raw.ipn_callback_url,
            order_id: raw.order_id,
        };
        Ok(Self {
            id: raw.id,
            link_id: raw.link_id,
            merchant_id: raw.merchant_id,
            terms,
            active: raw.active,
            has_pin: raw.has_pin,
            created_at: raw.created_at,
            updated_at: raw.updated_at,
        })
    }
}
