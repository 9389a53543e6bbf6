//! Quotes add up to the unit, and return what nothing was done for.

use proptest::prelude::*;

use super::*;
use crate::asset::catalogue::Catalogue;

fn currency(token_id: &str) -> &'static Currency {
    Catalogue::get().by_token_id(token_id).unwrap()
}

const PRICES: Prices = Prices {
    native_usd: Decimal::from_parts(5, 0, 0, false, 1),
    asset_usd: Decimal::from_parts(9999, 0, 0, false, 4),
};

/// Of coins; [`of_tokens`] for tokens at their most.
fn tariff(fee_mode: FeeMode, bps: u32, rate: u128) -> Tariff {
    let price = UnitPrice { rate, gas: GAS_PER_COIN_TRANSFER };
    Tariff { fee_mode, service_fee: Bps::new(bps), price, prices: PRICES }
}

fn of_tokens(gas: u128, rate: u128) -> Tariff {
    Tariff { price: UnitPrice { rate, gas }, ..tariff(FeeMode::Sender, 50, rate) }
}

fn agreed(quote: &Quote, tariff: &Tariff) -> Quoted {
    Quoted {
        batches: 1,
        fee_rate: tariff.price.rate,
        prices: tariff.prices,
        payout_total: quote.payout_total,
        network_fee: quote.network_fee,
        service_fee: quote.service_fee,
    }
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
        &of_tokens(GAS_PER_TOKEN_TRANSFER, 30_000_000_000),
    )
    .unwrap();
    // 280,000 gas at 30 gwei are 0.0084 coins, that is 0.0042 USD, that is 0.00420042… tokens.
    assert_eq!(quoted.network_fee.get(), 4_201);
    assert_eq!(quoted.service_fee.get(), 5_000);
    assert_eq!(quoted.total_to_send.get(), 1_009_201);
    let price = UnitPrice { rate: 30_000_000_000, gas: GAS_PER_TOKEN_TRANSFER };
    assert_eq!(refund_fee(usdt, 18, price, PRICES).unwrap().get(), 2_401);
}

#[test]
fn a_token_is_quoted_at_its_measured_gas_and_coins_at_the_most() {
    let (usdt, pol) = (currency("usdtmatic@polygon"), currency("pol@polygon"));
    assert_eq!(quoted_gas(usdt, None), GAS_PER_TOKEN_TRANSFER);
    assert_eq!(quoted_gas(usdt, Some(50_001)), 62_502);
    assert_eq!(quoted_gas(usdt, Some(100_000)), GAS_PER_TOKEN_TRANSFER);
    assert_eq!(quoted_gas(pol, Some(21_000)), GAS_PER_COIN_TRANSFER);
}

#[test]
fn unused_network_fees_are_returned_less_the_cost_of_the_refund() {
    let (usdt, rate) = (currency("usdtmatic@polygon"), 30_000_000_000);
    let tariff = of_tokens(62_500, rate);
    let quoted = quote(usdt, 18, (&amounts(&[1_000_000; 200]), 1), &tariff).unwrap();
    let quoted = agreed(&quoted, &tariff);
    assert_eq!(gas_in_quote(usdt, 18, 200, &quoted).unwrap(), 62_500);
    // A third of the rate, for 200 transfers and 7 portions.
    let spent = (200 * 50_000 + 7 * 21_000) * rate / 3;
    let all = unused(usdt, 18, 200, BaseUnits::new(spent), &quoted).unwrap();
    let kept = quoted.network_fee.remaining_after(all);
    let as_token = |wei: u128| wei / 2 * 10_000 / 9_999 / 10_u128.pow(12);
    let expected = as_token(spent) + as_token((62_500 + GAS_PER_COIN_TRANSFER) * rate);
    assert!((expected..expected + 4).contains(&kept.get()), "{kept:?} {expected}");
    let more = BaseUnits::new(10_u128.pow(20));
    assert!(unused(usdt, 18, 200, more, &quoted).unwrap().is_zero());
}

#[test]
fn rows_never_sent_are_charged_no_fee() {
    let pol = currency("pol@polygon");
    let each = [10_u128.pow(18), 3 * 10_u128.pow(18)];
    let tariff = tariff(FeeMode::Sender, 50, 30_000_000_000);
    let of = |of: &[u128]| quote(pol, 18, (&amounts(of), 1), &tariff).unwrap();
    let (both, first) = (of(&each), of(&each[..1]));
    let quoted = agreed(&both, &tariff);
    let unsent =
        |unsent, amount| unearned(pol, 18, (2, unsent), BaseUnits::new(amount), &quoted).unwrap();
    assert_eq!(unsent(0, 0), Unearned::default());
    let second = unsent(1, each[1]);
    assert_eq!(second.network, both.network_fee.remaining_after(first.network_fee));
    assert_eq!(second.service, both.service_fee.remaining_after(first.service_fee));
    // What was quoted for the refund is not returned.
    let all = unsent(2, each[0] + each[1]);
    assert_eq!(all.service, both.service_fee);
    let refund = refund_fee(pol, 18, tariff.price, tariff.prices).unwrap();
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
    let (largest, smallest) = (quoted.net.iter().max().unwrap(), quoted.net.iter().min().unwrap());
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
    let price = UnitPrice { rate: 1, gas: 1 };
    assert_eq!(native_fee(currency("sol@solana"), (1, 1), price), Err(QuoteFault::NoPayouts));
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
    /// The fee is all that an order keeps of it; rounding may move it by less than one per cent
    /// where the fee has four digits.
    #[test]
    fn the_quoted_gas_is_read_back_from_the_fee(
        gas in 21_000_u128..GAS_PER_TOKEN_TRANSFER, rows in 1_usize..2_000, rate in 10_u128.pow(9)..10_u128.pow(12),
    ) {
        let (usdt, tariff) = (currency("usdtmatic@polygon"), of_tokens(gas, rate));
        let quoted = quote(usdt, 18, (&amounts(&vec![1_000_000; rows]), 1), &tariff).unwrap();
        let found = gas_in_quote(usdt, 18, rows, &agreed(&quoted, &tariff)).unwrap();
        let slack = if quoted.network_fee.get() < 1_000 { gas / 20 } else { gas / 100 };
        prop_assert!(found + 1 >= gas && found <= gas + slack.max(1), "{} {}", found, gas);
    }

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
