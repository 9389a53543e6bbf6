//! Is the key that addresses come from the right one? A wrong key gives addresses as well, and nobody can spend from them.

use super::Gateway;
use crate::asset::{Family, address};

/// A family's first address is not the one that the configuration expects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the first {family} address is {found}, not {expected} as addresses.expected_first_address.{family} says: one of the two is of another wallet"
)]
pub struct WrongFirstAddress {
    pub family: &'static str,
    pub found: String,
    pub expected: String,
}

impl Gateway {
    /// What the configuration expects of a family, if anything.
    pub(super) fn expected_first(&self, family: Family) -> Option<&str> {
        self.config.addresses.expected_first_address.get(family.name()).map(String::as_str)
    }

    /// What the family's key gives at index 0; `None` without a key, and for families with a pool.
    pub(super) fn derived_first(&self, family: Family) -> Option<String> {
        self.account_keys.get(&family)?.address(0).ok()
    }

    /// Compares `found` with what is expected of `family`.
    pub(super) fn check_first(&self, family: Family, found: &str) -> Result<(), WrongFirstAddress> {
        let Some(expected) = self.expected_first(family) else { return Ok(()) };
        if address::match_key(family, found) == address::match_key(family, expected) {
            return Ok(());
        }
        let (found, expected) = (found.to_owned(), expected.to_owned());
        Err(WrongFirstAddress { family: family.name(), found, expected })
    }

    /// Of every family that derives its addresses. Pools are looked at where they are taken from.
    pub(super) fn check_first_addresses(&self) -> Result<(), WrongFirstAddress> {
        for family in Family::ALL {
            if let Some(first) = self.derived_first(family) {
                self.check_first(family, &first)?;
            }
        }
        Ok(())
    }
}
