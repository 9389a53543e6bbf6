//! Transactions of outputs on bitcoin-like networks: all inputs to one output, and no change.

use std::collections::HashSet;

use bitcoin::{
    Amount, OutPoint, ScriptBuf, Sequence, TxIn, TxOut, Witness, absolute::LockTime,
    consensus::encode, script::PushBytesBuf, transaction::Version,
};
use k256::{
    ecdsa::{Signature, SigningKey, VerifyingKey, signature::hazmat::PrehashVerifier},
    elliptic_curve::sec1::ToSec1Point,
};

use super::{
    check::{Fault, Pinned, check_rate},
    plan::{Input, Transaction},
    worth::fee_of,
};
use crate::{
    asset::{Family, address},
    money::BaseUnits,
    payout::{sighash::Digests, spend::Lock},
};

/// The type of signatures that cover the whole transaction.
const ALL: u8 = 1;

/// A transaction before its signatures, and the outputs that it spends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsigned {
    pub transaction: bitcoin::Transaction,
    pub spent: Vec<TxOut>,
}

/// The transaction to the treasury, if the settings allow it.
pub(super) fn unsigned(
    planned: &Transaction,
    inputs: &[Input],
    pinned: &Pinned,
) -> Result<Unsigned, Fault> {
    let lock = Lock::of(planned.network.family()).ok_or(Fault::NotSwept(planned.network))?;
    let mut seen = HashSet::new();
    let mut spent = Vec::with_capacity(inputs.len());
    let mut sum = BaseUnits::ZERO;
    for input in inputs {
        if !seen.insert(&input.outpoint) {
            return Err(Fault::Twice(input.outpoint.clone()));
        }
        spent.push(proved(planned, input, pinned)?);
        sum = sum.checked_add(input.amount).ok_or(Fault::Sums)?;
    }
    if inputs.is_empty() || planned.amount.checked_add(planned.fee_max) != Some(sum) {
        return Err(Fault::Sums);
    }
    let transaction = bare(planned, inputs, pinned)?;
    let script = transaction.output.first().map_or(0, |output| output.script_pubkey.len());
    let size = u128::from(fee_of(lock, inputs.len(), script, 1));
    check_rate(planned.fee_max.get().div_ceil(size.max(1)), pinned)?;
    Ok(Unsigned { transaction, spent })
}

/// The transaction without its signatures. Where nodes know replace-by-fee it may be replaced.
pub(super) fn bare(
    planned: &Transaction,
    inputs: &[Input],
    pinned: &Pinned,
) -> Result<bitcoin::Transaction, Fault> {
    let is_replaceable = planned.network.family() == Family::Bitcoin;
    let sequence = if is_replaceable { Sequence::ENABLE_RBF_NO_LOCKTIME } else { Sequence::MAX };
    let script = address::script_of(planned.network, pinned.realm, &planned.to);
    let script = script.ok_or(Fault::OtherKind)?;
    let input = |input: &Input| {
        let previous_output = outpoint(input)?;
        Ok(TxIn { previous_output, sequence, ..TxIn::default() })
    };
    let value = u64::try_from(planned.amount.get()).map_err(|_| Fault::Sums)?;
    Ok(bitcoin::Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: inputs.iter().map(input).collect::<Result<_, Fault>>()?,
        output: vec![TxOut {
            value: Amount::from_sat(value),
            script_pubkey: ScriptBuf::from_bytes(script),
        }],
    })
}

fn outpoint(input: &Input) -> Result<OutPoint, Fault> {
    input.outpoint.parse().map_err(|_| Fault::Outpoint(input.outpoint.clone()))
}

/// The output that an input spends, by the transaction that made it.
fn proved(planned: &Transaction, input: &Input, pinned: &Pinned) -> Result<TxOut, Fault> {
    let place = outpoint(input)?;
    let unproved = || Fault::Unproved(input.outpoint.clone());
    let raw = hex::decode(&input.previous).map_err(|_| unproved())?;
    let made: bitcoin::Transaction = encode::deserialize(&raw).map_err(|_| unproved())?;
    let n = usize::try_from(place.vout).map_err(|_| unproved())?;
    let output = made.output.get(n).filter(|_| made.compute_txid() == place.txid);
    let output = output.ok_or_else(unproved)?;
    let script = address::script_of(planned.network, pinned.realm, &input.address);
    let is_it = u128::from(output.value.to_sat()) == input.amount.get()
        && script.is_some_and(|script| script == output.script_pubkey.as_bytes());
    if is_it { Ok(output.clone()) } else { Err(unproved()) }
}

