//! Token in a reminder with which a subscriber renews and cancels. Only its hash is stored.

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::invoice::id;

const PREFIX: &str = "pzr_";

/// `pzr_` and 130 random bits.
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
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn tokens_differ_read_back_and_do_not_show_in_debug_output() {
        let tokens: Vec<_> = (0..1_000).map(|_| Token::generate()).collect();
        let hashes: HashSet<_> = tokens.iter().map(Token::sha256).collect();
        assert_eq!(hashes.len(), tokens.len());
        for token in &tokens {
            assert_eq!(token.reveal().len(), "pzr_".len() + 26);
            assert_eq!(Token::parse(token.reveal()).unwrap().sha256(), token.sha256());
            assert!(!format!("{token:?}").contains(token.reveal()));
        }
        for wrong in
            ["", "pzr_", "pzs_00000000000000000000000000", "pzr_u0000000000000000000000000"]
        {
            assert!(Token::parse(wrong).is_none(), "{wrong}");
        }
    }
}
