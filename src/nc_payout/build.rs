//! What a merchant is given to sign: one transaction for each recipient, with consecutive nonces.
//!
//! A contract that pays many in one transaction is not pinned on these networks, so nobody has to trust one. Each
//! recipient has a transaction of his own, and one that fails leaves the others alone.

use super::FeeLevel;
use crate::{money::BaseUnits, payout::eip1559::Transaction};

/// Recipients of one payout.
pub const OUTPUTS_MAX: usize = 100;
/// Nodes keep only so many transactions of one account that wait for a block; the next goes out when one is mined.
pub const IN_FLIGHT_MAX: usize = 16;
/// `transfer(address,uint256)` of ERC-20.
const TRANSFER: [u8; 4] = [0xa9, 0x05, 0x9c, 0xbb];
const WORD_BYTES: usize = 32;
const TRANSFER_BYTES: usize = 4 + 2 * WORD_BYTES;

/// What one unit of gas may cost, in wei.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fees {
    pub priority_fee: u128,
    pub max_fee: u128,
}

impl FeeLevel {
    /// What to offer while a block asks `base` and its makers `tip`, both in wei per gas.
    ///
    /// A block's base fee rises by at most an eighth. `slow` bears one such rise, `normal` six full blocks in a row, `fast`
    /// nine, and offers twice the tip. What is not asked is not taken.
    pub const fn fees(self, base: u128, tip: u128) -> Fees {
        let (bearable, priority_fee) = match self {
            Self::Slow => (base.saturating_add(base.div_ceil(8)), tip),
            Self::Normal => (base.saturating_mul(2), tip),
            Self::Fast => (base.saturating_mul(3), tip.saturating_mul(2)),
        };
        Fees { priority_fee, max_fee: bearable.saturating_add(priority_fee) }
    }
}

/// The network's own coin, or a token by its contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asset {
    Coin,
    Token([u8; 20]),
}

/// One recipient on an EVM network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Output {
    pub to: [u8; 20],
    pub amount: BaseUnits,
}

/// The call that pays: whom it goes to, its value and its data.
pub fn call(asset: Asset, output: Output) -> ([u8; 20], u128, Vec<u8>) {
    match asset {
        Asset::Coin => (output.to, output.amount.get(), vec![]),
        Asset::Token(contract) => {
            let mut data = Vec::with_capacity(TRANSFER_BYTES);
            data.extend(TRANSFER);
            data.extend([0; WORD_BYTES - 20]);
            data.extend(output.to);
            data.extend([0; WORD_BYTES - 16]);
            data.extend(output.amount.get().to_be_bytes());
            (contract, 0, data)
        }
    }
}

/// Whom a transaction that [`call`] made pays, and in what; `None` for any other.
pub fn paid(transaction: &Transaction) -> Option<(Asset, Output)> {
    let data = transaction.data.as_slice();
    if data.is_empty() {
        let (to, amount) = (transaction.to, BaseUnits::new(transaction.value));
        return Some((Asset::Coin, Output { to, amount }));
    }
    let words = data.strip_prefix(&TRANSFER).filter(|words| words.len() == 2 * WORD_BYTES)?;
    let to = words.get(WORD_BYTES - 20..WORD_BYTES)?.try_into().ok()?;
    let amount = u128::from_be_bytes(words.get(2 * WORD_BYTES - 16..)?.try_into().ok()?);
    let output = Output { to, amount: BaseUnits::new(amount) };
    let asset = Asset::Token(transaction.to);
    let same = call(asset, output) == (transaction.to, transaction.value, transaction.data.clone());
    same.then_some((asset, output))
}

/// The most that the network may take for all of them, in wei; `None` if that does not fit 128 bits.
pub fn network_fee(transactions: &[Transaction]) -> Option<BaseUnits> {
    transactions.iter().try_fold(BaseUnits::ZERO, |sum, transaction| {
        let fee = u128::from(transaction.gas_limit).checked_mul(transaction.max_fee)?;
        sum.checked_add(BaseUnits::new(fee))
    })
}

/// The 20 bytes of an address in hex.
pub fn bytes(address: &str) -> Option<[u8; 20]> {
    let mut bytes = [0; 20];
    hex::decode_to_slice(address.strip_prefix("0x")?, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_level_says_what_rise_of_the_base_fee_it_bears() {
        let fees = |level: FeeLevel| level.fees(1_000, 10);
        assert_eq!(fees(FeeLevel::Slow), Fees { priority_fee: 10, max_fee: 1_135 });
        assert_eq!(fees(FeeLevel::Normal), Fees { priority_fee: 10, max_fee: 2_010 });
        assert_eq!(fees(FeeLevel::Fast), Fees { priority_fee: 20, max_fee: 3_020 });
    }

    /// The example of every manual: 1 unit of a token with 6 places.
    #[test]
    fn a_token_is_paid_through_its_contract() {
        let output = Output { to: [0xab; 20], amount: BaseUnits::new(1_000_000) };
        let (to, value, data) = call(Asset::Token([0xcd; 20]), output);
        assert_eq!((to, value), ([0xcd; 20], 0));
        expect!["a9059cbb000000000000000000000000abababababababababababababababababababab00000000000000000000000000000000000000000000000000000000000f4240"]
            .assert_eq(&hex::encode(data));
    }

    proptest! {
        #[test]
        fn a_level_never_offers_a_tip_above_its_fee(base: u128, tip: u128) {
            for level in FeeLevel::ALL {
                let fees = level.fees(base, tip);
                prop_assert!(fees.priority_fee <= fees.max_fee);
            }
        }

        #[test]
        fn whom_a_built_transaction_pays_is_read_back(to: [u8; 20], amount: u128, token: Option<[u8; 20]>) {
            let (asset, output) = (token.map_or(Asset::Coin, Asset::Token), Output { to, amount: BaseUnits::new(amount) });
            let (to, value, data) = call(asset, output);
            let transaction = Transaction {
                chain_id: 1, nonce: 0, priority_fee: 0, max_fee: 0, gas_limit: 0, to, value, data,
            };
            prop_assert_eq!(paid(&transaction), Some((asset, output)));
        }
    }
}
