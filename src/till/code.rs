//! The code that enrols a device, once and within minutes. People type it from a screen or a sheet,
//! so its letters cannot be taken for one another; only its hash is stored.

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::invoice::id;

/// 60 random bits: more than anybody tries in the minutes for which it is good.
const SYMBOLS: usize = 12;
const GROUP: usize = 4;

/// A new code.
#[derive(Debug)]
pub struct EnrolmentCode(SecretString);

impl EnrolmentCode {
    pub fn generate() -> Self {
        let text: String = id::bearer("").chars().take(SYMBOLS).collect();
        Self(text.into())
    }

    /// As it is shown: `k7m2-9qxt-4c0d`.
    pub fn reveal(&self) -> String {
        let text = self.0.expose_secret();
        let groups = (0..text.len()).step_by(GROUP).filter_map(|at| text.get(at..at + GROUP));
        groups.collect::<Vec<_>>().join("-")
    }

    /// Hash by which it is looked up.
    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.0.expose_secret().as_bytes()).into()
    }
}

/// The hash of a typed code, whatever its case and its gaps. `None` if it cannot be one.
pub fn sha256_of(typed: &str) -> Option<[u8; 32]> {
    let mut text = String::new();
    for letter in typed.chars().filter(|letter| !letter.is_whitespace() && *letter != '-') {
        // As Crockford's base 32 reads letters that it does not write.
        text.push(match letter.to_ascii_lowercase() {
            'o' => '0',
            'i' | 'l' => '1',
            other => other,
        });
        if text.len() > SYMBOLS {
            return None;
        }
    }
    let is_symbol = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase() && byte != b'u';
    let fits = text.len() == SYMBOLS && text.bytes().all(is_symbol);
    fits.then(|| Sha256::digest(text.as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_60_bits_and_may_be_typed_in_any_way() {
        for _ in 0..1_000 {
            let code = EnrolmentCode::generate();
            let shown = code.reveal();
            assert_eq!(shown.len(), 14, "{shown}");
            let typed = shown.to_uppercase().replace('-', "  ").replace('0', "O").replace('1', "l");
            assert_eq!(sha256_of(&typed), Some(code.sha256()), "{shown}");
            assert!(!format!("{code:?}").contains(&shown.replace('-', "")));
        }
        for wrong in ["", "k7m2-9qxt-4c0", "k7m2-9qxt-4c0d0", "k7m2-9qxt-4c0u", "k7m2-9qxt-4c0é"] {
            assert_eq!(sha256_of(wrong), None, "{wrong}");
        }
    }
}
