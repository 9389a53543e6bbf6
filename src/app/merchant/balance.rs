//! The balance of a merchant: the sums of the books, and what they are worth now.

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::app::{Gateway, market::Market};
use crate::{
    asset::{
        Fiat,
        catalogue::{Catalogue, Currency},
    },
    money::digits_in_coins,
    storage::{StorageError, balance, balance::AssetRow},
};

/// Places of a fiat estimate.
const FIAT_PLACES: u32 = 2;

/// The amounts of one currency, in whole coins; a minus sign where a reversal took more than there
/// was.
#[derive(Debug)]
pub struct AssetBalance {
    pub currency: &'static Currency,
    pub available: String,
    pub pending: String,
    pub late: String,
    pub foreign: String,
    pub in_payouts: String,
    /// Value of `available`; `None` without a fresh rate.
    pub fiat_estimate: Option<Decimal>,
}

impl Gateway {
    /// The currencies of which a merchant has anything, in the order of the catalogue, all of one
    /// moment.
    pub async fn balance(
        &self,
        merchant_id: Uuid,
        fiat: Fiat,
    ) -> Result<Vec<AssetBalance>, StorageError> {
        let market = self.market().await?;
        let mut connection = self.db.connection().await?;
        let rows = balance::of_merchant(&mut connection, merchant_id).await?;
        drop(connection);
        let mut found = Vec::with_capacity(rows.len());
        for currency in Catalogue::get().all() {
            let id = currency.token_id();
            if let Some(row) = rows.iter().find(|row| row.token_id == id) {
                found.push(asset_balance(&market, currency, row, fiat)?);
            }
        }
        if let Some(row) = rows.iter().find(|r| Catalogue::get().by_token_id(&r.token_id).is_none())
        {
            tracing::error!(token_id = row.token_id, "the books hold an unknown currency");
        }
        Ok(found)
    }
}

fn asset_balance(
    market: &Market,
    currency: &'static Currency,
    row: &AssetRow,
    fiat: Fiat,
) -> Result<AssetBalance, StorageError> {
    let coins = |units: &str| in_coins(units, currency.decimals);
    let available = coins(&row.available)?;
    let rate = market.fresh_rate(currency.symbol, fiat).ok();
    let fiat_estimate = rate.and_then(|rate| value(&available, rate.price));
    Ok(AssetBalance {
        currency,
        pending: coins(&row.pending)?,
        late: coins(&row.late)?,
        foreign: coins(&row.foreign)?,
        in_payouts: coins(&row.in_payouts)?,
        fiat_estimate,
        available,
    })
}

fn in_coins(units: &str, decimals: u8) -> Result<String, StorageError> {
    let (sign, digits) = units.strip_prefix('-').map_or(("", units), |digits| ("-", digits));
    let coins = digits_in_coins(digits, u32::from(decimals))
        .ok_or_else(|| StorageError::damaged("ledger_entry", "a sum is no whole number"))?;
    Ok(format!("{sign}{coins}"))
}

/// For information only: it may lose digits beyond the 28th, and an amount beyond them has none.
fn value(coins: &str, price: Decimal) -> Option<Decimal> {
    let coins: Decimal = coins.parse().ok()?;
    Some(coins.checked_mul(price)?.round_dp(FIAT_PLACES).normalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_keep_their_digits_and_their_sign() {
        for (units, decimals, coins) in [
            ("0", 6, "0"),
            ("1", 6, "0.000001"),
            ("-1500000", 6, "-1.5"),
            (
                "340282366920938463463374607431768211456000",
                18,
                "340282366920938463463374.607431768211456",
            ),
            ("12", 0, "12"),
        ] {
            assert_eq!(in_coins(units, decimals).unwrap(), coins);
        }
        assert!(in_coins("1.5", 6).is_err() && in_coins("", 6).is_err());
    }

    #[test]
    fn an_estimate_is_rounded_to_cents_and_absent_where_it_cannot_be_said() {
        let price = Decimal::new(60_000_123, 3);
        assert_eq!(value("0.5", price), Some(Decimal::new(3_000_006, 2)));
        assert_eq!(value("-0.5", price), Some(Decimal::new(-3_000_006, 2)));
        assert_eq!(value(&"9".repeat(40), price), None);
    }
}
