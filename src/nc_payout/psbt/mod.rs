//! Transaction for a merchant to sign on bitcoin, litecoin and dogecoin: one that pays all
//! recipients, as a PSBT of version 0 (BIP-174).
//!
//! The PSBT contains the spent outputs, so that a wallet without a node can check the fee: the
//! output itself where signatures cover its amount (BIP-143), else the whole transaction that made
//! it.

#[cfg(test)]
pub(super) mod fixture;
mod unlock;

pub mod check;

use base64::{Engine, prelude::BASE64_STANDARD};
use bitcoin::{Amount, OutPoint, Psbt, Transaction, TxOut};

use super::FeeLevel;
use crate::{money::BaseUnits, payout::spend::Lock};

/// First bytes of every PSBT.
pub const MAGIC: &[u8] = b"psbt\xff";
/// Coins that one payout may spend. Each may add a whole transaction to the PSBT.
pub const INPUTS_MAX: usize = 100;
/// Maximum size of a built PSBT: the signed one is slightly larger, and must fit in a request.
pub const BYTES_MAX: usize = 512 * 1024;

impl FeeLevel {
    /// Confirmation target in blocks for the node's fee estimate: on bitcoin four hours, one hour,
    /// and soon.
    pub const fn blocks(self) -> u32 {
        match self {
            Self::Slow => 24,
            Self::Normal => 6,
            Self::Fast => 2,
        }
    }
}

/// An unsigned transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft(Psbt);

/// The output spent by an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    pub output: TxOut,
    /// The transaction that made it; needed for legacy outputs.
    pub transaction: Option<Transaction>,
}

/// One input, as a merchant names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    pub txid: String,
    pub vout: u32,
    pub amount: BaseUnits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unbuildable {
    #[error("an input does not say what it spends, or says something else")]
    OtherSpent,
    #[error("an input is locked by more than one key")]
    OtherLock,
    #[error(
        "the transactions that its inputs come from are too large together; spend fewer at a time"
    )]
    TooLarge,
    #[error("the bytes are no PSBT of version 0")]
    Unreadable,
    #[error("it pays more than it spends")]
    NoFee,
}

impl Draft {
    /// Builds a PSBT of `transaction`, whose inputs spend `spent` in this order.
    pub fn new(transaction: Transaction, spent: Vec<Spent>) -> Result<Self, Unbuildable> {
        let places: Vec<_> = transaction.input.iter().map(|input| input.previous_output).collect();
        if places.len() != spent.len() {
            return Err(Unbuildable::OtherSpent);
        }
        let mut psbt = Psbt::from_unsigned_tx(transaction).map_err(|_| Unbuildable::Unreadable)?;
        for ((input, place), spent) in psbt.inputs.iter_mut().zip(places).zip(spent) {
            match Lock::of_script(spent.output.script_pubkey.as_bytes()) {
                None => return Err(Unbuildable::OtherLock),
                Some(Lock::Witness) => input.witness_utxo = Some(spent.output),
                Some(Lock::Legacy) => {
                    let made = spent.transaction.ok_or(Unbuildable::OtherSpent)?;
                    if made_by(&made, place) != Some(&spent.output) {
                        return Err(Unbuildable::OtherSpent);
                    }
                    input.non_witness_utxo = Some(made);
                }
            }
        }
        let draft = Self(psbt);
        draft.fee().ok_or(Unbuildable::NoFee)?;
        if draft.bytes().len() > BYTES_MAX { Err(Unbuildable::TooLarge) } else { Ok(draft) }
    }

