//! Deposit addresses from public keys, one fresh address per index.
//!
//! Danger of an account xpub: together with any one private key below it, it yields the private key
//! of the whole account. Child private keys must never leave the signer.

use std::fmt;

use bip32::{ChildNumber, ExtendedKey, ExtendedPublicKey};
use ed25519_dalek::VerifyingKey;
use thiserror::Error;

use super::{Family, Realm, evm, thorchain, ton, tron, utxo};

/// The branch of an account that receives payments (BIP-44).
const RECEIVE: u32 = 0;
/// Depth of `purpose' / coin' / account'`.
const ACCOUNT_DEPTH: u8 = 3;

const XPUB: u32 = 0x0488_b21e;
const ZPUB: u32 = 0x04b2_4746;
const DGUB: u32 = 0x02fa_cafd;
const TPUB: u32 = 0x0435_87cf;
const VPUB: u32 = 0x045f_1cf6;

/// Reason why a text is not a key that deposit addresses can be derived from. No variant repeats
/// the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum KeyError {
    #[error("is not an extended public key, or one of its characters is wrong")]
    Malformed,
    #[error("is a private key; only public keys belong here")]
    Private,
    #[error("is a public key for another network or another kind of address")]
    OtherNetwork,
    #[error("is not the key of an account (three hardened steps below the root)")]
    NotAnAccount,
    #[error("is not an ed25519 public key of 64 hex digits")]
    NotEd25519,
    #[error("addresses of this network cannot be derived from a public key; fill the pool instead")]
    PoolOnly,
}

/// Reason why an index has no address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DeriveError {
    #[error("the index is beyond the last address of this key")]
    IndexTooLarge,
    /// Probability below 2⁻¹²⁷ per index (BIP-32); the caller takes the next index.
    #[error("there is no key at this index")]
    NoKey,
}

/// Public key from which all deposit addresses of one family are derived.
#[derive(Clone)]
pub struct AccountKey {
    family: Family,
    realm: Realm,
    source: Source,
}

type Spell = fn(Realm, &k256::PublicKey) -> String;

#[derive(Clone)]
enum Source {
    Secp256k1 {
        /// Receive branch of the account, derived once, so that each address is one derivation
        /// step.
        receive: ExtendedPublicKey<k256::PublicKey>,
        spell: Spell,
    },
    Ton([u8; 32]),
}

impl AccountKey {
    /// Parses a key of the real networks: an account xpub (also spelled zpub for bitcoin and
    /// litecoin, dgub for dogecoin), or for TON an ed25519 public key in hex.
    pub fn parse(family: Family, text: &str) -> Result<Self, KeyError> {
        Self::parse_in(Realm::Main, family, text)
    }

    /// As [`Self::parse`], for keys of either realm.
    pub fn parse_in(realm: Realm, family: Family, text: &str) -> Result<Self, KeyError> {
        let (versions, spell): (&[u32], Spell) = match (family, realm) {
            (Family::Solana | Family::Near, _) => return Err(KeyError::PoolOnly),
            (Family::Ton, _) => {
                let source = Source::Ton(parse_ed25519(text)?);
                return Ok(Self { family, realm, source });
            }
            (Family::Bitcoin, Realm::Main) => (&[XPUB, ZPUB], utxo::bitcoin),
            (Family::Bitcoin, Realm::Regtest) => (&[TPUB, VPUB], utxo::bitcoin),
            (Family::Litecoin, Realm::Main) => (&[XPUB, ZPUB], utxo::litecoin),
            (Family::Litecoin, Realm::Regtest) => (&[TPUB, VPUB], utxo::litecoin),
            (Family::Dogecoin, Realm::Main) => (&[XPUB, DGUB], utxo::dogecoin),
            (Family::Dogecoin, Realm::Regtest) => (&[TPUB], utxo::dogecoin),
            (Family::Evm, _) => (&[XPUB], |_, key| evm::address(key)),
            (Family::Tron, _) => (&[XPUB], |_, key| tron::address(key)),
            (Family::Thorchain, _) => (&[XPUB], |_, key| thorchain::address(key)),
        };
        let account = parse_account(versions, text)?;
        let receive = account.derive_child(ChildNumber(RECEIVE));
        let receive = receive.map_err(|_| KeyError::Malformed)?;
        let source = Source::Secp256k1 { receive, spell };
        Ok(Self { family, realm, source })
    }

    pub const fn family(&self) -> Family {
        self.family
    }

    pub const fn realm(&self) -> Realm {
        self.realm
    }

    /// Returns the address of a public key in this account's format; `None` if its addresses do not
    /// come from secp256k1 keys.
    pub fn spells(&self, key: &k256::PublicKey) -> Option<String> {
        match &self.source {
            Source::Secp256k1 { spell, .. } => Some(spell(self.realm, key)),
            Source::Ton(_) => None,
        }
    }

    /// Returns deposit address number `index`, as `validate` spells it: `account/0/index`, or for
    /// TON the wallet whose subwallet number is [`ton::SUBWALLET_BASE`] plus `index`.
    pub fn address(&self, index: u32) -> Result<String, DeriveError> {
        match &self.source {
            Source::Secp256k1 { receive, spell, .. } => {
                let number =
                    ChildNumber::new(index, false).map_err(|_| DeriveError::IndexTooLarge)?;
                let child = receive.derive_child(number).map_err(|_| DeriveError::NoKey)?;
                Ok(spell(self.realm, child.public_key()))
            }
            Source::Ton(public_key) => {
                let subwallet =
                    ton::SUBWALLET_BASE.checked_add(index).ok_or(DeriveError::IndexTooLarge)?;
                Ok(ton::TonAddress::of_wallet(public_key, subwallet).not_bounceable())
            }
        }
    }
}

/// The key is not printed: it links every deposit address of the installation.
impl fmt::Debug for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountKey")
            .field("family", &self.family)
            .field("realm", &self.realm)
            .finish_non_exhaustive()
    }
}

/// Parses an account key. `versions` are the leading bytes that mean "account key for this kind of
/// address" (SLIP-132). A ypub, for example, belongs to a wallet that would never see payments to
/// the addresses derived here.
fn parse_account(
    versions: &[u32],
    text: &str,
) -> Result<ExtendedPublicKey<k256::PublicKey>, KeyError> {
    let key: ExtendedKey = text.parse().map_err(|_| KeyError::Malformed)?;
    // A private key starts with a zero where a public key has its sign. This check comes first: the
    // library would silently convert a private key into the public one and hide the mistake.
    if key.key_bytes[0] == 0 {
        return Err(KeyError::Private);
    }
    if !versions.contains(&key.prefix.version()) {
        return Err(KeyError::OtherNetwork);
    }
    if key.attrs.depth != ACCOUNT_DEPTH || !key.attrs.child_number.is_hardened() {
        return Err(KeyError::NotAnAccount);
    }
    let public_key =
        k256::PublicKey::from_sec1_bytes(&key.key_bytes).map_err(|_| KeyError::Malformed)?;
    Ok(ExtendedPublicKey::new(public_key, key.attrs.clone()))
}

fn parse_ed25519(text: &str) -> Result<[u8; 32], KeyError> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).map_err(|_| KeyError::NotEd25519)?;
    let key = VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::NotEd25519)?;
    if key.is_weak() { Err(KeyError::NotEd25519) } else { Ok(bytes) }
}
