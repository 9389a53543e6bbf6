//! Fiat currencies of prices.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A fiat currency with a live rate. Every other code is an invalid request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fiat {
    Usd,
    Eur,
    Gbp,
}

impl Fiat {
    pub const ALL: [Self; 3] = [Self::Usd, Self::Eur, Self::Gbp];

    /// The ISO 4217 code in lower case, as the API writes it.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Usd => "usd",
            Self::Eur => "eur",
            Self::Gbp => "gbp",
        }
    }

    /// Decimal places of the currency (ISO 4217).
    pub const fn places(self) -> usize {
        match self {
            Self::Usd | Self::Eur | Self::Gbp => 2,
        }
    }

    /// The ISO 4217 code as exchanges write it.
    pub const fn code_upper(self) -> &'static str {
        match self {
            Self::Usd => "USD",
            Self::Eur => "EUR",
            Self::Gbp => "GBP",
        }
    }
}

/// A text that names no supported fiat currency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown fiat currency")]
pub struct UnknownFiat;

impl FromStr for Fiat {
    type Err = UnknownFiat;

    fn from_str(text: &str) -> Result<Self, UnknownFiat> {
        Self::ALL.into_iter().find(|fiat| fiat.code().eq_ignore_ascii_case(text)).ok_or(UnknownFiat)
    }
}

impl fmt::Display for Fiat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_without_case_and_written_in_lower_case() {
        for (text, expected) in [
            ("usd", Ok(Fiat::Usd)),
            ("USD", Ok(Fiat::Usd)),
            ("eUr", Ok(Fiat::Eur)),
            ("gbp", Ok(Fiat::Gbp)),
            ("", Err(UnknownFiat)),
            (" usd", Err(UnknownFiat)),
            ("usdt", Err(UnknownFiat)),
            ("ＵＳＤ", Err(UnknownFiat)),
        ] {
            assert_eq!(text.parse::<Fiat>(), expected, "{text:?}");
        }
        for fiat in Fiat::ALL {
            assert_eq!(fiat.to_string().parse(), Ok(fiat));
            assert_eq!(fiat.code_upper(), fiat.code().to_uppercase());
        }
    }
}