    /// Reads the output of [`bytes`](Self::bytes).
    pub fn read(bytes: &[u8]) -> Result<Self, Unbuildable> {
        let psbt = Psbt::deserialize(bytes).map_err(|_| Unbuildable::Unreadable)?;
        let draft = Self(psbt);
        match draft.fee() {
            Some(_) => Ok(draft),
            None => Err(Unbuildable::OtherSpent),
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.0.serialize()
    }

    /// Base64 form for wallets.
    pub fn base64(&self) -> String {
        BASE64_STANDARD.encode(self.bytes())
    }

    pub const fn transaction(&self) -> &Transaction {
        &self.0.unsigned_tx
    }

    /// The outputs spent by the inputs, in their order; `None` if one is missing.
    pub fn spent(&self) -> Option<Vec<TxOut>> {
        let inputs = self.0.unsigned_tx.input.iter().zip(&self.0.inputs);
        inputs
            .map(|(named, input)| match &input.non_witness_utxo {
                Some(made) => made_by(made, named.previous_output).cloned(),
                None => input.witness_utxo.clone(),
            })
            .collect()
    }

    /// The exact network fee; `None` if a spent output is missing, or if the outputs exceed the
    /// inputs.
    pub fn fee(&self) -> Option<BaseUnits> {
        let sum = |sum: Amount, output: &TxOut| sum.checked_add(output.value);
        let spent = self.spent()?.iter().try_fold(Amount::ZERO, sum)?;
        let paid = self.transaction().output.iter().try_fold(Amount::ZERO, sum)?;
        spent.checked_sub(paid).map(units)
    }

    pub fn inputs(&self) -> Vec<Input> {
        let input = |(named, spent): (&bitcoin::TxIn, TxOut)| Input {
            txid: named.previous_output.txid.to_string(),
            vout: named.previous_output.vout,
            amount: units(spent.value),
        };
        let spent = self.spent().unwrap_or_default();
        self.transaction().input.iter().zip(spent).map(input).collect()
    }

    /// The change that returns to the sender, if the first `recipients` outputs are those of
    /// recipients.
    pub fn change(&self, recipients: usize) -> BaseUnits {
        let output = self.transaction().output.get(recipients);
        output.map_or(BaseUnits::ZERO, |output| units(output.value))
    }
}

/// The output at `place`, if `transaction` is the one that made it.
fn made_by(transaction: &Transaction, place: OutPoint) -> Option<&TxOut> {
    let is_it = transaction.compute_txid() == place.txid;
    transaction.output.get(usize::try_from(place.vout).ok()?).filter(|_| is_it)
}

fn units(amount: Amount) -> BaseUnits {
    BaseUnits::new(amount.to_sat().into())
}

#[cfg(test)]
mod tests {
    use bitcoin::{ScriptBuf, absolute::LockTime};

    use super::{
        fixture::{draft, funding, output},
        *,
    };

    #[test]
    fn a_draft_says_what_it_spends_pays_and_costs() {
        for lock in [Lock::Witness, Lock::Legacy] {
            let draft = draft(lock);
            assert_eq!(Draft::read(&draft.bytes()), Ok(draft.clone()));
            assert!(draft.base64().starts_with("cHNidP8"));
            assert_eq!(draft.fee(), Some(BaseUnits::new(1_000)));
            assert_eq!((draft.change(2).get(), draft.change(3).get()), (8_000, 0));
            let amounts: Vec<_> = draft.inputs().iter().map(|input| input.amount.get()).collect();
            assert_eq!(amounts, [60_000, 50_000]);
            let with_history = draft.0.inputs.iter().all(|input| input.non_witness_utxo.is_some());
            assert_eq!(with_history, lock == Lock::Legacy);
        }
    }

    #[test]
    fn an_input_must_match_the_transaction_that_created_it() {
        let good = draft(Lock::Legacy);
        let made = funding(Lock::Legacy);
        let spent = |output: TxOut, transaction| Spent { output, transaction };
        let (first, second) = (made.output[0].clone(), made.output[1].clone());
        let mut other = made.clone();
        other.lock_time = LockTime::from_height(7).unwrap();
        let multisig = output(ScriptBuf::from_bytes([&[0, 32][..], &[5; 32]].concat()), 60_000);
        let build = |spent| Draft::new(good.transaction().clone(), spent);
        let whole = spent(second.clone(), Some(made.clone()));
        for (wrong, reason) in [
            (spent(first.clone(), None), Unbuildable::OtherSpent),
            (spent(first.clone(), Some(other)), Unbuildable::OtherSpent),
            (spent(second, Some(made.clone())), Unbuildable::OtherSpent),
            (spent(multisig, None), Unbuildable::OtherLock),
        ] {
            assert_eq!(build(vec![wrong, whole.clone()]), Err(reason));
        }
        assert_eq!(build(vec![whole]), Err(Unbuildable::OtherSpent));
        let mut greedy = good.transaction().clone();
        greedy.output[0].value = Amount::from_sat(80_000);
        let both = made.output.iter().map(|output| spent(output.clone(), Some(made.clone())));
        assert_eq!(Draft::new(greedy, both.collect()), Err(Unbuildable::NoFee));
        assert_eq!(Draft::read(b"psbt\xff"), Err(Unbuildable::Unreadable));
    }
}
