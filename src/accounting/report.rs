//! The totals of a month: for each currency its balances and its movements by kind.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::{Value, json};

use super::balance::in_coins;
use crate::ledger::EntryKind;

/// The totals of one merchant.
#[derive(Debug, Default)]
pub struct Totals(BTreeMap<&'static str, OfCurrency>);

#[derive(Debug, Default)]
struct OfCurrency {
    decimals: u8,
    /// By the kind of account, at the beginning and at the end.
    balances: BTreeMap<&'static str, (BigInt, BigInt)>,
    movements: BTreeMap<&'static str, Moved>,
}

#[derive(Debug, Default)]
struct Moved {
    count: u64,
    units: BigInt,
    /// Values by fiat currency. Movements that have none are in `count` alone.
    fiat: BTreeMap<String, Decimal>,
}

/// A movement on an account of the merchant.
#[derive(Debug, Clone, Copy)]
pub struct Movement<'a> {
    pub account: &'a str,
    pub currency: &'static str,
    pub decimals: u8,
    /// Signed base units.
    pub units: &'a BigInt,
    /// Signed value and the code of its currency.
    pub fiat: Option<(&'a str, &'a str)>,
}

/// A figure that cannot be added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a figure of the ledger cannot be added up")]
pub struct Unsummable;

impl Totals {
    /// Adds what an account held before the month. Accounts of others are left out.
    pub fn open(&mut self, opening: &Movement<'_>) {
        let Some(class) = class_of(opening.account) else { return };
        let currency = self.currency(opening);
        let (at_first, at_last) = currency.balances.entry(class).or_default();
        *at_first += opening.units;
        *at_last += opening.units;
    }

    pub fn note(&mut self, kind: EntryKind, movement: &Movement<'_>) -> Result<(), Unsummable> {
        let Some(class) = class_of(movement.account) else { return Ok(()) };
        let currency = self.currency(movement);
        let (_, at_last) = currency.balances.entry(class).or_default();
        *at_last += movement.units;
        let moved = currency.movements.entry(kind.as_str()).or_default();
        moved.count += 1;
        moved.units += movement.units;
        if let Some((value, code)) = movement.fiat {
            let value: Decimal = value.parse().map_err(|_| Unsummable)?;
            let sum = moved.fiat.entry(code.to_owned()).or_default();
            *sum = sum.checked_add(value).ok_or(Unsummable)?;
        }
        Ok(())
    }

    fn currency(&mut self, movement: &Movement<'_>) -> &mut OfCurrency {
        let of_currency = self.0.entry(movement.currency).or_default();
        of_currency.decimals = movement.decimals;
        of_currency
    }

    /// The totals in the order of their names, the same bytes for the same month.
    pub fn to_json(&self) -> Value {
        self.0.iter().map(|(code, of_currency)| of_currency.to_json(code)).collect()
    }
}

impl OfCurrency {
    fn to_json(&self, code: &str) -> Value {
        let coins = |units: &BigInt| in_coins(&units.to_string(), self.decimals);
        let accounts: Vec<_> = self
            .balances
            .iter()
            .map(|(account, (opening, closing))| {
                json!({ "account": account, "opening": coins(opening), "closing": coins(closing) })
            })
            .collect();
        let movements: Vec<_> = self
            .movements
            .iter()
            .map(|(kind, moved)| {
                let values = moved.fiat.iter().map(|(currency, value)| {
                    json!({ "currency": currency, "value": value.normalize().to_string() })
                });
                json!({
                    "kind": kind, "count": moved.count, "amount": coins(&moved.units),
                    "fiat": values.collect::<Vec<_>>(),
                })
            })
            .collect();
        json!({ "currency": code, "accounts": accounts, "movements": movements })
    }
}

/// The totals of one currency, as [`Totals::to_json`] wrote them. Amounts are in whole coins.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CurrencyTotals {
    pub currency: String,
    pub accounts: Vec<AccountTotal>,
    pub movements: Vec<MovementTotal>,
}

/// The balances of one kind of account at the beginning and at the end of the month.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AccountTotal {
    pub account: String,
    pub opening: String,
    pub closing: String,
}

/// The sum of the movements of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct MovementTotal {
    pub kind: String,
    pub count: u64,
    pub amount: String,
    pub fiat: Vec<FiatTotal>,
}

/// The value of movements, each at its own time, in one fiat currency.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FiatTotal {
    pub currency: String,
    pub value: String,
}

/// The kind of an account that belongs to one merchant.
pub fn class_of(account: &str) -> Option<&'static str> {
    let kinds = [
        ("merchant:", "available"),
        ("late:", "late"),
        ("foreign:", "foreign"),
        ("payout:", "in_payouts"),
    ];
    kinds.into_iter().find_map(|(begin, class)| account.starts_with(begin).then_some(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn movement<'a>(
        account: &'a str,
        units: &'a BigInt,
        fiat: Option<(&'a str, &'a str)>,
    ) -> Movement<'a> {
        Movement { account, currency: "usdtmatic", decimals: 6, units, fiat }
    }

    #[test]
    fn totals_have_balances_movements_and_values_by_currency() {
        let mut totals = Totals::default();
        totals.open(&movement("merchant:1", &1_000_000.into(), None));
        totals.open(&movement("custody:polygon", &(-1_000_000).into(), None));
        for (kind, account, units, fiat) in [
            (EntryKind::Deposit, "merchant:1", 2_500_000, Some(("2.25", "eur"))),
            (EntryKind::Deposit, "merchant:1", 500_000, Some(("0.5", "usd"))),
            (EntryKind::Deposit, "custody:polygon", -500_000, Some(("-0.5", "usd"))),
            (EntryKind::Deposit, "merchant:1", 1, None),
            (EntryKind::Reversal, "merchant:1", -500_000, Some(("-0.5", "usd"))),
            (EntryKind::PayoutDeposit, "payout:7", 3_000_000, Some(("3", "usd"))),
        ] {
            totals.note(kind, &movement(account, &units.into(), fiat)).unwrap();
        }
        let expected = json!([{
            "currency": "usdtmatic",
            "accounts": [
                { "account": "available", "opening": "1", "closing": "3.500001" },
                { "account": "in_payouts", "opening": "0", "closing": "3" },
            ],
            "movements": [
                { "kind": "deposit", "count": 3, "amount": "3.000001",
                  "fiat": [{ "currency": "eur", "value": "2.25" }, { "currency": "usd", "value": "0.5" }] },
                { "kind": "payout_deposit", "count": 1, "amount": "3", "fiat": [{ "currency": "usd", "value": "3" }] },
                { "kind": "reversal", "count": 1, "amount": "-0.5", "fiat": [{ "currency": "usd", "value": "-0.5" }] },
            ],
        }]);
        assert_eq!(totals.to_json(), expected);
        let read: Vec<CurrencyTotals> = serde_json::from_value(totals.to_json()).unwrap();
        assert_eq!((read[0].currency.as_str(), read[0].movements.len()), ("usdtmatic", 3));
        assert_eq!(read[0].accounts[0].closing, "3.500001");
        assert_eq!(read[0].movements[0].fiat[0].value, "2.25");
        assert_eq!(Totals::default().to_json(), json!([]));
        let unreadable =
            totals.note(EntryKind::Deposit, &movement("late:1", &1.into(), Some(("1,5", "usd"))));
        assert_eq!(unreadable, Err(Unsummable));
    }
}
