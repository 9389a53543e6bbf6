//! One EIP-1559 transaction (type 2): encoding, signature, and recovery of the sender.
//!
//! Decoding is strict: decoded bytes encode to the very same bytes, so two encodings never mean one
//! transaction.

use alloy_rlp::{Decodable, Encodable, Header};
use k256::ecdsa::{RecoveryId, Signature, SigningKey, VerifyingKey};
use sha3::{Digest, Keccak256};

use crate::{asset::address::evm, money::BaseUnits};

const TYPE_2: u8 = 2;
const WORD_BYTES: usize = 32;

/// All signed fields. The access list is always empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    pub chain_id: u64,
    pub nonce: u64,
    /// Priority fee (tip): wei per gas for the block's proposer.
    pub priority_fee: u128,
    /// Maximum fee: wei per gas, including the tip.
    pub max_fee: u128,
    pub gas_limit: u64,
    pub to: [u8; 20],
    /// In wei.
    pub value: u128,
    pub data: Vec<u8>,
}

/// A transaction with its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    pub transaction: Transaction,
    /// Encoding that is sent to a node.
    pub raw: Vec<u8>,
    /// Transaction hash: `0x` and 64 digits.
    pub hash: String,
    /// Address whose key signed, in lower case.
    pub sender: String,
}

/// Reason why bytes are not a signed transaction of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("is not an EIP-1559 transaction, whose first byte is 2")]
    OtherType,
    #[error("is not the RLP of an EIP-1559 transaction that calls an address")]
    Malformed,
    #[error("has an access list; it was built without one")]
    AccessList,
    #[error("carries no valid signature")]
    BadSignature,
    #[error("carries a signature in its high form, which no node takes (EIP-2)")]
    HighSignature,
}

impl Transaction {
    /// Maximum network fee, in wei; `None` if that does not fit in 128 bits.
    pub fn fee_max(&self) -> Option<BaseUnits> {
        u128::from(self.gas_limit).checked_mul(self.max_fee).map(BaseUnits::new)
    }

    /// The bytes that are hashed and signed: `2 || rlp([...])` without the signature's fields.
    pub fn unsigned(&self) -> Vec<u8> {
        self.encoded(None)
    }

    /// The hash that a key signs.
    pub fn signing_hash(&self) -> [u8; 32] {
        keccak(&self.unsigned())
    }

    /// The same fields and key give the same bytes (RFC 6979).
    pub fn sign(self, key: &SigningKey) -> Signed {
        let (signature, recovery) = key.sign_prehash_recoverable(&self.signing_hash());
        let (r, s) = signature.split_bytes();
        let raw = self.encoded(Some((recovery.is_y_odd(), &r, &s)));
        let sender = evm::address(&k256::PublicKey::from(key.verifying_key())).to_ascii_lowercase();
        let hash = named(keccak(&raw));
        Signed { transaction: self, raw, hash, sender }
    }

