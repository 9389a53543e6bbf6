//! Recipients of an order: rows as they were sent, and their faults.
//!
//! Every row is checked before the order is refused, so that a merchant corrects a file once and
//! not fault by fault.

use std::collections::HashMap;

use super::lost;
use crate::{
    asset::{
        Family, Realm,
        address::{self, AddressError},
        catalogue::Currency,
    },
    money::{AmountError, BaseUnits},
    payout::limit::Limit,
};

/// Maximum number of reported faults.
pub const FAULTS_MAX: usize = 100;
pub const REFERENCE_CHARS_MAX: usize = 255;
pub const MEMO_CHARS_MAX: usize = 255;
pub const LABEL_CHARS_MAX: usize = 255;
/// Characters of a faulty cell that the report repeats.
const VALUE_CHARS_MAX: usize = 80;

/// One recipient as it was sent, unchecked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// From 1; in a file, the line as a spreadsheet counts it, so the first recipient is in row 2.
    pub number: u32,
    pub address: String,
    pub amount: Amount,
    pub reference: Option<String>,
    pub memo: Option<String>,
    /// If given, they must equal those of the order.
    pub network: Option<String>,
    pub currency: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Amount {
    /// Whole coins, as `1.25`.
    Whole(String),
    /// Base units, as `125000000`.
    Units(String),
}

/// A recipient that can be paid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recipient {
    pub row: u32,
    /// As wallets and explorers write it.
    pub address: String,
    pub amount: BaseUnits,
    pub reference: Option<String>,
    pub memo: Option<String>,
}

/// Fault of one cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowFault {
    pub row: u32,
    pub column: Column,
    pub reason: Reason,
    /// The beginning of the cell.
    pub value: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Column {
    Address,
    Amount,
    Reference,
    Memo,
    Network,
    Currency,
    /// The row as a whole.
    Row,
    /// An unknown column, by its heading.
    Other(String),
}

impl Column {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Address => "address",
            Self::Amount => "amount",
            Self::Reference => "reference",
            Self::Memo => "memo",
            Self::Network => "network",
            Self::Currency => "currency",
            Self::Row => "row",
            Self::Other(name) => name,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    #[error("is missing")]
    Missing,
    #[error("{0}")]
    Address(AddressError),
    #[error("{0}")]
    Amount(AmountError),
    #[error("must be written with digits and at most one point")]
    NotPlain,
    #[error("must be more than zero")]
    Zero,
    #[error("is below {least}, the smallest amount that the network relays")]
    Dust { least: String },
    #[error(
        "after its share of the fees is not above {least}, the smallest amount that the network relays"
    )]
    NetTooSmall { least: String },
    #[error("makes the sum of all rows too large")]
    SumTooLarge,
    #[error("is longer than {0} characters")]
    TooLong(usize),
    #[error("starts like a formula, which spreadsheets would execute")]
    Formula,
    #[error("contains a control character")]
    Control,
    #[error("was used in row {0} already")]
    DuplicateReference(u32),
    #[error("repeats row {0}; give both a reference if both are meant")]
    RepeatedRow(u32),
    #[error("differs from the order's")]
    DiffersFromOrder,
    #[error("is an unknown column")]
    UnknownColumn,
    #[error("appears twice")]
    RepeatedColumn,
    #[error("has a different number of cells than the heading")]
    Ragged,
    #[error("belongs to this gateway; an amount sent there would be credited to an invoice")]
    OwnAddress,
    #[error("is a burn address, for which no key exists")]
    Burns,
    #[error("is the contract of {0}; amounts sent there are lost")]
    TokenContract(&'static str),
    #[error("is not UTF-8 text")]
    NotText,
    #[error(
        "is worth {value} USD, above the limit of {limit}, {most} USD; split it, or ask the operator"
    )]
    AboveLimit { value: String, limit: Limit, most: u64 },
}

/// Minimum amount of one output (dust limit): below it, nodes do not relay the transaction.
///
/// bitcoin and litecoin: the dust limit of the largest kind of output. dogecoin: the soft limit
/// below which nodes ask for a higher fee.
pub fn least_amount(currency: &Currency) -> BaseUnits {
    least_output(currency.family())
}

