//! An unsigned transaction, of either kind of network.

use super::psbt::{self, Draft};
use crate::{
    money::BaseUnits,
    payout::eip1559::{self, Transaction},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsigned {
    /// Pays one recipient.
    Evm(Transaction),
    /// Pays all recipients.
    Utxo(Box<Draft>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("the bytes {0}")]
    Evm(eip1559::Unreadable),
    #[error(transparent)]
    Utxo(psbt::Unbuildable),
}

impl Unsigned {
    /// Reads the output of [`bytes`](Self::bytes).
    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        if bytes.starts_with(psbt::MAGIC) {
            let draft = Draft::read(bytes).map_err(Unreadable::Utxo)?;
            return Ok(Self::Utxo(Box::new(draft)));
        }
        Transaction::read_unsigned(bytes).map(Self::Evm).map_err(Unreadable::Evm)
    }

    /// The two kinds never begin with the same byte.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Evm(transaction) => transaction.unsigned(),
            Self::Utxo(draft) => draft.bytes(),
        }
    }

    /// Nonce among the sender's transactions, on networks that have nonces.
    pub const fn nonce(&self) -> Option<u64> {
        match self {
            Self::Evm(transaction) => Some(transaction.nonce),
            Self::Utxo(_) => None,
        }
    }

    /// Maximum network fee, in base units of the network's own coin; `None` if that does not fit in
    /// 128 bits.
    pub fn fee_max(&self) -> Option<BaseUnits> {
        match self {
            Self::Evm(transaction) => transaction.fee_max(),
            Self::Utxo(draft) => draft.fee(),
        }
    }

    /// Exact network fee, if it is known before the transaction is mined.
    pub fn fee_exact(&self) -> Option<BaseUnits> {
        match self {
            Self::Evm(_) => None,
            Self::Utxo(draft) => draft.fee(),
        }
    }
}

/// Maximum network fee of all transactions, in base units of the network's coin; `None` if that
/// does not fit in 128 bits.
pub fn network_fee<'a>(unsigned: impl IntoIterator<Item = &'a Unsigned>) -> Option<BaseUnits> {
    unsigned.into_iter().try_fold(BaseUnits::ZERO, |sum, one| sum.checked_add(one.fee_max()?))
}

/// Index of the transaction that pays the recipient at `position`: a single transaction pays all,
/// else each recipient has one.
pub const fn paying(position: usize, transactions: usize) -> usize {
    if transactions == 1 { 0 } else { position }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{nc_payout::psbt::fixture::draft, payout::spend::Lock};

    #[test]
    fn either_kind_reads_back_and_says_what_it_may_cost() {
        let evm = Unsigned::Evm(Transaction {
            chain_id: 137,
            nonce: 5,
            priority_fee: 1,
            max_fee: 2,
            gas_limit: 21_000,
            to: [7; 20],
            value: 5,
            data: vec![],
        });
        let utxo = Unsigned::Utxo(Box::new(draft(Lock::Legacy)));
        for unsigned in [&evm, &utxo] {
            assert_eq!(Unsigned::read(&unsigned.bytes()).as_ref(), Ok(unsigned));
        }
        assert_eq!((evm.nonce(), evm.fee_exact()), (Some(5), None));
        assert_eq!((utxo.nonce(), utxo.fee_exact()), (None, Some(BaseUnits::new(1_000))));
        assert_eq!(network_fee([&evm, &evm, &utxo]), Some(BaseUnits::new(85_000)));
        assert!(Unsigned::read(b"").is_err() && Unsigned::read(b"psbt\xff").is_err());
    }

    #[test]
    fn one_transaction_pays_all_recipients_or_each_has_its_own() {
        assert_eq!([paying(0, 1), paying(7, 1), paying(0, 8), paying(7, 8)], [0, 0, 0, 7]);
    }
}
