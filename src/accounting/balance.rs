//! Running balances of accounts.

use std::collections::HashMap;

use num_bigint::BigInt;

use crate::money::digits_in_coins;

/// The balances of the accounts of one set of entries. Accounts at zero take no memory.
#[derive(Debug, Default)]
pub struct Balances(HashMap<(String, String), BigInt>);

/// An amount of base units that is no whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an amount of the ledger is no whole number")]
pub struct NoAmount;

impl Balances {
    /// Adds signed base units to an account and returns the account's new balance.
    pub fn add(&mut self, account: &str, asset: &str, units: &str) -> Result<String, NoAmount> {
        let units: BigInt = units.parse().map_err(|_| NoAmount)?;
        let key = (account.to_owned(), asset.to_owned());
        let sum = self.0.remove(&key).unwrap_or_default() + units;
        let after = sum.to_string();
        if sum != BigInt::ZERO {
            self.0.insert(key, sum);
        }
        Ok(after)
    }

    /// The balances that are not zero, by account and asset.
    pub fn of_accounts(&self) -> impl Iterator<Item = (&str, &str, String)> {
        self.0
            .iter()
            .map(|((account, asset), sum)| (account.as_str(), asset.as_str(), sum.to_string()))
    }

    /// The sum of an asset over all accounts; zero, if the entries were complete.
    pub fn total(&self, asset: &str) -> String {
        let of_asset = self.0.iter().filter(|((_, other), _)| other == asset);
        of_asset.map(|(_, sum)| sum).sum::<BigInt>().to_string()
    }
}

/// Signed base units in whole coins; `None` if the text is no whole number.
pub fn in_coins(units: &str, decimals: u8) -> Option<String> {
    let (sign, digits) = units.strip_prefix('-').map_or(("", units), |digits| ("-", digits));
    let coins = digits_in_coins(digits, u32::from(decimals))?;
    Some(format!("{sign}{coins}"))
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
                for (account, units) in [(debit, format!("-{amount}")), (credit, amount.to_string())] {
                    let sum = expected.entry(account).or_default();
                    *sum += units.parse::<BigInt>().unwrap();
                    prop_assert_eq!(balances.add(&account.to_string(), "btc", &units).unwrap(), sum.to_string());
                }
            }
            prop_assert_eq!(balances.total("btc"), "0");
            prop_assert!(balances.0.values().all(|sum| *sum != BigInt::ZERO));
        }
    }
}