/// Dust limit by family: the default of nodes for a P2PKH output, the largest kind that we make.
/// Litecoin's is ten times bitcoin's.
pub const fn least_output(family: Family) -> BaseUnits {
    BaseUnits::new(match family {
        Family::Bitcoin => 546,
        Family::Litecoin => 5_460,
        Family::Dogecoin => 1_000_000,
        Family::Evm
        | Family::Tron
        | Family::Solana
        | Family::Near
        | Family::Ton
        | Family::Thorchain => 1,
    })
}

/// Checks every row; returns all recipients, or up to [`FAULTS_MAX`] faults in the order of the
/// rows.
pub fn check(rows: &[Row], currency: &Currency) -> Result<Vec<Recipient>, Vec<RowFault>> {
    check_in(Realm::Main, rows, currency)
}

/// As [`check`], for addresses of either realm.
pub fn check_in(
    realm: Realm,
    rows: &[Row],
    currency: &Currency,
) -> Result<Vec<Recipient>, Vec<RowFault>> {
    let (recipients, faults) = sift(realm, rows, currency, FAULTS_MAX);
    if faults.is_empty() { Ok(recipients) } else { Err(faults) }
}

/// The rows without a fault as recipients, and every fault of the others in the order of the rows.
pub fn sift_in(realm: Realm, rows: &[Row], currency: &Currency) -> (Vec<Recipient>, Vec<RowFault>) {
    sift(realm, rows, currency, usize::MAX)
}

fn sift(
    realm: Realm,
    rows: &[Row],
    currency: &Currency,
    faults_max: usize,
) -> (Vec<Recipient>, Vec<RowFault>) {
    let mut checker = Checker { realm, currency, faults: vec![], sum: BaseUnits::ZERO };
    let mut references = HashMap::new();
    let mut plain_rows = HashMap::new();
    let mut recipients = Vec::with_capacity(rows.len());
    for row in rows {
        let before = checker.faults.len();
        if before >= faults_max {
            break;
        }
        checker.same_as_order(row);
        checker.text(row, Column::Reference, row.reference.as_deref(), REFERENCE_CHARS_MAX);
        checker.text(row, Column::Memo, row.memo.as_deref(), MEMO_CHARS_MAX);
        let address = checker.address(row);
        let amount = checker.amount(row);
        let (Some(address), Some(amount)) = (address, amount) else { continue };
        let earlier = match &row.reference {
            Some(reference) => references.insert(reference.as_str(), row.number).map(|first| {
                (Column::Reference, Reason::DuplicateReference(first), reference.as_str())
            }),
            None => plain_rows
                .insert((address.clone(), amount), row.number)
                .map(|first| (Column::Row, Reason::RepeatedRow(first), row.address.as_str())),
        };
        if let Some((column, reason, value)) = earlier {
            checker.fault(row, column, reason, value);
        }
        if checker.faults.len() == before {
            let (reference, memo) = (row.reference.clone(), row.memo.clone());
            recipients.push(Recipient { row: row.number, address, amount, reference, memo });
        }
    }
    checker.faults.truncate(faults_max);
    (recipients, checker.faults)
}

struct Checker<'a> {
    realm: Realm,
    currency: &'a Currency,
    faults: Vec<RowFault>,
    sum: BaseUnits,
}

