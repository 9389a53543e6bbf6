//! Mails of one day, per address and per link: whoever enters strangers' addresses, as a visitor or
//! as a merchant, cannot use the mailer as a relay.

use uuid::Uuid;

/// Mails that one address and one link get per day (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub per_address: u32,
    pub per_link: u32,
}

/// The name under which an address is counted, for all merchants together.
pub fn of_address(recipient: &[u8; 32]) -> String {
    format!("a:{}", hex::encode(recipient))
}

/// The name under which a link is counted.
pub fn of_link(link: Uuid) -> String {
    format!("l:{link}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_and_a_link_are_counted_apart() {
        let address = of_address(&crate::mail::recipient("ada@example.com"));
        assert_eq!(address.len(), 66);
        assert_ne!(address, of_address(&crate::mail::recipient("bob@example.com")));
        assert!(!address.contains("ada"), "{address}");
        assert_eq!(of_link(Uuid::nil()), "l:00000000-0000-0000-0000-000000000000");
    }
}
