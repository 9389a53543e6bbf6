//! A resource that a merchant sells to programs: its terms, and the amounts that follow from them.

use crate::{
    asset::Network,
    invoice::id,
    money::{AmountError, BaseUnits, Price},
};

/// Head of a resource's public id.
pub const PREFIX: &str = "pzx_";
/// Resources of one merchant.
pub const RESOURCES_MAX: i64 = 1_000;

const URL_MAX: usize = 2_000;
const DESCRIPTION_MAX: usize = 500;
const MIME_TYPE_MAX: usize = 100;
/// Seconds that a payer's signature is valid for, at least and at most. Less leaves no block time
/// to take it.
pub const TIMEOUT_SECONDS: std::ops::RangeInclusive<u32> = 10..=600;
pub const TIMEOUT_SECONDS_DEFAULT: u32 = 60;
pub const MIME_TYPE_DEFAULT: &str = "application/json";

pub fn new_id() -> String {
    id::bearer(PREFIX)
}

pub fn is_id(text: &str) -> bool {
    id::is_bearer(PREFIX, text)
}

/// The terms of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    pub url: String,
    pub description: String,
    pub mime_type: String,
    /// In USD; the token of x402 counts as one.
    pub price: Price,
    /// Networks on which it can be paid, each once.
    pub networks: Vec<Network>,
    pub timeout_seconds: u32,
    /// True: the public catalogue shows it.
    pub listed: bool,
}

/// Reason why terms are refused, as a sentence for the merchant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    #[error("url must be an http or https address of at most {URL_MAX} characters")]
    Url,
    #[error(
        "description must have at most {DESCRIPTION_MAX} characters, none of them a control character"
    )]
    Description,
    #[error("mime_type must be a type such as application/json")]
    MimeType,
    #[error("price_amount must be above 0 and have at most 6 decimal places")]
    Price,
    #[error("timeout_seconds must be from {} to {}", TIMEOUT_SECONDS.start(), TIMEOUT_SECONDS.end())]
    Timeout,
    #[error("networks must name at least one network, each once")]
    Networks,
}

impl Terms {
    pub fn check(&self) -> Result<(), TermsError> {
        let url = url::Url::parse(&self.url).ok();
        let is_web = url.is_some_and(|url| matches!(url.scheme(), "http" | "https"));
        if !is_web || self.url.chars().count() > URL_MAX {
            return Err(TermsError::Url);
        }
        let text = &self.description;
        if text.chars().count() > DESCRIPTION_MAX || text.chars().any(char::is_control) {
            return Err(TermsError::Description);
        }
        let is_token = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-._".contains(&b))
        };
        let parts = self.mime_type.split_once('/');
        let is_type = parts.is_some_and(|(kind, rest)| is_token(kind) && is_token(rest));
        if !is_type || self.mime_type.len() > MIME_TYPE_MAX {
            return Err(TermsError::MimeType);
        }
        if self.price.is_zero() || amount(self.price, 6).is_err() {
            return Err(TermsError::Price);
        }
        if !TIMEOUT_SECONDS.contains(&self.timeout_seconds) {
            return Err(TermsError::Timeout);
        }
        let mut names: Vec<_> = self.networks.iter().map(|network| network.name()).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() || names.len() != self.networks.len() {
            return Err(TermsError::Networks);
        }
        Ok(())
    }
}

/// A price in base units of a token that counts as one USD.
///
/// # Errors
///
/// [`AmountError`] if the token has fewer decimal places than the price, or beyond 128 bits.
pub fn amount(price: Price, decimals: u8) -> Result<BaseUnits, AmountError> {
    BaseUnits::parse(&price.to_decimal(), u32::from(decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> Terms {
        Terms {
            url: "https://api.example/weather".into(),
            description: "The weather of tomorrow".into(),
            mime_type: MIME_TYPE_DEFAULT.into(),
            price: Price::parse("0.01").unwrap(),
            networks: vec![Network::Base, Network::Polygon],
            timeout_seconds: TIMEOUT_SECONDS_DEFAULT,
            listed: true,
        }
    }

    #[test]
    fn terms_that_no_client_could_pay_by_are_refused() {
        assert_eq!(terms().check(), Ok(()));
        let refused = |change: fn(&mut Terms), error| {
            let mut terms = terms();
            change(&mut terms);
            assert_eq!(terms.check(), Err(error), "{terms:?}");
        };
        refused(|terms| terms.url = "ftp://api.example".into(), TermsError::Url);
        refused(|terms| terms.url = "/weather".into(), TermsError::Url);
        refused(|terms| terms.url += &"a".repeat(2_000), TermsError::Url);
        refused(|terms| terms.description = "a\nb".into(), TermsError::Description);
        refused(|terms| terms.mime_type = "json".into(), TermsError::MimeType);
        refused(|terms| terms.mime_type = "a/b;c".into(), TermsError::MimeType);
        refused(|terms| terms.price = Price::parse("0").unwrap(), TermsError::Price);
        refused(|terms| terms.price = Price::parse("0.0000001").unwrap(), TermsError::Price);
        refused(|terms| terms.timeout_seconds = 9, TermsError::Timeout);
        refused(|terms| terms.timeout_seconds = 601, TermsError::Timeout);
        refused(|terms| terms.networks = vec![], TermsError::Networks);
        refused(|terms| terms.networks = vec![Network::Base; 2], TermsError::Networks);
    }

    #[test]
    fn a_dollar_is_a_million_base_units() {
        let price = |text| amount(Price::parse(text).unwrap(), 6);
        assert_eq!(price("1"), Ok(BaseUnits::new(1_000_000)));
        assert_eq!(price("0.01"), Ok(BaseUnits::new(10_000)));
        assert!(price("0.0000001").is_err());
        assert!(is_id(&new_id()));
        assert!(!is_id("pzi_00000000000000000000000000"));
    }
}