    /// Reads the output of [`unsigned`](Self::unsigned).
    pub fn read_unsigned(bytes: &[u8]) -> Result<Self, Unreadable> {
        let (transaction, rest) = read_fields(bytes)?;
        if rest.is_empty() { Ok(transaction) } else { Err(Unreadable::Malformed) }
    }

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
        // The empty access list.
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

/// Reads a signed transaction and recovers the sender.
pub fn read_signed(raw: &[u8]) -> Result<Signed, Unreadable> {
    let (transaction, mut rest) = read_fields(raw)?;
    let odd: u64 = read(&mut rest)?;
    let (r, s) = (word(&mut rest)?, word(&mut rest)?);
    if odd > 1 || !rest.is_empty() {
        return Err(Unreadable::Malformed);
    }
    let given = Signature::from_scalars(r, s).map_err(|_| Unreadable::BadSignature)?;
    if given.normalize_s() != given {
        return Err(Unreadable::HighSignature);
    }
    let recovery = RecoveryId::new(odd == 1, false);
    let digest = transaction.signing_hash();
    let key = VerifyingKey::recover_from_prehash(&digest, &given, recovery)
        .map_err(|_| Unreadable::BadSignature)?;
    let sender = evm::address(&k256::PublicKey::from(&key)).to_ascii_lowercase();
    Ok(Signed { transaction, raw: raw.to_vec(), hash: named(keccak(raw)), sender })
}

/// Reads the fields of a signed transaction without recovering the sender, which costs as much as a
/// hundred readings. For bytes that we signed ourselves.
pub fn read_own(raw: &[u8]) -> Result<Transaction, Unreadable> {
    read_fields(raw).map(|(transaction, _)| transaction)
}

/// Reads the fields up to the access list, and returns the remaining bytes.
fn read_fields(bytes: &[u8]) -> Result<(Transaction, &[u8]), Unreadable> {
    let Some((&TYPE_2, mut list)) = bytes.split_first() else { return Err(Unreadable::OtherType) };
    let mut rest = Header::decode_bytes(&mut list, true).map_err(|_| Unreadable::Malformed)?;
    if !list.is_empty() {
        return Err(Unreadable::Malformed);
    }
    let transaction = Transaction {
        chain_id: read(&mut rest)?,
        nonce: read(&mut rest)?,
        priority_fee: read(&mut rest)?,
        max_fee: read(&mut rest)?,
        gas_limit: read(&mut rest)?,
        to: text(&mut rest)?.try_into().map_err(|_| Unreadable::Malformed)?,
        value: read(&mut rest)?,
        data: text(&mut rest)?.to_vec(),
    };
    let access = Header::decode_bytes(&mut rest, true).map_err(|_| Unreadable::Malformed)?;
    if access.is_empty() { Ok((transaction, rest)) } else { Err(Unreadable::AccessList) }
}

fn read<T: Decodable>(rest: &mut &[u8]) -> Result<T, Unreadable> {
    T::decode(rest).map_err(|_| Unreadable::Malformed)
}

fn text<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Unreadable> {
    Header::decode_bytes(rest, false).map_err(|_| Unreadable::Malformed)
}

/// Reads a number of up to 256 bits and pads it again.
fn word(rest: &mut &[u8]) -> Result<[u8; WORD_BYTES], Unreadable> {
    let digits = text(rest)?;
    if digits.len() > WORD_BYTES || digits.first() == Some(&0) {
        return Err(Unreadable::Malformed);
    }
    let mut word = [0; WORD_BYTES];
    word[WORD_BYTES - digits.len()..].copy_from_slice(digits);
    Ok(word)
}

/// RLP writes numbers without leading zeros.
fn number(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    &bytes[zeros..]
}

fn named(hash: [u8; 32]) -> String {
    format!("0x{}", hex::encode(hash))
}

fn keccak(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// First account of the test phrase that every test suite uses.
    const KEY: &str = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    const SENDER: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

    fn key() -> SigningKey {
        SigningKey::from_slice(&hex::decode(KEY).unwrap()).unwrap()
    }

    fn transaction() -> Transaction {
        Transaction {
            chain_id: 137,
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
    fn the_signer_is_recovered_from_the_signed_bytes() {
        let signed = transaction().sign(&key());
        assert_eq!(signed.sender, SENDER);
        // Transaction hash as every node computes it.
        assert_eq!(signed.hash, format!("0x{}", hex::encode(Keccak256::digest(&signed.raw))));
        assert_eq!(read_own(&signed.raw), Ok(transaction()));
        assert_eq!(read_signed(&signed.raw), Ok(signed));
        assert_eq!(Transaction::read_unsigned(&transaction().unsigned()), Ok(transaction()));
    }

    #[test]
    fn a_transaction_of_another_kind_is_refused() {
        let raw = transaction().sign(&key()).raw;
        assert_eq!(read_signed(&[]), Err(Unreadable::OtherType));
        assert_eq!(read_signed(&raw[1..]), Err(Unreadable::OtherType));
        assert_eq!(read_signed(&raw[..raw.len() - 1]), Err(Unreadable::Malformed));
        let longer = [raw.as_slice(), &[0]].concat();
        assert_eq!(read_signed(&longer), Err(Unreadable::Malformed));
        assert_eq!(read_signed(&transaction().unsigned()), Err(Unreadable::Malformed));
        assert_eq!(Transaction::read_unsigned(&raw), Err(Unreadable::Malformed));
    }

    /// A curve has two points for each half of a signature, and no third one.
    #[test]
    fn a_parity_that_is_neither_even_nor_odd_is_refused() {
        let signed = transaction().sign(&key());
        let at = signed.raw.len() - 67;
        for parity in [0x02, 0x7f] {
            let mut raw = signed.raw.clone();
            // An odd one is written as 1, an even one as nothing: 0x80.
            assert!([0x01, 0x80].contains(&raw[at]), "{:x}", raw[at]);
            raw[at] = parity;
            assert_eq!(read_signed(&raw), Err(Unreadable::Malformed));
        }
    }

    /// The same signature with the other S is mathematically valid, has another hash, and is
    /// refused by every node.
    #[test]
    fn the_mirrored_signature_is_refused() {
        let transaction = transaction();
        let (signature, recovery) = key().sign_prehash_recoverable(&transaction.signing_hash());
        let (r, s) = signature.split_scalars();
        let mirrored = Signature::from_scalars(r.to_bytes(), (-*s).to_bytes()).unwrap();
        let (r, s) = mirrored.split_bytes();
        let raw = transaction.encoded(Some((!recovery.is_y_odd(), &r, &s)));
        assert_eq!(read_signed(&raw), Err(Unreadable::HighSignature));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let typed = [&[TYPE_2], bytes.as_slice()].concat();
            for raw in [bytes, typed] {
                if let Ok(signed) = read_signed(&raw) {
                    prop_assert_eq!(signed.raw, raw);
                }
            }
        }

        /// Changing one bit changes the sender, or makes the bytes unreadable.
        #[test]
        fn the_signature_covers_every_bit(at in 0_usize..1_000, bit in 0_u8..8) {
            let mut raw = transaction().sign(&key()).raw;
            let at = at % raw.len();
            raw[at] ^= 1 << bit;
            if let Ok(signed) = read_signed(&raw) {
                prop_assert_ne!(signed.sender, SENDER);
            }
        }

        #[test]
        fn every_written_value_is_read_back(
            chain_id: u64, nonce: u64, fees: (u128, u128), gas_limit: u64, to: [u8; 20], value: u128,
            data in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let (priority_fee, max_fee) = fees;
            let transaction =
                Transaction { chain_id, nonce, priority_fee, max_fee, gas_limit, to, value, data };
            let read = Transaction::read_unsigned(&transaction.unsigned());
            prop_assert_eq!(read.as_ref(), Ok(&transaction));
            let signed = transaction.sign(&key());
            prop_assert_eq!(read_signed(&signed.raw), Ok(signed));
        }
    }
}
