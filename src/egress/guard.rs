//! Policy for the targets of outgoing calls. Pure: it works on texts and addresses, without network
//! access.
//!
//! The policy applies twice: [`check_url`] refuses a bad callback when an invoice is created, and
//! the dialler checks with [`Policy::check_address`] the very address it is about to connect to.
//! Only the second check protects; the name may resolve to any address by then.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::Uri;
use serde::Deserialize;
use thiserror::Error;
use url::{Host, Url};

/// Longest URL that is accepted, in bytes (the limit of the specification for the redirect URLs).
pub const URL_BYTES_MAX: usize = 2048;
const HOST_BYTES_MAX: usize = 253;

/// Origin of the addresses that are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// Chosen by merchants: only the public internet, unless `allow_private`.
    Public(PublicPolicy),
    /// Chosen by the operator (rate providers, nodes): any address.
    Operator,
}

/// Limits for addresses chosen by others; also the configuration section `egress`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PublicPolicy {
    /// Allows loopback and private ranges, for a developer's own machine. Default: no. Never in
    /// production. Link-local addresses stay refused: cloud metadata lives there.
    pub allow_private: bool,
    /// Ports that stay refused on loopback and private addresses even with `allow_private`: our own
    /// database, broker and so on.
    pub denied_ports: Vec<u16>,
}

/// Reason why an address may not be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("loopback addresses are not allowed")]
    Loopback,
    #[error("private addresses are not allowed")]
    Private,
    #[error("link-local addresses are not allowed")]
    LinkLocal,
    #[error("multicast and broadcast addresses are not allowed")]
    Multicast,
    #[error("reserved addresses are not allowed")]
    Reserved,
    #[error("port 0 is not allowed")]
    PortZero,
    #[error("this port is not allowed")]
    DeniedPort,
}

/// Reason why a text is not an acceptable URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum UrlRefused {
    #[error("must be at most {URL_BYTES_MAX} characters")]
    TooLong,
    #[error("must not contain spaces or control characters")]
    Blank,
    #[error("must be an absolute URL")]
    NotAbsolute,
    #[error("must begin with http:// or https://")]
    Scheme,
    #[error("must not contain a user name or password")]
    Userinfo,
    #[error("must have a valid host name")]
    Host,
    #[error("{0}")]
    Address(Refusal),
}

/// Class of an address for the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reach {
    Public,
    /// Refused unless [`PublicPolicy::allow_private`] is set.
    Inside(Refusal),
    Never(Refusal),
}

impl Policy {
    /// Policy for merchants' addresses: public internet only.
    pub fn public() -> Self {
        Self::Public(PublicPolicy::default())
    }

    /// Returns an error if this address must not be connected to.
    pub fn check_address(&self, address: SocketAddr) -> Result<(), Refusal> {
        if address.port() == 0 {
            return Err(Refusal::PortZero);
        }
        let Self::Public(policy) = self else { return Ok(()) };
        match reach(address.ip()) {
            Reach::Public => Ok(()),
            Reach::Never(refusal) => Err(refusal),
            Reach::Inside(refusal) if !policy.allow_private => Err(refusal),
            Reach::Inside(_) if policy.denied_ports.contains(&address.port()) => {
                Err(Refusal::DeniedPort)
            }
            Reach::Inside(_) => Ok(()),
        }
    }

    /// Checks `url` by its text alone.
    pub fn check(&self, url: &Url) -> Result<(), UrlRefused> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlRefused::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlRefused::Userinfo);
        }
        let port = url.port_or_known_default().unwrap_or(0);
        let check_ip = |ip| self.check_address(SocketAddr::new(ip, port));
        match url.host().ok_or(UrlRefused::Host)? {
            Host::Ipv4(ip) => check_ip(IpAddr::V4(ip)),
            Host::Ipv6(ip) => check_ip(IpAddr::V6(ip)),
            Host::Domain(name) => {
                let bare = name.strip_suffix('.').unwrap_or(name);
                if bare.len() > HOST_BYTES_MAX || bare.split('.').any(|l| !label_is_valid(l)) {
                    return Err(UrlRefused::Host);
                }
                // Any address serves to check the port rules of a name; `localhost` has its own by
                // RFC 6761.
                let stand_in = if bare == "localhost" || bare.ends_with(".localhost") {
                    Ipv4Addr::LOCALHOST
                } else {
                    Ipv4Addr::new(1, 1, 1, 1)
                };
                check_ip(IpAddr::V4(stand_in))
            }
        }
        .map_err(UrlRefused::Address)
    }
}

