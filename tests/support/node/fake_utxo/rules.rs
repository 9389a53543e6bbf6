//! Default transaction policy of the nodes of the three networks.

use bitcoin::{
    FeeRate, PublicKey, ScriptBuf, Transaction, TxIn, TxOut,
    ecdsa::Signature,
    hashes::Hash,
    script::Instruction,
    secp256k1::{Message, Secp256k1},
    sighash::SighashCache,
};
use gateway::asset::Network;

pub type Refusal = (i64, &'static str);

/// Dogecoin's dust limits, in its smallest coin: no output is below the first, and one below the
/// second costs an extra fee.
const DOGECOIN_DUST: u64 = 100_000;
const DOGECOIN_DEAR_DUST: u64 = 1_000_000;

/// Differences between the networks.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    network: Network,
}

impl Rules {
    pub const fn of(network: Network) -> Self {
        Self { network }
    }

    /// Returns true if a higher fee replaces a transaction that signals it (RBF). Litecoin and
    /// dogecoin can, and do not by default.
    pub const fn replaces(self) -> bool {
        matches!(self.network, Network::Bitcoin)
    }

    /// Dogecoin's nodes have the rules and messages of ten years ago.
    pub const fn are_old(self) -> bool {
        matches!(self.network, Network::Dogecoin)
    }

    /// Minimum relay fee per virtual byte.
    pub const fn relay_rate(self) -> u64 {
        if self.are_old() { 100 } else { 1 }
    }

    pub fn check_outputs(self, transaction: &Transaction) -> Result<(), Refusal> {
        if transaction.output.iter().any(|output| self.is_dust(output)) {
            return Err((-26, "dust"));
        }
        Ok(())
    }

    /// Returns true if the output is worth less than spending it costs, at a rate of the network's.
    fn is_dust(self, output: &TxOut) -> bool {
        let rate = if self.network == Network::Litecoin { 30_u32 } else { 3 };
        let rate = FeeRate::from_sat_per_vb_u32(rate);
        let least = output.script_pubkey.minimal_non_dust_custom(rate).to_sat();
        output.value.to_sat() < if self.are_old() { DOGECOIN_DUST } else { least }
    }

    pub fn check_fee(self, transaction: &Transaction, fee: u64) -> Result<(), Refusal> {
        let size = u64::try_from(transaction.vsize()).unwrap();
        let dear = |output: &&TxOut| output.value.to_sat() < DOGECOIN_DEAR_DUST;
        let dear = transaction.output.iter().filter(|output| self.are_old() && dear(output));
        let extra = u64::try_from(dear.count()).unwrap() * DOGECOIN_DEAR_DUST;
        if fee < size * self.relay_rate() + extra {
            return Err((-26, "min relay fee not met"));
        }
        Ok(())
    }

    /// Checks that every input has its key's signature over the whole transaction, in the place
    /// that the lock of its coin requires.
    pub fn check_signatures(
        self,
        transaction: &Transaction,
        spent: &[TxOut],
    ) -> Result<(), Refusal> {
        if self.are_old() && transaction.input.iter().any(|input| !input.witness.is_empty()) {
            return Err((-26, "no-witness-yet"));
        }
        let mut cache = SighashCache::new(transaction);
        for (n, (input, coin)) in transaction.input.iter().zip(spent).enumerate() {
            is_signed(&mut cache, n, input, coin)
                .ok_or((-26, "mandatory-script-verify-flag-failed"))?;
        }
        Ok(())
    }
}

/// `None` if it is not.
fn is_signed(
    cache: &mut SighashCache<&Transaction>,
    n: usize,
    input: &TxIn,
    coin: &TxOut,
) -> Option<()> {
    let lock = &coin.script_pubkey;
    let unlocking = if lock.is_p2wpkh() {
        input.script_sig.is_empty().then(|| input.witness.to_vec())?
    } else {
        input.witness.is_empty().then(|| pushes(&input.script_sig))??
    };
    let [signature, key] = &unlocking[..] else { return None };
    let signature = Signature::from_slice(signature).ok()?;
    let key = PublicKey::from_slice(key).ok()?;
    let digest = if lock.is_p2wpkh() {
        let of_key = ScriptBuf::new_p2wpkh(&key.wpubkey_hash().ok()?);
        (*lock == of_key).then_some(())?;
        let kind = signature.sighash_type;
        cache.p2wpkh_signature_hash(n, lock, coin.value, kind).ok()?.to_byte_array()
    } else {
        (*lock == ScriptBuf::new_p2pkh(&key.pubkey_hash())).then_some(())?;
        let kind = signature.sighash_type.to_u32();
        cache.legacy_signature_hash(n, lock, kind).ok()?.to_byte_array()
    };
    let message = Message::from_digest(digest);
    let secp = Secp256k1::verification_only();
    secp.verify_ecdsa(&message, &signature.signature, &key.inner).ok()
}

fn pushes(script: &ScriptBuf) -> Option<Vec<Vec<u8>>> {
    let push = |instruction| match instruction {
        Ok(Instruction::PushBytes(bytes)) => Some(bytes.as_bytes().to_vec()),
        _ => None,
    };
    script.instructions_minimal().map(push).collect()
}
