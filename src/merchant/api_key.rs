//! API keys (spec, "Authentication").

use rand::Rng;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

const KEY_BYTES: usize = 32;
const LENGTH_MIN: usize = 32;
const LENGTH_MAX: usize = 256;
const PREVIEW_LENGTH: usize = 4;

/// API key in plain text. It exists only while it is shown once or compared, and is never stored.
#[derive(Clone)]
pub struct ApiKey(SecretString);

/// Stored form of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiKeyRecord {
    pub sha256: [u8; 32],
    pub preview: String,
}

/// A header value that cannot be one of our keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the API key is malformed")]
pub struct MalformedKey;

impl ApiKey {
    /// 32 random bytes as 64 hex characters.
    pub fn generate() -> Self {
        let mut bytes = [0_u8; KEY_BYTES];
        rand::rng().fill_bytes(&mut bytes);
        Self(hex::encode(bytes).into())
    }

    /// Checks the format only: visible ASCII of 32 characters or more.
    pub fn parse(text: &str) -> Result<Self, MalformedKey> {
        let length_fits = (LENGTH_MIN..=LENGTH_MAX).contains(&text.len());
        if length_fits && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.to_owned().into()))
        } else {
            Err(MalformedKey)
        }
    }

    /// Hash by which a merchant is looked up. Comparing hashes leaks nothing of the key by timing.
    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.0.expose_secret().as_bytes()).into()
    }

    pub fn record(&self) -> ApiKeyRecord {
        let text = self.0.expose_secret();
        let preview = text[text.len() - PREVIEW_LENGTH..].to_owned();
        ApiKeyRecord { sha256: self.sha256(), preview }
    }

    /// The plain text, to be shown once at creation.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_64_hex_characters_and_only_its_hash_and_last_four_are_kept() {
        let key = ApiKey::generate();
        assert_eq!(key.reveal().len(), 64);
        assert_eq!(key.record().preview, key.reveal()[60..]);
        assert_eq!(ApiKey::parse(key.reveal()).unwrap().sha256(), key.record().sha256);
    }

    #[test]
    fn values_shorter_than_32_characters_are_malformed() {
        assert_eq!(ApiKey::parse(&"a".repeat(31)).err(), Some(MalformedKey));
        assert!(ApiKey::parse(&"a".repeat(32)).is_ok());
        assert_eq!(ApiKey::parse(&"a b".repeat(20)).err(), Some(MalformedKey));
        assert_eq!(ApiKey::parse(&"é".repeat(40)).err(), Some(MalformedKey));
        assert_eq!(ApiKey::parse(&"a".repeat(257)).err(), Some(MalformedKey));
    }
}
