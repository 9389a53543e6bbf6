//! The PIN of a device. It is short, so three things guard it: only who holds the device's token
//! may try, few tries are looked at, and its hash is made with that token.

use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use crate::account::{bearer::Bearer, password::Password};

pub const DIGITS_MIN: usize = 4;
pub const DIGITS_MAX: usize = 8;
/// Wrong tries after which the next one has to wait.
pub const TRIES_TOGETHER: i32 = 5;
/// Seconds that it waits.
pub const WAIT_SECONDS: i32 = 15 * 60;
/// Wrong tries in a row after which the device has to be enrolled anew: of a PIN of four digits a
/// thief of the device finds one in five hundred.
pub const TRIES_MAX: i32 = 20;

/// Reason why a PIN cannot be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    #[error("a PIN has {DIGITS_MIN} to {DIGITS_MAX} digits")]
    Digits,
    #[error("this PIN is among the first that anybody tries")]
    Obvious,
}

/// A PIN as it was typed.
#[derive(Debug, Clone)]
pub struct Pin(SecretString);

impl Pin {
    /// Reads digits of any script that the pages speak; `None` for anything that is no PIN.
    pub fn parse(typed: &str) -> Option<Self> {
        let digits: Option<String> = typed.trim().chars().map(digit).collect();
        let fits = |digits: &String| (DIGITS_MIN..=DIGITS_MAX).contains(&digits.len());
        digits.filter(fits).map(|digits| Self(digits.into()))
    }

    /// Reads a new PIN: not one digit repeated, nor digits in their order.
    pub fn choose(typed: &str) -> Result<Self, PinError> {
        let pin = Self::parse(typed).ok_or(PinError::Digits)?;
        let digits = pin.0.expose_secret().as_bytes();
        let next = digits.iter().skip(1);
        let steps: Vec<i16> =
            digits.iter().zip(next).map(|(one, next)| i16::from(*next) - i16::from(*one)).collect();
        let is_run = |step: i16| steps.iter().all(|each| *each == step);
        if [-1, 0, 1].into_iter().any(is_run) { Err(PinError::Obvious) } else { Ok(pin) }
    }

    /// The text that is hashed. With the token of the device, which is stored nowhere, the hash of
    /// four digits cannot be searched by who steals the database.
    pub fn with_token(&self, token: &Bearer) -> Password {
        Password::new(format!("{}:{}", token.reveal(), self.0.expose_secret()))
    }

    /// The text whose keyed digest is stored for a till, of one till alone.
    pub fn of_till(&self, link_id: &str) -> SecretString {
        format!("{link_id}:{}", self.0.expose_secret()).into()
    }

    /// Returns true for the same digits.
    pub fn is(&self, other: &Self) -> bool {
        self.0.expose_secret().as_bytes().ct_eq(other.0.expose_secret().as_bytes()).into()
    }
}

fn digit(letter: char) -> Option<char> {
    let zero = match letter {
        '0'..='9' => return Some(letter),
        '\u{660}'..='\u{669}' => '\u{660}',
        '\u{6f0}'..='\u{6f9}' => '\u{6f0}',
        _ => return None,
    };
    char::from_digit(u32::from(letter) - u32::from(zero), 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_has_four_to_eight_digits_and_is_not_the_first_that_anybody_tries() {
        let choose = |text: &str| Pin::choose(text).map(|_| ());
        for good in ["2580", "90210", "13572468", " 7391 ", "٢٥٨٠"] {
            assert_eq!(choose(good), Ok(()), "{good}");
        }
        for bad in ["", "258", "123456789", "25 80", "25a0", "-2580", "２５８０"] {
            assert_eq!(choose(bad), Err(PinError::Digits), "{bad}");
        }
        for bad in ["0000", "1234", "4321", "11111111", "456789"] {
            assert_eq!(choose(bad), Err(PinError::Obvious), "{bad}");
        }
    }

    #[test]
    fn a_hash_opens_to_its_pin_with_the_device_s_token_alone() {
        let (token, other) = (Bearer::generate(), Bearer::generate());
        let pin = Pin::choose("2580").unwrap();
        let hash = pin.with_token(&token).hash().unwrap();
        assert!(Pin::parse("٢٥٨٠").unwrap().with_token(&token).is_hashed_as(&hash));
        assert!(!Pin::parse("2581").unwrap().with_token(&token).is_hashed_as(&hash));
        assert!(!pin.with_token(&other).is_hashed_as(&hash));
    }
}
