//! The origin of a request that changes something: only our own pages may send one.

use axum::http::{HeaderMap, header};
use url::Url;

/// Compares with the configured address, since proxies rewrite `Host`. A cookie's `SameSite` does
/// not tell the dashboard from other ports and names of its site, so this check does. A request
/// with neither header comes from no browser of today.
pub fn is_ours(headers: &HeaderMap, dashboard_url: &str) -> bool {
    let text = |name| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
    let origins: Vec<_> = text(header::ORIGIN).collect();
    let sites: Vec<_> = text(header::HeaderName::from_static("sec-fetch-site")).collect();
    let ours = Url::parse(dashboard_url).map(|url| url.origin().ascii_serialization());
    match (origins.as_slice(), sites.as_slice()) {
        ([origin], []) => ours.is_ok_and(|ours| *origin == ours),
        ([origin], ["same-origin" | "none"]) => ours.is_ok_and(|ours| *origin == ours),
        ([], ["same-origin"]) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_of_the_dashboard_may_send_a_form() {
        let ours = "https://dashboard.example";
        for (origin, site, taken) in [
            (Some(ours), Some("same-origin"), true),
            (Some(ours), None, true),
            (None, Some("same-origin"), true),
            (None, None, false),
            (None, Some("none"), false),
            (None, Some("same-site"), false),
            (Some("null"), None, false),
            (Some("null"), Some("same-origin"), false),
            (Some(ours), Some("same-site"), false),
            (Some(ours), Some("cross-site"), false),
            (Some("https://dashboard.example:444"), None, false),
            (Some("http://dashboard.example"), None, false),
            (Some("https://checkout.example"), Some("same-site"), false),
            (Some("https://dashboard.example.evil.example"), None, false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(origin) = origin {
                headers.insert("origin", origin.parse().unwrap());
            }
            if let Some(site) = site {
                headers.insert("sec-fetch-site", site.parse().unwrap());
            }
            let url = "https://dashboard.example/";
            assert_eq!(is_ours(&headers, url), taken, "{origin:?} {site:?}");
            headers.append("origin", ours.parse().unwrap());
            headers.append("origin", ours.parse().unwrap());
            assert!(!is_ours(&headers, url));
        }
    }
}