impl Checker<'_> {
    fn fault(&mut self, row: &Row, column: Column, reason: Reason, value: &str) {
        self.faults.push(RowFault { row: row.number, column, reason, value: shown(value) });
    }

    fn same_as_order(&mut self, row: &Row) {
        let currency = self.currency;
        if let Some(network) = &row.network
            && !network.eq_ignore_ascii_case(currency.network.name())
        {
            self.fault(row, Column::Network, Reason::DiffersFromOrder, network);
        }
        if let Some(name) = &row.currency
            && ![currency.code, currency.symbol].iter().any(|own| own.eq_ignore_ascii_case(name))
        {
            self.fault(row, Column::Currency, Reason::DiffersFromOrder, name);
        }
    }

    fn text(&mut self, row: &Row, column: Column, text: Option<&str>, chars_max: usize) {
        let Some(text) = text else { return };
        let reason = if text.chars().count() > chars_max {
            Reason::TooLong(chars_max)
        } else if text.chars().any(char::is_control) {
            Reason::Control
        } else if text.starts_with(['=', '+', '-', '@']) {
            Reason::Formula
        } else {
            return;
        };
        self.fault(row, column, reason, text);
    }

    fn address(&mut self, row: &Row) -> Option<String> {
        if row.address.is_empty() {
            self.fault(row, Column::Address, Reason::Missing, "");
            return None;
        }
        match address::validate_in(self.realm, self.currency.network, &row.address) {
            Ok(address) => match lost::reason(self.currency.network, &address) {
                None => Some(address),
                Some(reason) => {
                    self.fault(row, Column::Address, reason, &row.address);
                    None
                }
            },
            Err(error) => {
                self.fault(row, Column::Address, Reason::Address(error), &row.address);
                None
            }
        }
    }

    fn amount(&mut self, row: &Row) -> Option<BaseUnits> {
        let (text, places) = match &row.amount {
            Amount::Whole(text) => (text, u32::from(self.currency.decimals)),
            Amount::Units(text) => (text, 0),
        };
        let checked = self.read_amount(text, places);
        checked.map_err(|reason| self.fault(row, Column::Amount, reason, text)).ok()
    }

    fn read_amount(&mut self, text: &str, places: u32) -> Result<BaseUnits, Reason> {
        if text.is_empty() {
            return Err(Reason::Missing);
        }
        // Programs read an exponent or a sign as a number, but people do not expect one.
        if !text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return Err(Reason::NotPlain);
        }
        let amount = BaseUnits::parse(text, places).map_err(Reason::Amount)?;
        let least = least_amount(self.currency);
        if amount.is_zero() {
            return Err(Reason::Zero);
        }
        if amount < least {
            return Err(Reason::Dust { least: in_coins(self.currency, least) });
        }
        self.sum = self.sum.checked_add(amount).ok_or(Reason::SumTooLarge)?;
        Ok(amount)
    }
}

/// Returns true if `text` may stand as an order's label: short, and without control characters.
pub fn is_label(text: &str) -> bool {
    text.chars().count() <= LABEL_CHARS_MAX && !text.chars().any(char::is_control)
}

/// An amount as the API writes it in sentences.
pub fn in_coins(currency: &Currency, amount: BaseUnits) -> String {
    format!("{} {}", amount.to_decimal(u32::from(currency.decimals)), currency.symbol)
}

