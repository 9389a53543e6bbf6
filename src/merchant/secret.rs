//! Webhook secrets, in plain text and sealed.
//!
//! A sealed secret opens only under the master key, and only in the row it was sealed for: swapping
//! two rows of a stolen database reveals nothing.

pub use crate::asset::keys::SEED_BYTES;
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
pub const DIGEST_BYTES: usize = 32;
/// Of every seed that earlier releases sealed, whatever it was for.
const SEED_CONTEXT: &[u8] = b"payout.seed";
const SEED_NONCE: &[u8] = b"seed.nonce";
const PROOF_CONTEXT: &[u8] = b"master_key.proof";
const CODES_CONTEXT: &[u8] = b"account.totp";
const INVITATION_CONTEXT: &[u8] = b"mail.invitation";
const LEGACY_CONTEXT: &[u8] = b"legacy_key.private_key";
/// The first byte of a sealed secret: the format. During a rotation the cipher's own tag says which
/// key sealed it.
const KEY_ID: u8 = 1;

/// The key of both webhook channels: the UTF-8 bytes of this text exactly as shown.
#[derive(Clone)]
pub struct WebhookSecret(SecretString);

/// Key that seals secrets which must be readable again. It comes from the environment and is never
/// stored.
pub struct MasterKey(SecretBox<[u8; 32]>);

/// What a sealed seed is for. The seal says it, so that a file in the place of another does not
/// open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeedUse {
    Payouts,
    /// The seed that all others may follow from. No running program opens it.
    Invoices,
    X402,
}

impl SeedUse {
    const fn context(self) -> &'static [u8] {
        match self {
            Self::Payouts => b"seed.payouts",
            Self::Invoices => b"seed.invoices",
            Self::X402 => b"seed.x402",
        }
    }
}

/// The master key, and during a rotation the one before it, which only opens.
pub struct KeyRing {
    current: MasterKey,
    old: Option<MasterKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("the master key is not 64 hex characters")]
    BadMasterKey,
    #[error("the sealed secret does not open under the master key and its row")]
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
        self.seal_bytes(&context(merchant_id), secret.reveal().as_bytes())
    }

    /// Returns whether the key is the all-zero one, which everybody knows.
    pub fn is_all_zero(&self) -> bool {
        let bits = self.0.expose_secret().iter().fold(0, |bits, byte| bits | byte);
        bits == 0
    }

    /// Seals a seed for its use, always to the same bytes under the same key: whoever restores keys
    /// from their words can compare the files. The nonce is a keyed digest of use and seed: another
    /// seed, or another use of this one, never meets the same nonce, with which tags could be
    /// forged. All that equal bytes show is that seeds and uses are equal.
    pub fn seal_seed(&self, of: SeedUse, seed: &[u8; SEED_BYTES]) -> Vec<u8> {
        let mut nonce = [0_u8; NONCE_BYTES];
        let purpose = [SEED_NONCE, of.context()].concat();
        nonce.copy_from_slice(&self.digest(&purpose, seed)[..NONCE_BYTES]);
        self.seal_with(nonce, of.context(), seed)
    }

    /// Seals nothing but a proof: only this key opens it.
    pub fn seal_proof(&self) -> Vec<u8> {
        self.seal_bytes(PROOF_CONTEXT, &[])
    }

    /// Opens the output of [`Self::seal_seed`] for the same use, and seeds that earlier releases
    /// sealed without one.
    pub fn open_seed(
        &self,
        of: SeedUse,
        sealed: &[u8],
    ) -> Result<SecretBox<[u8; SEED_BYTES]>, SealError> {
        let open = self.open_bytes(of.context(), sealed);
        let mut open = open.or_else(|_| self.open_bytes(SEED_CONTEXT, sealed))?;
        let seed = open.as_slice().try_into().map(|seed| SecretBox::new(Box::new(seed)));
        open.fill(0);
        seed.map_err(|_| SealError::DoesNotOpen)
    }

    /// Opens the output of [`Self::seal`] for the same row.
    pub fn open(&self, merchant_id: Uuid, sealed: &[u8]) -> Result<WebhookSecret, SealError> {
        let plain = self.open_bytes(&context(merchant_id), sealed)?;
        String::from_utf8(plain).map(WebhookSecret::from).map_err(|_| SealError::DoesNotOpen)
    }

    /// Whether this key made the proof.
    pub fn made_proof(&self, sealed: &[u8]) -> bool {
        self.open_bytes(PROOF_CONTEXT, sealed).is_ok()
    }

    fn seal_bytes(&self, context: &[u8], plain: &[u8]) -> Vec<u8> {
        let mut nonce = [0_u8; NONCE_BYTES];
        rand::rng().fill_bytes(&mut nonce);
        self.seal_with(nonce, context, plain)
    }

    fn seal_with(&self, nonce: [u8; NONCE_BYTES], context: &[u8], plain: &[u8]) -> Vec<u8> {
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: context })
            .expect("64 bytes are far below the cipher's limit");
        [&[KEY_ID], nonce.as_slice(), &sealed].concat()
    }

    fn open_bytes(&self, context: &[u8], sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let (header, ciphertext) =
            sealed.split_at_checked(1 + NONCE_BYTES).ok_or(SealError::DoesNotOpen)?;
        let (key_id, nonce) = header.split_at(1);
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| SealError::DoesNotOpen)?;
        if key_id != [KEY_ID] {
            return Err(SealError::DoesNotOpen);
        }
        let payload = Payload { msg: ciphertext, aad: context };
        self.cipher().decrypt(&XNonce::from(nonce), payload).map_err(|_| SealError::DoesNotOpen)
    }

    /// A keyed digest of `text` for one purpose. Its key is derived from this one, so that no
    /// digest tells of another purpose's.
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

