//! Rows of the database as lines of exports.

use num_bigint::BigInt;
use rust_decimal::Decimal;

use crate::{
    accounting::{
        Cell, Line, Movement,
        balance::{self, Balances, in_coins, negated},
        kind::{of_payment, parts_of_fee},
        report::{self, Totals},
    },
    asset::catalogue::{Catalogue, Currency},
    invoice::payment::iso_8601,
    storage::{
        StorageError,
        exports::{
            fees::FeeRow,
            invoices::InvoiceRow,
            ledger::{LedgerRow, Opening},
            payments::PaymentRow,
            payouts::PayoutRow,
        },
    },
};

/// Decimal places of a value in fiat.
const FIAT_PLACES: u32 = 8;
const CONFIRMED: &str = "confirmed";
const USD: &str = "usd";

pub(super) fn invoice(row: &InvoiceRow) -> Result<Line<'_>, StorageError> {
    let currency = currency_of(&row.token_id)?;
    let coins = |units: &str| coins(units, currency);
    let status = row.status.for_merchant();
    let cells = vec![
        Cell::text(&row.payment_id),
        Cell::text_or_empty(row.order_id.as_deref()),
        Cell::text(&row.invoice_type),
        Cell::Time(row.created_at),
        row.finished_at.map_or(Cell::Empty, Cell::Time),
        Cell::text(status),
        Cell::decimal(&row.price_amount),
        Cell::text(&row.price_currency),
        Cell::text(currency.code),
        Cell::text(currency.network.name()),
        Cell::decimal(coins(&row.pay_amount)?),
        Cell::decimal(coins(&row.received)?),
        Cell::decimal(coins(&row.overpaid)?),
        Cell::decimal_or_empty(row.rate.as_deref()),
        // Invoices cost no service fee.
        Cell::Empty,
        Cell::decimal(coins(&row.settled)?),
        Cell::text_or_empty(row.order_description.as_deref()),
    ];
    let fiat = Some(&*row.price_currency);
    Ok(Line { cells, currency: Some(currency.code), fiat, status: Some(status), movement: None })
}

pub(super) fn payment(row: &PaymentRow) -> Result<Line<'_>, StorageError> {
    let currency = currency_of(&row.token_id)?;
    let unknown = || StorageError::damaged("ledger_entry", "a deposit is booked as none");
    let kind = of_payment(row.booked, row.is_first, row.is_excess).ok_or_else(unknown)?;
    let signed = |amount: String| if row.is_in { amount } else { negated(&amount) };
    let amount = signed(coins(&row.amount, currency)?);
    let value = row.fiat_value.clone().map(signed);
    let payout_order = row.payout_order_id.as_deref();
    let named = row.payment_id.as_deref().or(payout_order);
    let shop_order = row.order_id.as_deref().or(payout_order);
    let description = words([Some(kind.as_str()), named, shop_order]);
    let movement = Movement {
        at: row.at,
        amount: amount.clone(),
        symbol: currency.symbol,
        fiat: value.clone().zip(row.fiat_currency.clone()),
        tx_hash: Some(row.tx_hash.clone()),
        description,
    };
    let cells = vec![
        Cell::Time(row.at),
        Cell::text_or_empty(row.payment_id.as_deref()),
        Cell::text_or_empty(shop_order),
        Cell::text(&row.tx_hash),
        place_of(&row.deposit_key),
        Cell::text(row.network.name()),
        Cell::text(currency.code),
        Cell::text_or_empty(row.contract.as_deref()),
        Cell::decimal(amount),
        Cell::Integer(confirmations(row.height, row.head)),
        Cell::text_or_empty(row.sender.as_deref()),
        Cell::text(&row.to_address),
        Cell::text_or_empty(row.fiat_currency.as_deref()),
        Cell::decimal_or_empty(value),
        Cell::decimal_or_empty(row.fiat_rate.as_deref()),
        Cell::text_or_empty(row.fiat_rate_source.as_deref()),
        Cell::text(kind.as_str()),
    ];
    Ok(Line {
        cells,
        currency: Some(currency.code),
        fiat: row.fiat_currency.as_deref(),
        status: row.status.map(|status| status.for_merchant()),
        movement: Some(movement),
    })
}

