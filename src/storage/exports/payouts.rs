//! Recipients of a merchant's payouts for an export.

use chrono::{DateTime, Utc};
use futures_util::{Stream, TryStreamExt};

use super::Asked;
use crate::storage::{PgConnection, StorageError};

/// A row of a funded order. Base units as digits, in the order's asset.
#[derive(Debug)]
pub struct PayoutRow {
    /// Of the present state: when its payment ended, was sent or was signed.
    pub at: DateTime<Utc>,
    pub order_id: String,
    pub family: String,
    pub batch_id: String,
    pub row_number: i32,
    pub reference: Option<String>,
    pub address: String,
    pub token_id: String,
    /// What the recipient gets.
    pub amount: String,
    pub network_fee: String,
    pub service_fee: String,
    pub tx_hash: Option<String>,
    pub state: String,
    /// Of one whole coin, by the order's quote.
    pub price_usd: String,
}

/// The rows of funded orders by the time of their present state. Indices:
/// `payout_order_by_merchant`, `payout_item_row_once`.
pub fn read(
    connection: &mut PgConnection,
    asked: Asked,
) -> impl Stream<Item = Result<PayoutRow, StorageError>> {
    let (from, to) = asked.bounds();
    sqlx::query_as!(
        PayoutRow,
        r#"
        with item as (
            select coalesce(p.ended_at, p.sent_at, p.created_at, o.funded_at) as at, o.id, o.order_id, o.family, o.token_id,
                   o.network_fee, o.service_fee, o.asset_price_usd, t.batch_id, t.row_number, t.reference, t.address,
                   t.net_amount, t.state, p.tx_hash
            from payout_order o
            join payout_item t on t.order_id = o.id
            left join payout_payment p on p.id = t.payment_id
            where o.merchant_id = $1 and o.funded_at is not null
        )
        select t.at as "at!", t.order_id, t.family, b.batch_id, t.row_number, t.reference, t.address, t.token_id,
               t.net_amount::text as "amount!", t.network_fee::text as "network_fee!", t.service_fee::text as "service_fee!",
               t.tx_hash as "tx_hash?", t.state, trim_scale(t.asset_price_usd)::text as "price_usd!"
        from item t
        join payout_batch b on b.id = t.batch_id
        where t.at >= $2 and t.at < $3
        order by t.at, t.id, t.row_number
        "#,
        asked.merchant_id,
        from,
        to
    )
    .fetch(connection)
    .map_err(StorageError::from)
}
