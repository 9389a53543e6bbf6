//! One kind of transaction, EIP-1559 (type 2), and its signature.

use alloy_rlp::{Decodable, Encodable, Header};
use k256::ecdsa::SigningKey;
use sha3::{Digest, Keccak256};

use super::{SignError, SignedTx};
use crate::asset::address::evm;

const TYPE_2: u8 = 2;

/// The fields of an EIP-1559 transaction that pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Transfer {
    pub chain_id: u64,
    pub nonce: u64,
    pub priority_fee: u128,
    pub max_fee: u128,
    pub gas_limit: u64,
    pub to: [u8; 20],
    pub value: u128,
    pub data: Vec<u8>,
}

impl Transfer {
    /// Signs; the same fields and key give the same bytes (RFC 6979). `sender` must be the key's own address.
    pub fn sign(&self, key: &SigningKey, sender: &str) -> Result<SignedTx, SignError> {
        let public = k256::PublicKey::from(key.verifying_key());
        if !evm::address(&public).eq_ignore_ascii_case(sender) {
            return Err(SignError::WrongKey);
        }
        let digest = keccak(&self.encoded(None));
        let (signature, recovery) = key.sign_prehash_recoverable(&digest);
        let (r, s) = signature.split_bytes();
        let raw = self.encoded(Some((recovery.is_y_odd(), &r, &s)));
        let hash = format!("0x{}", hex::encode(keccak(&raw)));
        Ok(SignedTx { raw, hash, spent: None })
    }

    /// `2 || rlp([...])`, with the signature's three fields at the end once there is one.
    fn encoded(&self, signature: Option<(bool, &[u8], &[u8])>) -> Vec<u8> {
        let mut fields = Vec::new();
        self.chain_id.encode(&mut fields);
        self.nonce.encode(&mut fields);
        self.priority_fee.encode(&mut fields);
        self.max_fee.encode(&mut fields);
        self.gas_limit.encode(&mut fields);
        self.to.as_slice().encode(&mut fields);
        self.value.encode(&mut fields);
        self.data.as_slice().encode(&mut fields);
        // An empty access list.
        Header { list: true, payload_length: 0 }.encode(&mut fields);
        if let Some((y_is_odd, r, s)) = signature {
            u64::from(y_is_odd).encode(&mut fields);
            number(r).encode(&mut fields);
            number(s).encode(&mut fields);
        }
        let mut out = vec![TYPE_2];
        Header { list: true, payload_length: fields.len() }.encode(&mut out);
        out.extend(fields);
        out
    }
}

/// What a signed transaction does, read from its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Effect {
    pub to: [u8; 20],
    pub value: u128,
    pub data: Vec<u8>,
}

/// Chain id, nonce, two fees and the gas limit stand before the recipient.
const FIELDS_BEFORE_TO: usize = 5;

/// Reads bytes that [`Transfer::sign`] made; `None` for any others.
pub(super) fn effect_of(raw: &[u8]) -> Option<Effect> {
    let mut rest = raw.strip_prefix(&[TYPE_2])?;
    let mut fields = Header::decode_bytes(&mut rest, true).ok()?;
    for _ in 0..FIELDS_BEFORE_TO {
        Header::decode_bytes(&mut fields, false).ok()?;
    }
    let to = Header::decode_bytes(&mut fields, false).ok()?.try_into().ok()?;
    let value = u128::decode(&mut fields).ok()?;
    let data = Header::decode_bytes(&mut fields, false).ok()?.to_vec();
    Some(Effect { to, value, data })
}

/// RLP writes numbers without leading zeros.
fn number(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    &bytes[zeros..]
}

fn keccak(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first account of the phrase that every test suite uses.
    const KEY: &str = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    const SENDER: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

    fn key() -> SigningKey {
        SigningKey::from_slice(&hex::decode(KEY).unwrap()).unwrap()
    }

    fn transfer() -> Transfer {
        Transfer {
            chain_id: 31_337,
            nonce: 0,
            priority_fee: 1_000_000_000,
            max_fee: 2_000_000_000,
            gas_limit: 21_000,
            to: [0x70; 20],
            value: 1_000_000_000_000_000_000,
            data: vec![],
        }
    }

    #[test]
    fn signing_is_repeatable_and_only_the_sender_s_key_signs() {
        let first = transfer().sign(&key(), SENDER).unwrap();
        assert_eq!(first, transfer().sign(&key(), SENDER).unwrap());
        assert_eq!(first.raw[0], TYPE_2);
        let other = Transfer { nonce: 1, ..transfer() }.sign(&key(), SENDER).unwrap();
        assert_ne!(other.hash, first.hash);
        let stranger = "0x0000000000000000000000000000000000000001";
        assert_eq!(transfer().sign(&key(), stranger), Err(SignError::WrongKey));
    }

    #[test]
    fn signed_bytes_tell_what_they_do() {
        for data in [vec![], vec![7], vec![0xa9; 68]] {
            let signed = Transfer { data, ..transfer() };
            let effect = effect_of(&signed.sign(&key(), SENDER).unwrap().raw).unwrap();
            assert_eq!(
                (effect.to, effect.value, &effect.data),
                (signed.to, signed.value, &signed.data)
            );
        }
        assert_eq!(effect_of(b"{}"), None);
        assert_eq!(effect_of(&[TYPE_2, 0xc1]), None);
    }

    #[test]
    fn the_signature_covers_every_field_and_recovers_to_the_sender() {
        let signed = transfer().sign(&key(), SENDER).unwrap();
        let unsigned = transfer().encoded(None);
        // The signed list is the unsigned one with three fields more.
        assert_eq!(signed.raw[3..10], unsigned[2..9]);
        let hash = format!("0x{}", hex::encode(keccak(&signed.raw)));
        assert_eq!(signed.hash, hash);
    }
}
