//! The two cookies of a till's device: its token, which outlasts the browser, and the session while
//! it is unlocked, which does not.
//!
//! Names and flags follow the scheme of the configured address: `__Host-` and `Secure` where it is
//! encrypted. Each name has the link's id, so that one browser may be a device of several tills.

use axum::http::{HeaderMap, HeaderValue, header};
use gateway::{account::bearer::Bearer, app::till::Keys};

/// 400 days, which is the longest that browsers keep one. It is renewed with each unlocking.
const TOKEN_SECONDS: u32 = 400 * 24 * 60 * 60;

fn name(kind: &str, link_id: &str, is_encrypted: bool) -> String {
    let prefix = if is_encrypted { "__Host-" } else { "" };
    format!("{prefix}gateway-{kind}-{link_id}")
}

fn is_encrypted(checkout_url: &str) -> bool {
    checkout_url.starts_with("https:")
}

/// The keys of a request for the page of a till.
pub fn keys(headers: &HeaderMap, link_id: &str, checkout_url: &str) -> Keys {
    let read = |kind| value(headers, &name(kind, link_id, is_encrypted(checkout_url)));
    Keys { token: read("till"), session: read("till-open") }
}

/// The value of a cookie. Of two with one name, one was planted, so neither counts.
fn value(headers: &HeaderMap, name: &str) -> Option<Bearer> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim());
    match (values.next(), values.next()) {
        (Some(value), None) => Bearer::parse(value),
        (Some(_), Some(_)) | (None, _) => None,
    }
}

/// Gives a browser the keys that it does not have yet.
pub fn give(headers: &mut HeaderMap, keys: &Keys, link_id: &str, checkout_url: &str) {
    let token = keys.token.as_ref().map(|token| ("till", token, Some(TOKEN_SECONDS)));
    let session = keys.session.as_ref().map(|session| ("till-open", session, None));
    for (kind, bearer, seconds) in token.into_iter().chain(session) {
        let is_encrypted = is_encrypted(checkout_url);
        let name = name(kind, link_id, is_encrypted);
        let secure = if is_encrypted { "; Secure" } else { "" };
        let end = seconds.map(|seconds| format!("; Max-Age={seconds}")).unwrap_or_default();
        let value = bearer.reveal();
        let line = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{end}");
        if let Ok(line) = HeaderValue::from_str(&line) {
            headers.append(header::SET_COOKIE, line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "pzl_00000000000000000000000000";

    fn lines(url: &str, keys: &Keys) -> Vec<String> {
        let mut headers = HeaderMap::new();
        give(&mut headers, keys, LINK, url);
        let lines = headers.get_all(header::SET_COOKIE).iter();
        lines.map(|line| line.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn flags_follow_the_scheme_and_only_the_token_outlasts_the_browser() {
        let keys = Keys { token: Some(Bearer::generate()), session: Some(Bearer::generate()) };
        for (url, prefix, secure) in
            [("https://pay.example", "__Host-", "; Secure"), ("http://localhost:1", "", "")]
        {
            let [token, session] = lines(url, &keys).try_into().unwrap();
            let flags = format!("; Path=/; HttpOnly; SameSite=Lax{secure}");
            let bearer = keys.token.as_ref().unwrap().reveal();
            assert_eq!(
                token,
                format!("{prefix}gateway-till-{LINK}={bearer}{flags}; Max-Age=34560000")
            );
            let bearer = keys.session.as_ref().unwrap().reveal();
            assert_eq!(session, format!("{prefix}gateway-till-open-{LINK}={bearer}{flags}"));
        }
    }

    #[test]
    fn keys_read_back_for_their_own_till_and_a_planted_second_one_makes_both_void() {
        let keys = Keys { token: Some(Bearer::generate()), session: Some(Bearer::generate()) };
        let url = "https://pay.example";
        let pairs: Vec<_> = lines(url, &keys)
            .iter()
            .map(|line| line.split(';').next().unwrap().to_owned())
            .collect();
        let read = |line: String, link_id| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, line.parse().unwrap());
            super::keys(&headers, link_id, url)
        };
        let found = read(pairs.join("; "), LINK);
        assert_eq!(found.token.unwrap().sha256(), keys.token.as_ref().unwrap().sha256());
        assert_eq!(found.session.unwrap().sha256(), keys.session.as_ref().unwrap().sha256());
        assert!(read(pairs.join("; "), "pzl_1").token.is_none());
        let planted = format!("{0}; {0}", pairs[0]);
        assert!(read(planted, LINK).token.is_none());
        assert!(read(pairs[0].replace("__Host-", ""), LINK).token.is_none());
    }
}
