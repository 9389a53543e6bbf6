//! Exact costs of an order. Every fraction rounds up: the fees must cover those of the network.
//!
//! The price is fixed: the merchant pays the quote, and the gateway keeps or bears the difference
//! to the actual network fees.

use num_bigint::BigUint;
use rust_decimal::Decimal;

use super::{FeeMode, PayoutFamily, gas, recipients::least_amount};
use crate::{
    asset::{Family, catalogue::Currency},
    money::{BaseUnits, Bps},
};

/// Gas of a transfer of the network's own coin. The recipient may be a contract that does a little
/// work.
pub const GAS_PER_COIN_TRANSFER: u128 = 40_000;
/// Gas of a token transfer: twice that of a usual contract.
pub const GAS_PER_TOKEN_TRANSFER: u128 = 120_000;

/// A quote holds for an hour and more while fees move: the quoted rate is this percentage of the
/// current one.
const HEADROOM_PERCENT: u128 = 150;

/// Maximum sizes of the parts of a signed transaction, in virtual bytes: inputs of the legacy kind,
/// outputs of witness scripts.
const BYTES_PER_TRANSACTION: u128 = 13;
const BYTES_PER_INPUT: u128 = 148;
const BYTES_PER_OUTPUT: u128 = 43;
/// Deposits that the first transaction of an order may have to spend.
const INPUTS_EXPECTED: u128 = 3;

/// Prices of a quote: one whole coin in USD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prices {
    pub native_usd: Decimal,
    pub asset_usd: Decimal,
}

/// Inputs of a quote.
#[derive(Clone, Copy, Debug)]
pub struct Tariff {
    pub fee_mode: FeeMode,
    pub service_fee: Bps,
    /// Wei per gas, or the smallest coin per virtual byte.
    pub fee_rate: u128,
    pub prices: Prices,
}

