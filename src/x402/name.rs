//! Names of EVM networks in x402: `eip155:8453` (CAIP-2) in version 2, `base` in version 1.

use super::Version;

const NAMESPACE: &str = "eip155:";

/// Short names of version 1. Its clients know no others, so that Arbitrum and Optimism have none.
const SHORT: [(u64, &str); 6] = [
    (8_453, "base"),
    (84_532, "base-sepolia"),
    (137, "polygon"),
    (80_002, "polygon-amoy"),
    (43_114, "avalanche"),
    (43_113, "avalanche-fuji"),
];

/// The name of a chain by version 2.
pub fn caip2(chain_id: u64) -> String {
    format!("{NAMESPACE}{chain_id}")
}

/// The name of a chain by version 1, for those that it knows.
pub fn short(chain_id: u64) -> Option<&'static str> {
    SHORT.into_iter().find(|(id, _)| *id == chain_id).map(|(_, name)| name)
}

/// The name of a chain in a version, if it has one.
pub fn of(version: Version, chain_id: u64) -> Option<String> {
    match version {
        Version::V1 => short(chain_id).map(ToOwned::to_owned),
        Version::V2 => Some(caip2(chain_id)),
    }
}

/// Reads either spelling. Some clients of version 1 send CAIP-2 names.
pub fn chain_id(name: &str) -> Option<u64> {
    let Some(digits) = name.strip_prefix(NAMESPACE) else {
        return SHORT.into_iter().find(|(_, short)| *short == name).map(|(id, _)| id);
    };
    // CAIP-2 has one spelling of each number.
    let chain_id: u64 = digits.parse().ok()?;
    (caip2(chain_id) == name).then_some(chain_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_name_one_chain() {
        for (name, id) in [
            ("eip155:8453", Some(8_453)),
            ("base", Some(8_453)),
            ("base-sepolia", Some(84_532)),
            ("eip155:84532", Some(84_532)),
            ("polygon", Some(137)),
            ("avalanche", Some(43_114)),
            ("eip155:10", Some(10)),
            ("optimism", None),
            ("Base", None),
            ("eip155:08453", None),
            ("eip155:+1", None),
            ("eip155:", None),
            ("eip155:18446744073709551616", None),
            ("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", None),
            ("", None),
        ] {
            assert_eq!(chain_id(name), id, "{name}");
        }
        for (id, name) in SHORT {
            assert_eq!(chain_id(name), chain_id(&caip2(id)));
        }
        assert_eq!(of(Version::V1, 42_161), None);
        assert_eq!(of(Version::V2, 42_161).as_deref(), Some("eip155:42161"));
    }
}
