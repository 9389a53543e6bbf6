//! Numbers and prices: CLDR 48, `common/main/<language>.xml`, `symbols`, `minimumGroupingDigits`
//! and the place of the currency in `currencyFormat`. A test compares them with a browser's `Intl`.
//!
//! - Currencies are their ISO codes in every language: a dollar sign is that of twenty countries,
//!   a pound sign that of Egypt too, and beside USDT and EURC the code is what people compare.
//! - Digits are Western in Arabic too. Amounts, addresses and wallets have them on the same page,
//!   and CLDR itself writes them for most Arabic countries of the west.

use super::Language;
use crate::asset::fiat::Fiat;

/// How a language writes a number.
struct Figures {
    decimal: char,
    group: char,
    /// Digits that must stand before the first separator of thousands: with 2, `1250` has none.
    least_before_group: usize,
    code_first: bool,
}

const GROUP: usize = 3;
const NO_BREAK: char = '\u{a0}';
const NARROW_NO_BREAK: char = '\u{202f}';
/// Decimal places of an amount that reads as thousands where the point separates them.
const PLACES_LIKE_THOUSANDS: usize = 3;

impl Language {
    const fn figures(self) -> Figures {
        let (decimal, group, least_before_group, code_first) = match self {
            Self::German => (',', '.', 1, false),
            Self::English | Self::Chinese | Self::Japanese => ('.', ',', 1, true),
            Self::Spanish | Self::Italian => (',', '.', 2, false),
            Self::French => (',', NARROW_NO_BREAK, 1, false),
            Self::Dutch | Self::Portuguese | Self::Turkish => (',', '.', 1, true),
            Self::Polish => (',', NO_BREAK, 2, false),
            Self::Arabic => ('.', ',', 1, false),
        };
        Figures { decimal, group, least_before_group, code_first }
    }

    /// The decimal sign, for fields and keys where an amount is typed.
    pub const fn decimal_sign(self) -> char {
        self.figures().decimal
    }

    /// A plain decimal number such as `1250.5`. Every digit is kept: nothing is rounded.
    pub fn number(self, plain: &str) -> String {
        let figures = self.figures();
        let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
        let mut text = figures.grouped(whole);
        if !fraction.is_empty() {
            text.push(figures.decimal);
            text.push_str(fraction);
        }
        text
    }

    /// An amount as somebody types it: with the decimal sign, without separators of thousands.
    pub fn typed(self, plain: &str) -> String {
        plain.replace('.', &self.decimal_sign().to_string())
    }

    /// A price with its currency: `1.250,50 EUR`. It has the decimal places of its currency, and
    /// more where it has more. What is priced in a coin keeps the form of coins.
    pub fn price(self, amount: &str, currency: &str) -> String {
        let code = currency.to_uppercase();
        let (number, code_first) = match currency.parse::<Fiat>() {
            Ok(fiat) => (self.number(&padded(amount, fiat.places())), self.figures().code_first),
            Err(_) => (coins(amount), false),
        };
        // No line ends between a number and its currency.
        if code_first {
            format!("{code}{NO_BREAK}{number}")
        } else {
            format!("{number}{NO_BREAK}{code}")
        }
    }
}

impl Figures {
    fn grouped(&self, whole: &str) -> String {
        let digits = whole.len();
        if digits < GROUP + self.least_before_group {
            return whole.to_owned();
        }
        let mut text = String::with_capacity(digits * 2);
        for (at, digit) in whole.chars().enumerate() {
            if at > 0 && (digits - at).is_multiple_of(GROUP) {
                text.push(self.group);
            }
            text.push(digit);
        }
        text
    }
}

/// An amount of a coin as every page and mail shows it: `0.0125`, with a point and without
/// separators of thousands, in every language.
///
/// Buyers compare it with their wallet, copy it by hand, and select it with the mouse. Wallets and
/// exchanges show the point, and many read `0,0125` as 125 or refuse it. Where a point separates
/// thousands, `1.234` would be read as a thousand times as much: it gets a zero more, which changes
/// no value and makes the point a decimal sign for everybody.
pub fn coins(plain: &str) -> String {
    match plain.split_once('.') {
        Some((whole, places)) if places.len() == PLACES_LIKE_THOUSANDS && whole != "0" => {
            format!("{plain}0")
        }
        Some(_) | None => plain.to_owned(),
    }
}

fn padded(amount: &str, places: usize) -> String {
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    if places == 0 && fraction.is_empty() {
        return whole.to_owned();
    }
    format!("{whole}.{fraction:0<places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_has_the_signs_and_the_order_of_its_language() {
        for (language, price) in [
            (Language::German, "1.250,50 EUR"),
            (Language::English, "EUR 1,250.50"),
            (Language::Spanish, "1250,50 EUR"),
            (Language::French, "1\u{202f}250,50 EUR"),
            (Language::Italian, "1250,50 EUR"),
            (Language::Dutch, "EUR 1.250,50"),
            (Language::Polish, "1250,50 EUR"),
            (Language::Portuguese, "EUR 1.250,50"),
            (Language::Turkish, "EUR 1.250,50"),
            (Language::Arabic, "1,250.50 EUR"),
            (Language::Chinese, "EUR 1,250.50"),
            (Language::Japanese, "EUR 1,250.50"),
        ] {
            assert_eq!(language.price("1250.5", "eur").replace(NO_BREAK, " "), price, "{language}");
        }
    }

    #[test]
    fn a_price_has_the_places_of_its_currency_and_is_never_rounded() {
        for (amount, price) in [
            ("0", "0,00 USD"),
            ("25", "25,00 USD"),
            ("25.5", "25,50 USD"),
            ("0.001", "0,001 USD"),
            ("999.99", "999,99 USD"),
            ("1000", "1.000,00 USD"),
            ("1234567.895", "1.234.567,895 USD"),
            ("100000000000000000000", "100.000.000.000.000.000.000,00 USD"),
        ] {
            assert_eq!(Language::German.price(amount, "usd").replace(NO_BREAK, " "), price);
        }
        assert_eq!(Language::German.price("1234.5", "btc"), "1234.5\u{a0}BTC");
    }

    #[test]
    fn thousands_are_separated_where_the_language_begins_to() {
        for (language, plain, number) in [
            (Language::Spanish, "9999", "9999"),
            (Language::Spanish, "10000", "10.000"),
            (Language::Polish, "1234567", "1\u{a0}234\u{a0}567"),
            (Language::English, "1000", "1,000"),
            (Language::Arabic, "1000000.5", "1,000,000.5"),
            (Language::French, "999", "999"),
        ] {
            assert_eq!(language.number(plain), number);
        }
    }

    /// Whoever copies it by hand into a wallet writes these characters.
    #[test]
    fn an_amount_of_a_coin_is_a_number_to_wallets_and_no_thousands_to_anybody() {
        for (plain, shown) in [
            ("0.0125", "0.0125"),
            ("1250.5", "1250.5"),
            ("25", "25"),
            ("0.125", "0.125"),
            ("1.234", "1.2340"),
            ("12345.678", "12345.6780"),
            ("1.2345", "1.2345"),
            ("0.000000000000000001", "0.000000000000000001"),
        ] {
            assert_eq!(coins(plain), shown);
        }
    }

    #[test]
    fn what_is_typed_has_the_decimal_sign_alone() {
        assert_eq!(Language::German.typed("1250.5"), "1250,5");
        assert_eq!(Language::Arabic.typed("1250.5"), "1250.5");
    }
}
