//! Check that an input is signed by exactly the one key that owns the spent output, with nothing
//! missing, nothing added, and nothing malleable.

use bitcoin::{
    EcdsaSighashType, PublicKey, Script, ScriptBuf, TxIn, TxOut, Witness,
    ecdsa::Signature,
    psbt,
    script::{Instruction, PushBytesBuf},
    secp256k1::{Message, Secp256k1, VerifyOnly},
};

use crate::payout::{sighash::Digests, spend::Lock};

/// Fault of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("is not signed")]
    Unsigned,
    #[error("is unlocked by something else than one signature and one key")]
    NotOneKey,
    #[error("is signed by a key that does not own what it spends")]
    OtherKey,
    #[error("is signed for a part of the transaction only, and not with SIGHASH_ALL")]
    PartlySigned,
    #[error("has a signature that is not valid")]
    WrongSignature,
}

/// A signature and its public key.
struct Unlocking {
    signature: Vec<u8>,
    key: PublicKey,
}

/// Extracts the script and witness of an input from the two places where wallets leave them in a
/// PSBT: finalized, or as a bare signature.
pub fn finished(input: &psbt::Input, spent: &TxOut) -> Result<(ScriptBuf, Witness), Fault> {
    if input.final_script_sig.is_some() || input.final_script_witness.is_some() {
        let script = input.final_script_sig.clone().unwrap_or_default();
        return Ok((script, input.final_script_witness.clone().unwrap_or_default()));
    }
    if input.partial_sigs.is_empty() {
        return Err(Fault::Unsigned);
    }
    let own = input.partial_sigs.iter().find(|(key, _)| owns(key, spent));
    let (key, signature) = own.ok_or(Fault::OtherKey)?;
    let signature = signature.to_vec();
    let lock = Lock::of_script(spent.script_pubkey.as_bytes()).ok_or(Fault::NotOneKey)?;
    Ok(match lock {
        Lock::Witness => (ScriptBuf::new(), Witness::from_slice(&[signature, key.to_bytes()])),
        Lock::Legacy => {
            let script = pushes(&Unlocking { signature, key: *key }).ok_or(Fault::NotOneKey)?;
            (script, Witness::new())
        }
    })
}

/// Checks input `n`, which spends `spent`.
pub fn check(
    input: &TxIn,
    n: usize,
    spent: &TxOut,
    digests: &mut Digests<'_>,
    secp: &Secp256k1<VerifyOnly>,
) -> Result<(), Fault> {
    if input.script_sig.is_empty() && input.witness.is_empty() {
        return Err(Fault::Unsigned);
    }
    let lock = Lock::of_script(spent.script_pubkey.as_bytes()).ok_or(Fault::NotOneKey)?;
    let unlocking = match lock {
        Lock::Witness => of_witness(input),
        Lock::Legacy => of_script(input),
    };
    let Unlocking { signature, key } = unlocking.ok_or(Fault::NotOneKey)?;
    if !owns(&key, spent) {
        return Err(Fault::OtherKey);
    }
    let (kind, der) = signature.split_last().ok_or(Fault::WrongSignature)?;
    if u32::from(*kind) != EcdsaSighashType::All.to_u32() {
        return Err(Fault::PartlySigned);
    }
    let parsed = Signature::from_slice(&signature).map_err(|_| Fault::WrongSignature)?;
    // Another encoding of the same signature would be other bytes, which nodes may refuse.
    let spelt = parsed.signature.serialize_der();
    if *spelt != *der {
        return Err(Fault::WrongSignature);
    }
    let digest = digests.digest(n, spent).ok_or(Fault::WrongSignature)?;
    // Refuses the high S too, which nodes do not relay (BIP-146).
    let valid = secp.verify_ecdsa(&Message::from_digest(digest), &parsed.signature, &key.inner);
    valid.map_err(|_| Fault::WrongSignature)
}

/// Returns true if `spent` is locked by this key in its present form. Witnesses require the
/// compressed form.
fn owns(key: &PublicKey, spent: &TxOut) -> bool {
    let script = match Lock::of_script(spent.script_pubkey.as_bytes()) {
        Some(Lock::Witness) => key.wpubkey_hash().ok().map(|hash| ScriptBuf::new_p2wpkh(&hash)),
        Some(Lock::Legacy) => Some(ScriptBuf::new_p2pkh(&key.pubkey_hash())),
        None => None,
    };
    script.is_some_and(|script| script == spent.script_pubkey)
}

fn of_witness(input: &TxIn) -> Option<Unlocking> {
    let parts: Vec<_> = input.witness.iter().collect();
    let [signature, key] = parts.as_slice() else { return None };
    let key = PublicKey::from_slice(key).ok()?;
    input.script_sig.is_empty().then(|| Unlocking { signature: signature.to_vec(), key })
}

fn of_script(input: &TxIn) -> Option<Unlocking> {
    let mut parts = Vec::new();
    for part in Script::from_bytes(input.script_sig.as_bytes()).instructions_minimal() {
        let Ok(Instruction::PushBytes(bytes)) = part else { return None };
        parts.push(bytes.as_bytes().to_vec());
    }
    let [signature, key] = <[Vec<u8>; 2]>::try_from(parts).ok()?;
    let unlocking = Unlocking { signature, key: PublicKey::from_slice(&key).ok()? };
    let same = pushes(&unlocking)? == input.script_sig && input.witness.is_empty();
    same.then_some(unlocking)
}

/// The one script that pushes a signature and a key.
fn pushes(unlocking: &Unlocking) -> Option<ScriptBuf> {
    let push = |bytes: Vec<u8>| PushBytesBuf::try_from(bytes).ok();
    let (signature, key) = (push(unlocking.signature.clone())?, push(unlocking.key.to_bytes())?);
    Some(ScriptBuf::builder().push_slice(signature).push_slice(key).into_script())
}
