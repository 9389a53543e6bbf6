//! The bytes of a transaction, and its signatures. Litecoin and dogecoin use bitcoin's encoding.

use bitcoin::{
    Amount, CompressedPublicKey, EcdsaSighashType, OutPoint, ScriptBuf, Sequence, Transaction,
    TxIn, TxOut, Witness, absolute::LockTime, consensus::encode, script::PushBytesBuf,
    transaction::Version,
};
use k256::{ecdsa::SigningKey, elliptic_curve::sec1::ToSec1Point};

use super::spend::{Lock, Pay, Spend};
use crate::{chain::pay::SignError, payout::sighash::Digests};

/// Whether a transaction signals replace-by-fee (BIP-125). Every input carries the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replaceable {
    Yes,
    No,
}

/// The transaction of `spend` that pays `outputs`; its change, the last output, goes to `change`.
pub fn unsigned(
    spend: &Spend,
    outputs: &[Pay],
    change: &[u8],
    replaceable: Replaceable,
) -> Result<Transaction, SignError> {
    let sequence = match replaceable {
        Replaceable::Yes => Sequence::ENABLE_RBF_NO_LOCKTIME,
        Replaceable::No => Sequence::MAX,
    };
    let input = |coin: &super::spend::Coin| {
        let previous_output: OutPoint =
            coin.outpoint.parse().map_err(|_| SignError::Unsupported)?;
        Ok(TxIn { previous_output, sequence, ..TxIn::default() })
    };
    let output = |script: &[u8], amount| TxOut {
        script_pubkey: ScriptBuf::from_bytes(script.to_vec()),
        value: Amount::from_sat(amount),
    };
    let mut paid: Vec<_> = outputs.iter().map(|pay| output(&pay.script, pay.amount)).collect();
    paid.extend(spend.change.map(|amount| output(change, amount)));
    Ok(Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: spend.coins.iter().map(input).collect::<Result<_, SignError>>()?,
        output: paid,
    })
}

/// Signs every input with the one key that owns them all. The same transaction and key give the
/// same bytes (RFC 6979). `own` is the script of the coins, which must belong to the key.
pub fn sign(
    mut transaction: Transaction,
    spend: &Spend,
    lock: Lock,
    own: &[u8],
    key: &SigningKey,
) -> Result<Transaction, SignError> {
    let public = k256::PublicKey::from(key.verifying_key());
    let public = CompressedPublicKey::from_slice(public.to_sec1_point(true).as_bytes())
        .map_err(|_| SignError::WrongKey)?;
    let own = ScriptBuf::from_bytes(own.to_vec());
    let of_key = match lock {
        Lock::Witness => ScriptBuf::new_p2wpkh(&public.wpubkey_hash()),
        Lock::Legacy => ScriptBuf::new_p2pkh(&public.pubkey_hash()),
    };
    if own != of_key {
        return Err(SignError::WrongKey);
    }
    let mut unlocking = Vec::with_capacity(spend.coins.len());
    let mut digests = Digests::of(&transaction);
    for (n, coin) in spend.coins.iter().enumerate() {
        let spent = TxOut { value: Amount::from_sat(coin.amount), script_pubkey: own.clone() };
        let digest = digests.digest(n, &spent).ok_or(SignError::Unsupported)?;
        unlocking.push(signature(key, &digest)?);
    }
    for (input, signature) in transaction.input.iter_mut().zip(unlocking) {
        match lock {
            Lock::Witness => {
                input.witness = Witness::from_slice(&[&signature[..], &public.to_bytes()]);
            }
            Lock::Legacy => {
                let push = |bytes: Vec<u8>| {
                    PushBytesBuf::try_from(bytes).map_err(|_| SignError::Unsupported)
                };
                input.script_sig = ScriptBuf::builder()
                    .push_slice(push(signature)?)
                    .push_slice(push(public.to_bytes().to_vec())?)
                    .into_script();
            }
        }
    }
    Ok(transaction)
}

