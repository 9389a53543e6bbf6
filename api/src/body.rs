//! Strict reading of a JSON body: bounded, complete, and unambiguous.

use std::{collections::BTreeMap, fmt, time::Duration};

use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::error::ApiError;

/// Far larger than any legitimate request.
pub const BODY_BYTES_MAX: usize = 64 * 1024;
/// Number of bytes of an oversized body that are read and discarded. Closing the connection earlier
/// would reset it before the client has read the error response.
const DISCARDED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Shorter than the time limit of the whole request, so that a slow client gets its own error and
/// is not counted as a failure of ours.
const BODY_TIME_MAX: Duration = Duration::from_secs(8);
const KEY_CHARS_SHOWN: usize = 64;

/// Members of a JSON object, each as its original text.
///
/// The text keeps amounts exact: a number is read from its digits, and a string can never pass for
/// a number.
#[derive(Debug)]
pub struct Members(BTreeMap<String, Box<RawValue>>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Unique;
        impl<'de> Visitor<'de> for Unique {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if members.contains_key(&key) {
                        let key: String = key.chars().take(KEY_CHARS_SHOWN).collect();
                        return Err(de::Error::custom(format!("the member {key:?} appears twice")));
                    }
                    members.insert(key, value);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Unique)
    }
}

/// Reads and parses a body. Every fault is the client's, and the error names it.
pub async fn read_members(body: Body) -> Result<Members, ApiError> {
    let read = tokio::time::timeout(BODY_TIME_MAX, read_whole(body)).await;
    let seconds = BODY_TIME_MAX.as_secs();
    let late = |_| ApiError::invalid(format!("the body did not arrive within {seconds} seconds"));
    let bytes = read.map_err(late)??;
    parse_members(&bytes)
}

/// Parses a body that is already in memory.
pub fn parse_members(bytes: &[u8]) -> Result<Members, ApiError> {
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::invalid(format!("the body is not a JSON object: {error}")))
}

/// The fields of a submitted HTML form.
#[derive(Default)]
pub struct Fields(Vec<(String, String)>);

/// The names alone: values are passwords, PINs and codes too.
impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Fields {
    pub fn text(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }
}

/// Reads a form (`application/x-www-form-urlencoded`), with the same bounds as [`read_members`].
pub async fn read_form(body: Body) -> Result<Fields, ApiError> {
    let read = tokio::time::timeout(BODY_TIME_MAX, read_whole(body)).await;
    let bytes = read.map_err(|_| ApiError::invalid("the form did not arrive in time"))??;
    Ok(Fields(url::form_urlencoded::parse(&bytes).into_owned().collect()))
}

/// Reads a body of at most `bytes_max`; `None` if it is larger.
pub async fn read_bytes(body: Body, bytes_max: usize) -> Result<Option<Vec<u8>>, ApiError> {
    let read = tokio::time::timeout(BODY_TIME_MAX, read_up_to(body, bytes_max)).await;
    read.map_err(|_| ApiError::invalid("the body did not arrive in time"))?
}

async fn read_whole(body: Body) -> Result<Vec<u8>, ApiError> {
    let read = read_up_to(body, BODY_BYTES_MAX).await?;
    let too_large = || ApiError::invalid(format!("the body is larger than {BODY_BYTES_MAX} bytes"));
    read.ok_or_else(too_large)
}

async fn read_up_to(mut body: Body, bytes_max: usize) -> Result<Option<Vec<u8>>, ApiError> {
    let (mut kept, mut total) = (Vec::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| ApiError::invalid("the body is incomplete"))?;
        let data = frame.into_data().unwrap_or_else(|_| Bytes::new());
        total = total.saturating_add(data.len());
        if total <= bytes_max {
            kept.extend_from_slice(&data);
        } else if total > DISCARDED_BYTES_MAX {
            break;
        }
    }
    Ok((total <= bytes_max).then_some(kept))
}