/// Which key of a ring opened something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedBy {
    Current,
    Old,
}

impl KeyRing {
    pub const fn new(current: MasterKey, old: Option<MasterKey>) -> Self {
        Self { current, old }
    }

    pub const fn current(&self) -> &MasterKey {
        &self.current
    }

    pub const fn has_old(&self) -> bool {
        self.old.is_some()
    }

    pub fn seal(&self, merchant_id: Uuid, secret: &WebhookSecret) -> Vec<u8> {
        self.current.seal(merchant_id, secret)
    }

    pub fn open(&self, merchant_id: Uuid, sealed: &[u8]) -> Result<WebhookSecret, SealError> {
        self.try_keys(|key| key.open(merchant_id, sealed)).map(|(secret, _)| secret)
    }

    /// The same secret sealed under the current key; `None` if it is already.
    pub fn reseal(&self, merchant_id: Uuid, sealed: &[u8]) -> Result<Option<Vec<u8>>, SealError> {
        let (secret, by) = self.try_keys(|key| key.open(merchant_id, sealed))?;
        Ok((by == OpenedBy::Old).then(|| self.current.seal(merchant_id, &secret)))
    }

    pub fn open_seed(
        &self,
        of: SeedUse,
        sealed: &[u8],
    ) -> Result<(SecretBox<[u8; SEED_BYTES]>, OpenedBy), SealError> {
        self.try_keys(|key| key.open_seed(of, sealed))
    }

    /// The key that made a proof, if it is one of these.
    pub fn maker_of_proof(&self, sealed: &[u8]) -> Option<OpenedBy> {
        let made = |key: &MasterKey| {
            if key.made_proof(sealed) { Ok(()) } else { Err(SealError::DoesNotOpen) }
        };
        self.try_keys(made).ok().map(|((), by)| by)
    }

    /// Seals the secret of an account's one-time codes for its row.
    pub fn seal_codes(&self, account_id: Uuid, secret: &[u8]) -> Vec<u8> {
        self.current.seal_bytes(&codes_context(account_id), secret)
    }

    /// Opens the output of [`Self::seal_codes`] for the same row.
    pub fn open_codes(
        &self,
        account_id: Uuid,
        sealed: &[u8],
    ) -> Result<(SecretBox<Vec<u8>>, OpenedBy), SealError> {
        let context = codes_context(account_id);
        let (open, by) = self.try_keys(|key| key.open_bytes(&context, sealed))?;
        Ok((SecretBox::new(Box::new(open)), by))
    }

    /// Seals the address of an invitation for its mail, which lives as long as the invitation: it
    /// is not sealed anew when the master key changes, and one that was not sent by the end of that
    /// is a dead letter.
    pub fn seal_invitation(&self, membership_id: Uuid, url: &str) -> Vec<u8> {
        self.current.seal_bytes(&invitation_context(membership_id), url.as_bytes())
    }

    /// Opens the output of [`Self::seal_invitation`] for the same membership. `None` if it is
    /// another's, or under another key.
    pub fn open_invitation(&self, membership_id: Uuid, sealed: &[u8]) -> Option<SecretString> {
        let context = invitation_context(membership_id);
        let (open, _) = self.try_keys(|key| key.open_bytes(&context, sealed)).ok()?;
        String::from_utf8(open).ok().map(SecretString::from)
    }

