//! Addresses that are no treasury: those of our own keys. What is collected there lies behind the
//! same seed as before, and an invoice of tomorrow may be given the same address.

use crate::asset::{
    Family,
    address::{self, AccountKey},
};

/// Indexes from the first one: those that a person tries by hand.
const FIRST: u32 = 1_000;
/// Indexes behind the last that is in use: those of the invoices to come.
const NEXT: u32 = 5_000;

/// The index of an address below an account's key, looked for among the first ones and those
/// behind `highest`, the last that is known to be in use.
pub fn index_of(key: &AccountKey, family: Family, wanted: &str, highest: u32) -> Option<u32> {
    let wanted = address::match_key(family, wanted);
    let is_it = |index: &u32| {
        key.address(*index).is_ok_and(|own| address::match_key(family, &own) == wanted)
    };
    let behind = highest.max(FIRST);
    (0..FIRST).chain(behind..behind.saturating_add(NEXT)).find(is_it)
}

#[cfg(test)]
mod tests {
    use super::{super::check::samples::*, *};
    use crate::asset::{Realm, address::Account};

    #[test]
    fn an_address_of_the_key_is_found_below_and_beyond_those_in_use() {
        let (family, realm) = (Family::Evm, Realm::Main);
        let key = Account::Invoices.xpub(&seed(), family, realm).unwrap();
        let key = AccountKey::parse_in(realm, family, &key).unwrap();
        for (index, highest) in [(0, 0), (999, 0), (1_000, 0), (5_999, 0), (72_000, 70_000)] {
            let address = key.address(index).unwrap();
            assert_eq!(index_of(&key, family, &address, highest), Some(index));
            assert_eq!(index_of(&key, family, &address.to_lowercase(), highest), Some(index));
        }
        assert_eq!(index_of(&key, family, TREASURY, 0), None);
    }
}
