//! The price of gas for the settlements of one step of the role.

use std::collections::HashMap;

use super::{X402Error, token::Token};
use crate::{
    app::{Gateway, payout::payers::Payers},
    asset::{Fiat, catalogue::Catalogue},
    money::BaseUnits,
    payout::fee::Fee,
    storage::StorageError,
    x402::{call, gas},
};

/// Prices of a network, asked once for each length of a call: rollups charge for its bytes.
pub(super) struct Prices<'a> {
    payers: &'a Payers,
    network: &'static str,
    cap: u128,
    known: HashMap<usize, Option<Fee>>,
}

impl<'a> Prices<'a> {
    pub fn new(gateway: &Gateway, token: &Token, payers: &'a Payers) -> Self {
        let cap = gateway.config.chain(token.network).fee_rate_max;
        Self { payers, network: token.network.name(), cap, known: HashMap::new() }
    }

    /// The operator's bound of a price.
    pub const fn cap(&self) -> u128 {
        self.cap
    }

    /// The price of gas for a call now, if the operator's bound allows it. Settlements wait until
    /// it falls. A question that failed once is not repeated in the same step.
    pub async fn of(&mut self, call: &[u8]) -> Result<Option<Fee>, X402Error> {
        if let Some(known) = self.known.get(&call.len()) {
            return Ok(*known);
        }
        self.known.insert(call.len(), None);
        let node = self.payers.payer.evm().ok_or(X402Error::NotOffered)?;
        let fee = node.gas_price(call.len()).await?;
        let fee = fee.within(self.cap, u128::from(call::GAS_MAX));
        if fee.is_none() {
            let (network, cap) = (self.network, self.cap);
            tracing::warn!(network, cap, "gas costs more than chains.*.fee_rate_max");
        }
        self.known.insert(call.len(), fee);
        Ok(fee)
    }
}

impl Gateway {
    /// The most that gas may cost, in micro-USD. Without a rate it has no bound, and nothing is
    /// signed.
    pub(super) async fn gas_usd(
        &self,
        token: &Token,
        units: u128,
    ) -> Result<Option<u64>, StorageError> {
        let coin = Catalogue::get().native(token.network);
        let market = self.market().await?;
        let rate = market.fresh_rate(coin.symbol, Fiat::Usd).ok();
        let units = BaseUnits::new(units);
        Ok(rate.map(|rate| gas::micro_usd(units, coin.decimals, rate.price)))
    }
}
