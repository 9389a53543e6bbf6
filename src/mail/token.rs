//! Token in a reminder with which its subscriber stops the next ones. Only its hash is stored.

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::invoice::id;

const PREFIX: &str = "pzu_";

/// `pzu_` and 130 random bits.
#[derive(Debug, Clone)]
pub struct Token(SecretString);

impl Token {
    pub fn generate() -> Self {
        Self(id::bearer(PREFIX).into())
    }

    /// Reads a token; `None` if the text cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        id::is_bearer(PREFIX, text).then(|| Self(text.to_owned().into()))
    }

    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }

    /// Hash by which it is looked up.
    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.reveal().as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_130_bits_reads_back_and_does_not_show_in_debug_output() {
        let token = Token::generate();
        assert_eq!(token.reveal().len(), PREFIX.len() + 26);
        assert_eq!(Token::parse(token.reveal()).unwrap().sha256(), token.sha256());
        assert_ne!(Token::generate().sha256(), token.sha256());
        assert!(!format!("{token:?}").contains(token.reveal()));
        for wrong in ["", "pzu_", "pzr_00000000000000000000000000"] {
            assert!(Token::parse(wrong).is_none(), "{wrong}");
        }
    }
}
