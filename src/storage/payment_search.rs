//! Payments as a merchant looks for them: page by page, or by anything that names one.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::{
    asset::{Family, Network},
    invoice::Status,
};

/// Payments that one search returns at most.
const FOUND_MAX: i64 = 50;

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

/// Up to `limit` payments on one side of a place, of one status or of all; the newest first.
/// Unresolved drafts are left out, as in the API's list. Index: `invoice_by_created`.
pub async fn page(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    status: Option<Status>,
    (side, at, id): (Side, DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<FoundPayment>, StorageError> {
    let status = status.map(Status::as_str);
    if side == Side::Older {
        let rows = found_payments!(
            "token_id is not null and (created_at, id) < ($2, $3) and ($4::text is null or status = $4)
             order by created_at desc, id desc limit $5",
            merchant_id,
            at,
            id,
            status,
            limit
        );
        return Ok(rows.fetch_all(connection).await?);
    }
    let rows = found_payments!(
        "token_id is not null and (created_at, id) > ($2, $3) and ($4::text is null or status = $4)
         order by created_at, id limit $5",
        merchant_id,
        at,
        id,
        status,
        limit
    );
    let mut rows = rows.fetch_all(connection).await?;
    rows.reverse();
    Ok(rows)
}

/// Spellings under which a text may stand in the rows.
#[derive(Debug, Clone, Default)]
pub struct Spellings {
    /// By which addresses are compared.
    pub match_keys: Vec<String>,
    /// Of the hash of a transaction.
    pub hashes: Vec<String>,
}

/// The payments that a text names: by id, by order id, by an address that was ever given out for
/// one, or by a transaction that paid it. Indices: `invoice_payment_id_unique`, `invoice_by_order`,
/// `deposit_address_unique`, `deposit_by_transaction`.
pub async fn named(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    text: &str,
    spellings: &Spellings,
) -> Result<Vec<FoundPayment>, StorageError> {
    let families: Vec<_> = Family::ALL.iter().map(|family| family.name().to_owned()).collect();
    let networks: Vec<_> = Network::ALL.iter().map(|network| network.name().to_owned()).collect();
    let rows = found_payments!(
        "id in (
             select id from invoice where payment_id = $2
             union
             (select id from invoice where merchant_id = $1 and order_id = $2 order by created_at desc limit 50)
             union
             select invoice_id from deposit_address where family = any ($3) and match_key = any ($4)
             union
             select invoice_id from deposit where network = any ($5) and tx_hash = any ($6)
         )
         order by created_at desc, id desc
         limit $7",
        merchant_id,
        text,
        &families,
        &spellings.match_keys,
        &networks,
        &spellings.hashes,
        FOUND_MAX
    );
    Ok(rows.fetch_all(connection).await?)
}