/// Signs each input with its own key, in their order; `None` if a key does not own its output. The
/// same transaction and keys give the same bytes (RFC 6979).
pub(super) fn sign(unsigned: &Unsigned, keys: &[SigningKey]) -> Option<bitcoin::Transaction> {
    let mut signed = unsigned.transaction.clone();
    let mut digests = Digests::of(&unsigned.transaction);
    if keys.len() != unsigned.spent.len() {
        return None;
    }
    let mut unlocking = Vec::with_capacity(keys.len());
    for (n, (spent, key)) in unsigned.spent.iter().zip(keys).enumerate() {
        let public = k256::PublicKey::from(key.verifying_key()).to_sec1_point(true);
        let public = bitcoin::CompressedPublicKey::from_slice(public.as_bytes()).ok()?;
        let lock = Lock::of_script(spent.script_pubkey.as_bytes())?;
        let own = match lock {
            Lock::Witness => ScriptBuf::new_p2wpkh(&public.wpubkey_hash()),
            Lock::Legacy => ScriptBuf::new_p2pkh(&public.pubkey_hash()),
        };
        if own != spent.script_pubkey {
            return None;
        }
        unlocking.push((lock, signature(key, &digests.digest(n, spent)?), public));
    }
    for (input, (lock, signature, public)) in signed.input.iter_mut().zip(unlocking) {
        match lock {
            Lock::Witness => {
                input.witness = Witness::from_slice(&[&signature[..], &public.to_bytes()]);
            }
            Lock::Legacy => {
                input.script_sig = ScriptBuf::builder()
                    .push_slice(PushBytesBuf::try_from(signature).ok()?)
                    .push_slice(PushBytesBuf::try_from(public.to_bytes().to_vec()).ok()?)
                    .into_script();
            }
        }
    }
    Some(signed)
}

/// DER, with a low S, and the type that covers the whole transaction.
fn signature(key: &SigningKey, digest: &[u8; 32]) -> Vec<u8> {
    let (signature, _) = key.sign_prehash_recoverable(digest);
    let mut bytes = signature.normalize_s().to_der().as_bytes().to_vec();
    bytes.push(ALL);
    bytes
}

/// Returns true if signed bytes are those of the transaction, whatever their signatures.
pub(super) fn is_of(signed: &bitcoin::Transaction, bare: &bitcoin::Transaction) -> bool {
    let mut stripped = signed.clone();
    for input in &mut stripped.input {
        input.script_sig = ScriptBuf::new();
        input.witness = Witness::new();
    }
    stripped == *bare
}

/// The first input that the key of its output has not signed. Read by hand and compared with the
/// form that [`sign`] makes, which is the one that nodes relay.
pub(super) fn first_unsigned(signed: &bitcoin::Transaction, unsigned: &Unsigned) -> Option<usize> {
    let mut digests = Digests::of(&unsigned.transaction);
    let mut is_signed = |n: usize, input: &TxIn| {
        let spent = unsigned.spent.get(n)?;
        let lock = Lock::of_script(spent.script_pubkey.as_bytes())?;
        let (signature, public) = unlocking(lock, input)?;
        let own = match lock {
            Lock::Witness => ScriptBuf::new_p2wpkh(&public.wpubkey_hash()),
            Lock::Legacy => ScriptBuf::new_p2pkh(&public.pubkey_hash()),
        };
        if own != spent.script_pubkey {
            return None;
        }
        let key = VerifyingKey::from_sec1_bytes(&public.to_bytes()).ok()?;
        key.verify_prehash(&digests.digest(n, spent)?, &signature).ok()
    };
    (0..signed.input.len())
        .find(|n| signed.input.get(*n).and_then(|input| is_signed(*n, input)).is_none())
}

/// The signature and the key of an input, if it has these alone.
fn unlocking(lock: Lock, input: &TxIn) -> Option<(Signature, bitcoin::CompressedPublicKey)> {
    let (signature, public) = match lock {
        Lock::Witness if input.script_sig.is_empty() && input.witness.len() == 2 => {
            (input.witness.nth(0)?.to_vec(), input.witness.nth(1)?.to_vec())
        }
        Lock::Legacy if input.witness.is_empty() => {
            let mut pushes = input.script_sig.instructions_minimal();
            let mut push = || Some(pushes.next()?.ok()?.push_bytes()?.as_bytes().to_vec());
            let both = (push()?, push()?);
            if pushes.next().is_some() {
                return None;
            }
            both
        }
        Lock::Witness | Lock::Legacy => return None,
    };
    let (kind, der) = signature.split_last()?;
    let read = Signature::from_der(der).ok()?;
    let is_relayed = *kind == ALL && read.normalize_s() == read && read.to_der().as_bytes() == der;
    let public = bitcoin::CompressedPublicKey::from_slice(&public).ok()?;
    is_relayed.then_some((read, public))
}