pub fn shown(value: &str) -> String {
    value.chars().filter(|c| !c.is_control()).take(VALUE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;
    use crate::asset::catalogue::Catalogue;

    const LTC: &str = "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9";
    const OTHER_LTC: &str = "ltc1q02e88xlw8avv9wa23yj67jtlr4ksxp2eh3vwya";

    fn currency(token_id: &str) -> &'static Currency {
        Catalogue::get().by_token_id(token_id).unwrap()
    }

    fn row(number: u32, address: &str, amount: &str) -> Row {
        Row {
            number,
            address: address.into(),
            amount: Amount::Whole(amount.into()),
            reference: None,
            memo: None,
            network: None,
            currency: None,
        }
    }

    fn faults(rows: &[Row]) -> String {
        let faults = check(rows, currency("ltc@litecoin")).err().unwrap_or_default();
        let line =
            |f: &RowFault| format!("{} {}: {} [{}]\n", f.row, f.column.as_str(), f.reason, f.value);
        faults.iter().map(line).collect()
    }

    #[test]
    fn every_fault_is_reported_with_its_row_and_column() {
        let with = |number, reference: &str| Row {
            reference: Some(reference.into()),
            ..row(number, LTC, "1")
        };
        let rows = [
            row(2, LTC, "1.25"),
            row(3, "", "1"),
            row(4, "nonsense", "1"),
            row(5, LTC, "1,25"),
            row(6, LTC, "1e3"),
            row(7, LTC, "-1"),
            row(8, LTC, "0"),
            row(9, LTC, "0.00005459"),
            row(10, LTC, "0.000000001"),
            row(11, LTC, ""),
            row(12, LTC, "1.250"),
            with(13, "a"),
            with(14, "a"),
            with(15, "=1+1"),
            with(16, "tab\there"),
            Row {
                network: Some("bitcoin".into()),
                currency: Some("btc".into()),
                ..row(17, LTC, "2")
            },
            Row {
                network: Some("Litecoin".into()),
                currency: Some("LTC".into()),
                ..row(18, LTC, "3")
            },
            Row { memo: Some("x".repeat(256)), ..row(19, LTC, "4") },
            row(20, "0x52908400098527886E0F7030069857D2E4169EE7", "5"),
        ];
        expect![[r#"
            3 address: is missing []
            4 address: has a wrong checksum: a character was mistyped or lost [nonsense]
            5 amount: must be written with digits and at most one point [1,25]
            6 amount: must be written with digits and at most one point [1e3]
            7 amount: must be written with digits and at most one point [-1]
            8 amount: must be more than zero [0]
            9 amount: is below 0.0000546 LTC, the smallest amount that the network relays [0.00005459]
            10 amount: has more decimal places than the 8 that are kept [0.000000001]
            11 amount: is missing []
            12 row: repeats row 2; give both a reference if both are meant [ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9]
            14 reference: was used in row 13 already [a]
            15 reference: starts like a formula, which spreadsheets would execute [=1+1]
            16 reference: contains a control character [tabhere]
            17 network: differs from the order's [bitcoin]
            17 currency: differs from the order's [btc]
            19 memo: is longer than 255 characters [xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx]
            20 address: is not an address of this network [0x52908400098527886E0F7030069857D2E4169EE7]
        "#]]
        .assert_eq(&faults(&rows));
    }

    #[test]
    fn good_rows_are_kept_beside_every_fault_of_the_others() {
        let mut rows =
            vec![row(2, LTC, "1"), row(3, "x", "2"), row(4, OTHER_LTC, "3"), row(5, LTC, "1")];
        rows.extend((6..206).map(|number| row(number, "x", "1")));
        let (good, faults) = sift_in(Realm::Main, &rows, currency("ltc@litecoin"));
        let numbers: Vec<_> = good.iter().map(|recipient| recipient.row).collect();
        assert_eq!((numbers, faults.len()), (vec![2, 4], 202));
        assert_eq!(faults[1].reason, Reason::RepeatedRow(2));
    }

    #[test]
    fn at_most_a_hundred_faults_are_reported() {
        let rows: Vec<_> = (1..=300).map(|n| row(n, OTHER_LTC, "x")).collect();
        assert_eq!(check(&rows, currency("ltc@litecoin")).unwrap_err().len(), FAULTS_MAX);
    }

    #[test]
    fn addresses_are_kept_as_wallets_write_them_and_amounts_to_the_unit() {
        let lower = "0x52908400098527886e0f7030069857d2e4169ee7";
        let rows = [Row { amount: Amount::Units("1".into()), ..row(1, lower, "") }];
        let recipients = check(&rows, currency("usdtmatic@polygon")).unwrap();
        assert_eq!(recipients[0].address, "0x52908400098527886E0F7030069857D2E4169EE7");
        assert_eq!(recipients[0].amount, BaseUnits::new(1));
        let broken = [row(1, "0x52908400098527886E0F7030069857D2E4169Ee7", "1")];
        let faults = check(&broken, currency("usdtmatic@polygon")).unwrap_err();
        assert_eq!(faults[0].reason, Reason::Address(AddressError::Checksum));
    }

    #[test]
    fn a_sum_beyond_128_bits_is_refused() {
        let rows: Vec<_> = (1..=2)
            .map(|n| Row {
                amount: Amount::Units(u128::MAX.to_string()),
                ..row(n, "0x52908400098527886e0f7030069857d2e4169ee7", "")
            })
            .collect();
        let faults = check(&rows, currency("usdtmatic@polygon")).unwrap_err();
        assert_eq!(faults[0].reason, Reason::SumTooLarge);
    }

    proptest! {
        /// For any input, the result is recipients or faults, and recipients are exactly the typed
        /// ones.
        #[test]
        fn no_text_is_read_as_another_amount(address in ".{0,60}", amount in ".{0,20}", digits in 0_u64..10_000_000_000) {
            let _ = check(&[row(1, &address, &amount)], currency("ltc@litecoin"));
            let text = BaseUnits::new(u128::from(digits)).to_decimal(8);
            match check(&[row(1, LTC, &text)], currency("ltc@litecoin")) {
                Ok(recipients) => prop_assert_eq!(recipients[0].amount.get(), u128::from(digits)),
                Err(_) => prop_assert!(digits < 5_460),
            }
        }
    }
}
