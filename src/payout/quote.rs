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
/// The most that a token transfer may use: twice that of a usual contract.
pub const GAS_PER_TOKEN_TRANSFER: u128 = 120_000;
/// A token transfer is quoted at this percentage of the measured gas.
const GAS_MARGIN_PERCENT: u128 = 125;

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
    pub price: UnitPrice,
    pub prices: Prices,
}

/// What a transfer is quoted at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitPrice {
    /// Wei per gas, or the smallest coin per virtual byte.
    pub rate: u128,
    /// Gas of one transfer, on EVM networks.
    pub gas: u128,
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

/// Gas at which one transfer of `currency` is quoted. Coins are quoted at the most, for nothing
/// else pays for their gas; a token's gas is fronted, up to the most, so that its measured gas will
/// do.
pub const fn quoted_gas(currency: &Currency, measured: Option<u128>) -> u128 {
    let most = gas_per_transfer(currency);
    match measured {
        Some(gas) if !currency.is_native() => {
            let gas = gas.saturating_mul(GAS_MARGIN_PERCENT).div_ceil(100);
            if gas < most { gas } else { most }
        }
        Some(_) | None => most,
    }
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
    price: UnitPrice,
) -> Result<BaseUnits, QuoteFault> {
    let family = PayoutFamily::of(currency.network).ok_or(QuoteFault::NoPayouts)?;
    let count = |n: usize| u128::try_from(n).map_err(|_| QuoteFault::TooLarge);
    let (payments, batches) = (count(rows)? + 1, count(batches)? + 1);
    let work = match family {
        PayoutFamily::Evm => evm_work(currency, price.gas, payments),
        // Every transaction but the first spends the change of the one before.
        PayoutFamily::Utxo => {
            Some(later_bytes(payments, batches) + INPUTS_EXPECTED * BYTES_PER_INPUT)
        }
    };
    let fee = work.and_then(|work| work.checked_mul(price.rate)).ok_or(QuoteFault::TooLarge)?;
    Ok(BaseUnits::new(fee))
}

/// Gas of this many transfers; for tokens also that of fronting the gas.
fn evm_work(currency: &Currency, gas: u128, payments: u128) -> Option<u128> {
    payments.checked_mul(gas)?.checked_add(fronting_work(currency, payments)?)
}

/// Gas of fronting the gas of this many token transfers.
fn fronting_work(currency: &Currency, payments: u128) -> Option<u128> {
    if currency.is_native() {
        return Some(0);
    }
    let portion = u128::try_from(gas::PORTION).unwrap_or(u128::MAX);
    payments.div_ceil(portion).checked_mul(GAS_PER_COIN_TRANSFER)
}

/// Gas at which each transfer of an order of `rows` rows was quoted.
///
/// It is derived from the fee, which the order's digest binds.
pub fn gas_in_quote(
    currency: &Currency,
    native_decimals: u8,
    rows: usize,
    quoted: &Quoted,
) -> Result<u128, QuoteFault> {
    let most = gas_per_transfer(currency);
    if currency.is_native() || PayoutFamily::of(currency.network) != Some(PayoutFamily::Evm) {
        return Ok(most);
    }
    let payments = u128::try_from(rows).map_err(|_| QuoteFault::TooLarge)? + 1;
    let (native_usd, native_scale) = positive(quoted.prices.native_usd)?;
    let (asset_usd, asset_scale) = positive(quoted.prices.asset_usd)?;
    let dividend = BigUint::from(quoted.network_fee.get())
        * asset_usd
        * ten_to(native_scale + u32::from(native_decimals));
    let divisor = native_usd
        * ten_to(asset_scale + u32::from(currency.decimals))
        * BigUint::from(quoted.fee_rate.max(1));
    let work = u128::try_from(dividend / divisor).unwrap_or(u128::MAX);
    let fronting = fronting_work(currency, payments).ok_or(QuoteFault::TooLarge)?;
    Ok((work.saturating_sub(fronting) / payments).min(most))
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
    price: UnitPrice,
    prices: Prices,
) -> Result<BaseUnits, QuoteFault> {
    let work = match PayoutFamily::of(currency.network).ok_or(QuoteFault::NoPayouts)? {
        PayoutFamily::Evm => evm_work(currency, price.gas, 1),
        PayoutFamily::Utxo => {
            Some(BYTES_PER_TRANSACTION + INPUTS_EXPECTED * BYTES_PER_INPUT + BYTES_PER_OUTPUT)
        }
    };
    let fee = work.and_then(|work| work.checked_mul(price.rate)).ok_or(QuoteFault::TooLarge)?;
    in_asset(BaseUnits::new(fee), currency, native_decimals, prices)
}

/// An amount of the network's coin in the order's own asset, rounded up.
fn in_asset(
    native: BaseUnits,
    currency: &Currency,
    native_decimals: u8,
    prices: Prices,
) -> Result<BaseUnits, QuoteFault> {
    if currency.is_native() {
        return Ok(native);
    }
    convert(native, native_decimals, currency.decimals, prices)
}

/// The part of a quoted network fee that the network did not take, and that the refund which
/// returns it cannot take either. `spent` is in the network's coin.
pub fn unused(
    currency: &Currency,
    native_decimals: u8,
    rows: usize,
    spent: BaseUnits,
    quoted: &Quoted,
) -> Result<BaseUnits, QuoteFault> {
    let gas = gas_in_quote(currency, native_decimals, rows, quoted)?;
    let price = UnitPrice { rate: quoted.fee_rate, gas };
    let refund = refund_fee(currency, native_decimals, price, quoted.prices)?;
    let spent = in_asset(spent, currency, native_decimals, quoted.prices)?;
    Ok(quoted.network_fee.remaining_after(spent).remaining_after(refund))
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
    let gas = gas_in_quote(currency, native_decimals, rows, quoted)?;
    let price = UnitPrice { rate: quoted.fee_rate, gas };
    let fee_of = |rows| {
        let native = native_fee(currency, (rows, quoted.batches), price)?;
        in_asset(native, currency, native_decimals, quoted.prices)
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
    let native = native_fee(currency, (amounts.len(), batches), tariff.price)?;
    let network_fee = in_asset(native, currency, native_decimals, tariff.prices)?;
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
#[path = "quote_tests.rs"]
mod tests;
