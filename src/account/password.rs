//! Passwords: the policy, and argon2id. Hashing takes 19 MiB and tens of milliseconds; callers
//! bound it.

use argon2::{
    Argon2,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use rand::Rng;
use secrecy::{ExposeSecret, SecretString};

/// NIST SP 800-63B, without rules of composition.
pub const LENGTH_MIN: usize = 12;
/// A longer text would only be work.
pub const LENGTH_MAX: usize = 200;
const SALT_BYTES: usize = 16;

/// Beginnings and wholes of passwords that everybody tries first.
const COMMON: [&str; 12] = [
    "password", "passw0rd", "123456", "qwerty", "letmein", "iloveyou", "admin", "welcome",
    "abc123", "changeme", "gateway", "bitcoin",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error(
        "a password has {LENGTH_MIN} to {LENGTH_MAX} characters; several words make a good one"
    )]
    Length,
    #[error("this password is among the first that anybody tries; choose several words")]
    Common,
    #[error("a password must not contain the e-mail address")]
    OwnName,
}

/// A password as it was typed.
pub struct Password(SecretString);

impl Password {
    pub fn new(text: String) -> Self {
        Self(text.into())
    }

    /// Checks a new password; one that is only compared is never refused.
    pub fn check(&self, email: &str) -> Result<(), PolicyError> {
        let text = self.0.expose_secret();
        if !(LENGTH_MIN..=LENGTH_MAX).contains(&text.chars().count()) {
            return Err(PolicyError::Length);
        }
        let lower = text.to_lowercase();
        let name = email.split('@').next().unwrap_or(email);
        if lower.contains(email) || (name.len() > 3 && lower.starts_with(name)) {
            return Err(PolicyError::OwnName);
        }
        let letters: std::collections::HashSet<char> = lower.chars().collect();
        let rest = |word: &str| lower.replace(word, "").chars().count();
        if letters.len() < 5 || COMMON.iter().any(|word| rest(word) < LENGTH_MIN / 2) {
            return Err(PolicyError::Common);
        }
        Ok(())
    }

    /// PHC text of argon2id with the parameters that OWASP names as the least.
    pub fn hash(&self) -> Option<String> {
        let mut salt = [0_u8; SALT_BYTES];
        rand::rng().fill_bytes(&mut salt);
        let hash: PasswordHash =
            Argon2::default().hash_password_with_salt(self.bytes(), &salt).ok()?;
        Some(hash.to_string())
    }

    /// Compares in constant time, with the parameters in the hash.
    pub fn is_hashed_as(&self, phc: &str) -> bool {
        // Hashing as much as somebody sends would be a way to keep the cores busy.
        let fits = self.bytes().len() <= 4 * LENGTH_MAX;
        let hash = PasswordHash::new(phc);
        fits && hash.is_ok_and(|h| Argon2::default().verify_password(self.bytes(), &h).is_ok())
    }

    fn bytes(&self) -> &[u8] {
        self.0.expose_secret().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_and_none_that_everybody_tries() {
        let check = |text: &str| Password::new(text.to_owned()).check("ada@shop.example");
        assert_eq!(check("correct horse battery"), Ok(()));
        assert_eq!(check("eleven char"), Err(PolicyError::Length));
        assert_eq!(check(&"ab cd ef ".repeat(30)), Err(PolicyError::Length));
        assert_eq!(check("password1234"), Err(PolicyError::Common));
        assert_eq!(check("Passw0rdPassw0rd"), Err(PolicyError::Common));
        assert_eq!(check("aaaaaaaaaaaaaaaa"), Err(PolicyError::Common));
        assert_eq!(check("x ada@shop.example y"), Err(PolicyError::OwnName));
    }

    #[test]
    fn a_hash_is_argon2id_and_opens_to_its_password_alone() {
        let (password, other) = (Password::new("one".into()), Password::new("two".into()));
        let hash = password.hash().unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(password.hash().unwrap(), hash);
        assert!(password.is_hashed_as(&hash) && !other.is_hashed_as(&hash));
        assert!(!password.is_hashed_as("") && !password.is_hashed_as("$argon2id$v=19$x"));
    }
}