    /// Seals a merchant's private key of the `/legacy` adapter for its row.
    pub fn seal_legacy_key(&self, merchant_id: Uuid, key: &str) -> Vec<u8> {
        self.current.seal_bytes(&legacy_context(merchant_id), key.as_bytes())
    }

    /// Opens the output of [`Self::seal_legacy_key`] for the same row.
    pub fn open_legacy_key(
        &self,
        merchant_id: Uuid,
        sealed: &[u8],
    ) -> Result<(SecretBox<Vec<u8>>, OpenedBy), SealError> {
        let context = legacy_context(merchant_id);
        let (open, by) = self.try_keys(|key| key.open_bytes(&context, sealed))?;
        Ok((SecretBox::new(Box::new(open)), by))
    }

    /// The same key sealed under the current master key; `None` if it is already.
    pub fn reseal_legacy_key(
        &self,
        merchant_id: Uuid,
        sealed: &[u8],
    ) -> Result<Option<Vec<u8>>, SealError> {
        let (key, by) = self.open_legacy_key(merchant_id, sealed)?;
        let context = legacy_context(merchant_id);
        let again = || self.current.seal_bytes(&context, key.expose_secret());
        Ok((by == OpenedBy::Old).then(again))
    }

    /// Checks a digest that either key may have made.
    pub fn is_digest(&self, purpose: &[u8], text: &[u8], digest: &[u8]) -> bool {
        let made = |key: &MasterKey| key.is_digest(purpose, text, digest);
        made(&self.current) || self.old.as_ref().is_some_and(made)
    }

    fn try_keys<T>(
        &self,
        open: impl Fn(&MasterKey) -> Result<T, SealError>,
    ) -> Result<(T, OpenedBy), SealError> {
        match (open(&self.current), &self.old) {
            (Ok(opened), _) => Ok((opened, OpenedBy::Current)),
            (Err(_), Some(old)) => Ok((open(old)?, OpenedBy::Old)),
            (Err(error), None) => Err(error),
        }
    }
}

/// Associated data: the format, the purpose, the row.
fn context(merchant_id: Uuid) -> Vec<u8> {
    [&[KEY_ID], b"merchant.webhook_secret".as_slice(), merchant_id.as_bytes()].concat()
}

fn legacy_context(merchant_id: Uuid) -> Vec<u8> {
    [&[KEY_ID], LEGACY_CONTEXT, merchant_id.as_bytes()].concat()
}

fn invitation_context(membership_id: Uuid) -> Vec<u8> {
    [&[KEY_ID], INVITATION_CONTEXT, membership_id.as_bytes()].concat()
}

