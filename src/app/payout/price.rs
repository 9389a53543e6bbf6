//! The components of a quote at present prices.

use rust_decimal::Decimal;

use super::errors::PayoutError;
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
        quote::{self, Prices, Quote, QuoteFault, Quoted, Tariff, UnitPrice},
        recipients::{Column, Reason, RowFault, in_coins, least_amount},
    },
    storage::{
        StorageError, network_fees,
        payouts::{PayoutOrder, StoredQuote, token_gas},
    },
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

    /// The quoted price of a transfer: by the node's latest answer and measured gas where the
    /// network is real.
    pub(super) async fn quoted_price(&self, currency: &Currency) -> Result<UnitPrice, PayoutError> {
        let (family, network) = (currency.family(), currency.network);
        let chain = self.config.chain(network);
        if chain.source != ChainSourceKind::Node {
            let rate = quote::fee_rate_bounds(family).0;
            return Ok(UnitPrice { rate, gas: quote::quoted_gas(currency, None) });
        }
        let mut connection = self.db.connection().await?;
        let asked = network_fees::fresh(&mut connection, network, FEE_FRESH_SECONDS).await?;
        let asked = asked.ok_or(PayoutError::NoFreshFee)?;
        let rate = quote::quoted_rate(family, asked.rate).min(chain.fee_rate_max);
        let measured = token_gas::measured(&mut connection, &currency.token_id()).await?;
        let gas = quote::quoted_gas(currency, measured);
        let quoted = Fee { rate, data: quote::quoted_data(asked.data), ..asked };
        Ok(UnitPrice { rate: quoted.all_in(gas), gas })
    }

    pub(super) fn tariff(
        &self,
        market: &Market,
        currency: &Currency,
        fee_mode: FeeMode,
        price: UnitPrice,
    ) -> Result<Tariff, PayoutError> {
        let native = Catalogue::get().native(currency.network);
        let usd = |symbol| market.fresh_rate(symbol, Fiat::Usd).map(|rate| rate.price);
        let prices = Prices { native_usd: usd(native.symbol)?, asset_usd: usd(currency.symbol)? };
        let service_fee = Bps::new(self.config.payouts.service_fee_bps);
        Ok(Tariff { fee_mode, service_fee, price, prices })
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

/// The quote of an order, for the rules about it.
pub(super) fn quoted(order: &PayoutOrder) -> Quoted {
    Quoted {
        batches: usize::try_from(order.batch_count).unwrap_or(usize::MAX),
        fee_rate: order.quote.fee_rate,
        prices: Prices {
            native_usd: order.quote.native_price_usd,
            asset_usd: order.quote.asset_price_usd,
        },
        payout_total: order.payout_total,
        network_fee: order.quote.network_fee,
        service_fee: order.quote.service_fee,
    }
}

/// Gas at which each payment of an order was quoted.
pub(super) fn quoted_gas(order: &PayoutOrder) -> Result<u128, StorageError> {
    let decimals = Catalogue::get().native(order.currency.network).decimals;
    let rows = usize::try_from(order.item_count).unwrap_or(usize::MAX);
    quote::gas_in_quote(order.currency, decimals, rows, &quoted(order))
        .map_err(|fault| StorageError::damaged("payout_order", fault))
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
        fee_rate: tariff.price.rate,
        native_price_usd: twelve_places(tariff.prices.native_usd),
        asset_price_usd: twelve_places(tariff.prices.asset_usd),
        network_fee: quoted.network_fee,
        service_fee: quoted.service_fee,
    }
}