fn label_is_valid(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// The URL of a page to which a browser may be sent, as the parser spells it; `None` if it is no
/// such URL. We never call it ourselves, so it may lead to a private address.
pub fn page_url(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| {
        let plain = url.username().is_empty() && url.password().is_none();
        matches!(url.scheme(), "http" | "https") && url.has_host() && plain
    });
    url.map(Into::into)
}

/// Parses a URL given by a merchant for callbacks.
///
/// The WHATWG parser turns every spelling of an IPv4 address (`127.1`, `0x7f.1`, `2130706433`) into
/// the address itself.
pub fn check_url(text: &str, policy: &Policy) -> Result<Url, UrlRefused> {
    if text.len() > URL_BYTES_MAX {
        return Err(UrlRefused::TooLong);
    }
    // The parser silently drops tabs, line breaks and outer blanks; the URL that is checked must be
    // the one that was written.
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(UrlRefused::Blank);
    }
    let url = Url::parse(text).map_err(|fault| {
        let relative = fault == url::ParseError::RelativeUrlWithoutBase;
        if relative { UrlRefused::NotAbsolute } else { UrlRefused::Host }
    })?;
    policy.check(&url)?;
    // `http:example.com` and `http:///example.com` parse, but are mistakes.
    let after_scheme = text.split_once("://").map_or("", |(_, rest)| rest);
    if after_scheme.is_empty() || after_scheme.starts_with(['/', '\\']) {
        return Err(UrlRefused::NotAbsolute);
    }
    // Percent-encoding may lengthen it, and a URL that the client cannot send must be refused.
    if url.as_str().len() > URL_BYTES_MAX * 3 || to_uri(&url).is_none() {
        return Err(UrlRefused::Host);
    }
    Ok(url)
}

/// The request target for hyper, without the fragment, which is never sent.
pub(super) fn to_uri(url: &Url) -> Option<Uri> {
    let mut url = url.clone();
    url.set_fragment(None);
    Uri::try_from(url.as_str()).ok()
}

fn reach(ip: IpAddr) -> Reach {
    match ip {
        IpAddr::V4(ip) => reach_v4(ip),
        IpAddr::V6(ip) => reach_v6(ip),
    }
}

/// Classifies by the special-purpose registry of IANA (RFC 6890 and its successors).
fn reach_v4(ip: Ipv4Addr) -> Reach {
    use Refusal::{LinkLocal, Loopback, Multicast, Private, Reserved};
    match ip.octets() {
        [127, ..] => Reach::Inside(Loopback),
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] | [100, 64..=127, ..] => {
            Reach::Inside(Private)
        }
        [169, 254, ..] => Reach::Never(LinkLocal),
        // Some clouds serve metadata at public-looking addresses.
        [168, 63, 129, 16] | [192, 0, 0, 192] => Reach::Never(LinkLocal),
        [224..=239, ..] | [255, 255, 255, 255] => Reach::Never(Multicast),
        // 0.0.0.0/8 reaches the local host on Linux.
        [0, ..]
        | [192, 0, 0, _]
        | [192, 0, 2, _]
        | [192, 31, 196, _]
        | [192, 52, 193, _]
        | [192, 88, 99, _]
        | [192, 175, 48, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Reach::Never(Reserved),
        _ => Reach::Public,
    }
}

