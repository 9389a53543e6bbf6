//! Keys of providers: in a header, or as a name and a password.

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderName, HeaderValue, header};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::egress::UrlRefused;

/// Marks a header in an address's fragment, which no client ever sends.
const HEADER_MARK: &str = "header=";

/// The address of a node whose provider takes a key in a header, `Name: value`. The two stay one
/// secret, so that no key can reach the node of another provider.
pub fn with_header(url: &SecretString, header: &SecretString) -> SecretString {
    let header = utf8_percent_encode(header.expose_secret(), NON_ALPHANUMERIC);
    format!("{}#{HEADER_MARK}{header}", url.expose_secret()).into()
}

/// Returns whether [`with_header`] can be given this text.
pub fn is_header(text: &SecretString) -> bool {
    parse_header(text.expose_secret()).is_some()
}

fn parse_header(text: &str) -> Option<Credential> {
    let (name, value) = text.split_once(':')?;
    let name = HeaderName::try_from(name.trim()).ok()?;
    let mut value = HeaderValue::try_from(value.trim()).ok().filter(|value| !value.is_empty())?;
    value.set_sensitive(true);
    Some((name, value))
}

/// The header that a node wants to see with each call.
pub(super) type Credential = (HeaderName, HeaderValue);

/// The address without its user name and password, and the header that says them (RFC 7617), or the
/// one in its fragment.
pub(super) fn take_credentials(mut url: Url) -> Result<(Url, Option<Credential>), UrlRefused> {
    if let Some(header) = url.fragment().and_then(|text| text.strip_prefix(HEADER_MARK)) {
        let header = percent_decode_str(header).decode_utf8().map_err(|_| UrlRefused::Userinfo)?;
        let credential = parse_header(&header).ok_or(UrlRefused::Userinfo)?;
        url.set_fragment(None);
        return Ok((url, Some(credential)));
    }
    if url.username().is_empty() && url.password().is_none() {
        return Ok((url, None));
    }
    let mut credentials = percent_decode_str(url.username()).collect::<Vec<u8>>();
    credentials.push(b':');
    credentials.extend(percent_decode_str(url.password().unwrap_or_default()));
    let text = format!("Basic {}", BASE64_STANDARD.encode(credentials));
    let mut header = HeaderValue::try_from(text).map_err(|_| UrlRefused::Userinfo)?;
    header.set_sensitive(true);
    url.set_username("").map_err(|()| UrlRefused::Userinfo)?;
    url.set_password(None).map_err(|()| UrlRefused::Userinfo)?;
    Ok((url, Some((header::AUTHORIZATION, header))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_password_become_a_header_and_leave_the_address() {
        let url = Url::parse("http://rpc:p%40ss%3A%C3%A4@node.example:8332/wallet").unwrap();
        let (url, header) = take_credentials(url).unwrap();
        assert_eq!(url.as_str(), "http://node.example:8332/wallet");
        let (name, header) = header.unwrap();
        assert_eq!(name, header::AUTHORIZATION);
        assert_eq!(header, "Basic cnBjOnBAc3M6w6Q=");
        assert!(!format!("{header:?}").contains("cnBj"));
        let url = Url::parse("http://node.example/key").unwrap();
        assert_eq!(take_credentials(url.clone()), Ok((url, None)));
    }
}
