//! Digest that a signature covers: all inputs and all outputs of a transaction. Litecoin and
//! dogecoin sign as bitcoin does.

use bitcoin::{EcdsaSighashType, Transaction, TxOut, hashes::Hash, sighash::SighashCache};

use super::spend::Lock;

/// The digests of one transaction, computed once where they share parts.
pub struct Digests<'a>(SighashCache<&'a Transaction>);

impl<'a> Digests<'a> {
    pub fn of(transaction: &'a Transaction) -> Self {
        Self(SighashCache::new(transaction))
    }

    /// Digest for the key of `spent` in input `n`; `None` if there is no such input or the output
    /// has no single key.
    pub fn digest(&mut self, n: usize, spent: &TxOut) -> Option<[u8; 32]> {
        let (script, all) = (&spent.script_pubkey, EcdsaSighashType::All);
        match Lock::of_script(script.as_bytes())? {
            Lock::Witness => {
                let digest = self.0.p2wpkh_signature_hash(n, script, spent.value, all).ok()?;
                Some(digest.to_byte_array())
            }
            Lock::Legacy => {
                let digest = self.0.legacy_signature_hash(n, script, all.to_u32()).ok()?;
                Some(digest.to_byte_array())
            }
        }
    }
}
