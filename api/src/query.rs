//! Reading query strings: one value per name, decoded once.

use axum::{extract::FromRequestParts, http::request::Parts};
use std::convert::Infallible;

use crate::error::ApiError;

const VALUE_CHARS_MAX: usize = 255;

/// Query parameters of a request, in their original order.
pub struct Parameters(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self(decode(query)))
    }
}

fn decode(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

impl Parameters {
    /// The last value given for `name`; an empty value counts as absent.
    pub fn text(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let found = self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value);
        match found.map(String::as_str).filter(|value| !value.is_empty()) {
            Some(value) if value.contains('\0') || value.chars().count() > VALUE_CHARS_MAX => {
                Err(ApiError::invalid(format!("{name} is not a usable value")))
            }
            other => Ok(other),
        }
    }

    pub fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.text(name)?.ok_or_else(|| ApiError::invalid(format!("{name} is required")))
    }

    /// An integer clamped to `range`; any other text is refused.
    pub fn clamped(
        &self,
        name: &str,
        default: i64,
        range: std::ops::RangeInclusive<i64>,
    ) -> Result<i64, ApiError> {
        let Some(text) = self.text(name)? else { return Ok(default) };
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(ApiError::invalid(format!("{name} must be a whole number")));
        }
        let beyond = if text.starts_with('-') { i64::MIN } else { i64::MAX };
        Ok(text.parse().unwrap_or(beyond).clamp(*range.start(), *range.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_clamp_and_non_numbers_are_refused() {
        let clamp = |text: &str| {
            Parameters(decode(&format!("limit={text}"))).clamped("limit", 10, 1..=100).ok()
        };
        for (text, expected) in [
            ("", Some(10)),
            ("0", Some(1)),
            ("-5", Some(1)),
            ("100", Some(100)),
            ("101", Some(100)),
            ("99999999999999999999999", Some(100)),
            ("-99999999999999999999999", Some(1)),
            ("abc", None),
            ("1.5", None),
            ("1e2", None),
            ("-", None),
        ] {
            assert_eq!(clamp(text), expected, "{text}");
        }
    }
}
