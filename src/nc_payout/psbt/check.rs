//! Verification of a signed PSBT: it must be the very transaction that was built, with every input
//! signed by its own key.

use std::collections::BTreeMap;

use bitcoin::{Psbt, Transaction, Witness, consensus::encode, secp256k1::Secp256k1};

use super::{
    Draft, MAGIC,
    unlock::{self, Fault},
};
use crate::{nc_payout::check::Difference, payout::sighash::Digests};

/// Placeholder of an absent part.
const ABSENT: &str = "-";

/// A transaction complete enough to broadcast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    pub raw: Vec<u8>,
    /// Transaction id; it does not cover signatures in witnesses.
    pub hash: String,
}

/// Reason why a signed transaction is refused. Nothing of it is kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error("one transaction was built and {0} came back")]
    Count(usize),
    #[error("what came back is neither a PSBT of version 0 nor a transaction")]
    Unreadable,
    #[error("the signed transaction differs from what was built in {}", names(.0))]
    Differs(Vec<Difference>),
    #[error("input {input} {fault}")]
    Input { input: usize, fault: Fault },
}

fn names(differences: &[Difference]) -> String {
    differences.iter().map(|one| one.field.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the finished transaction, or the first fault. Inputs count from 0.
pub fn check(built: &Draft, signed: &[Vec<u8>]) -> Result<Signed, Mismatch> {
    let [signed] = signed else { return Err(Mismatch::Count(signed.len())) };
    let transaction = read(built, signed)?;
    check_inputs(built, &transaction)?;
    let hash = transaction.compute_txid().to_string();
    Ok(Signed { raw: encode::serialize(&transaction), hash })
}

/// Reads the signed transaction; its fields must be the built ones.
fn read(built: &Draft, signed: &[u8]) -> Result<Transaction, Mismatch> {
    if !signed.starts_with(MAGIC) {
        let transaction: Transaction =
            encode::deserialize(signed).map_err(|_| Mismatch::Unreadable)?;
        check_fields(built.transaction(), &bare(&transaction))?;
        return Ok(transaction);
    }
    let psbt = Psbt::deserialize(signed).map_err(|_| Mismatch::Unreadable)?;
    check_fields(built.transaction(), &psbt.unsigned_tx)?;
    let mut transaction = psbt.unsigned_tx;
    // The spent outputs are taken from our own draft only.
    let spent = built.spent().unwrap_or_default();
    let places = transaction.input.iter_mut().zip(&psbt.inputs).zip(&spent).enumerate();
    for (input, ((place, signed), spent)) in places {
        let finished = unlock::finished(signed, spent);
        let (script, witness) = finished.map_err(|fault| Mismatch::Input { input, fault })?;
        (place.script_sig, place.witness) = (script, witness);
    }
    Ok(transaction)
}

/// The transaction without signatures.
fn bare(transaction: &Transaction) -> Transaction {
    let mut bare = transaction.clone();
    for input in &mut bare.input {
        input.script_sig = bitcoin::ScriptBuf::new();
        input.witness = Witness::new();
    }
    bare
}

fn check_inputs(built: &Draft, transaction: &Transaction) -> Result<(), Mismatch> {
    let spent = built.spent().unwrap_or_default();
    let (mut digests, secp) = (Digests::of(transaction), Secp256k1::verification_only());
    for (n, input) in transaction.input.iter().enumerate() {
        let spent = spent.get(n).ok_or(Mismatch::Unreadable)?;
        unlock::check(input, n, spent, &mut digests, &secp)
            .map_err(|fault| Mismatch::Input { input: n, fault })?;
    }
    Ok(())
}

fn check_fields(built: &Transaction, signed: &Transaction) -> Result<(), Mismatch> {
    if built == signed {
        return Ok(());
    }
    let (built, signed) = (fields_of(built), fields_of(signed));
    let text = |of: &BTreeMap<String, String>, field: &str| {
        of.get(field).cloned().unwrap_or_else(|| ABSENT.to_owned())
    };
    let fields: std::collections::BTreeSet<_> = built.keys().chain(signed.keys()).collect();
    let differences = fields
        .into_iter()
        .map(|field| Difference {
            field: field.clone(),
            built: text(&built, field),
            signed: text(&signed, field),
        })
        .filter(|one| one.built != one.signed)
        .collect();
    Err(Mismatch::Differs(differences))
}

/// Everything that a signature covers, by the names that wallets show.
fn fields_of(of: &Transaction) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::from([
        ("version".to_owned(), of.version.0.to_string()),
        ("locktime".to_owned(), of.lock_time.to_consensus_u32().to_string()),
    ]);
    for (n, input) in of.input.iter().enumerate() {
        fields.insert(format!("inputs[{n}].outpoint"), input.previous_output.to_string());
        fields.insert(format!("inputs[{n}].sequence"), format!("{:#x}", input.sequence.0));
    }
    for (n, output) in of.output.iter().enumerate() {
        fields.insert(format!("outputs[{n}].amount"), output.value.to_sat().to_string());
        let script = hex::encode(output.script_pubkey.as_bytes());
        fields.insert(format!("outputs[{n}].script"), script);
    }
    fields
}

#[cfg(test)]
mod tests {
    use bitcoin::{
        Amount, OutPoint, PublicKey, ScriptBuf, Sequence, TxIn, absolute::LockTime,
        script::PushBytesBuf, secp256k1::SecretKey, transaction::Version,
    };
    use expect_test::expect;
    use proptest::prelude::*;

    use super::{
        super::fixture::{draft, key, public, signature},
        *,
    };
    use crate::payout::spend::Lock;

    const ALL: u8 = 1;

    /// `transaction` with a signature of `key` under every input that `draft` knows.
    fn signed_by(
        lock: Lock,
        draft: &Draft,
        mut transaction: Transaction,
        key: &SecretKey,
        kind: u8,
    ) -> Transaction {
        let bare = transaction.clone();
        let known = draft.transaction().input.len();
        for (n, input) in transaction.input.iter_mut().enumerate().take(known) {
            let signature = signature(draft, &bare, n, key, kind);
            unlock_with(lock, input, signature, &public(key).to_bytes());
        }
        transaction
    }

    fn unlock_with(lock: Lock, input: &mut TxIn, signature: Vec<u8>, key: &[u8]) {
        match lock {
            Lock::Witness => input.witness = Witness::from_slice(&[&signature[..], key]),
            Lock::Legacy => {
                let push = |bytes: Vec<u8>| PushBytesBuf::try_from(bytes).unwrap();
                input.script_sig = ScriptBuf::builder()
                    .push_slice(push(signature))
                    .push_slice(push(key.to_vec()))
                    .into_script();
            }
        }
    }

    fn good(lock: Lock) -> Transaction {
        let draft = draft(lock);
        signed_by(lock, &draft, draft.transaction().clone(), &key(), ALL)
    }

    fn raw(transaction: &Transaction) -> Vec<Vec<u8>> {
        vec![encode::serialize(transaction)]
    }

    /// The draft with the signatures of `transaction`, as a wallet returns it.
    fn psbt(draft: &Draft, transaction: &Transaction, finished: bool) -> Vec<Vec<u8>> {
        let mut psbt = Psbt::deserialize(&draft.bytes()).unwrap();
        for (n, (place, input)) in psbt.inputs.iter_mut().zip(&transaction.input).enumerate() {
            if finished {
                place.final_script_sig = Some(input.script_sig.clone()).filter(|s| !s.is_empty());
                place.final_script_witness = Some(input.witness.clone()).filter(|w| !w.is_empty());
            } else {
                let bytes = signature(draft, draft.transaction(), n, &key(), ALL);
                let signature = bitcoin::ecdsa::Signature::from_slice(&bytes).unwrap();
                place.partial_sigs.insert(PublicKey::from(public(&key())), signature);
            }
        }
        vec![psbt.serialize()]
    }

    #[test]
    fn a_psbt_in_either_state_and_a_transaction_are_the_same() {
        for lock in [Lock::Witness, Lock::Legacy] {
            let (draft, good) = (draft(lock), good(lock));
            let taken = check(&draft, &raw(&good)).unwrap();
            assert_eq!(taken.hash, good.compute_txid().to_string());
            for finished in [true, false] {
                assert_eq!(check(&draft, &psbt(&draft, &good, finished)), Ok(taken.clone()));
            }
        }
    }

    type Change = fn(&mut Transaction);

    /// Changes that are signed with the right key, but differ from the built transaction.
    const OTHERS: [(&str, Change); 10] = [
        ("other output", |tx| tx.output[0].script_pubkey = ScriptBuf::from_bytes(vec![0x51])),
        ("other amount", |tx| tx.output[0].value = Amount::from_sat(70_001)),
        ("less change", |tx| tx.output[2].value = Amount::from_sat(7_999)),
        ("dropped output", |tx| drop(tx.output.pop())),
        ("added output", |tx| tx.output.push(tx.output[0].clone())),
        ("outputs in another order", |tx| tx.output.swap(0, 1)),
        ("dropped input", |tx| drop(tx.input.pop())),
        ("added input", |tx| {
            let previous_output = OutPoint { vout: 9, ..tx.input[0].previous_output };
            tx.input.push(TxIn { previous_output, ..TxIn::default() });
        }),
        ("other sequence", |tx| tx.input[1].sequence = Sequence::MAX),
        ("other lock time and version", |tx| {
            tx.lock_time = LockTime::from_height(1).unwrap();
            tx.version = Version::ONE;
        }),
    ];

    #[test]
    fn any_other_signed_transaction_is_refused_with_the_difference() {
        let mut told = String::new();
        for lock in [Lock::Witness, Lock::Legacy] {
            let draft = draft(lock);
            for (name, change) in OTHERS {
                let mut other = draft.transaction().clone();
                change(&mut other);
                let as_psbt = Psbt::from_unsigned_tx(other.clone()).unwrap().serialize();
                let fault = check(&draft, &[as_psbt]).unwrap_err();
                let signed = signed_by(lock, &draft, other, &key(), ALL);
                assert_eq!(check(&draft, &raw(&signed)), Err(fault.clone()), "{name}");
                if lock == Lock::Witness {
                    told += &format!("{name}: {fault}\n");
                }
            }
        }
        expect![[r#"
            other output: the signed transaction differs from what was built in outputs[0].script
            other amount: the signed transaction differs from what was built in outputs[0].amount
            less change: the signed transaction differs from what was built in outputs[2].amount
            dropped output: the signed transaction differs from what was built in outputs[2].amount, outputs[2].script
            added output: the signed transaction differs from what was built in outputs[3].amount, outputs[3].script
            outputs in another order: the signed transaction differs from what was built in outputs[0].amount, outputs[1].amount
            dropped input: the signed transaction differs from what was built in inputs[1].outpoint, inputs[1].sequence
            added input: the signed transaction differs from what was built in inputs[2].outpoint, inputs[2].sequence
            other sequence: the signed transaction differs from what was built in inputs[1].sequence
            other lock time and version: the signed transaction differs from what was built in locktime, version
        "#]]
        .assert_eq(&told);
    }

    fn fault(lock: Lock, change: impl Fn(&mut Transaction)) -> String {
        let mut changed = good(lock);
        change(&mut changed);
        check(&draft(lock), &raw(&changed)).unwrap_err().to_string()
    }

    #[test]
    fn a_signature_that_nodes_would_not_take_is_refused() {
        for lock in [Lock::Witness, Lock::Legacy] {
            let draft = draft(lock);
            let own = public(&key()).to_bytes();
            let stranger = SecretKey::from_slice(&[8; 32]).unwrap();
            let by = |key: &SecretKey, kind| {
                let signed = signed_by(lock, &draft, draft.transaction().clone(), key, kind);
                check(&draft, &raw(&signed)).unwrap_err().to_string()
            };
            assert_eq!(
                by(&stranger, ALL),
                "input 0 is signed by a key that does not own what it spends"
            );
            for kind in [2, 3, 0x81] {
                let partly = "input 0 is signed for a part of the transaction only, and not with SIGHASH_ALL";
                assert_eq!(by(&key(), kind), partly);
            }
            assert_eq!(fault(lock, |tx| *tx = bare(tx)), "input 0 is not signed");
            let unsigned = |tx: &mut Transaction| {
                let input = &mut tx.input[1];
                (input.script_sig, input.witness) = (ScriptBuf::new(), Witness::new());
            };
            assert_eq!(fault(lock, unsigned), "input 1 is not signed");
            let wrong = "input 1 has a signature that is not valid";
            let swapped = |tx: &mut Transaction| {
                tx.input[1] =
                    TxIn { previous_output: tx.input[1].previous_output, ..tx.input[0].clone() }
            };
            assert_eq!(fault(lock, swapped), wrong);
            let high = |tx: &mut Transaction| {
                let high = high_form(&signature(&draft, draft.transaction(), 1, &key(), ALL));
                unlock_with(lock, &mut tx.input[1], high, &own);
            };
            assert_eq!(fault(lock, high), wrong);
            let two_signatures = |tx: &mut Transaction| {
                tx.input[0].witness = Witness::from_slice(&[&[1_u8][..], &[2], &own]);
                tx.input[0].script_sig = ScriptBuf::from_bytes(vec![1, 1, 1, 2]);
            };
            let in_both_places = |tx: &mut Transaction| match lock {
                Lock::Witness => tx.input[0].script_sig = ScriptBuf::from_bytes(vec![0x51]),
                Lock::Legacy => tx.input[0].witness = Witness::from_slice(&[[1_u8]]),
            };
            for change in [&two_signatures as &dyn Fn(&mut Transaction), &in_both_places] {
                assert_eq!(
                    fault(lock, change),
                    "input 0 is unlocked by something else than one signature and one key"
                );
            }
        }
    }

    /// The same signature with the high S, mathematically valid but non-standard.
    fn high_form(signature: &[u8]) -> Vec<u8> {
        let low = k256::ecdsa::Signature::from_der(&signature[..signature.len() - 1]).unwrap();
        let (r, s) = low.split_scalars();
        let high = k256::ecdsa::Signature::from_scalars(*r, -*s).unwrap();
        [high.to_der().as_bytes(), &[ALL]].concat()
    }

    #[test]
    fn bytes_that_are_no_transaction_are_refused() {
        let draft = draft(Lock::Witness);
        let good = raw(&good(Lock::Witness)).remove(0);
        for bytes in
            [&[][..], b"psbt\xff", b"zz", &good[..good.len() - 1], &[&good[..], &[0]].concat()]
        {
            assert_eq!(check(&draft, &[bytes.to_vec()]), Err(Mismatch::Unreadable), "{bytes:?}");
        }
        assert_eq!(check(&draft, &[]), Err(Mismatch::Count(0)));
        assert_eq!(check(&draft, &[good.clone(), good]), Err(Mismatch::Count(2)));
        assert_eq!(
            check(&draft, &[draft.bytes()]),
            Err(Mismatch::Input { input: 0, fault: Fault::Unsigned })
        );
    }

    proptest! {
        /// Changing any byte of a valid submission never makes other bytes pass for it.
        #[test]
        fn one_changed_byte_never_becomes_another_transaction(at: prop::sample::Index, by in 1_u8..=255, legacy: bool) {
            let lock = if legacy { Lock::Legacy } else { Lock::Witness };
            let mut bytes = raw(&good(lock)).remove(0);
            let place = at.index(bytes.len());
            bytes[place] ^= by;
            prop_assert!(check(&draft(lock), &[bytes]).is_err());
        }
    }
}
