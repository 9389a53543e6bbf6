//! The balance of a merchant.

use gateway::{app::merchant::balance::AssetBalance, asset::Fiat, invoice::schema};
use serde::Serialize;
use utoipa::ToSchema;

/// What a merchant has, by the ledger, all of one moment.
#[derive(Debug, Serialize, ToSchema)]
pub struct Balance {
    /// One entry for each currency and network of which any amount is not zero.
    pub balances: Vec<BalanceEntry>,
    /// The currency of the estimates.
    #[schema(value_type = String, examples("usd"))]
    pub fiat_currency: &'static str,
}

/// The amounts of one currency on one network, in whole coins.
#[derive(Debug, Serialize, ToSchema)]
pub struct BalanceEntry {
    /// As in `GET /v1/currencies`.
    #[schema(value_type = String, examples("usdtmatic"))]
    pub currency: &'static str,
    /// In upper case.
    #[schema(value_type = String, examples("USDT"))]
    pub symbol: &'static str,
    #[schema(value_type = schema::NetworkName)]
    pub network: &'static str,
    /// Booked deposits of invoices in their own currency, less excess and reversals: the balance
    /// of the merchant's account.
    #[schema(value_type = schema::SignedDecimalText)]
    pub available: String,
    /// Deposits of the merchant's invoices that are seen or final and not booked yet. They may
    /// vanish, or be booked as late or foreign.
    #[schema(value_type = schema::SignedDecimalText)]
    pub pending: String,
    /// Deposits that were booked after their invoice had ended; not in `available`.
    #[schema(value_type = schema::SignedDecimalText)]
    pub late: String,
    /// Deposits in another currency than the one asked for; not in `available`.
    #[schema(value_type = schema::SignedDecimalText)]
    pub foreign: String,
    /// Held by the merchant's payout orders: funded, and neither paid, kept as fees nor returned.
    #[schema(value_type = schema::SignedDecimalText)]
    pub in_payouts: String,
    /// `available` in `fiat_currency` at the current rate, rounded to 2 decimals; null without a
    /// fresh rate. Not binding.
    #[schema(value_type = Option<schema::SignedDecimalText>, required)]
    pub fiat_estimate: Option<String>,
}

impl Balance {
    pub fn render(found: Vec<AssetBalance>, fiat: Fiat) -> Self {
        let balances = found.into_iter().map(BalanceEntry::render).collect();
        Self { balances, fiat_currency: fiat.code() }
    }
}

impl BalanceEntry {
    fn render(found: AssetBalance) -> Self {
        Self {
            currency: found.currency.code,
            symbol: found.currency.symbol,
            network: found.currency.network.name(),
            available: found.available,
            pending: found.pending,
            late: found.late,
            foreign: found.foreign,
            in_payouts: found.in_payouts,
            fiat_estimate: found.fiat_estimate.map(|value| value.to_string()),
        }
    }
}
