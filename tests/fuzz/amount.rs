//! Amounts as text: parsed exactly or refused.

use gateway::money::{BaseUnits, Price};

/// Decimals of the catalogue's coins and tokens: 6 (USDT), 8 (BTC), 9 (TON), 18 (ETH), 24 (NEAR).
const DECIMALS: [u32; 6] = [0, 6, 8, 9, 18, 24];

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for decimals in DECIMALS {
        let Ok(units) = BaseUnits::parse(text, decimals) else { continue };
        let written = units.to_decimal(decimals);
        assert_eq!(BaseUnits::parse(&written, decimals), Ok(units), "{text:?} became {written}");
        assert_plain(&written);
        // One more place for the same text is ten times the units, or too many of them.
        let finer = BaseUnits::parse(text, decimals + 1).ok().map(BaseUnits::get);
        assert_eq!(finer, units.get().checked_mul(10), "{text:?} at {decimals} and one more");
    }
    if let Ok(price) = Price::parse(text) {
        let written = price.to_decimal();
        assert_eq!(Price::parse(&written), Ok(price), "{text:?} became {written}");
        assert_plain(&written);
    }
}

/// Asserts that there is no exponent, no sign, no redundant zero.
fn assert_plain(written: &str) {
    let (whole, fraction) = written.split_once('.').unwrap_or((written, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    assert!(!whole.is_empty() && digits(whole) && digits(fraction), "{written}");
    assert!(whole == "0" || !whole.starts_with('0'), "{written}");
    assert!(!fraction.ends_with('0') && !written.ends_with('.'), "{written}");
}
