//! Callback addresses given by merchants: no accepted text is an internal address.

use std::net::{IpAddr, Ipv4Addr};

use gateway::egress::guard::{Policy, check_url};
use url::Host;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(url) = check_url(text, &Policy::public()) else { return };
    assert!(matches!(url.scheme(), "http" | "https"), "{url}");
    assert!(url.username().is_empty() && url.password().is_none(), "{url}");
    let ip = match url.host().expect("an accepted address has a host") {
        Host::Ipv4(ip) => IpAddr::V4(ip),
        Host::Ipv6(ip) => ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4),
        Host::Domain(name) => {
            let bare = name.trim_end_matches('.');
            assert!(bare != "localhost" && !bare.ends_with(".localhost"), "{url}");
            // Old resolvers read these as addresses.
            assert!(bare.parse::<Ipv4Addr>().is_err() && bare.parse::<u32>().is_err(), "{url}");
            return;
        }
    };
    let inside = match ip {
        IpAddr::V4(ip) => {
            ip.is_private() || ip.is_link_local() || ip.is_broadcast() || ip.is_documentation()
        }
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local(),
    };
    assert!(!inside && !ip.is_loopback() && !ip.is_unspecified() && !ip.is_multicast(), "{url}");
}
