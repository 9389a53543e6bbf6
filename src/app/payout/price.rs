//! The components of a quote at present prices.

use rust_decimal::Decimal;

use super::PayoutError;
use crate::{
    app::{Gateway, market::Market},
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
        fiat::Fiat,
    },
    config::ChainSourceKind,
    money::{BaseUnits, Bps},
    payout::{
        FeeMode, PayoutFamily,
        fee::Fee,
        id,
        quote::{self, Prices, Quote, QuoteFault, Tariff},
        recipients::{Column, Reason, RowFault, in_coins, least_amount},
    },
    storage::{network_fees, payouts::StoredQuote},
};

/// Beyond this age a node's word about fees prices nothing.
const FEE_FRESH_SECONDS: i32 = 600;

impl Gateway {
    /// The currency of an order: offered, on a network of this family on which we can sign.
    pub(super) fn payout_currency(
        &self,
        market: &Market,
        family: PayoutFamily,
        network: &str,
        currency: &str,
    ) -> Result<&'static Currency, PayoutError> {
        let known: Network =
            network.to_ascii_lowercase().parse().map_err(|_| PayoutError::UnsupportedNetwork)?;
        if !self.config.pays_out_on(known) || PayoutFamily::of(known) != Some(family) {
            return Err(PayoutError::UnsupportedNetwork);
        }
        let offer = market.resolve(currency, Some(known.name()));
        Ok(offer.ok_or(PayoutError::UnsupportedCurrency)?.currency)
    }

    /// The quoted price of a unit of work: by the node's latest answer where the network is real.
    pub(super) async fn quoted_fee_rate(&self, currency: &Currency) -> Result<u128, PayoutError> {
        let (family, network) = (currency.family(), currency.network);
        let chain = self.config.chain(network);
        if chain.source != ChainSourceKind::Node {
            return Ok(quote::fee_rate_bounds(family).0);
        }
        let mut connection = self.db.connection().await?;
        let asked = network_fees::fresh(&mut connection, network, FEE_FRESH_SECONDS).await?;
        let asked = asked.ok_or(PayoutError::NoFreshFee)?;
        let rate = quote::quoted_rate(family, asked.rate).min(chain.fee_rate_max);
        let quoted = Fee { rate, data: quote::quoted_data(asked.data), ..asked };
        Ok(quoted.all_in(quote::gas_per_transfer(currency)))
    }

    pub(super) fn tariff(
        &self,
        market: &Market,
        currency: &Currency,
        fee_mode: FeeMode,
        fee_rate: u128,
    ) -> Result<Tariff, PayoutError> {
        let native = Catalogue::get().native(currency.network);
        let usd = |symbol| market.fresh_rate(symbol, Fiat::Usd).map(|rate| rate.price);
        let prices = Prices { native_usd: usd(native.symbol)?, asset_usd: usd(currency.symbol)? };
        let service_fee = Bps::new(self.config.payouts.service_fee_bps);
        Ok(Tariff { fee_mode, service_fee, fee_rate, prices })
    }
}

/// The quote for `amounts` in so many batches. A recipient whose amount the fees eat up is reported
/// by the number of his row, which `row_of` gives.
pub(super) fn priced(
    currency: &Currency,
    (amounts, batches): (&[BaseUnits], usize),
    tariff: &Tariff,
    row_of: impl Fn(usize) -> u32,
) -> Result<Quote, PayoutError> {
    let native_decimals = Catalogue::get().native(currency.network).decimals;
    quote::quote(currency, native_decimals, (amounts, batches), tariff).map_err(|fault| match fault
    {
        QuoteFault::NetTooSmall(positions) => {
            let least = in_coins(currency, least_amount(currency));
            let faults = positions.into_iter().map(|position| RowFault {
                row: row_of(position),
                column: Column::Amount,
                reason: Reason::NetTooSmall { least: least.clone() },
                value: in_coins(currency, amounts[position]),
            });
            PayoutError::Rows(faults.take(crate::payout::recipients::FAULTS_MAX).collect())
        }
        QuoteFault::TooLarge | QuoteFault::UnusablePrice | QuoteFault::NoPayouts => {
            PayoutError::Quote(fault)
        }
    })
}

/// A quote as it is kept with its order.
pub(super) fn stored(
    quoted: &Quote,
    tariff: &Tariff,
    now: chrono::DateTime<chrono::Utc>,
    expires_at: chrono::DateTime<chrono::Utc>,
) -> StoredQuote {
    let twelve_places = |price: Decimal| price.round_dp(12).normalize();
    StoredQuote {
        id: id::quote(),
        created_at: now,
        expires_at,
        fee_rate: tariff.fee_rate,
        native_price_usd: twelve_places(tariff.prices.native_usd),
        asset_price_usd: twelve_places(tariff.prices.asset_usd),
        network_fee: quoted.network_fee,
        service_fee: quoted.service_fee,
    }
}