fn reach_v6(ip: Ipv6Addr) -> Reach {
    use Refusal::{LinkLocal, Loopback, Multicast, Private, Reserved};
    let s = ip.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    // An embedded address is judged by the inner one. Only the mapped form is the inner address
    // itself; the tunnels have no legitimate use for an inner address that is not public.
    let carried = |inner: Ipv4Addr| match reach_v4(inner) {
        Reach::Public => Reach::Public,
        Reach::Inside(refusal) | Reach::Never(refusal) => Reach::Never(refusal),
    };
    match s {
        [0, 0, 0, 0, 0, 0xffff, high, low] => reach_v4(v4(high, low)),
        [0, 0, 0, 0, 0, 0, 0, 1] => Reach::Inside(Loopback),
        // Unspecified, IPv4-compatible, IPv4-translated.
        [0, 0, 0, 0, 0, 0, _, _] | [0, 0, 0, 0, 0xffff, 0, _, _] => Reach::Never(Reserved),
        // NAT64, well-known prefix; its local-use sibling 64:ff9b:1::/48 can hide the inner address
        // anywhere.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => carried(v4(high, low)),
        [0x64, 0xff9b, ..] => Reach::Never(Reserved),
        // 6to4.
        [0x2002, high, low, ..] => carried(v4(high, low)),
        // ORCHID, benchmarking, Teredo and the rest of 2001::/23; documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => {
            Reach::Never(Reserved)
        }
        // Amazon's metadata lives in its ULA range.
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] => Reach::Never(LinkLocal),
        [0xfc00..=0xfdff, ..] => Reach::Inside(Private),
        [0xfe80..=0xfeff, ..] => Reach::Never(LinkLocal),
        [0xff00..=0xffff, ..] => Reach::Never(Multicast),
        // Only 2000::/3 is handed out for global use.
        [0x2000..=0x3fff, ..] => Reach::Public,
        _ => Reach::Never(Reserved),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn local() -> Policy {
        Policy::Public(PublicPolicy { allow_private: true, denied_ports: vec![5432, 5672] })
    }

    fn refusal(policy: &Policy, address: &str) -> Option<Refusal> {
        let address: SocketAddr = address.parse().unwrap();
        policy.check_address(address).err()
    }

    #[test]
    fn only_the_public_internet_may_be_called() {
        use Refusal::{LinkLocal, Loopback, Multicast, PortZero, Private, Reserved};
        for (address, expected) in [
            ("8.8.8.8:443", None),
            ("1.1.1.1:8080", None),
            ("172.15.255.255:80", None),
            ("172.32.0.0:80", None),
            ("100.63.255.255:80", None),
            ("100.128.0.0:80", None),
            ("[2606:4700::1111]:443", None),
            ("[2a00:1450:4001::1]:443", None),
            ("8.8.8.8:0", Some(PortZero)),
            ("127.0.0.1:80", Some(Loopback)),
            ("127.255.255.254:80", Some(Loopback)),
            ("10.0.0.1:80", Some(Private)),
            ("172.16.0.1:80", Some(Private)),
            ("172.31.255.255:80", Some(Private)),
            ("192.168.1.1:80", Some(Private)),
            ("100.64.0.1:80", Some(Private)),
            ("100.100.100.200:80", Some(Private)),
            ("169.254.169.254:80", Some(LinkLocal)),
            ("168.63.129.16:80", Some(LinkLocal)),
            ("192.0.0.192:80", Some(LinkLocal)),
            ("224.0.0.1:80", Some(Multicast)),
            ("255.255.255.255:80", Some(Multicast)),
            ("0.0.0.0:80", Some(Reserved)),
            ("0.1.2.3:80", Some(Reserved)),
            ("192.0.2.1:80", Some(Reserved)),
            ("198.18.0.1:80", Some(Reserved)),
            ("198.51.100.1:80", Some(Reserved)),
            ("203.0.113.1:80", Some(Reserved)),
            ("240.0.0.1:80", Some(Reserved)),
            ("[::]:80", Some(Reserved)),
            ("[::1]:80", Some(Loopback)),
            ("[::127.0.0.1]:80", Some(Reserved)),
            ("[::8.8.8.8]:80", Some(Reserved)),
            ("[::ffff:127.0.0.1]:80", Some(Loopback)),
            ("[::ffff:10.0.0.1]:80", Some(Private)),
            ("[::ffff:169.254.169.254]:80", Some(LinkLocal)),
            ("[::ffff:8.8.8.8]:80", None),
            ("[::ffff:0:127.0.0.1]:80", Some(Reserved)),
            ("[64:ff9b::7f00:1]:80", Some(Loopback)),
            ("[64:ff9b::a9fe:a9fe]:80", Some(LinkLocal)),
            ("[64:ff9b::808:808]:80", None),
            ("[64:ff9b:1::808:808]:80", Some(Reserved)),
            ("[2002:7f00:1::]:80", Some(Loopback)),
            ("[2002:a00:1::1]:80", Some(Private)),
            ("[2002:808:808::1]:80", None),
            ("[2001::1]:80", Some(Reserved)),
            ("[2001:0:4136:e378:8000:63bf:3fff:fdd2]:80", Some(Reserved)),
            ("[2001:db8::1]:80", Some(Reserved)),
            ("[fc00::1]:80", Some(Private)),
            ("[fd12:3456::1]:80", Some(Private)),
            ("[fd00:ec2::254]:80", Some(LinkLocal)),
            ("[fe80::1]:80", Some(LinkLocal)),
            ("[fec0::1]:80", Some(LinkLocal)),
            ("[ff02::1]:80", Some(Multicast)),
            ("[100::1]:80", Some(Reserved)),
            ("[4000::1]:80", Some(Reserved)),
        ] {
            assert_eq!(refusal(&Policy::public(), address), expected, "{address}");
        }
    }

    #[test]
    fn a_developers_machine_may_be_called_but_not_its_database_or_metadata() {
        use Refusal::{DeniedPort, LinkLocal, Loopback, PortZero, Reserved};
        for (address, expected) in [
            ("127.0.0.1:3000", None),
            ("[::1]:3000", None),
            ("[::ffff:127.0.0.1]:3000", None),
            ("192.168.1.7:3000", None),
            ("8.8.8.8:5432", None),
            ("127.0.0.1:5432", Some(DeniedPort)),
            ("127.9.9.9:5672", Some(DeniedPort)),
            ("[::1]:5432", Some(DeniedPort)),
            ("[::ffff:127.0.0.1]:5432", Some(DeniedPort)),
            ("172.17.0.2:5432", Some(DeniedPort)),
            ("127.0.0.1:0", Some(PortZero)),
            // Linux treats this as loopback, so it would bypass the denied ports.
            ("0.0.0.0:3000", Some(Reserved)),
            ("169.254.169.254:80", Some(LinkLocal)),
            ("[64:ff9b::7f00:1]:3000", Some(Loopback)),
        ] {
            assert_eq!(refusal(&local(), address), expected, "{address}");
        }
        for address in ["127.0.0.1:5432", "169.254.169.254:80", "10.0.0.1:8545"] {
            assert_eq!(refusal(&Policy::Operator, address), None, "{address}");
        }
    }

    #[test]
    fn a_callback_is_an_absolute_http_url_on_the_public_internet() {
        let long = |n: usize| format!("https://a.example/{}", "x".repeat(n));
        assert!(check_url(&long(URL_BYTES_MAX - 18), &Policy::public()).is_ok());
        assert_eq!(check_url(&long(URL_BYTES_MAX), &Policy::public()), Err(UrlRefused::TooLong));
        for good in [
            "https://shop.example/ipn",
            "http://shop.example:8080/ipn?a=b&c=%20#fragment",
            "HTTPS://SHOP.EXAMPLE",
            "https://bücher.example/ipn",
            "https://shop.example./ipn",
            "https://8.8.8.8/ipn",
            "https://[2606:4700::1111]/ipn",
            "https://_dmarc.shop.example/",
            "https://shop.example/ipn?x={y}|z",
        ] {
            assert!(check_url(good, &Policy::public()).is_ok(), "{good}");
        }
        use UrlRefused::{Blank, Host, NotAbsolute, Scheme, Userinfo};
        for (text, expected) in [
            ("", NotAbsolute),
            ("/ipn", NotAbsolute),
            ("shop.example/ipn", NotAbsolute),
            ("//shop.example/ipn", NotAbsolute),
            ("https:shop.example", NotAbsolute),
            ("https:/shop.example", NotAbsolute),
            ("https:///shop.example", NotAbsolute),
            ("ftp://shop.example", Scheme),
            ("file:///etc/passwd", Scheme),
            ("gopher://127.0.0.1:5432/", Scheme),
            ("javascript:alert(1)", Scheme),
            ("https://", Host),
            ("https://user@shop.example/", Userinfo),
            ("https://:secret@shop.example/", Userinfo),
            (" https://shop.example/", Blank),
            ("https://shop.example/\n", Blank),
            ("https://shop\t.example/", Blank),
            ("https://shop.example/a b", Blank),
            ("https://shop.example/\r\nx: y", Blank),
            ("https://shop.example\0/", Blank),
            ("https://a..example/", Host),
            ("https://.example/", Host),
            ("https://[fe80::1%25eth0]/", Host),
            ("https://shop.example:99999/", Host),
            ("https://256.256.256.256/", Host),
            ("https://exa%00mple/", Host),
        ] {
            assert_eq!(check_url(text, &Policy::public()), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn no_spelling_of_a_private_address_passes() {
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "0x7f.1",
            "0x7f000001",
            "0X7F.0.0.1",
            "2130706433",
            "017700000001",
            "0177.0.0.1",
            "127.0.0.1.",
            "127.1.",
            "%31%32%37.0.0.1",
            "１２７.0.0.1",
            "127。0。0。1",
            "①②⑦.0.0.1",
            "0",
            "0.0.0.0",
            "10.1",
            "192.168.257",
            "169.254.169.254",
            "0xa9fea9fe",
            "[::1]",
            "[::]",
            "[0:0:0:0:0:ffff:7f00:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[64:ff9b::127.0.0.1]",
            "[2002:7f00:1::]",
            "[fe80::1]",
            "[fd00::1]",
            "localhost",
            "LOCALHOST",
            "localhost.",
            "x.localhost",
            "x.LocalHost.",
            "ｌｏｃａｌｈｏｓｔ",
        ] {
            for text in [format!("http://{host}/"), format!("https://{host}:8443/a?b")] {
                let outcome = check_url(&text, &Policy::public());
                assert!(matches!(outcome, Err(UrlRefused::Address(_))), "{text}: {outcome:?}");
            }
        }
        for good in ["http://localhost:3000/ipn", "http://x.localhost:3000/", "http://127.1:3000/"]
        {
            assert!(check_url(good, &local()).is_ok(), "{good}");
        }
        let denied = Err(UrlRefused::Address(Refusal::DeniedPort));
        assert_eq!(check_url("http://localhost:5432/", &local()), denied);
        assert_eq!(check_url("http://0x7f.1:5672/", &local()), denied);
    }

    proptest! {
        #[test]
        fn every_spelling_of_an_ipv4_address_is_judged_alike(bits: u32, port in 1_u16..) {
            let ip = Ipv4Addr::from_bits(bits);
            let [a, b, c, d] = ip.octets();
            let expected = Policy::public().check_address((ip, port).into());
            for host in [
                ip.to_string(),
                bits.to_string(),
                format!("{bits:#x}"),
                format!("0{bits:o}"),
                format!("{a:#x}.{b}.0{c:o}.{d}"),
                format!("{a}.{}", bits & 0x00ff_ffff),
                format!("[::ffff:{ip}]"),
            ] {
                let outcome = check_url(&format!("http://{host}:{port}/"), &Policy::public());
                prop_assert_eq!(outcome.map(drop), expected.map_err(UrlRefused::Address), "{}", host);
            }
        }

        #[test]
        fn any_text_is_checked_without_a_panic_and_only_http_urls_pass(text in "(https?://)?\\PC{0,40}") {
            if let Ok(url) = check_url(&text, &Policy::public()) {
                prop_assert!(matches!(url.scheme(), "http" | "https"));
                prop_assert!(url.host().is_some() && url.username().is_empty());
                prop_assert!(to_uri(&url).is_some());
            }
        }
    }
}
