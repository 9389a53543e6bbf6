//! Random texts that open something: session ids, invitations, recovery codes. Only their hashes
//! are stored.

use rand::Rng;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

const BEARER_BYTES: usize = 32;
const RECOVERY_BYTES: usize = 10;
/// Recovery codes of one account.
pub const RECOVERY_CODES: usize = 10;

/// A random text of 256 bits: a session id, or the end of an invitation's address.
#[derive(Debug, Clone)]
pub struct Bearer(SecretString);

impl Bearer {
    pub fn generate() -> Self {
        let mut bytes = [0_u8; BEARER_BYTES];
        rand::rng().fill_bytes(&mut bytes);
        Self(hex::encode(bytes).into())
    }

    /// Reads 64 hex characters in lower case; `None` if the text is anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let fits = text.len() == 2 * BEARER_BYTES && text.bytes().all(is_hex);
        fits.then(|| Self(text.to_owned().into()))
    }

    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    /// Hash by which it is looked up.
    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.0.expose_secret().as_bytes()).into()
    }

    /// The token of this session's forms: follows from the id, and does not give it away.
    pub fn form_token(&self) -> String {
        let hash = Sha256::new().chain_update("form token\0").chain_update(self.reveal());
        hex::encode(hash.finalize())
    }
}

/// A code that stands in for a lost authenticator, once.
pub struct RecoveryCode(SecretString);

impl RecoveryCode {
    pub fn generate() -> Self {
        let mut bytes = [0_u8; RECOVERY_BYTES];
        rand::rng().fill_bytes(&mut bytes);
        let text = hex::encode(bytes);
        let groups: Vec<_> = (0..text.len()).step_by(5).map(|at| &text[at..at + 5]).collect();
        Self(groups.join("-").into())
    }

    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    pub fn sha256(&self) -> [u8; 32] {
        Self::sha256_of(self.reveal())
    }

    /// Hash of a typed code, whatever its case and its spaces.
    pub fn sha256_of(typed: &str) -> [u8; 32] {
        let digits: String = typed.chars().filter(char::is_ascii_hexdigit).collect();
        Sha256::digest(digits.to_ascii_lowercase()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_reads_back_and_its_form_token_is_another_text() {
        let bearer = Bearer::generate();
        assert_eq!(Bearer::parse(bearer.reveal()).unwrap().sha256(), bearer.sha256());
        assert_ne!(bearer.form_token(), bearer.reveal());
        assert_ne!(bearer.form_token(), hex::encode(bearer.sha256()));
        for wrong in ["", "00", &"0".repeat(63), &"G".repeat(64), &"A".repeat(64)] {
            assert!(Bearer::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_recovery_code_has_80_bits_and_may_be_typed_in_any_way() {
        let code = RecoveryCode::generate();
        assert_eq!(code.reveal().len(), 20 + 3);
        let typed = code.reveal().to_uppercase().replace('-', " ");
        assert_eq!(RecoveryCode::sha256_of(&typed), code.sha256());
    }
}
