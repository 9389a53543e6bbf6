//! Webhook secrets, in plain text and sealed.
//!
//! A sealed secret opens only under the master key, and only in the row it was sealed for: swapping
//! two rows of a stolen database reveals nothing.

use chacha20poly1305::{
    Key, KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use hmac::{Hmac, Mac};
use rand::Rng;
use secrecy::{ExposeSecret, SecretBox, SecretString};
use sha2::Sha256;
use uuid::Uuid;

const SECRET_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
/// Length of the seed that BIP-39 derives from a phrase.
pub const SEED_BYTES: usize = 64;
pub const DIGEST_BYTES: usize = 32;
const SEED_CONTEXT: &[u8] = b"payout.seed";
/// First byte of a sealed secret: the id of the master key that sealed it. Only one id exists so
/// far.
const KEY_ID: u8 = 1;

/// The key of both webhook channels: the UTF-8 bytes of this text exactly as shown.
#[derive(Clone)]
pub struct WebhookSecret(SecretString);

/// Key that seals secrets which must be readable again. It comes from the environment and is never
/// stored.
pub struct MasterKey(SecretBox<[u8; 32]>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("the master key is not 64 hex characters")]
    BadMasterKey,
    #[error("the sealed secret does not open under this master key and row")]
    DoesNotOpen,
}

impl WebhookSecret {
    /// 32 random bytes as 64 hex characters.
    pub fn generate() -> Self {
        let mut bytes = [0_u8; SECRET_BYTES];
        rand::rng().fill_bytes(&mut bytes);
        Self(hex::encode(bytes).into())
    }

    /// The plain text: to be shown once, or to key a signature.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

impl From<String> for WebhookSecret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl MasterKey {
    /// Reads 64 hex characters.
    pub fn parse(text: &str) -> Result<Self, SealError> {
        let mut key = Box::new([0_u8; 32]);
        hex::decode_to_slice(text.trim(), key.as_mut_slice())
            .map_err(|_| SealError::BadMasterKey)?;
        Ok(Self(SecretBox::new(key)))
    }

    /// Seals `secret` for the merchant row `merchant_id`.
    pub fn seal(&self, merchant_id: Uuid, secret: &WebhookSecret) -> Vec<u8> {
        let mut nonce = [0_u8; NONCE_BYTES];
        rand::rng().fill_bytes(&mut nonce);
        let context = context(merchant_id);
        let payload = Payload { msg: secret.reveal().as_bytes(), aad: &context };
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(nonce), payload)
            .expect("a 64-byte text is far below the cipher's limit");
        [&[KEY_ID], nonce.as_slice(), &sealed].concat()
    }

    /// Seals the seed of the hot wallet.
    pub fn seal_seed(&self, seed: &[u8; SEED_BYTES]) -> Vec<u8> {
        let mut nonce = [0_u8; NONCE_BYTES];
        rand::rng().fill_bytes(&mut nonce);
        let payload = Payload { msg: seed, aad: SEED_CONTEXT };
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(nonce), payload)
            .expect("64 bytes are far below the cipher's limit");
        [&[KEY_ID], nonce.as_slice(), &sealed].concat()
    }

    /// Opens the output of [`Self::seal_seed`].
    pub fn open_seed(&self, sealed: &[u8]) -> Result<SecretBox<[u8; SEED_BYTES]>, SealError> {
        let (header, ciphertext) =
            sealed.split_at_checked(1 + NONCE_BYTES).ok_or(SealError::DoesNotOpen)?;
        let (key_id, nonce) = header.split_at(1);
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| SealError::DoesNotOpen)?;
        if key_id != [KEY_ID] {
            return Err(SealError::DoesNotOpen);
        }
        let payload = Payload { msg: ciphertext, aad: SEED_CONTEXT };
        let open = self.cipher().decrypt(&XNonce::from(nonce), payload);
        let mut open = open.map_err(|_| SealError::DoesNotOpen)?;
        let seed = open.as_slice().try_into().map(|seed| SecretBox::new(Box::new(seed)));
        open.fill(0);
        seed.map_err(|_| SealError::DoesNotOpen)
    }

    /// Opens the output of [`Self::seal`] for the same row.
    pub fn open(&self, merchant_id: Uuid, sealed: &[u8]) -> Result<WebhookSecret, SealError> {
        let (header, ciphertext) =
            sealed.split_at_checked(1 + NONCE_BYTES).ok_or(SealError::DoesNotOpen)?;
        let (key_id, nonce) = header.split_at(1);
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| SealError::DoesNotOpen)?;
        if key_id != [KEY_ID] {
            return Err(SealError::DoesNotOpen);
        }
        let context = context(merchant_id);
        let payload = Payload { msg: ciphertext, aad: &context };
        let plain = self
            .cipher()
            .decrypt(&XNonce::from(nonce), payload)
            .map_err(|_| SealError::DoesNotOpen)?;
        String::from_utf8(plain).map(WebhookSecret::from).map_err(|_| SealError::DoesNotOpen)
    }

    /// A keyed digest of `text` for one purpose. Its key is derived from this one, so that no digest tells of another purpose's.
    pub fn digest(&self, purpose: &[u8], text: &[u8]) -> [u8; DIGEST_BYTES] {
        self.mac(purpose, text).finalize().into_bytes().into()
    }

    /// Compares in constant time.
    pub fn is_digest(&self, purpose: &[u8], text: &[u8], digest: &[u8]) -> bool {
        self.mac(purpose, text).verify_slice(digest).is_ok()
    }

    fn mac(&self, purpose: &[u8], text: &[u8]) -> Hmac<Sha256> {
        let keyed = |key: &[u8]| {
            <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("HMAC takes a key of any length")
        };
        let derived = keyed(self.0.expose_secret()).chain_update(purpose).finalize().into_bytes();
        keyed(&derived).chain_update(text)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&Key::from(*self.0.expose_secret()))
    }
}