impl Members {
    /// Text of a string member; `None` if it is absent or null.
    ///
    /// Lengths count characters. NUL is refused here because PostgreSQL cannot store it.
    pub fn string(
        &self,
        name: &str,
        length: std::ops::RangeInclusive<usize>,
    ) -> Result<Option<String>, ApiError> {
        let Some(raw) = self.present(name) else { return Ok(None) };
        let text: String = serde_json::from_str(raw)
            .map_err(|_| ApiError::invalid(format!("{name} must be a string")))?;
        if text.contains('\0') {
            return Err(ApiError::invalid(format!("{name} must not contain NUL")));
        }
        if !length.contains(&text.chars().count()) {
            let (min, max) = length.into_inner();
            return Err(ApiError::invalid(format!(
                "{name} must be {min} to {max} characters long"
            )));
        }
        Ok(Some(text))
    }

    /// The digits of a number member, exactly as sent.
    pub fn number(&self, name: &str) -> Result<Option<&str>, ApiError> {
        match self.present(name) {
            None => Ok(None),
            Some(raw) if raw.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => Ok(Some(raw)),
            Some(_) => Err(ApiError::invalid(format!("{name} must be a number"))),
        }
    }

    /// A decimal that is sent as a number or as text, by its characters, at most `chars_max` of
    /// them.
    pub fn decimal(&self, name: &str, chars_max: usize) -> Result<Option<String>, ApiError> {
        if self.present(name).is_some_and(|raw| raw.starts_with('"')) {
            return self.string(name, 1..=chars_max);
        }
        match self.number(name) {
            Ok(Some(digits)) if digits.len() > chars_max => {
                Err(ApiError::invalid(format!("{name} has more than {chars_max} characters")))
            }
            Ok(digits) => Ok(digits.map(ToOwned::to_owned)),
            Err(_) => Err(ApiError::invalid(format!("{name} must be a number, or one as text"))),
        }
    }

    /// A member that is true or false; `None` if it is absent or null.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, ApiError> {
        match self.present(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(ApiError::invalid(format!("{name} must be true or false"))),
        }
    }

    /// The text of a member of any kind; `None` if it is absent or null.
    pub fn json(&self, name: &str) -> Option<&str> {
        self.present(name)
    }

    /// True if the member is there, also as null.
    pub fn is_sent(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// True if the member is there and null.
    pub fn is_null(&self, name: &str) -> bool {
        self.is_sent(name) && self.present(name).is_none()
    }

    fn present(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|raw| raw.get()).filter(|raw| *raw != "null")
    }
}

/// Requires a member to be present.
pub fn required<T>(name: &str, value: Option<T>) -> Result<T, ApiError> {
    value.ok_or_else(|| ApiError::invalid(format!("{name} is required")))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &str) -> Result<Members, ApiError> {
        read_members(Body::from(text.to_owned())).await
    }

    #[tokio::test]
    async fn a_body_that_is_not_one_json_object_is_refused() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let cases =
            ["", "[]", "1", "{", "{}x", "{\"a\":1,\"a\":2}", "{\"a\":01}", "a=1&b=2", &deep];
        for text in cases {
            let refused = matches!(read(text).await, Err(ApiError::InvalidRequest(_)));
            assert!(refused, "{}", &text[..text.len().min(40)]);
        }
        assert!(read(&format!("{{\"a\":\"{}\"}}", "x".repeat(BODY_BYTES_MAX))).await.is_err());
    }

    #[tokio::test]
    async fn a_number_is_a_number_and_a_string_is_a_string() {
        let text = r#"{"n":1.50,"s":"1.50","x":{"$serde_json::private::Number":"5"},"z":null,"u":"a\u0000b"}"#;
        let members = read(text).await.unwrap();
        assert_eq!(members.number("n").unwrap(), Some("1.50"));
        assert_eq!(members.number("z").unwrap(), None);
        assert!(members.number("s").is_err() && members.number("x").is_err());
        assert_eq!(members.string("s", 0..=9).unwrap().as_deref(), Some("1.50"));
        assert!(members.string("n", 0..=9).is_err());
        assert!(members.string("u", 0..=9).is_err());
        assert!(members.string("s", 5..=9).is_err());
    }
}
