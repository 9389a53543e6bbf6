//! Exact amounts.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::value::RawValue;

/// An exact decimal, such as `25.10`, with the digits that were sent. Compute with a decimal type:
/// `amount.as_str().parse::<Decimal>()`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Amount(String);

/// A text that is no decimal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no amount: digits, and at most one point between them")]
pub struct NoAmount(String);

impl Amount {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Amount {
    type Err = NoAmount;

    fn from_str(text: &str) -> Result<Self, NoAmount> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if is_digits(whole) && is_digits(fraction) { Ok(Self(text.to_owned())) } else { Err(NoAmount(text.to_owned())) }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<u64> for Amount {
    fn from(whole: u64) -> Self {
        Self(whole.to_string())
    }
}

/// As a JSON number.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = RawValue::from_string(self.0.clone()).map_err(S::Error::custom)?;
        number.serialize(serializer)
    }
}

/// From a JSON number, or from text.
impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        text.get().trim_matches('"').parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_keep_their_digits() {
        for digits in ["25.10", "0.000000000000000000000001", "123456789012345678901234567890"] {
            let amount: Amount = serde_json::from_str(digits).unwrap();
            assert_eq!(serde_json::to_string(&amount).unwrap(), digits);
            assert_eq!(serde_json::from_str::<Amount>(&format!("\"{digits}\"")).unwrap(), amount);
        }
    }

    #[test]
    fn what_is_no_decimal_is_refused() {
        for text in ["", ".", "1.", ".5", "1,5", "1e3", "-1", "1.2.3", "٣"] {
            assert_eq!(text.parse::<Amount>(), Err(NoAmount(text.to_owned())));
        }
    }
}