fn codes_context(account_id: Uuid) -> Vec<u8> {
    [&[KEY_ID], CODES_CONTEXT, account_id.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_of_codes_opens_in_its_account_alone_and_after_a_change_of_the_key() {
        let key = |digits: &str| MasterKey::parse(&digits.repeat(32)).unwrap();
        let (account, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let sealed = KeyRing::new(key("ab"), None).seal_codes(account, &[7; 20]);
        let ring = KeyRing::new(key("cd"), Some(key("ab")));
        let (open, by) = ring.open_codes(account, &sealed).unwrap();
        assert_eq!((open.expose_secret().as_slice(), by), ([7; 20].as_slice(), OpenedBy::Old));
        assert!(ring.open_codes(other, &sealed).is_err());
        assert!(ring.open(account, &sealed).is_err());
    }

    #[test]
    fn a_legacy_key_opens_in_its_row_alone_and_is_no_webhook_secret() {
        let key = |digits: &str| MasterKey::parse(&digits.repeat(32)).unwrap();
        let (row, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let sealed = KeyRing::new(key("ab"), None).seal_legacy_key(row, "private");
        let ring = KeyRing::new(key("cd"), Some(key("ab")));
        let (open, by) = ring.open_legacy_key(row, &sealed).unwrap();
        assert_eq!((open.expose_secret().as_slice(), by), (b"private".as_slice(), OpenedBy::Old));
        assert!(ring.open_legacy_key(other, &sealed).is_err());
        assert!(ring.open(row, &sealed).is_err());
        let after = ring.reseal_legacy_key(row, &sealed).unwrap().unwrap();
        assert_eq!(ring.reseal_legacy_key(row, &after), Ok(None));
        assert!(KeyRing::new(key("cd"), None).open_legacy_key(row, &after).is_ok());
    }

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
    fn a_sealed_seed_opens_only_under_its_key_for_its_use_and_is_no_webhook_secret() {
        let key = MasterKey::parse(&"ab".repeat(32)).unwrap();
        let sealed = key.seal_seed(SeedUse::X402, &[7; SEED_BYTES]);
        let open = |key: &MasterKey, of, sealed: &[u8]| {
            key.open_seed(of, sealed).map(|seed| *seed.expose_secret())
        };
        assert_eq!(open(&key, SeedUse::X402, &sealed), Ok([7; SEED_BYTES]));
        for other in [SeedUse::Payouts, SeedUse::Invoices] {
            assert_eq!(open(&key, other, &sealed), Err(SealError::DoesNotOpen), "{other:?}");
        }
        let other_key = MasterKey::parse(&"cd".repeat(32)).unwrap();
        assert_eq!(open(&other_key, SeedUse::X402, &sealed), Err(SealError::DoesNotOpen));
        let secret = key.seal(Uuid::nil(), &WebhookSecret::generate());
        assert_eq!(open(&key, SeedUse::X402, &secret), Err(SealError::DoesNotOpen));
    }

    /// Bytes of a release before seals had a use, by another implementation of the cipher.
    #[test]
    fn a_seed_that_an_earlier_release_sealed_opens_for_every_use() {
        let key = MasterKey::parse(&"ab".repeat(32)).unwrap();
        let sealed = hex::decode(
            "0176bcdf216debd20cf72f940efbac71f92e005266cb96c02d69bcd7a861e83918e5b1ba2838f3b56bc9a34585a1132d7cbb8a2d5304b8e3\
             3ff33eecadedd76a2f4023aaaf9d2cb8ca98093518bb0176b48ff69d7cbb8421cc08822ad54f281abe95812e3c8d4ffaa5",
        );
        let sealed = sealed.unwrap();
        for of in [SeedUse::Payouts, SeedUse::Invoices, SeedUse::X402] {
            assert_eq!(key.open_seed(of, &sealed).unwrap().expose_secret(), &[7; SEED_BYTES]);
        }
    }

    #[test]
    fn a_seed_is_sealed_to_the_same_bytes_and_another_one_under_another_nonce() {
        let key = MasterKey::parse(&"ab".repeat(32)).unwrap();
        let other_key = MasterKey::parse(&"cd".repeat(32)).unwrap();
        let sealed = |key: &MasterKey, of, seed| key.seal_seed(of, &[seed; SEED_BYTES]);
        let nonce = |key: &MasterKey, of, seed| sealed(key, of, seed)[1..25].to_vec();
        let (payouts, invoices) = (SeedUse::Payouts, SeedUse::Invoices);
        assert_eq!(sealed(&key, payouts, 7), sealed(&key, payouts, 7));
        let first = nonce(&key, payouts, 7);
        assert_ne!(nonce(&key, payouts, 8), first);
        assert_ne!(nonce(&key, invoices, 7), first);
        assert_ne!(nonce(&other_key, payouts, 7), first);
    }

    #[test]
    fn a_key_ring_opens_secrets_of_both_keys_and_seals_with_the_current_one() {
        let key = |digits: &str| MasterKey::parse(&digits.repeat(32)).unwrap();
        let (row, secret) = (Uuid::from_u128(1), WebhookSecret::generate());
        let ring = KeyRing::new(key("cd"), Some(key("ab")));
        let before = key("ab").seal(row, &secret);
        assert_eq!(ring.open(row, &before).unwrap().reveal(), secret.reveal());
        let after = ring.reseal(row, &before).unwrap().unwrap();
        assert_eq!(key("cd").open(row, &after).unwrap().reveal(), secret.reveal());
        assert_eq!(key("ab").open(row, &after).err(), Some(SealError::DoesNotOpen));
        assert_eq!(ring.reseal(row, &after), Ok(None));
        assert!(ring.reseal(Uuid::from_u128(2), &before).is_err());
        assert_eq!(ring.maker_of_proof(&key("ab").seal_proof()), Some(OpenedBy::Old));
        assert_eq!(ring.maker_of_proof(&ring.current().seal_proof()), Some(OpenedBy::Current));
        assert_eq!(ring.maker_of_proof(&key("ef").seal_proof()), None);
        // A merchant's secret proves nothing of the key, or a copied row could pass for the proof.
        assert_eq!(ring.maker_of_proof(&after), None);
        let of = SeedUse::Payouts;
        let (seed, by) = ring.open_seed(of, &key("ab").seal_seed(of, &[7; SEED_BYTES])).unwrap();
        assert_eq!((seed.expose_secret(), by), (&[7; SEED_BYTES], OpenedBy::Old));
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
