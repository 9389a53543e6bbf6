//! The adapter's keys of a merchant.

use rand::Rng;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

const KEY_BYTES: usize = 32;
const MERCHANT_ID_LENGTH: usize = 32;

/// The key of the HMACs of a merchant's requests. Shown once; stored sealed.
pub struct PrivateKey(SecretString);

impl PrivateKey {
    /// 32 random bytes as 64 hex characters.
    pub fn generate() -> Self {
        Self(random_hex::<KEY_BYTES>().into())
    }

    /// The plain text: to be shown once, sealed, or to key a signature.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

/// A public key: 64 hex characters, by which the merchant of a request is found.
pub fn new_public_key() -> String {
    random_hex::<KEY_BYTES>()
}

/// Returns true if `text` could have come from [`new_public_key`].
pub fn is_public_key(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 2 * KEY_BYTES && text.bytes().all(is_digit)
}

pub(super) fn random_hex<const BYTES: usize>() -> String {
    let mut bytes = [0_u8; BYTES];
    rand::rng().fill_bytes(&mut bytes);
    hex::encode(bytes)
}

/// The merchant's id in the dialect, 32 hex characters: in its IPNs, and in the forms of its pages.
/// Nothing secret.
pub fn merchant_id(id: Uuid) -> String {
    id.simple().to_string()
}

/// Reads the output of [`merchant_id`], in any case of its letters.
pub fn parse_merchant_id(text: &str) -> Option<Uuid> {
    if text.len() == MERCHANT_ID_LENGTH { Uuid::try_parse(text).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_64_hex_characters_and_never_the_same() {
        let key = new_public_key();
        assert!(is_public_key(&key) && key != new_public_key());
        assert_eq!(PrivateKey::generate().reveal().len(), 64);
        for text in ["", "ab", &key.to_uppercase().replace('0', "A"), &format!("{key}0")] {
            assert!(!is_public_key(text) || text.bytes().all(|byte| byte.is_ascii_digit()));
        }
    }

    #[test]
    fn a_merchant_id_is_its_uuid_without_hyphens() {
        let id = Uuid::from_u128(0x0192_f0c1_2a3b_7c4d_8e5f_0123_4567_89ab);
        assert_eq!(merchant_id(id), "0192f0c12a3b7c4d8e5f0123456789ab");
        assert_eq!(parse_merchant_id("0192F0C12A3B7C4D8E5F0123456789AB"), Some(id));
        for text in ["", "0192f0c1-2a3b-7c4d-8e5f-0123456789ab", &"g".repeat(32)] {
            assert_eq!(parse_merchant_id(text), None);
        }
    }
}
