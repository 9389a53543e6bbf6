//! Payments as a merchant looks for them: page by page, or by anything that names one.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError, numeric};
use crate::{
    asset::{
        Family, Network,
        catalogue::{Catalogue, Currency},
    },
    invoice::Status,
    money::{BaseUnits, Price},
};

/// Payments that one search returns at most.
pub const FOUND_MAX: i64 = 50;
/// Later than any row: the year 3000.
const FAR: DateTime<Utc> = match DateTime::from_timestamp(32_503_680_000, 0) {
    Some(far) => far,
    None => DateTime::UNIX_EPOCH,
};

/// A payment in a list.
#[derive(Debug, Clone)]
pub struct FoundPayment {
    pub id: Uuid,
    pub payment_id: String,
    pub status: Status,
    /// A plain decimal.
    pub price_amount: String,
    pub price_currency: String,
    /// `code@network`; `None` while a draft.
    pub token_id: Option<String>,
    pub order_id: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// A place in a list that is ordered by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Older,
    Newer,
}

/// The payments that a list shows.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// `code@network`; none given: every currency.
    pub tokens: Option<Vec<String>>,
    pub status: Option<Status>,
    /// The public id of the payment link that they came by.
    pub link_id: Option<String>,
    /// Created then or later.
    pub from: Option<DateTime<Utc>>,
    /// Created before.
    pub to: Option<DateTime<Utc>>,
}

/// Query for payments, selected and ordered by the end of the query.
macro_rules! found_payments {
    ($end:tt, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            FoundPayment,
            r#"
            select id, payment_id, status as "status: _", trim_scale(price_amount)::text as "price_amount!",
                   price_currency, token_id, order_id, created_at
            from invoice
            where merchant_id = $1 and "# + $end,
            $($argument),+
        )
    };
}

/// Query for the payments of some currencies and statuses: a short run of each pair, merged.
macro_rules! filtered_payments {
    ($comparison:tt, $order:tt, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            FoundPayment,
            r#"
            select f.id, f.payment_id, f.status as "status: _", trim_scale(f.price_amount)::text as "price_amount!",
                   f.price_currency, f.token_id, f.order_id, f.created_at
            from unnest($2::text[]) as token, unnest($3::text[]) as wanted, lateral (
                select id, payment_id, status, price_amount, price_currency, token_id, order_id, created_at
                from invoice
                where merchant_id = $1 and token_id is not null and token_id = token and status = wanted
                  and (created_at, id) "# + $comparison + r#" ($4, $5) and created_at >= $6 and created_at < $7
                order by created_at "# + $order + ", id " + $order + r#"
                limit 26
            ) as f
            order by f.created_at "# + $order + ", f.id " + $order + r#"
            limit $8
            "#,
            $($argument),+
        )
    };
}

