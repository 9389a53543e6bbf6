//! A draft of two inputs and three outputs, and the key that signs it.

use bitcoin::{
    Amount, CompressedPublicKey, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid,
    absolute::LockTime,
    hashes::Hash,
    secp256k1::{Message, Secp256k1, SecretKey},
    transaction::Version,
};

use super::{Draft, Spent};
use crate::payout::{sighash::Digests, spend::Lock};

/// Private key of every output in the fixture.
pub fn key() -> SecretKey {
    SecretKey::from_slice(&[7; 32]).unwrap()
}

pub fn public(key: &SecretKey) -> CompressedPublicKey {
    CompressedPublicKey(key.public_key(&Secp256k1::signing_only()))
}

pub fn own(lock: Lock) -> ScriptBuf {
    match lock {
        Lock::Witness => ScriptBuf::new_p2wpkh(&public(&key()).wpubkey_hash()),
        Lock::Legacy => ScriptBuf::new_p2pkh(&public(&key()).pubkey_hash()),
    }
}

pub fn output(script_pubkey: ScriptBuf, units: u64) -> TxOut {
    TxOut { script_pubkey, value: Amount::from_sat(units) }
}

/// A transaction with two outputs for the key.
pub fn funding(lock: Lock) -> Transaction {
    Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint::new(Txid::all_zeros(), 3),
            ..TxIn::default()
        }],
        output: vec![output(own(lock), 60_000), output(own(lock), 50_000)],
    }
}

/// Draft that spends both outputs, pays two recipients, and returns 8,000 as change.
pub fn draft(lock: Lock) -> Draft {
    let made = funding(lock);
    let input = |vout| TxIn {
        previous_output: OutPoint::new(made.compute_txid(), vout),
        sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
        ..TxIn::default()
    };
    let somebody = ScriptBuf::from_bytes([&[0, 20][..], &[9; 20]].concat());
    let transaction = Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![input(0), input(1)],
        output: vec![
            output(somebody.clone(), 70_000),
            output(somebody, 31_000),
            output(own(lock), 8_000),
        ],
    };
    let spent =
        |n: usize| Spent { output: made.output[n].clone(), transaction: Some(made.clone()) };
    Draft::new(transaction, vec![spent(0), spent(1)]).unwrap()
}

/// Signature of `key` for input `n` of `transaction`, which spends the outputs of `draft`, with a
/// last byte of `kind`.
pub fn signature(
    draft: &Draft,
    transaction: &Transaction,
    n: usize,
    key: &SecretKey,
    kind: u8,
) -> Vec<u8> {
    let spent = draft.spent().unwrap();
    let digest = Digests::of(transaction).digest(n, &spent[n]).unwrap();
    let signature = Secp256k1::signing_only().sign_ecdsa(&Message::from_digest(digest), key);
    [signature.serialize_der().as_ref(), &[kind]].concat()
}