/// DER signature with a low S, which nodes require, and the sighash type that covers the whole
/// transaction.
fn signature(key: &SigningKey, digest: &[u8; 32]) -> Result<Vec<u8>, SignError> {
    let (signature, _) = key.sign_prehash_recoverable(digest);
    let mut bytes = signature.normalize_s().to_der().as_bytes().to_vec();
    bytes.push(u8::try_from(EcdsaSighashType::All.to_u32()).map_err(|_| SignError::Unsupported)?);
    Ok(bytes)
}

/// Virtual size of stored bytes, for which a network charges; `None` if they are not a transaction.
pub fn virtual_size(raw: &[u8]) -> Option<u64> {
    let transaction: Transaction = encode::deserialize(raw).ok()?;
    u64::try_from(transaction.vsize()).ok()
}

#[cfg(test)]
mod tests {
    use super::{
        super::spend::{Coin, Terms, plan, virtual_bytes},
        *,
    };

    /// The private key 1 and its address.
    fn key() -> SigningKey {
        let mut bytes = [0; 32];
        bytes[31] = 1;
        SigningKey::from_slice(&bytes).unwrap()
    }

    fn own(lock: Lock) -> Vec<u8> {
        hex::decode(match lock {
            Lock::Witness => "0014751e76e8199196d454941c45d1b3a323f1433bd6",
            Lock::Legacy => "76a914751e76e8199196d454941c45d1b3a323f1433bd688ac",
        })
        .unwrap()
    }

    fn signed(lock: Lock, coins: usize) -> (Spend, Transaction) {
        let coin = |n| Coin { outpoint: format!("{}:{n}", "cd".repeat(32)), amount: 100_000 };
        let coins: Vec<_> = (0..coins).map(coin).collect();
        let script = own(lock);
        let terms = Terms {
            lock,
            fee_rate: 5,
            fee_extra: 0,
            fee_max: u64::MAX,
            fee_rate_floor: 1,
            fee_limit: u64::MAX,
            dust: 546,
            every_coin: true,
            change_script_bytes: script.len(),
        };
        let outputs = [Pay { script: vec![0x51; 34], amount: 60_000 }];
        let spend = plan(&coins, &outputs, &terms).unwrap();
        let bare = unsigned(&spend, &outputs, &script, Replaceable::Yes).unwrap();
        let signed = sign(bare, &spend, lock, &script, &key()).unwrap();
        (spend, signed)
    }

    #[test]
    fn signing_is_repeatable_and_never_larger_than_planned() {
        for lock in [Lock::Witness, Lock::Legacy] {
            for coins in [1, 2, 30, 260] {
                let (spend, transaction) = signed(lock, coins);
                assert_eq!(transaction, signed(lock, coins).1);
                let scripts = transaction.output.iter().map(|output| output.script_pubkey.len());
                let planned = virtual_bytes(lock, coins, scripts);
                let actual = u64::try_from(transaction.vsize()).unwrap();
                let per_coin = u64::try_from(coins).unwrap();
                assert!(
                    actual <= planned && planned <= actual + 2 * per_coin,
                    "{actual} {planned}"
                );
                let out: u64 = transaction.output.iter().map(|o| o.value.to_sat()).sum();
                assert_eq!(out + spend.fee, 100_000 * per_coin);
                assert!(transaction.input.iter().all(|input| input.sequence.is_rbf()));
            }
        }
    }

    #[test]
    fn only_the_key_of_the_coins_signs() {
        let (spend, mut transaction) = signed(Lock::Witness, 1);
        transaction.input[0].witness.clear();
        let stranger = SigningKey::from_slice(&[7; 32]).unwrap();
        let refused = sign(transaction, &spend, Lock::Witness, &own(Lock::Witness), &stranger);
        assert_eq!(refused, Err(SignError::WrongKey));
    }
}
