//! Passkeys (W3C Web Authentication, level 3): answers of authenticators, checked by ES256 alone.
//!
//! There is no CBOR here. Pages ask for algorithm −7 alone, whose key always has the same 77 bytes
//! around its coordinates, directly behind the credential's id. Extensions are not asked for; some
//! browsers add one, which stands behind the key, is signed, and is not read. Attestation is not
//! asked for: a passkey proves that its account registered it, not which company made its chip.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
use p256::ecdsa::{Signature, VerifyingKey, signature::Verifier};
use rand::Rng;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Time for an answer, in seconds of the database's clock.
pub const CHALLENGE_SECONDS: i64 = 5 * 60;
/// Passkeys of one account.
pub const PASSKEYS_MAX: i64 = 20;
pub const NAME_CHARS_MAX: usize = 60;

pub const PUBLIC_KEY_BYTES: usize = 64;
const CREDENTIAL_BYTES: std::ops::RangeInclusive<usize> = 16..=1023;

/// Places in authenticator data (§6.1).
const RP_ID_HASH_BYTES: usize = 32;
const HEAD_BYTES: usize = RP_ID_HASH_BYTES + 1 + 4;
const AAGUID_BYTES: usize = 16;

const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const ATTESTED: u8 = 0x40;
const EXTENDED: u8 = 0x80;

/// A key of EC2, ES256, P-256 in CBOR, before each coordinate (RFC 9053).
const KEY_BEFORE_X: [u8; 10] = [0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 0x20];
const KEY_BEFORE_Y: [u8; 3] = [0x22, 0x58, 0x20];
const KEY_BYTES: usize = KEY_BEFORE_X.len() + 32 + KEY_BEFORE_Y.len() + 32;

/// The reason why an answer does not count. For logs; people are told in one sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the client data is not what a browser writes")]
    ClientData,
    #[error("the client data is of another ceremony")]
    Ceremony,
    #[error("the answer comes from another origin or a frame")]
    Origin,
    #[error("the authenticator data has another form than was asked for")]
    AuthenticatorData,
    #[error("the answer is for another site")]
    Site,
    #[error("the authenticator did not verify its user")]
    NotVerified,
    #[error("the key is no point of P-256")]
    Key,
    #[error("the signature is wrong")]
    Signature,
    #[error("the counter did not grow: there may be a copy of the authenticator")]
    Counter,
    #[error("the challenge was not made for this, is too old, or was answered before")]
    Challenge,
    #[error("the credential is not known, or belongs to another account")]
    Credential,
}

/// Making a credential, or using one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ceremony {
    Create,
    Get,
}

impl Ceremony {
    const fn kind(self) -> &'static str {
        match self {
            Self::Create => "webauthn.create",
            Self::Get => "webauthn.get",
        }
    }
}

#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
    #[serde(default, rename = "topOrigin")]
    top_origin: Option<String>,
}

/// Checks the browser's part of an answer, and returns the challenge that it answers.
pub fn challenge_of(
    client_data: &[u8],
    ceremony: Ceremony,
    origin: &str,
) -> Result<Vec<u8>, Refused> {
    let data: ClientData = serde_json::from_slice(client_data).map_err(|_| Refused::ClientData)?;
    if data.kind != ceremony.kind() {
        return Err(Refused::Ceremony);
    }
    if data.origin != origin || data.cross_origin || data.top_origin.is_some() {
        return Err(Refused::Origin);
    }
    BASE64URL.decode(&data.challenge).map_err(|_| Refused::ClientData)
}

/// The key that a passkey has with us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub public_key: [u8; PUBLIC_KEY_BYTES],
    /// Signatures so far; 0 of authenticators that do not count.
    pub sign_count: u32,
}

/// A credential that was just made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCredential {
    pub id: Vec<u8>,
    pub key: Key,
}

/// Reads a new credential from authenticator data (§7.1).
pub fn new_credential(data: &[u8], rp_id: &str) -> Result<NewCredential, Refused> {
    let head = head(data, rp_id)?;
    if head.flags & ATTESTED == 0 {
        return Err(Refused::AuthenticatorData);
    }
    let rest = data.get(HEAD_BYTES + AAGUID_BYTES..).ok_or(Refused::AuthenticatorData)?;
    let (length, rest) = rest.split_at_checked(2).ok_or(Refused::AuthenticatorData)?;
    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
    let (id, key) = rest.split_at_checked(length).ok_or(Refused::AuthenticatorData)?;
    if !CREDENTIAL_BYTES.contains(&length) {
        return Err(Refused::AuthenticatorData);
    }
    let (key, extensions) = key.split_at_checked(KEY_BYTES).ok_or(Refused::AuthenticatorData)?;
    head.has_only(extensions)?;
    let public_key = coordinates(key).ok_or(Refused::AuthenticatorData)?;
    verifying_key(&public_key)?;
    Ok(NewCredential { id: id.to_vec(), key: Key { public_key, sign_count: head.sign_count } })
}

impl Key {
    /// Checks the authenticator's part of an answer (§7.2), and returns its counter.
    pub fn check(
        &self,
        data: &[u8],
        client_data: &[u8],
        signature: &[u8],
        rp_id: &str,
    ) -> Result<u32, Refused> {
        let head = head(data, rp_id)?;
        if head.flags & ATTESTED != 0 {
            return Err(Refused::AuthenticatorData);
        }
        head.has_only(data.get(HEAD_BYTES..).unwrap_or_default())?;
        self.check_signature(data, client_data, signature)?;
        let counts = self.sign_count != 0 || head.sign_count != 0;
        if counts && head.sign_count <= self.sign_count {
            return Err(Refused::Counter);
        }
        Ok(head.sign_count)
    }

