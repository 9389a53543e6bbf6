//! The client's address behind proxies, as the key of its budgets.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::extract::ConnectInfo;
use http::{Extensions, HeaderMap};
use ipnet::IpNet;

/// Key of a client: an IPv4 address, or the /64 network of an IPv6 address.
///
/// `X-Forwarded-For` is read only from proxies that the operator trusts, from right to left, so
/// that a client cannot forge its address.
pub fn client_key(extensions: &Extensions, headers: &HeaderMap, proxies: &[IpNet]) -> String {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let peer = peer.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED)).to_canonical();
    let trusted = |address: &IpAddr| proxies.iter().any(|network| network.contains(address));
    let forwarded: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .collect();
    budget_key(client_of(peer, &forwarded, trusted))
}

fn client_of(peer: IpAddr, forwarded: &[&str], trusted: impl Fn(&IpAddr) -> bool) -> IpAddr {
    let mut client = peer;
    for hop in forwarded.iter().rev() {
        if !trusted(&client) {
            break;
        }
        // A trusted proxy writes addresses only; any other value is not trustworthy.
        let Ok(address) = hop.trim().parse::<IpAddr>() else { break };
        client = address.to_canonical();
    }
    client
}

fn budget_key(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trusted_proxies_are_believed_and_from_right_to_left() {
        let trusted = |address: &IpAddr| address.to_string().starts_with("10.");
        let client = |peer: &str, forwarded: &[&str]| {
            client_of(peer.parse().unwrap(), forwarded, trusted).to_string()
        };
        assert_eq!(client("1.1.1.1", &["9.9.9.9"]), "1.1.1.1");
        assert_eq!(client("10.0.0.1", &["9.9.9.9"]), "9.9.9.9");
        assert_eq!(client("10.0.0.1", &["6.6.6.6", "9.9.9.9"]), "9.9.9.9");
        assert_eq!(client("10.0.0.1", &["9.9.9.9", "10.0.0.2"]), "9.9.9.9");
        assert_eq!(client("10.0.0.1", &["rubbish"]), "10.0.0.1");
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn an_ipv6_client_is_its_network() {
        let key = |text: &str| budget_key(text.parse().unwrap());
        assert_eq!(key("2001:db8:1:2:3:4:5:6"), key("2001:db8:1:2::1"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
    }
}
