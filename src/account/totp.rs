//! Time-based one-time codes (RFC 6238): SHA-1, six digits, 30 seconds, as authenticator apps know
//! them.

use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use rand::Rng;
use secrecy::{ExposeSecret, SecretBox};
use sha1::Sha1;
use subtle::ConstantTimeEq;

/// RFC 4226 recommends 160 bits.
pub const SECRET_BYTES: usize = 20;
const STEP_SECONDS: i64 = 30;
/// Steps by which an app's clock may differ.
const DRIFT: i64 = 1;
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The secret that an authenticator app shares with us.
pub struct TotpSecret(SecretBox<[u8; SECRET_BYTES]>);

impl TotpSecret {
    pub fn generate() -> Self {
        let mut bytes = Box::new([0_u8; SECRET_BYTES]);
        rand::rng().fill_bytes(bytes.as_mut_slice());
        Self(SecretBox::new(bytes))
    }

    pub fn from_bytes(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(SecretBox::new(Box::new(bytes)))
    }

    pub fn bytes(&self) -> &[u8; SECRET_BYTES] {
        self.0.expose_secret()
    }

    /// The secret for people who type it.
    pub fn base32(&self) -> String {
        let mut text = String::with_capacity(SECRET_BYTES * 8 / 5);
        for group in self.bytes().chunks(5) {
            let bits = group.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
            let digit = |at: u32| BASE32[usize::try_from(bits >> (5 * at) & 31).unwrap_or(0)];
            text.extend((0..8).rev().map(|at| char::from(digit(at))));
        }
        text
    }

    /// Address that a QR code holds for the app.
    pub fn uri(&self, issuer: &str, email: &str) -> String {
        let plain = |c: &char| c.is_ascii_alphanumeric() || "-.".contains(*c);
        let issuer: String = issuer.chars().filter(plain).collect();
        let email = email.replace('+', "%2B");
        let secret = self.base32();
        format!("otpauth://totp/{issuer}:{email}?secret={secret}&issuer={issuer}")
    }

    /// The code of a step.
    pub fn code(&self, step: i64) -> String {
        let mac = <Hmac<Sha1> as KeyInit>::new_from_slice(self.bytes())
            .expect("HMAC takes a key of any length")
            .chain_update(step.to_be_bytes())
            .finalize()
            .into_bytes();
        let at = usize::from(mac[mac.len() - 1] & 15);
        let word = mac[at..at + 4].iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        format!("{:06}", (word & 0x7fff_ffff) % 1_000_000)
    }

    /// The step that a typed code belongs to, if it is newer than the last one that was accepted: a
    /// code is used once.
    pub fn step_of(&self, typed: &str, now: DateTime<Utc>, last_step: i64) -> Option<i64> {
        let typed: String = typed.chars().filter(|c| !c.is_whitespace()).collect();
        let now = step_at(now);
        let matching = (now - DRIFT..=now + DRIFT)
            .filter(|step| bool::from(self.code(*step).as_bytes().ct_eq(typed.as_bytes())));
        matching.filter(|step| *step > last_step).max()
    }
}

/// The step of an instant.
pub fn step_at(now: DateTime<Utc>) -> i64 {
    now.timestamp().div_euclid(STEP_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> TotpSecret {
        TotpSecret::from_bytes(*b"12345678901234567890")
    }

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    /// RFC 6238, appendix B: the last six of its eight digits.
    #[test]
    fn codes_are_those_of_the_rfc() {
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(secret().code(step_at(at(seconds))), code, "{seconds}");
        }
        assert_eq!(secret().base32(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    }

    #[test]
    fn a_code_counts_once_and_half_a_minute_around_its_time() {
        let secret = secret();
        let step = step_at(at(3_000));
        let code = secret.code(step);
        for (now, last, accepted) in [
            (3_000, 0, true),
            (3_029, 0, true),
            (3_059, 0, true),
            (2_970, 0, true),
            (3_060, 0, false),
            (2_969, 0, false),
            (3_000, step, false),
            (3_000, step - 1, true),
        ] {
            let found = secret.step_of(&code, at(now), last);
            assert_eq!(found, accepted.then_some(step), "{now} {last}");
        }
        assert_eq!(
            secret.step_of(&format!("{} {}", &code[..3], &code[3..]), at(3_000), 0),
            Some(step)
        );
        for wrong in ["", "00000", "abcdef", "0000000"] {
            assert_eq!(secret.step_of(wrong, at(3_000), 0), None, "{wrong}");
        }
    }
}
