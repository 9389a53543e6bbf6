//! Running balances of accounts.

use std::collections::HashMap;

use num_bigint::BigInt;

use crate::money::digits_in_coins;

/// The balances of the accounts of one set of entries, by account and asset. Those at zero take no
/// memory: an export meets every payout order that its merchant ever had.
#[derive(Debug, Default)]
pub struct Balances(HashMap<String, HashMap<String, BigInt>>);

/// An amount of base units that is no whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an amount of the ledger is no whole number")]
pub struct NoAmount;

impl Balances {
    /// Adds signed base units to an account and returns the account's new balance.
    pub fn add(&mut self, account: &str, asset: &str, units: &BigInt) -> BigInt {
        let sum = self.0.get_mut(account).and_then(|assets| assets.get_mut(asset));
        let Some(sum) = sum else {
            self.open(account, asset, units);
            return units.clone();
        };
        *sum += units;
        let after = sum.clone();
        if after == BigInt::ZERO {
            self.close(account, asset);
        }
        after
    }

    fn open(&mut self, account: &str, asset: &str, units: &BigInt) {
        if *units != BigInt::ZERO {
            let assets = self.0.entry(account.to_owned()).or_default();
            assets.insert(asset.to_owned(), units.clone());
        }
    }

    fn close(&mut self, account: &str, asset: &str) {
        let Some(assets) = self.0.get_mut(account) else { return };
        assets.remove(asset);
        if assets.is_empty() {
            self.0.remove(account);
        }
    }

    /// The balances that are not zero, by account and asset.
    pub fn of_accounts(&self) -> impl Iterator<Item = (&str, &str, String)> {
        self.0.iter().flat_map(|(account, assets)| {
            assets.iter().map(|(asset, sum)| (account.as_str(), asset.as_str(), sum.to_string()))
        })
    }

    /// The sum of an asset over all accounts; zero, if the entries were complete.
    pub fn total(&self, asset: &str) -> String {
        self.0.values().filter_map(|assets| assets.get(asset)).sum::<BigInt>().to_string()
    }
}

/// Base units as the ledger's rows have them.
pub fn units(digits: &str) -> Result<BigInt, NoAmount> {
    digits.parse().map_err(|_| NoAmount)
}

/// Signed base units in whole coins; `None` if the text is no whole number.
pub fn in_coins(units: &str, decimals: u8) -> Option<String> {
    let (sign, digits) = units.strip_prefix('-').map_or(("", units), |digits| ("-", digits));
    let coins = digits_in_coins(digits, u32::from(decimals))?;
    Some(if sign.is_empty() { coins } else { format!("{sign}{coins}") })
}

/// A text with the other sign.
pub fn negated(amount: &str) -> String {
    match amount.strip_prefix('-') {
        Some(positive) => positive.to_owned(),
        None if amount.bytes().all(|byte| matches!(byte, b'0' | b'.')) => amount.to_owned(),
        None => format!("-{amount}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_keep_their_digits_and_their_sign() {
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
            assert_eq!(in_coins(units, decimals).as_deref(), Some(coins));
        }
        assert_eq!((in_coins("1.5", 6), in_coins("", 6), in_coins("--1", 6)), (None, None, None));
        for (amount, other) in [("1.5", "-1.5"), ("-1.5", "1.5"), ("0", "0"), ("0.00", "0.00")] {
            assert_eq!(negated(amount), other);
        }
    }

    proptest! {
        /// Each entry takes from one account what it gives to another.
        #[test]
        fn balances_of_complete_entries_sum_to_zero(
            entries in prop::collection::vec((0_u8..5, 0_u8..5, any::<u128>()), 0..60),
        ) {
            let mut balances = Balances::default();
            let mut expected = HashMap::<u8, BigInt>::new();
            for (debit, credit, amount) in entries {
                let amount = BigInt::from(amount);
                for (account, units) in [(debit, -&amount), (credit, amount)] {
                    let sum = expected.entry(account).or_default();
                    *sum += &units;
                    prop_assert_eq!(balances.add(&account.to_string(), "btc", &units), sum.clone());
                }
            }
            prop_assert_eq!(balances.total("btc"), "0");
            let kept = balances.of_accounts().count();
            prop_assert_eq!(kept, expected.values().filter(|sum| **sum != BigInt::ZERO).count());
            prop_assert!(balances.0.values().all(|assets| !assets.is_empty()));
        }
    }
}
