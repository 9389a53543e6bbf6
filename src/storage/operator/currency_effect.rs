//! The effect that a change of a currency would have had on the payments of 30 days.

use rust_decimal::Decimal;

use crate::storage::{PgConnection, StorageError, numeric};

/// Payments that are counted at most: more of them say nothing more.
const COUNTED_MAX: i64 = 100_000;

/// Counts of payments and merchants.
#[derive(Debug, Clone, Copy)]
pub struct CurrencyEffect {
    /// Payments of 30 days in the currency, at most [`COUNTED_MAX`].
    pub payments: i64,
    /// Of these, the ones whose amount is below the new minimum; 0 without one.
    pub below: i64,
    /// Merchants of the payments below.
    pub merchants_below: i64,
    pub open: i64,
    /// Merchants who accept no other currency.
    pub merchants_without_another: i64,
    pub is_capped: bool,
}

/// Counts for the currency `token_id`; a new minimum comes with the price of one whole coin, both
/// in US dollars. Index: `invoice_by_month`.
pub async fn of(
    connection: &mut PgConnection,
    token_id: &str,
    minimum: Option<(Decimal, Decimal)>,
) -> Result<CurrencyEffect, StorageError> {
    let (min_usd, price) = minimum.unzip();
    let row = sqlx::query!(
        r#"
        with recent as (
            select merchant_id, status,
                   coalesce(pay_amount * $4::numeric < $2::numeric * power(10::numeric, decimals), false) as is_below
            from invoice
            where created_at > now() - interval '30 days' and token_id = $1
            limit $3
        )
        select count(*) as "payments!",
               count(*) filter (where is_below) as "below!",
               count(distinct merchant_id) filter (where is_below) as "merchants_below!",
               count(*) filter (where status in ('pending', 'partial')) as "open!",
               (select count(*) from merchant where accepted_tokens <@ array[$1::text]) as "without_another!"
        from recent
        "#,
        token_id,
        min_usd.map(numeric::from_decimal),
        COUNTED_MAX,
        price.map(numeric::from_decimal)
    )
    .fetch_one(connection)
    .await?;
    Ok(CurrencyEffect {
        payments: row.payments,
        below: row.below,
        merchants_below: row.merchants_below,
        open: row.open,
        merchants_without_another: row.without_another,
        is_capped: row.payments >= COUNTED_MAX,
    })
}
