//! The last accepted price of each coin in each fiat currency.

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;

use super::{PgConnection, StorageError, numeric};

#[derive(Debug, Clone)]
pub struct RateRow {
    pub symbol: String,
    pub fiat: String,
    pub price: Decimal,
    pub source: String,
    pub observed_at: DateTime<Utc>,
    /// Age by the database's clock.
    pub age_seconds: i64,
}

/// All stored rates. There are at most as many as symbols times fiat currencies.
pub async fn all(connection: &mut PgConnection) -> Result<Vec<RateRow>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select symbol, fiat, price, source, observed_at,
               extract(epoch from now() - observed_at)::bigint as "age_seconds!"
        from rate
        order by symbol, fiat
        limit 10000
        "#
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(RateRow {
                symbol: row.symbol,
                fiat: row.fiat,
                price: numeric::to_decimal("rate", &row.price)?,
                source: row.source,
                observed_at: row.observed_at,
                age_seconds: row.age_seconds,
            })
        })
        .collect()
}

/// The last stored price of one coin, however old.
pub async fn last_price(
    connection: &mut PgConnection,
    symbol: &str,
    fiat: &str,
) -> Result<Option<Decimal>, StorageError> {
    let price =
        sqlx::query_scalar!("select price from rate where symbol = $1 and fiat = $2", symbol, fiat)
            .fetch_optional(connection)
            .await?;
    price.as_ref().map(|price| numeric::to_decimal("rate", price)).transpose()
}

/// Stores prices with the time of their source, or now without one; an older price never replaces a
/// newer one. The first price of each minute is kept in the history as well.
pub async fn store(
    connection: &mut PgConnection,
    symbols: &[String],
    fiats: &[String],
    prices: &[Decimal],
    sources: &[String],
    observed: &[Option<DateTime<Utc>>],
) -> Result<(), StorageError> {
    let prices: Vec<_> = prices.iter().copied().map(numeric::from_decimal).collect();
    sqlx::query!(
        r#"
        with quote as (
            select symbol, fiat, price, source, least(coalesce(observed, now()), now()) as observed_at
            from unnest($1::text[], $2::text[], $3::numeric[], $4::text[], $5::timestamptz[])
                as t (symbol, fiat, price, source, observed)
        ),
        kept as (
            insert into rate_history (minute, symbol, fiat, price, source, observed_at)
            select date_trunc('minute', observed_at), symbol, fiat, price, source, observed_at from quote
            on conflict (minute, symbol, fiat) do nothing
        )
        insert into rate as r (symbol, fiat, price, source, observed_at)
        select symbol, fiat, price, source, observed_at from quote
        on conflict (symbol, fiat) do update
        set price = excluded.price, source = excluded.source, observed_at = excluded.observed_at
        where r.observed_at <= excluded.observed_at
        "#,
        symbols,
        fiats,
        &prices,
        sources,
        observed as &[Option<DateTime<Utc>>]
    )
    .execute(connection)
    .await?;
    Ok(())
}