pub(super) fn payout(row: &PayoutRow) -> Result<Line<'_>, StorageError> {
    let currency = currency_of(&row.token_id)?;
    let amount = coins(&row.amount, currency)?;
    let value = value(&amount, &row.price_usd);
    // The quote's fees are the order's: they stand once, beside its first row.
    let of_order = |fee: &str| match row.row_number {
        1 => Ok(Cell::decimal(coins(fee, currency)?)),
        _ => Ok::<_, StorageError>(Cell::Empty),
    };
    let (network_fee, service_fee) = (of_order(&row.network_fee)?, of_order(&row.service_fee)?);
    let status = STATES.into_iter().find(|state| *state == row.state);
    let movement = (row.state == CONFIRMED).then(|| Movement {
        at: row.at,
        amount: negated(&amount),
        symbol: currency.symbol,
        fiat: value.as_deref().map(|value| (negated(value), USD.to_owned())),
        tx_hash: row.tx_hash.clone(),
        description: words([Some("payout"), Some(&row.order_id), row.reference.as_deref()]),
    });
    let cells = vec![
        Cell::Time(row.at),
        Cell::text(&row.order_id),
        Cell::text(&row.family),
        Cell::text(&row.batch_id),
        Cell::text_or_empty(row.reference.as_deref()),
        Cell::text(&row.address),
        Cell::text(currency.network.name()),
        Cell::text(currency.code),
        Cell::decimal(amount),
        network_fee,
        service_fee,
        Cell::text_or_empty(row.tx_hash.as_deref()),
        Cell::text(&row.state),
        Cell::decimal_or_empty(value),
    ];
    Ok(Line { cells, currency: Some(currency.code), fiat: Some(USD), status, movement })
}

const STATES: [&str; 4] = ["pending", "sent", CONFIRMED, "failed"];

pub(super) fn fees(row: &FeeRow) -> Result<Vec<Line<'_>>, StorageError> {
    let currency = currency_of(&row.token_id)?;
    let parts = parts_of_fee(row.amount, row.network_fee, row.service_fee);
    let lines = parts.into_iter().map(|(kind, part)| {
        let amount = part.to_decimal(u32::from(currency.decimals));
        let signed = |amount: &str| {
            if row.is_returned { negated(amount) } else { amount.to_owned() }
        };
        let value = value(&amount, &row.price_usd).map(|value| signed(&value));
        let cells = vec![
            Cell::Time(row.at),
            Cell::text(&row.order_id),
            Cell::text(kind.as_str()),
            Cell::text(currency.code),
            Cell::decimal(signed(&amount)),
            Cell::decimal_or_empty(value),
            Cell::text_or_empty(row.tx_hash.as_deref()),
        ];
        Line { cells, currency: Some(currency.code), fiat: Some(USD), status: None, movement: None }
    });
    Ok(lines.collect())
}

/// The sums over the entries of a file.
#[derive(Default)]
pub(super) struct Sums {
    balances: Balances,
    /// Only reports have them.
    pub totals: Option<Totals>,
}

impl Sums {
    pub fn with_totals() -> Self {
        Self { totals: Some(Totals::default()), ..Self::default() }
    }

    /// Begins with what was there before the range.
    pub fn open(&mut self, opening: &Opening) -> Result<(), StorageError> {
        let currency = currency_of(&opening.token_id)?;
        let units = &balance::units(&opening.units).map_err(|error| damaged(&error))?;
        self.balances.add(&opening.account, currency.code, units);
        if let Some(totals) = &mut self.totals {
            let account = &opening.account;
            let (currency, decimals) = (currency.code, currency.decimals);
            totals.open(&report::Movement { account, currency, decimals, units, fiat: None });
        }
        Ok(())
    }
}

