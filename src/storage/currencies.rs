//! Operators' changes of the catalogue.

use rust_decimal::Decimal;

use super::{PgConnection, StorageError, numeric};

#[derive(Debug, Clone)]
pub struct CurrencySetting {
    /// `code@network`.
    pub token_id: String,
    /// `None` keeps the catalogue's default.
    pub enabled: Option<bool>,
    pub min_usd: Option<Decimal>,
}

/// Every override. There are at most as many as catalogue entries.
pub async fn all(connection: &mut PgConnection) -> Result<Vec<CurrencySetting>, StorageError> {
    let rows = sqlx::query!(
        "select token_id, enabled, min_usd from currency_setting order by token_id limit 10000"
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let min_usd = row.min_usd.as_ref();
            let min_usd =
                min_usd.map(|m| numeric::to_decimal("currency_setting", m)).transpose()?;
            Ok(CurrencySetting { token_id: row.token_id, enabled: row.enabled, min_usd })
        })
        .collect()
}

/// Makes other changes of settings wait until the transaction ends. Readers go on.
pub async fn lock(connection: &mut PgConnection) -> Result<(), StorageError> {
    sqlx::query!("lock table currency_setting in share row exclusive mode")
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn set_enabled(
    connection: &mut PgConnection,
    token_id: &str,
    enabled: bool,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into currency_setting (token_id, enabled)
        values ($1, $2)
        on conflict (token_id) do update set enabled = excluded.enabled, updated_at = now()
        "#,
        token_id,
        enabled
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn set_min_usd(
    connection: &mut PgConnection,
    token_id: &str,
    min_usd: Decimal,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into currency_setting (token_id, min_usd)
        values ($1, $2)
        on conflict (token_id) do update set min_usd = excluded.min_usd, updated_at = now()
        "#,
        token_id,
        numeric::from_decimal(min_usd)
    )
    .execute(connection)
    .await?;
    Ok(())
}
