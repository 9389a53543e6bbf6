//! The id of a request: on every answer in `x-request-id`, in the log lines of its work, and in
//! its span.
//!
//! A caller's own id is kept if it is short and harmless, so that one id can be followed through
//! his systems and ours. It is an echo: nothing is decided by it, and it need not be unique.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use gateway::invoice::id::bearer;

pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const PREFIX: &str = "req_";
const CHARS_MAX: usize = 64;

#[derive(Debug, Clone)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// The caller's id, if it sent exactly one that is usable, else a new one.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut sent = headers.get_all(HEADER).iter();
        match (sent.next(), sent.next()) {
            (Some(value), None) if is_usable(value.as_bytes()) => Self(value.clone()),
            _ => Self::generate(),
        }
    }

    fn generate() -> Self {
        let text = bearer(PREFIX);
        Self(HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(PREFIX)))
    }

    /// Usable ids are plain ASCII.
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    pub fn value(&self) -> HeaderValue {
        self.0.clone()
    }
}

/// 1 to 64 letters, digits, dots, underscores and hyphens: it goes into headers and logs.
fn is_usable(text: &[u8]) -> bool {
    (1..=CHARS_MAX).contains(&text.len())
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sent: &[&'static str]) -> String {
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append(HEADER, HeaderValue::from_static(value));
        }
        RequestId::of(&headers).as_str().to_owned()
    }

    #[test]
    fn a_short_and_harmless_id_is_kept_and_any_other_is_replaced() {
        let (longest, longer) = ("x".repeat(64), "x".repeat(65));
        let (longest, longer): (&'static str, &'static str) = (longest.leak(), longer.leak());
        for kept in ["a", "A-1.b_2", longest] {
            assert_eq!(of(&[kept]), kept);
        }
        for refused in
            [vec![], vec![""], vec![longer], vec!["a b"], vec!["a\"b"], vec!["a/b"], vec!["a", "b"]]
        {
            let new = of(&refused);
            assert!(new.starts_with(PREFIX) && new.len() == 30, "{refused:?}: {new}");
        }
        assert_ne!(of(&[]), of(&[]));
    }
}