/// An entry of the ledger on its way into a file.
pub(super) struct Entry<'a> {
    row: &'a LedgerRow,
    currency: &'static Currency,
    at: String,
    units: BigInt,
    /// Whole coins.
    amount: String,
    description: String,
    with_movements: bool,
}

struct Side<'a, 'u> {
    account: &'a str,
    is_credit: bool,
    /// With the sign of this side.
    units: &'u BigInt,
}

impl<'a> Entry<'a> {
    /// Movements are made for files of movements alone.
    pub fn of(row: &'a LedgerRow, with_movements: bool) -> Result<Self, StorageError> {
        let currency = currency_of(&row.token_id)?;
        Ok(Self {
            row,
            currency,
            at: iso_8601(row.at),
            units: balance::units(&row.amount).map_err(|error| damaged(&error))?,
            amount: coins(&row.amount, currency)?,
            description: words([Some(row.kind.as_str()), row.order_id.as_deref(), None]),
            with_movements,
        })
    }

    /// The two sides: the account that the entry left, then the one that it entered.
    pub fn lines(&self, sums: &mut Sums) -> Result<[Line<'_>; 2], StorageError> {
        let (debit, credit) = (&self.row.debit, &self.row.credit);
        Ok([
            self.side(sums, &Side { account: debit, is_credit: false, units: &-&self.units })?,
            self.side(sums, &Side { account: credit, is_credit: true, units: &self.units })?,
        ])
    }

    fn side<'b>(&'b self, sums: &mut Sums, side: &Side<'b, '_>) -> Result<Line<'b>, StorageError> {
        if let Some(totals) = &mut sums.totals {
            self.note(totals, side)?;
        }
        let after = sums.balances.add(side.account, self.currency.code, side.units);
        let row = self.row;
        let amount = Cell::decimal(&self.amount);
        let (debit, credit) =
            if side.is_credit { (Cell::Empty, amount) } else { (amount, Cell::Empty) };
        let (source_type, source_id) = match (&row.payout_order_id, &row.payment_id) {
            (Some(order), _) => (Cell::text("payout"), Cell::text(order)),
            (None, Some(payment)) => (Cell::text("payment"), Cell::text(payment)),
            (None, None) => (Cell::Empty, Cell::Empty),
        };
        let cells = vec![
            Cell::Integer(row.id),
            Cell::text(&self.at),
            Cell::text(side.account),
            Cell::text(self.currency.code),
            debit,
            credit,
            Cell::decimal(coins(&after.to_string(), self.currency)?),
            source_type,
            source_id,
            Cell::text_or_empty(row.tx_hash.as_deref()),
            Cell::text(&self.description),
        ];
        Ok(Line {
            cells,
            currency: Some(self.currency.code),
            fiat: row.fiat_currency.as_deref(),
            status: None,
            movement: if self.with_movements { self.movement(side) } else { None },
        })
    }

    fn note(&self, totals: &mut Totals, side: &Side<'_, '_>) -> Result<(), StorageError> {
        let value = self.value(side);
        let movement = report::Movement {
            account: side.account,
            currency: self.currency.code,
            decimals: self.currency.decimals,
            units: side.units,
            fiat: value.as_deref().zip(self.row.fiat_currency.as_deref()),
        };
        totals.note(self.row.kind, &movement).map_err(|error| damaged(&error))
    }

    /// Between two accounts of the merchant nothing reaches or leaves him.
    fn movement(&self, side: &Side<'_, '_>) -> Option<Movement> {
        let row = self.row;
        let moves = is_own(side.account) && !(is_own(&row.debit) && is_own(&row.credit));
        let named = row.payout_order_id.as_deref().or(row.payment_id.as_deref());
        moves.then(|| Movement {
            at: row.at,
            amount: side.signed(&self.amount),
            symbol: self.currency.symbol,
            fiat: self.value(side).zip(row.fiat_currency.clone()),
            tx_hash: row.tx_hash.clone(),
            description: words([Some(row.kind.as_str()), named, row.order_id.as_deref()]),
        })
    }

    /// The value in fiat, with the sign of the side.
    fn value(&self, side: &Side<'_, '_>) -> Option<String> {
        let row = self.row;
        let rated = || value(&self.amount, row.fiat_rate.as_deref()?);
        let value = row.fiat_value.clone().or_else(rated)?;
        Some(side.signed(&value))
    }
}