/// A quote that was agreed on.
#[derive(Clone, Copy, Debug)]
pub struct Quoted {
    pub batches: usize,
    pub fee_rate: u128,
    pub prices: Prices,
    pub payout_total: BaseUnits,
    pub network_fee: BaseUnits,
    pub service_fee: BaseUnits,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quote {
    pub payout_total: BaseUnits,
    pub network_fee: BaseUnits,
    pub service_fee: BaseUnits,
    pub total_to_send: BaseUnits,
    /// Net amount of each recipient, in the order of the amounts.
    pub net: Vec<BaseUnits>,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QuoteFault {
    #[error("the sum does not fit the currency")]
    TooLarge,
    #[error("a price is not a positive number")]
    UnusablePrice,
    #[error("there is no payout on this network")]
    NoPayouts,
    /// The fees exceed the amounts of these recipients, by position.
    #[error("the fees leave too little for some recipients")]
    NetTooSmall(Vec<usize>),
}

/// Gas that one transfer of `currency` may use.
pub const fn gas_per_transfer(currency: &Currency) -> u128 {
    if currency.is_native() { GAS_PER_COIN_TRANSFER } else { GAS_PER_TOKEN_TRANSFER }
}

/// The most that the network may take for `rows` recipients in `batches` batches and one refund, in
/// its own coin.
pub fn native_fee(
    currency: &Currency,
    (rows, batches): (usize, usize),
    fee_rate: u128,
) -> Result<BaseUnits, QuoteFault> {
    let family = PayoutFamily::of(currency.network).ok_or(QuoteFault::NoPayouts)?;
    let count = |n: usize| u128::try_from(n).map_err(|_| QuoteFault::TooLarge);
    let (payments, batches) = (count(rows)? + 1, count(batches)? + 1);
    let work = match family {
        PayoutFamily::Evm => evm_work(currency, payments),
        // Every transaction but the first spends the change of the one before.
        PayoutFamily::Utxo => {
            Some(later_bytes(payments, batches) + INPUTS_EXPECTED * BYTES_PER_INPUT)
        }
    };
    let fee = work.and_then(|work| work.checked_mul(fee_rate)).ok_or(QuoteFault::TooLarge)?;
    Ok(BaseUnits::new(fee))
}

/// Gas of this many transfers; for tokens also that of fronting the gas.
fn evm_work(currency: &Currency, payments: u128) -> Option<u128> {
    let transfers = payments.checked_mul(gas_per_transfer(currency))?;
    if currency.is_native() {
        return Some(transfers);
    }
    let portion = u128::try_from(gas::PORTION).unwrap_or(u128::MAX);
    transfers.checked_add(payments.div_ceil(portion).checked_mul(GAS_PER_COIN_TRANSFER)?)
}

/// Size of transactions that pay `outputs` together, each out of the change of the one before.
const fn later_bytes(outputs: u128, transactions: u128) -> u128 {
    transactions * (BYTES_PER_TRANSACTION + BYTES_PER_INPUT + BYTES_PER_OUTPUT)
        + outputs * BYTES_PER_OUTPUT
}

/// The fees that a bitcoin-like order keeps while `rows` of its recipients in `batches` batches are
/// not paid yet: for those rows and for the refund.
pub fn utxo_reserve((rows, batches): (usize, usize), fee_rate: u128) -> BaseUnits {
    let wide = |n: usize| u128::try_from(n).unwrap_or(u128::MAX);
    let transactions = wide(batches).saturating_add(1);
    let bytes = later_bytes(wide(rows).saturating_add(1), transactions);
    BaseUnits::new(bytes.saturating_mul(fee_rate))
}

/// The least that nodes ask for paying so many rows later, each batch out of the change of the one
/// before it.
pub fn utxo_rows((rows, batches): (usize, usize), fee_rate: u128) -> BaseUnits {
    let wide = |n: usize| u128::try_from(n).unwrap_or(u128::MAX);
    let bytes = later_bytes(wide(rows), wide(batches));
    BaseUnits::new(bytes.saturating_mul(fee_rate))
}

/// Maximum network fee for refunding the unused rest of an order, in the order's own asset.
pub fn refund_fee(
    currency: &Currency,
    native_decimals: u8,
    fee_rate: u128,
    prices: Prices,
) -> Result<BaseUnits, QuoteFault> {
    let work = match PayoutFamily::of(currency.network).ok_or(QuoteFault::NoPayouts)? {
        PayoutFamily::Evm => evm_work(currency, 1),
        PayoutFamily::Utxo => {
            Some(BYTES_PER_TRANSACTION + INPUTS_EXPECTED * BYTES_PER_INPUT + BYTES_PER_OUTPUT)
        }
    };
    let fee = work.and_then(|work| work.checked_mul(fee_rate)).ok_or(QuoteFault::TooLarge)?;
    let fee = BaseUnits::new(fee);
    if currency.is_native() {
        Ok(fee)
    } else {
        convert(fee, native_decimals, currency.decimals, prices)
    }
}

/// Fees of a quote that nothing was done for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unearned {
    pub network: BaseUnits,
    pub service: BaseUnits,
}

/// The fees of `unsent` of an order's rows, worth `amount` together, which never went out: all that
/// the network would have taken for them, and our own share of their amounts, rounded down.
pub fn unearned(
    currency: &Currency,
    native_decimals: u8,
    (rows, unsent): (usize, usize),
    amount: BaseUnits,
    quoted: &Quoted,
) -> Result<Unearned, QuoteFault> {
    if unsent == 0 {
        return Ok(Unearned::default());
    }
    let fee_of = |rows| {
        let native = native_fee(currency, (rows, quoted.batches), quoted.fee_rate)?;
        if currency.is_native() {
            return Ok(native);
        }
        convert(native, native_decimals, currency.decimals, quoted.prices)
    };
    let network = fee_of(rows)?.remaining_after(fee_of(rows.saturating_sub(unsent))?);
    let total = BigUint::from(quoted.payout_total.get().max(1));
    let service = BigUint::from(quoted.service_fee.get()) * amount.get() / total;
    let service = units(&service)?.min(quoted.service_fee);
    Ok(Unearned { network: network.min(quoted.network_fee), service })
}

/// The rate to quote while the network asks for `asked`, which is also the maximum rate for the
/// order.
pub fn quoted_rate(family: Family, asked: u128) -> u128 {
    let (_, most) = fee_rate_bounds(family);
    with_headroom(asked).clamp(1, most)
}

/// The quoted data fee while the network asks for `asked`.
pub const fn quoted_data(asked: u128) -> u128 {
    with_headroom(asked)
}

/// Rounded up: half of one coin per byte is all the headroom that a calm bitcoin network leaves.
const fn with_headroom(asked: u128) -> u128 {
    asked.saturating_mul(HEADROOM_PERCENT).div_ceil(100)
}

/// The quote for `amounts` of `currency`, paid in `batches` batches; `native_decimals` are those of
/// the network's coin.
pub fn quote(
    currency: &Currency,
    native_decimals: u8,
    (amounts, batches): (&[BaseUnits], usize),
    tariff: &Tariff,
) -> Result<Quote, QuoteFault> {
    let native = native_fee(currency, (amounts.len(), batches), tariff.fee_rate)?;
    let network_fee = if currency.is_native() {
        native
    } else {
        convert(native, native_decimals, currency.decimals, tariff.prices)?
    };
    let payout_total = sum(amounts)?;
    let service_fee = share_of(payout_total, tariff.service_fee)?;
    let fees = network_fee.checked_add(service_fee).ok_or(QuoteFault::TooLarge)?;
    let (net, total_to_send) = match tariff.fee_mode {
        FeeMode::Sender => {
            let total = payout_total.checked_add(fees).ok_or(QuoteFault::TooLarge)?;
            (amounts.to_vec(), total)
        }
        FeeMode::Recipient => (after_fees(amounts, fees, least_amount(currency))?, payout_total),
    };
    Ok(Quote { payout_total, network_fee, service_fee, total_to_send, net })
}

/// Converts to the same value in another asset, rounded up.
fn convert(
    native: BaseUnits,
    native_decimals: u8,
    decimals: u8,
    prices: Prices,
) -> Result<BaseUnits, QuoteFault> {
    let (native_usd, native_scale) = positive(prices.native_usd)?;
    let (asset_usd, asset_scale) = positive(prices.asset_usd)?;
    let dividend =
        BigUint::from(native.get()) * native_usd * ten_to(asset_scale + u32::from(decimals));
    let divisor = asset_usd * ten_to(native_scale + u32::from(native_decimals));
    units(&ceil_div(&dividend, &divisor))
}

fn share_of(amount: BaseUnits, share: Bps) -> Result<BaseUnits, QuoteFault> {
    let product = BigUint::from(amount.get()) * share.get();
    units(&ceil_div(&product, &BigUint::from(10_000_u32)))
}

pub(super) fn sum(amounts: &[BaseUnits]) -> Result<BaseUnits, QuoteFault> {
    let add = |total: BaseUnits, amount: &BaseUnits| total.checked_add(*amount);
    amounts.iter().try_fold(BaseUnits::ZERO, add).ok_or(QuoteFault::TooLarge)
}

/// Deducts `fees` evenly from all amounts; the remainder of the division is deducted from the first
/// ones.
fn after_fees(
    amounts: &[BaseUnits],
    fees: BaseUnits,
    least: BaseUnits,
) -> Result<Vec<BaseUnits>, QuoteFault> {
    let count = u128::try_from(amounts.len()).map_err(|_| QuoteFault::TooLarge)?;
    let (each, rest) = match count {
        0 => return Ok(vec![]),
        _ => (fees.get() / count, fees.get() % count),
    };
    let mut too_small = vec![];
    let mut net = Vec::with_capacity(amounts.len());
    for (index, amount) in (0_u128..).zip(amounts) {
        let share = BaseUnits::new(each + u128::from(index < rest));
        match amount.checked_sub(share).filter(|left| *left > least) {
            Some(left) => net.push(left),
            None => too_small.push(net.len() + too_small.len()),
        }
    }
    if too_small.is_empty() { Ok(net) } else { Err(QuoteFault::NetTooSmall(too_small)) }
}

fn positive(price: Decimal) -> Result<(BigUint, u32), QuoteFault> {
    let mantissa = u128::try_from(price.mantissa()).map_err(|_| QuoteFault::UnusablePrice)?;
    if mantissa == 0 {
        return Err(QuoteFault::UnusablePrice);
    }
    Ok((BigUint::from(mantissa), price.scale()))
}

fn ten_to(exponent: u32) -> BigUint {
    BigUint::from(10_u32).pow(exponent)
}

fn ceil_div(dividend: &BigUint, divisor: &BigUint) -> BigUint {
    (dividend + divisor - 1_u32) / divisor
}

fn units(value: &BigUint) -> Result<BaseUnits, QuoteFault> {
    u128::try_from(value).map(BaseUnits::new).map_err(|_| QuoteFault::TooLarge)
}

/// Default rate of one unit of work without a node's estimate, and maximum rate of a quote: wei per
/// gas, or the smallest coin per virtual byte.
pub const fn fee_rate_bounds(family: Family) -> (u128, u128) {
    match family {
        Family::Bitcoin => (20, 300),
        Family::Litecoin => (10, 200),
        Family::Dogecoin => (1_000, 20_000),
        Family::Evm
        | Family::Tron
        | Family::Solana
        | Family::Near
        | Family::Ton
        | Family::Thorchain => (30_000_000_000, 500_000_000_000),
    }
}

/// Default minimum relay fee rate of a family, in the smallest coin per virtual byte.
pub const fn fee_rate_floor(family: Family) -> u128 {
    match family {
        // Its nodes ask for 0.01 DOGE per kilobyte.
        Family::Dogecoin => 1_000,
        Family::Bitcoin
        | Family::Litecoin
        | Family::Evm
        | Family::Tron
        | Family::Solana
        | Family::Near
        | Family::Ton
        | Family::Thorchain => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::asset::catalogue::Catalogue;

    fn currency(token_id: &str) -> &'static Currency {
        Catalogue::get().by_token_id(token_id).unwrap()
    }

    fn tariff(fee_mode: FeeMode, bps: u32, fee_rate: u128) -> Tariff {
        let prices = Prices { native_usd: Decimal::new(5, 1), asset_usd: Decimal::new(9999, 4) };
        Tariff { fee_mode, service_fee: Bps::new(bps), fee_rate, prices }
    }

    fn amounts(units: &[u128]) -> Vec<BaseUnits> {
        units.iter().copied().map(BaseUnits::new).collect()
    }

    #[test]
    fn a_quote_adds_up_to_the_unit() {
        let ltc = currency("ltc@litecoin");
        let both = amounts(&[125_000_000, 5_000_000]);
        let quoted = quote(ltc, 8, (&both, 1), &tariff(FeeMode::Sender, 50, 10)).unwrap();
        assert_eq!(quoted.payout_total.get(), 130_000_000);
        assert_eq!(quoted.service_fee.get(), 650_000);
        // Two transactions of 204 bytes, three more inputs, three outputs.
        assert_eq!(quoted.network_fee.get(), (2 * 204 + 3 * 148 + 3 * 43) * 10);
        assert_eq!(quoted.total_to_send.get(), 130_650_000 + quoted.network_fee.get());
        assert_eq!(quoted.net, both);
    }

    #[test]
    fn a_token_s_gas_is_charged_in_the_token_and_rounded_up() {
        let usdt = currency("usdtmatic@polygon");
        let quoted = quote(
            usdt,
            18,
            (&amounts(&[1_000_000]), 1),
            &tariff(FeeMode::Sender, 50, 30_000_000_000),
        )
        .unwrap();
        // 280,000 gas at 30 gwei are 0.0084 coins, that is 0.0042 USD, that is 0.00420042… tokens.
        assert_eq!(quoted.network_fee.get(), 4_201);
        assert_eq!(quoted.service_fee.get(), 5_000);
        assert_eq!(quoted.total_to_send.get(), 1_009_201);
        let prices = tariff(FeeMode::Sender, 0, 1).prices;
        assert_eq!(refund_fee(usdt, 18, 30_000_000_000, prices).unwrap().get(), 2_401);
    }

    #[test]
    fn rows_never_sent_are_charged_no_fee() {
        let pol = currency("pol@polygon");
        let each = [10_u128.pow(18), 3 * 10_u128.pow(18)];
        let tariff = tariff(FeeMode::Sender, 50, 30_000_000_000);
        let of = |of: &[u128]| quote(pol, 18, (&amounts(of), 1), &tariff).unwrap();
        let (both, first) = (of(&each), of(&each[..1]));
        let quoted = Quoted {
            batches: 1,
            fee_rate: tariff.fee_rate,
            prices: tariff.prices,
            payout_total: both.payout_total,
            network_fee: both.network_fee,
            service_fee: both.service_fee,
        };
        let unsent = |unsent, amount| {
            unearned(pol, 18, (2, unsent), BaseUnits::new(amount), &quoted).unwrap()
        };
        assert_eq!(unsent(0, 0), Unearned::default());
        let second = unsent(1, each[1]);
        assert_eq!(second.network, both.network_fee.remaining_after(first.network_fee));
        assert_eq!(second.service, both.service_fee.remaining_after(first.service_fee));
        // What was quoted for the refund is not returned.
        let all = unsent(2, each[0] + each[1]);
        assert_eq!(all.service, both.service_fee);
        let refund = refund_fee(pol, 18, tariff.fee_rate, tariff.prices).unwrap();
        assert_eq!(all.network, both.network_fee.remaining_after(refund));
    }

    #[test]
    fn recipients_who_bear_the_fees_bear_them_evenly() {
        let eth = currency("eth@ethereum");
        let quoted = quote(
            eth,
            18,
            (&amounts(&[10_u128.pow(18); 3]), 1),
            &tariff(FeeMode::Recipient, 0, 10_u128.pow(9) + 1),
        )
        .unwrap();
        let fees = quoted.network_fee.get();
        assert_eq!(quoted.total_to_send, quoted.payout_total);
        assert_eq!(quoted.net.iter().map(|n| n.get()).sum::<u128>() + fees, 3 * 10_u128.pow(18));
        let (largest, smallest) =
            (quoted.net.iter().max().unwrap(), quoted.net.iter().min().unwrap());
        assert!(largest.get() - smallest.get() <= 1);
        let fault =
            quote(eth, 18, (&amounts(&[10_u128.pow(18), 5]), 1), &tariff(FeeMode::Recipient, 0, 1))
                .unwrap_err();
        assert_eq!(fault, QuoteFault::NetTooSmall(vec![1]));
    }

    #[test]
    fn nothing_overflows_and_no_price_is_zero() {
        let eth = currency("eth@ethereum");
        let most = tariff(FeeMode::Sender, 10_000, u128::MAX);
        assert_eq!(quote(eth, 18, (&amounts(&[1]), 1), &most), Err(QuoteFault::TooLarge));
        let huge = quote(eth, 18, (&amounts(&[u128::MAX]), 1), &tariff(FeeMode::Sender, 0, 1));
        assert_eq!(huge, Err(QuoteFault::TooLarge));
        let mut free = tariff(FeeMode::Sender, 0, 1);
        free.prices.asset_usd = Decimal::ZERO;
        let usdt = currency("usdtmatic@polygon");
        assert_eq!(quote(usdt, 18, (&amounts(&[1]), 1), &free), Err(QuoteFault::UnusablePrice));
        assert_eq!(native_fee(currency("sol@solana"), (1, 1), 1), Err(QuoteFault::NoPayouts));
    }

    #[test]
    fn a_quote_covers_rising_fees_up_to_a_limit() {
        assert_eq!(quoted_rate(Family::Evm, 30_000_000_000), 45_000_000_000);
        assert_eq!(quoted_rate(Family::Evm, u128::MAX), 500_000_000_000);
        assert_eq!(quoted_rate(Family::Evm, 0), 1);
        assert_eq!(quoted_rate(Family::Bitcoin, 1), 2);
        assert_eq!(quoted_rate(Family::Litecoin, 3), 5);
        assert_eq!(quoted_data(1), 2);
    }

    proptest! {
        /// The amount sent in pays for all amounts sent out and for all fees, in either mode and to
        /// the unit.
        #[test]
        fn the_total_of_a_quote_equals_its_payments_plus_its_fees(
            units in proptest::collection::vec(1_000_000_000_000_000_u128..10_u128.pow(24), 1..60),
            bps in 0_u32..1_000, rate in 1_u128..1_000_000_000, recipient: bool,
        ) {
            let mode = if recipient { FeeMode::Recipient } else { FeeMode::Sender };
            let amounts = amounts(&units);
            if let Ok(quoted) = quote(currency("eth@ethereum"), 18, (&amounts, 1), &tariff(mode, bps, rate)) {
                let out = sum(&quoted.net).unwrap().get();
                let fees = quoted.network_fee.get() + quoted.service_fee.get();
                prop_assert_eq!(quoted.total_to_send.get(), out + fees);
                prop_assert!(quoted.service_fee.get() * 10_000 >= quoted.payout_total.get() * u128::from(bps));
                prop_assert_eq!(quoted.net.len(), units.len());
            }
        }
    }
}
