//! The transfer that payouts make on EVM networks: the network's coin, or an ERC-20 token, to one
//! recipient.

use super::eip1559::Transaction;
use crate::money::BaseUnits;

/// `transfer(address,uint256)` of ERC-20.
const TRANSFER: [u8; 4] = [0xa9, 0x05, 0x9c, 0xbb];
pub(super) const WORD_BYTES: usize = 32;

/// The network's own coin, or a token by its contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asset {
    Coin,
    Token([u8; 20]),
}

/// One recipient and their amount in base units of the asset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Output {
    pub to: [u8; 20],
    pub amount: BaseUnits,
}

/// The call that pays: its target, its value in wei and its data.
pub fn call(asset: Asset, output: Output) -> ([u8; 20], u128, Vec<u8>) {
    match asset {
        Asset::Coin => (output.to, output.amount.get(), vec![]),
        Asset::Token(contract) => {
            let amount = output.amount.get().to_be_bytes();
            let padding = [0; WORD_BYTES];
            let (of_address, of_amount) = (&padding[output.to.len()..], &padding[amount.len()..]);
            let data = [&TRANSFER[..], of_address, &output.to, of_amount, &amount].concat();
            (contract, 0, data)
        }
    }
}

/// The asset and output paid by a transaction that [`call`] made; `None` for any other.
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

/// The 20 bytes of an address in hex with `0x`; `None` for any other text.
pub fn address_bytes(address: &str) -> Option<[u8; 20]> {
    let mut bytes = [0; 20];
    hex::decode_to_slice(address.strip_prefix("0x")?, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    /// The example of every manual: 1 unit of a token with 6 places.
    #[test]
    fn a_token_is_paid_through_its_contract() {
        let output = Output { to: [0xab; 20], amount: BaseUnits::new(1_000_000) };
        let (to, value, data) = call(Asset::Token([0xcd; 20]), output);
        assert_eq!((to, value), ([0xcd; 20], 0));
        expect!["a9059cbb000000000000000000000000abababababababababababababababababababab00000000000000000000000000000000000000000000000000000000000f4240"]
            .assert_eq(&hex::encode(data));
    }

    #[test]
    fn an_address_is_read_from_its_text_or_not_at_all() {
        let text = "0x000102030405060708090a0b0c0d0e0f10111213";
        let bytes = address_bytes(text).unwrap();
        assert!(bytes.into_iter().eq(0..20));
        for other in [&text[2..], &text[..40], "0x0g0102030405060708090a0b0c0d0e0f10111213", ""] {
            assert_eq!(address_bytes(other), None, "{other}");
        }
    }

    fn transaction((to, value, data): ([u8; 20], u128, Vec<u8>)) -> Transaction {
        let (chain_id, nonce, priority_fee, max_fee, gas_limit) = (1, 0, 0, 0, 0);
        Transaction { chain_id, nonce, priority_fee, max_fee, gas_limit, to, value, data }
    }

    /// An amount of more than 128 bits, dirt above the address, coins beside the tokens, and
    /// another call.
    #[test]
    fn calldata_that_is_no_payout_is_not_read_as_one() {
        let output = Output { to: [0xab; 20], amount: BaseUnits::new(7) };
        let (to, value, data) = call(Asset::Token([0xcd; 20]), output);
        let with = |at: usize| {
            let mut data = data.clone();
            data[at] ^= 1;
            transaction((to, value, data))
        };
        for changed in [with(0), with(4), with(4 + WORD_BYTES), transaction((to, 1, data.clone()))]
        {
            assert_eq!(paid(&changed), None, "{changed:?}");
        }
    }

    proptest! {
        #[test]
        fn the_recipients_of_a_built_transaction_are_read_back(to: [u8; 20], amount: u128, token: Option<[u8; 20]>) {
            let (asset, output) = (token.map_or(Asset::Coin, Asset::Token), Output { to, amount: BaseUnits::new(amount) });
            prop_assert_eq!(paid(&transaction(call(asset, output))), Some((asset, output)));
        }
    }
}