    fn check_signature(
        &self,
        data: &[u8],
        client_data: &[u8],
        signature: &[u8],
    ) -> Result<(), Refused> {
        let signed = [data, Sha256::digest(client_data).as_slice()].concat();
        let signature = Signature::from_der(signature).map_err(|_| Refused::Signature)?;
        let key = verifying_key(&self.public_key)?;
        key.verify(&signed, &signature).map_err(|_| Refused::Signature)
    }
}

struct Head {
    flags: u8,
    sign_count: u32,
}

impl Head {
    /// Refuses bytes at the end that no flag announces, and a flag that announces none.
    fn has_only(&self, extensions: &[u8]) -> Result<(), Refused> {
        let announced = self.flags & EXTENDED != 0;
        if announced == extensions.is_empty() { Err(Refused::AuthenticatorData) } else { Ok(()) }
    }
}

/// The part that all authenticator data has. A user was there and was verified: such a passkey
/// stands for two factors.
fn head(data: &[u8], rp_id: &str) -> Result<Head, Refused> {
    let head = data.get(..HEAD_BYTES).ok_or(Refused::AuthenticatorData)?;
    let (hash, rest) = head.split_at(RP_ID_HASH_BYTES);
    if !bool::from(Sha256::digest(rp_id).as_slice().ct_eq(hash)) {
        return Err(Refused::Site);
    }
    let flags = rest[0];
    if flags & (BACKUP_ELIGIBLE | BACKED_UP) == BACKED_UP {
        return Err(Refused::AuthenticatorData);
    }
    if flags & USER_PRESENT == 0 || flags & USER_VERIFIED == 0 {
        return Err(Refused::NotVerified);
    }
    Ok(Head { flags, sign_count: u32::from_be_bytes([rest[1], rest[2], rest[3], rest[4]]) })
}

fn coordinates(key: &[u8]) -> Option<[u8; PUBLIC_KEY_BYTES]> {
    let rest = key.strip_prefix(KEY_BEFORE_X.as_slice())?;
    let (x, rest) = rest.split_at_checked(32)?;
    let y = rest.strip_prefix(KEY_BEFORE_Y.as_slice())?;
    [x, y].concat().try_into().ok()
}

fn verifying_key(public_key: &[u8; PUBLIC_KEY_BYTES]) -> Result<VerifyingKey, Refused> {
    // SEC 1: an uncompressed point.
    let point = [&[4], public_key.as_slice()].concat();
    VerifyingKey::from_sec1_bytes(&point).map_err(|_| Refused::Key)
}

/// The use that a challenge is made for. One that was made for a lesser use opens nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Register,
    SignIn,
    SecondFactor,
    Confirm,
}

impl Purpose {
    const fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::SignIn => "sign in",
            Self::SecondFactor => "second factor",
            Self::Confirm => "confirm",
        }
    }
}

const NONCE_BYTES: usize = 16;
const TIME_BYTES: usize = 8;
const MAC_BYTES: usize = 32;

/// A challenge: random bytes, its time, and a keyed digest over both, its purpose and the session
/// or browser that it was shown to. So one that nobody answers leaves nothing behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    nonce: [u8; NONCE_BYTES],
    issued_at: i64,
}

impl Challenge {
    pub fn generate(now: i64) -> Self {
        let mut nonce = [0_u8; NONCE_BYTES];
        rand::rng().fill_bytes(&mut nonce);
        Self { nonce, issued_at: now }
    }

    /// The text that the digest is made of.
    pub fn authenticated(&self, purpose: Purpose, holder: &str) -> Vec<u8> {
        let (purpose, holder) = (purpose.name().as_bytes(), holder.as_bytes());
        let time = self.issued_at.to_be_bytes();
        [self.nonce.as_slice(), &time, purpose, b"\0", holder].concat()
    }

    pub fn with_mac(&self, mac: &[u8; MAC_BYTES]) -> Vec<u8> {
        [self.nonce.as_slice(), &self.issued_at.to_be_bytes(), mac].concat()
    }

    /// Takes a challenge apart; its digest is still to be checked.
    pub fn parse(bytes: &[u8]) -> Option<(Self, [u8; MAC_BYTES])> {
        let (nonce, rest) = bytes.split_at_checked(NONCE_BYTES)?;
        let (time, mac) = rest.split_at_checked(TIME_BYTES)?;
        let issued_at = i64::from_be_bytes(time.try_into().ok()?);
        Some((Self { nonce: nonce.try_into().ok()?, issued_at }, mac.try_into().ok()?))
    }

    pub const fn is_fresh(&self, now: i64) -> bool {
        let age = now.saturating_sub(self.issued_at);
        0 <= age && age < CHALLENGE_SECONDS
    }
}

/// Bytes as browsers write them in forms.
pub fn encode(bytes: &[u8]) -> String {
    BASE64URL.encode(bytes)
}

pub fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64URL.decode(text).ok()
}

#[cfg(test)]
#[path = "passkey_tests.rs"]
mod tests;
