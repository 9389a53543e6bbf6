//! The three cookies: the session's, the one that visitors' forms hang on, and the one by which an
//! account knows a browser.
//!
//! Names and flags follow the scheme of the configured address: `__Host-` and `Secure` where it is
//! encrypted. Over plain http a browser may drop such cookies, so the sandbox has plain ones.

use axum::http::{HeaderMap, HeaderValue, header};
use gateway::account::bearer::Bearer;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Session,
    /// Ties the forms of somebody without a session to his browser.
    Visitor,
    /// Opens nothing: its guesses count apart.
    Device,
}

impl Kind {
    const fn name(self, is_encrypted: bool) -> &'static str {
        match (self, is_encrypted) {
            (Self::Session, true) => "__Host-gateway-session",
            (Self::Session, false) => "gateway-session",
            (Self::Visitor, true) => "__Host-gateway-visitor",
            (Self::Visitor, false) => "gateway-visitor",
            (Self::Device, true) => "__Host-gateway-device",
            (Self::Device, false) => "gateway-device",
        }
    }

    /// The last part of its line: until when a browser keeps it.
    const fn end(self) -> &'static str {
        match self {
            Self::Session | Self::Visitor => "",
            // 180 days, as `account::session::DEVICE_DAYS`.
            Self::Device => "; Max-Age=15552000",
        }
    }
}

fn is_encrypted(dashboard_url: &str) -> bool {
    dashboard_url.starts_with("https:")
}

/// The value of a cookie. Of two with one name, one was planted, so neither counts.
pub fn read(headers: &HeaderMap, kind: Kind, dashboard_url: &str) -> Option<Bearer> {
    let name = kind.name(is_encrypted(dashboard_url));
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim());
    match (values.next(), values.next()) {
        (Some(value), None) => Bearer::parse(value),
        (Some(_), Some(_)) | (None, _) => None,
    }
}

/// A `Set-Cookie` line. Only a device's outlasts the browser.
pub fn set(kind: Kind, value: &Bearer, dashboard_url: &str) -> Option<HeaderValue> {
    line(kind, value.reveal(), kind.end(), dashboard_url)
}

/// A `Set-Cookie` line that takes the cookie away.
pub fn clear(kind: Kind, dashboard_url: &str) -> Option<HeaderValue> {
    line(kind, "", "; Max-Age=0", dashboard_url)
}

fn line(kind: Kind, value: &str, end: &str, dashboard_url: &str) -> Option<HeaderValue> {
    let is_encrypted = is_encrypted(dashboard_url);
    let secure = if is_encrypted { "; Secure" } else { "" };
    let name = kind.name(is_encrypted);
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{end}");
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_follow_the_scheme() {
        let bearer = Bearer::generate();
        let line = |url| set(Kind::Session, &bearer, url).unwrap().to_str().unwrap().to_owned();
        let value = bearer.reveal();
        let flags = "Path=/; HttpOnly; SameSite=Lax";
        assert_eq!(
            line("https://d.example"),
            format!("__Host-gateway-session={value}; {flags}; Secure")
        );
        assert_eq!(line("http://localhost:1"), format!("gateway-session={value}; {flags}"));
    }

    #[test]
    fn a_planted_second_cookie_makes_both_void() {
        let (one, two) = (Bearer::generate(), Bearer::generate());
        let read = |line: String| {
            let mut headers = HeaderMap::new();
            headers.insert("cookie", line.parse().unwrap());
            read(&headers, Kind::Session, "http://localhost:1").map(|b| b.reveal().to_owned())
        };
        let pair = |bearer: &Bearer| format!("gateway-session={}", bearer.reveal());
        assert_eq!(read(format!("a=b; {}; c=d", pair(&one))).as_deref(), Some(one.reveal()));
        assert_eq!(read(format!("{}; {}", pair(&one), pair(&two))), None);
        assert_eq!(read("gateway-session=x".to_owned()), None);
        assert_eq!(read(format!("__Host-{}", pair(&one))), None);
    }
}
