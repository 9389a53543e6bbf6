//! What one settlement costs at present: the role notes it, which asks for the price of gas anyway,
//! and nothing that is worth less is verified, settled or asked for.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rust_decimal::Decimal;

use super::token::Token;
use crate::{
    app::Gateway,
    asset::{Fiat, Network, catalogue::Catalogue},
    money::{BaseUnits, Price},
    payout::fee::Fee,
    storage::{StorageError, x402::costs},
    x402::resource,
};

/// Age of the costs that still counts: the role notes them several times a minute.
const KEPT_FOR: Duration = Duration::from_secs(3);
/// Atoms of a price in a millionth of a USD.
const ATOMS_OF_MICRO: u128 = 1_000_000_000_000;

/// Gas of a usual settlement of USDC, by a key.
pub(super) const GAS_OF_ONE: u128 = 90_000;

type Kept = Option<(Instant, HashMap<Network, u64>)>;

/// The present costs, in millionths of a USD.
#[derive(Default)]
pub(super) struct Costs(Mutex<Kept>);

impl Costs {
    /// `None` if nobody looked lately; the cost in it is absent where none is known.
    fn kept(&self, network: Network) -> Option<Option<u64>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, costs) = kept.as_ref().filter(|(at, _)| at.elapsed() < KEPT_FOR)?;
        Some(costs.get(&network).copied())
    }

    fn keep(&self, costs: HashMap<Network, u64>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), costs));
    }
}

impl Gateway {
    /// Notes what a settlement of so much gas costs. Without a rate nothing is noted, and what was
    /// noted before grows too old to count.
    pub(super) async fn note_x402_cost(
        &self,
        network: Network,
        fee: Fee,
        gas: u128,
    ) -> Result<(), StorageError> {
        let coin = Catalogue::get().native(network);
        let market = self.market().await?;
        let Ok(rate) = market.fresh_rate(coin.symbol, Fiat::Usd) else { return Ok(()) };
        let Some(micros) = micro_usd(expected(fee, gas), coin.decimals, rate.price) else {
            tracing::warn!(%network, "the cost of a settlement is beyond every amount");
            return Ok(());
        };
        let mut connection = self.db.connection().await?;
        costs::note(&mut connection, network, micros).await
    }

    /// The least that is settled now: what the operator says, or what it costs if that is more.
    pub(super) async fn x402_minimum(&self, token: &Token) -> Result<BaseUnits, StorageError> {
        self.x402_minimum_of(token, GAS_OF_ONE).await
    }

    /// The same of a settlement that takes so much gas.
    pub(super) async fn x402_minimum_of(
        &self,
        token: &Token,
        gas: u128,
    ) -> Result<BaseUnits, StorageError> {
        let cost = match self.x402.costs.kept(token.network) {
            Some(cost) => cost,
            None => {
                let mut connection = self.db.connection().await?;
                let present = costs::present(&mut connection).await?;
                let cost = present.get(&token.network).copied();
                self.x402.costs.keep(present);
                cost
            }
        };
        let cost = cost.map(|micros| units(of_gas(micros, gas), token));
        Ok(cost.map_or(token.minimum, |cost| token.minimum.max(cost)))
    }
}

/// What so much gas costs where a usual settlement costs `micros`.
fn of_gas(micros: u64, gas: u128) -> u64 {
    let cost = u128::from(micros).saturating_mul(gas).div_ceil(GAS_OF_ONE);
    u64::try_from(cost).unwrap_or(u64::MAX)
}

/// A cost in base units of a token that counts as one USD.
fn units(micros: u64, token: &Token) -> BaseUnits {
    let price = Price::from_atoms(u128::from(micros).saturating_mul(ATOMS_OF_MICRO));
    let amount = resource::amount(price, token.currency.decimals);
    amount.unwrap_or(BaseUnits::new(u128::MAX))
}

/// What so much gas takes in the next block. An offer is more: it holds for the blocks after it.
fn expected(fee: Fee, gas: u128) -> BaseUnits {
    let rate = if fee.rate_least == 0 { fee.rate } else { fee.rate_least.min(fee.rate) };
    BaseUnits::new(Fee { rate, ..fee }.most(gas))
}

/// Millionths of a USD, rounded up; `None` beyond 64 bits.
fn micro_usd(amount: BaseUnits, decimals: u8, price: Decimal) -> Option<i64> {
    let coins: Decimal = amount.to_decimal(u32::from(decimals)).parse().ok()?;
    let micros = coins.checked_mul(price)?.checked_mul(Decimal::from(1_000_000))?;
    i64::try_from(micros.ceil()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_rounded_up_to_millionths_of_a_usd() {
        let cost =
            |wei: u128, price: &str| micro_usd(BaseUnits::new(wei), 18, price.parse().unwrap());
        // 90,000 gas at 30 gwei, a coin at half a USD.
        assert_eq!(cost(90_000 * 30_000_000_000, "0.5"), Some(1_350));
        assert_eq!(cost(90_000 * 30_000_000_000 + 1, "0.5"), Some(1_351));
        assert_eq!(cost(0, "3000"), Some(0));
        assert_eq!(cost(1, "3000"), Some(1));
        assert_eq!(cost(u128::MAX, "3000"), None);
    }

    #[test]
    fn a_cost_is_that_of_the_next_block_and_of_the_bytes_on_a_rollup() {
        let fee = Fee { tip: 1, data: 100, rate_least: 3, ..Fee::of(5) };
        assert_eq!(expected(fee, 10), BaseUnits::new(130));
        assert_eq!(expected(Fee::of(5), 10), BaseUnits::new(50));
    }

    #[test]
    fn a_settlement_of_more_gas_costs_more() {
        assert_eq!(of_gas(1_350, GAS_OF_ONE), 1_350);
        assert_eq!(of_gas(1_350, 2 * GAS_OF_ONE), 2_700);
        assert_eq!(of_gas(1, GAS_OF_ONE + 1), 2);
        assert_eq!(of_gas(u64::MAX, u128::MAX), u64::MAX);
    }

    #[test]
    fn costs_are_looked_up_again_only_when_nobody_looked_lately() {
        let costs = Costs::default();
        assert_eq!(costs.kept(Network::Base), None);
        costs.keep(HashMap::from([(Network::Base, 7)]));
        assert_eq!(costs.kept(Network::Base), Some(Some(7)));
        assert_eq!(costs.kept(Network::Polygon), Some(None));
    }
}
