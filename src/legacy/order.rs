//! An order by which the adapter created an invoice: its part that the invoice itself has no place
//! for.

use std::collections::BTreeMap;

use super::keys::random_hex;
use crate::{invoice::id, money::Price, vocabulary::vocabulary};

/// Length of a `txn_id`: CoinPayments' own length. Letters and digits only, so an invoice's own id,
/// which has an underscore, cannot serve.
pub const TXN_ID_LENGTH: usize = 26;
const VIEW_KEY_BYTES: usize = 16;

vocabulary! {
    /// The `ipn_type` of an invoice's IPNs.
    pub enum IpnType: "IPN type" {
        /// Of `create_transaction`.
        Api = "api",
        /// Of a button, also of one that a shop's plugin makes.
        Button = "button",
        Simple = "simple",
        Donation = "donation",
    }
}

impl IpnType {
    /// Returns true if a stranger wrote the order, and so the address of its IPNs.
    pub fn is_of_form(self) -> bool {
        self != Self::Api
    }
}

/// Fields that are repeated in every IPN, by their names there.
pub type Fields = BTreeMap<String, String>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub txn_id: String,
    /// Opens the status page and the QR code.
    pub view_key: String,
    pub ipn_type: IpnType,
    /// The currency of the price, as the dialect writes it.
    pub currency1: String,
    pub amount1: Price,
    pub fields: Fields,
}

impl Order {
    /// An order with new ids.
    pub fn new(ipn_type: IpnType, currency1: String, amount1: Price, fields: Fields) -> Self {
        let view_key = random_hex::<VIEW_KEY_BYTES>();
        Self { txn_id: new_txn_id(), view_key, ipn_type, currency1, amount1, fields }
    }
}

pub(super) fn new_txn_id() -> String {
    id::bearer("").to_ascii_uppercase()
}

/// Returns true if `text` has the form of a `txn_id`.
pub fn is_txn_id(text: &str) -> bool {
    text.len() == TXN_ID_LENGTH
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_txn_id_is_26_upper_case_letters_and_digits() {
        let order =
            || Order::new(IpnType::Api, "USD".into(), Price::from_atoms(1), Fields::default());
        let (one, other) = (order(), order());
        assert!(is_txn_id(&one.txn_id) && one.txn_id != other.txn_id);
        assert!(one.view_key.len() == 32 && one.view_key != other.view_key);
        for text in
            ["", "pzi_7n4c2v9k1x8m3q6w5e0r2t4y6a", &one.txn_id.to_lowercase(), &one.txn_id[1..]]
        {
            assert!(!is_txn_id(text) || text == one.txn_id, "{text}");
        }
    }
}