/// Up to `limit` payments, at most 26, on one side of a place; the newest first. Unresolved drafts
/// are left out, as in the API's list. Indices: `invoice_by_created`, `invoice_by_filter`,
/// `invoice_by_link`.
pub async fn page(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    filter: &Filter,
    (side, at, id): (Side, DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<FoundPayment>, StorageError> {
    let (from, to) = filter.dates();
    let mut rows = if filter.link_id.is_some() {
        of_link(connection, merchant_id, filter, (side, at, id), limit).await?
    } else if filter.tokens.is_none() && filter.status.is_none() {
        of_any_kind(connection, merchant_id, (from, to), (side, at, id), limit).await?
    } else {
        let (tokens, statuses) = filter.pairs();
        match side {
            Side::Older => {
                filtered_payments!(
                    "<",
                    "desc",
                    merchant_id,
                    &tokens,
                    &statuses,
                    at,
                    id,
                    from,
                    to,
                    limit
                )
                .fetch_all(connection)
                .await?
            }
            Side::Newer => {
                filtered_payments!(
                    ">",
                    "asc",
                    merchant_id,
                    &tokens,
                    &statuses,
                    at,
                    id,
                    from,
                    to,
                    limit
                )
                .fetch_all(connection)
                .await?
            }
        }
    };
    if side == Side::Newer {
        rows.reverse();
    }
    Ok(rows)
}

/// A page of the payments between two dates, not reversed yet.
async fn of_any_kind(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    (from, to): (DateTime<Utc>, DateTime<Utc>),
    (side, at, id): (Side, DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<FoundPayment>, StorageError> {
    let rows = match side {
        Side::Older => found_payments!(
            "token_id is not null and (created_at, id) < ($2, $3) and created_at >= $4 and created_at < $5
             order by created_at desc, id desc limit $6",
            merchant_id,
            at,
            id,
            from,
            to,
            limit
        )
        .fetch_all(connection)
        .await?,
        Side::Newer => found_payments!(
            "token_id is not null and (created_at, id) > ($2, $3) and created_at >= $4 and created_at < $5
             order by created_at, id limit $6",
            merchant_id,
            at,
            id,
            from,
            to,
            limit
        )
        .fetch_all(connection)
        .await?,
    };
    Ok(rows)
}

/// A page of the payments of one link, not reversed yet. The other conditions are checked row by
/// row: one link has fewer payments than its merchant.
async fn of_link(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    filter: &Filter,
    (side, at, id): (Side, DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<FoundPayment>, StorageError> {
    let (from, to) = filter.dates();
    let (tokens, statuses) = filter.pairs();
    let rows = match side {
        Side::Older => {
            found_payments!(
                "link_id = (select l.id from link l where l.link_id = $2 and l.merchant_id = $1)
             and token_id = any ($3) and status = any ($4)
             and (created_at, id) < ($5, $6) and created_at >= $7 and created_at < $8
             order by created_at desc, id desc limit $9",
                merchant_id,
                filter.link_id.as_deref(),
                &tokens,
                &statuses,
                at,
                id,
                from,
                to,
                limit
            )
            .fetch_all(connection)
            .await?
        }
        Side::Newer => {
            found_payments!(
                "link_id = (select l.id from link l where l.link_id = $2 and l.merchant_id = $1)
             and token_id = any ($3) and status = any ($4)
             and (created_at, id) > ($5, $6) and created_at >= $7 and created_at < $8
             order by created_at, id limit $9",
                merchant_id,
                filter.link_id.as_deref(),
                &tokens,
                &statuses,
                at,
                id,
                from,
                to,
                limit
            )
            .fetch_all(connection)
            .await?
        }
    };
    Ok(rows)
}

impl Filter {
    /// The first moment and the one behind the last.
    fn dates(&self) -> (DateTime<Utc>, DateTime<Utc>) {
        (self.from.unwrap_or(DateTime::UNIX_EPOCH), self.to.unwrap_or(FAR))
    }

    /// The currencies and the statuses of which every pair is wanted.
    fn pairs(&self) -> (Vec<String>, Vec<String>) {
        let every = || Catalogue::get().all().iter().map(Currency::token_id).collect();
        let tokens = self.tokens.clone().unwrap_or_else(every);
        let statuses = match self.status {
            Some(status) => vec![status.as_str().to_owned()],
            None => Status::ALL.iter().map(|status| status.as_str().to_owned()).collect(),
        };
        (tokens, statuses)
    }
}

/// Spellings under which a text may stand in the rows.
#[derive(Debug, Clone, Default)]
pub struct Spellings {
    /// By which addresses are compared.
    pub match_keys: Vec<String>,
    /// Of the hash of a transaction.
    pub hashes: Vec<String>,
    /// An e-mail address in lower case.
    pub email: Option<String>,
    /// A price.
    pub price: Option<Price>,
    /// Amounts to be paid that the text may mean, one for each number of decimals.
    pub pay_amounts: Vec<BaseUnits>,
}

/// The payments that a text names: by id, by order id, by an address that was ever given out for
/// one, by a transaction that paid it, by the subscriber's e-mail address, or by an amount.
/// Indices: `invoice_payment_id_unique`, `invoice_by_order`, `deposit_address_unique`,
/// `deposit_by_transaction`, `invoice_by_email`, `invoice_by_price`, `invoice_by_pay_amount`.
pub async fn named(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    text: &str,
    spellings: &Spellings,
) -> Result<Vec<FoundPayment>, StorageError> {
    let families: Vec<_> = Family::ALL.iter().map(|family| family.name().to_owned()).collect();
    let networks: Vec<_> = Network::ALL.iter().map(|network| network.name().to_owned()).collect();
    let pay_amounts: Vec<_> =
        spellings.pay_amounts.iter().map(|units| numeric::from_units(*units)).collect();
    let rows = found_payments!(
        "id = any (array(
             select id from invoice where payment_id = $2
             union
             (select id from invoice where merchant_id = $1 and order_id = $2 order by created_at desc limit 50)
             union
             select invoice_id from deposit_address where family = any ($3) and match_key = any ($4)
             union
             select invoice_id from deposit where network = any ($5) and tx_hash = any ($6)
             union
             (select id from invoice
              where merchant_id = $1 and lower(subscriber_email) = $8 and subscriber_email is not null
              order by created_at desc limit 50)
             union
             (select id from invoice where merchant_id = $1 and price_amount = $9 order by created_at desc limit 50)
             union
             select paid.id
             from unnest($10::numeric[]) as units, lateral (
                 select id from invoice
                 where merchant_id = $1 and pay_amount = units and pay_amount is not null
                 order by created_at desc limit 50
             ) as paid
         ))
         order by created_at desc, id desc
         limit $7",
        merchant_id,
        text,
        &families,
        &spellings.match_keys,
        &networks,
        &spellings.hashes,
        FOUND_MAX,
        spellings.email.as_deref(),
        spellings.price.map(numeric::from_price),
        &pay_amounts
    );
    Ok(rows.fetch_all(connection).await?)
}