impl Side<'_, '_> {
    fn signed(&self, amount: &str) -> String {
        if self.is_credit { amount.to_owned() } else { negated(amount) }
    }
}

fn damaged(error: &impl std::error::Error) -> StorageError {
    StorageError::damaged("ledger_entry", error.to_string())
}

/// Accounts that belong to one merchant; in his entries, to him.
fn is_own(account: &str) -> bool {
    report::class_of(account).is_some()
}

fn currency_of(token_id: &str) -> Result<&'static Currency, StorageError> {
    let unknown = || StorageError::damaged("ledger_entry", "its currency is not in the catalogue");
    Catalogue::get().by_token_id(token_id).ok_or_else(unknown)
}

fn coins(units: &str, currency: &Currency) -> Result<String, StorageError> {
    let damaged = || StorageError::damaged("ledger_entry", "an amount is no whole number");
    in_coins(units, currency.decimals).ok_or_else(damaged)
}

/// The value of an amount at a rate; `None` if it has more digits than a value can have.
fn value(coins: &str, rate: &str) -> Option<String> {
    let (coins, rate): (Decimal, Decimal) = (coins.parse().ok()?, rate.parse().ok()?);
    Some(coins.checked_mul(rate)?.round_dp(FIAT_PLACES).normalize().to_string())
}

/// The position of a deposit within its transaction, where its network numbers them.
fn place_of(deposit_key: &str) -> Cell<'static> {
    let last = deposit_key.rsplit_once(':').map(|(_, last)| last);
    last.and_then(|digits| digits.parse().ok()).map_or(Cell::Empty, Cell::Integer)
}

/// One at the chain tip, none for a deposit whose block is gone.
fn confirmations(height: Option<i64>, head: Option<i64>) -> i64 {
    let (Some(height), Some(head)) = (height, head) else { return 0 };
    head.saturating_add(1).saturating_sub(height).max(0)
}

fn words(parts: [Option<&str>; 3]) -> String {
    let length: usize = parts.iter().flatten().map(|part| part.len() + 1).sum();
    let mut words = String::with_capacity(length);
    for part in parts.into_iter().flatten().filter(|part| !part.is_empty()) {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(part);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_exact_to_eight_places_and_absent_beyond_the_digits_of_a_rate() {
        assert_eq!(value("30.123456", "0.9").as_deref(), Some("27.1111104"));
        assert_eq!(value("0.00000001", "0.1").as_deref(), Some("0"));
        assert_eq!(value(&"9".repeat(40), "1"), None);
    }

    /// A balance is that of a coin on all its networks.
    #[test]
    fn a_code_that_networks_share_has_the_same_decimals_on_all_of_them() {
        let all = Catalogue::get().all();
        for one in all {
            for other in all.iter().filter(|other| other.code == one.code) {
                assert_eq!(one.decimals, other.decimals, "{}", one.code);
            }
        }
    }

    #[test]
    fn a_place_is_the_number_behind_the_last_colon() {
        assert_eq!(place_of("ab:log:7"), Cell::Integer(7));
        assert_eq!(place_of("ab:0"), Cell::Integer(0));
        for key in ["ab:native", "ab", "signature:owner:SOL", "receipt:log:1.2"] {
            assert_eq!(place_of(key), Cell::Empty, "{key}");
        }
        assert_eq!(confirmations(Some(10), Some(10)), 1);
        assert_eq!(confirmations(Some(10), Some(3)), 0);
        assert_eq!(confirmations(None, Some(10)), 0);
    }
}