/// Associated data: key, purpose and row.
fn context(merchant_id: Uuid) -> Vec<u8> {
    [&[KEY_ID], b"merchant.webhook_secret".as_slice(), merchant_id.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_secret_opens_only_in_its_row_and_under_its_key() {
        let key = MasterKey::parse(&"ab".repeat(32)).unwrap();
        let (row, other_row) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let secret = WebhookSecret::generate();
        let sealed = key.seal(row, &secret);
        assert_eq!(key.open(row, &sealed).unwrap().reveal(), secret.reveal());
        assert_eq!(key.open(other_row, &sealed).err(), Some(SealError::DoesNotOpen));
        let other_key = MasterKey::parse(&"cd".repeat(32)).unwrap();
        assert_eq!(other_key.open(row, &sealed).err(), Some(SealError::DoesNotOpen));
        for length in 0..sealed.len() {
            assert!(key.open(row, &sealed[..length]).is_err());
        }
    }

    #[test]
    fn a_sealed_seed_opens_only_under_its_key_and_is_no_webhook_secret() {
        let key = MasterKey::parse(&"ab".repeat(32)).unwrap();
        let sealed = key.seal_seed(&[7; SEED_BYTES]);
        assert_eq!(key.open_seed(&sealed).unwrap().expose_secret(), &[7; SEED_BYTES]);
        let other_key = MasterKey::parse(&"cd".repeat(32)).unwrap();
        assert_eq!(other_key.open_seed(&sealed).err(), Some(SealError::DoesNotOpen));
        let secret = key.seal(Uuid::nil(), &WebhookSecret::generate());
        assert_eq!(key.open_seed(&secret).err(), Some(SealError::DoesNotOpen));
    }

    #[test]
    fn a_digest_is_of_its_key_its_purpose_and_its_text() {
        let key = MasterKey::parse(&"ab".repeat(32)).unwrap();
        let digest = key.digest(b"one", b"text");
        assert!(key.is_digest(b"one", b"text", &digest));
        assert!(!key.is_digest(b"two", b"text", &digest));
        assert!(!key.is_digest(b"one", b"texu", &digest));
        assert!(!key.is_digest(b"one", b"text", &digest[..31]));
        assert!(!key.is_digest(b"one", b"text", &[]));
        let other_key = MasterKey::parse(&"cd".repeat(32)).unwrap();
        assert!(!other_key.is_digest(b"one", b"text", &digest));
    }

    #[test]
    fn a_master_key_is_64_hex_characters() {
        for text in ["", "ab", &"zz".repeat(32), &"ab".repeat(31), &"ab".repeat(33)] {
            assert_eq!(MasterKey::parse(text).err(), Some(SealError::BadMasterKey));
        }
    }
}
