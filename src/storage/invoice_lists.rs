//! Invoices in operators' lists: of all merchants, and a merchant's drafts. The lists of one
//! merchant's other invoices are in [`super::payment_search`].

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError, payment_search::FoundPayment};
use crate::invoice::Status;

/// Invoices that a list of all merchants looks at in search of those that match.
pub const LOOKED_AT: i64 = 20_000;

/// An invoice in a list, with its merchant.
#[derive(Debug, Clone)]
pub struct ListedInvoice {
    pub merchant_id: Uuid,
    pub invoice: FoundPayment,
}

struct RawListed {
    merchant_id: Uuid,
    id: Uuid,
    payment_id: String,
    status: Status,
    price_amount: String,
    price_currency: String,
    token_id: Option<String>,
    order_id: Option<String>,
    created_at: DateTime<Utc>,
}

impl From<RawListed> for ListedInvoice {
    fn from(raw: RawListed) -> Self {
        let invoice = FoundPayment {
            id: raw.id,
            payment_id: raw.payment_id,
            status: raw.status,
            price_amount: raw.price_amount,
            price_currency: raw.price_currency,
            token_id: raw.token_id,
            order_id: raw.order_id,
            created_at: raw.created_at,
        };
        Self { merchant_id: raw.merchant_id, invoice }
    }
}

/// Query for invoices with their merchants, from what the end of the query selects and orders.
macro_rules! listed_invoices {
    ($from:tt, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            RawListed,
            r#"
            select l.merchant_id as "merchant_id!", l.id as "id!", l.payment_id as "payment_id!", l.status as "status!: _",
                   trim_scale(l.price_amount)::text as "price_amount!", l.price_currency as "price_currency!",
                   l.token_id as "token_id?", l.order_id as "order_id?", l.created_at as "created_at!"
            from "# + $from,
            $($argument),+
        )
    };
}

/// Up to `limit` invoices of all merchants that match, the newest first, among the newest
/// [`LOOKED_AT`]. Index: `invoice_pkey`, whose ids are in the order of creation.
pub async fn newest(
    connection: &mut PgConnection,
    status: Option<Status>,
    since: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<ListedInvoice>, StorageError> {
    let rows = listed_invoices!(
        "(
             select id, merchant_id, payment_id, status, price_amount, price_currency, token_id, order_id, created_at
             from invoice
             order by id desc
             limit 20000
         ) as l
         where ($1::text is null or l.status = $1) and l.created_at >= $2
         order by l.id desc
         limit $3",
        status.map(Status::as_str),
        since,
        limit
    );
    let rows = rows.fetch_all(connection).await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// The time of the last invoice that [`newest`] looks at; `None` if it sees all. Index:
/// `invoice_pkey`.
pub async fn looked_at(
    connection: &mut PgConnection,
) -> Result<Option<DateTime<Utc>>, StorageError> {
    let row = sqlx::query!("select created_at from invoice order by id desc limit 1 offset 19999")
        .fetch_optional(connection)
        .await?;
    Ok(row.map(|row| row.created_at))
}

/// Up to `limit` unresolved drafts of a merchant, the newest first. A quota bounds how many are
/// open. Index: `invoice_open_by_link`.
pub async fn drafts(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    since: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<ListedInvoice>, StorageError> {
    let rows = listed_invoices!(
        "invoice as l
         where l.merchant_id = $1 and l.status = 'draft' and l.created_at >= $2
         order by l.created_at desc, l.id desc
         limit $3",
        merchant_id,
        since,
        limit
    );
    let rows = rows.fetch_all(connection).await?;
    Ok(rows.into_iter().map(Into::into).collect())
}
