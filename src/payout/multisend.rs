//! Paying many recipients of a token in one transaction: the contract that does it, the call, and
//! the allowance that it needs.
//!
//! The contract (`contract/Multisend.sol`) moves tokens of its caller alone, and pays all or
//! nobody.
//! It is known by the hash of its code; an allowance goes to no other.

use super::{
    eip1559::Transaction,
    transfer::{Output, WORD_BYTES},
};
use crate::money::BaseUnits;

/// Keccak-256 of the contract's code on a chain.
pub const CODE_HASH: &str = "d3004c6a2f90dede9b7b021aee6d83234bb0f3f40b902874b90613b1a39c2128";
/// Recipients of one call at most: the gas limit of the call stays below those of transactions.
pub const ROWS_MAX: usize = 100;
/// Fewer rows are paid one by one, since the allowance would cost more than is saved.
pub const ROWS_MIN: usize = 5;
/// The most that an allowance may use.
pub const GAS_PER_ALLOWANCE: u128 = 100_000;

/// `send(address,address[],uint256[])`.
const SEND: [u8; 4] = [0xf8, 0x12, 0x9c, 0xd2];
/// `approve(address,uint256)` of ERC-20.
const APPROVE: [u8; 4] = [0x09, 0x5e, 0xa7, 0xb3];
/// Words of a call beside two for each recipient: the token, two offsets and two lengths.
const FIXED_WORDS: usize = 5;

/// The effect of a transaction of this kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// All recipients are paid in `token` by the contract.
    Pays { contract: [u8; 20], token: [u8; 20], outputs: Vec<Output> },
    /// The contract may move `amount` of `token`.
    Allows { contract: [u8; 20], token: [u8; 20], amount: BaseUnits },
}

/// The number of rows of the next call, if `waiting` rows are unpaid and one call can pay the first
/// `most` of them.
///
/// Leaves no rest that is too small for a call, where that can be avoided: such a rest is paid by
/// plain transfers, and the part of the allowance that was given for it stays on the chain.
pub const fn rows_of_call(waiting: usize, most: usize) -> usize {
    let rest = waiting.saturating_sub(most);
    let fewer = most.saturating_sub(ROWS_MIN.saturating_sub(rest));
    if rest > 0 && fewer >= ROWS_MIN { fewer } else { most }
}

/// Data of the contract's call.
pub fn call_data(token: [u8; 20], outputs: &[Output]) -> Vec<u8> {
    let count = u128::try_from(outputs.len()).unwrap_or(u128::MAX);
    let word_bytes = u128::try_from(WORD_BYTES).unwrap_or(u128::MAX);
    let mut data = SEND.to_vec();
    data.extend(of_address(token));
    data.extend(of_number(3 * word_bytes));
    data.extend(of_number((4 + count) * word_bytes));
    data.extend(of_number(count));
    outputs.iter().for_each(|output| data.extend(of_address(output.to)));
    data.extend(of_number(count));
    outputs.iter().for_each(|output| data.extend(of_number(output.amount.get())));
    data
}

/// Data of the token's call that allows `contract` to move `amount`.
pub fn allowance_data(contract: [u8; 20], amount: BaseUnits) -> Vec<u8> {
    [&APPROVE[..], &of_address(contract), &of_number(amount.get())].concat()
}

/// The effect of a transaction that this module made; `None` for any other.
pub fn read(transaction: &Transaction) -> Option<Act> {
    let data = transaction.data.as_slice();
    if transaction.value != 0 {
        return None;
    }
    let (act, same) = if let Some(words) = data.strip_prefix(&APPROVE) {
        let (contract, amount) = (address_at(words, 0)?, number_at(words, 1)?);
        let act = Act::Allows { contract, token: transaction.to, amount };
        (act, allowance_data(contract, amount))
    } else {
        let words = data.strip_prefix(&SEND)?;
        let count = (words.len() / WORD_BYTES).checked_sub(FIXED_WORDS)? / 2;
        let token = address_at(words, 0)?;
        let output = |n| {
            let to = address_at(words, 4 + n)?;
            Some(Output { to, amount: number_at(words, FIXED_WORDS + count + n)? })
        };
        let outputs = (0..count).map(output).collect::<Option<Vec<_>>>()?;
        let same = call_data(token, &outputs);
        (Act::Pays { contract: transaction.to, token, outputs }, same)
    };
    (same == data).then_some(act)
}

fn of_address(address: [u8; 20]) -> [u8; WORD_BYTES] {
    let mut word = [0; WORD_BYTES];
    word[WORD_BYTES - address.len()..].copy_from_slice(&address);
    word
}

fn of_number(number: u128) -> [u8; WORD_BYTES] {
    let (mut word, bytes) = ([0; WORD_BYTES], number.to_be_bytes());
    word[WORD_BYTES - bytes.len()..].copy_from_slice(&bytes);
    word
}

/// The bytes of a word from `from` on. Those before are checked by encoding again.
fn word_at(words: &[u8], n: usize, from: usize) -> Option<&[u8]> {
    words.get(n * WORD_BYTES + from..(n + 1) * WORD_BYTES)
}

fn address_at(words: &[u8], n: usize) -> Option<[u8; 20]> {
    word_at(words, n, WORD_BYTES - 20)?.try_into().ok()
}

fn number_at(words: &[u8], n: usize) -> Option<BaseUnits> {
    let bytes = word_at(words, n, WORD_BYTES - 16)?.try_into().ok()?;
    Some(BaseUnits::new(u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sha3::{Digest, Keccak256};

    use super::*;

    const TOKEN: [u8; 20] = [0xcd; 20];
    const CONTRACT: [u8; 20] = [0xee; 20];

    fn transaction(to: [u8; 20], value: u128, data: Vec<u8>) -> Transaction {
        let (chain_id, nonce, priority_fee, max_fee, gas_limit) = (1, 0, 0, 0, 0);
        Transaction { chain_id, nonce, priority_fee, max_fee, gas_limit, to, value, data }
    }

    #[test]
    fn the_calls_are_those_of_the_contract_and_of_tokens() {
        for (name, selector) in
            [("send(address,address[],uint256[])", SEND), ("approve(address,uint256)", APPROVE)]
        {
            assert_eq!(Keccak256::digest(name)[..4], selector, "{name}");
        }
        // What creates the contract ends with its code.
        let creation = hex::decode(include_str!("contract/Multisend.hex").trim()).unwrap();
        let code = (0..creation.len()).map(|start| &creation[start..]);
        let is_it = |code: &[u8]| hex::encode(Keccak256::digest(code)) == CODE_HASH;
        assert!(code.into_iter().any(is_it), "another contract is pinned");
    }

    #[test]
    fn a_rest_too_small_for_a_call_is_left_only_where_it_must_be() {
        for (waiting, most, rows) in [
            (42, 42, 42),
            (42, 41, 37),
            (42, 38, 37),
            (42, 37, 37),
            (42, 36, 36),
            (103, 100, 98),
            (10, 9, 5),
            // Two calls of five rows need ten.
            (9, 8, 8),
            (6, 5, 5),
        ] {
            assert_eq!(rows_of_call(waiting, most), rows, "{waiting}, {most}");
        }
    }

    #[test]
    fn what_no_payout_makes_is_not_read_as_one() {
        let outputs = [Output { to: [0xab; 20], amount: BaseUnits::new(7) }; 3];
        let data = call_data(TOKEN, &outputs);
        let sent = transaction(CONTRACT, 0, data.clone());
        assert!(read(&sent).is_some());
        assert_eq!(read(&transaction(CONTRACT, 1, data.clone())), None);
        // The selector, dirt above an address, an offset, a length, and an amount of more bits.
        for at in [0, 4, 4 + 2 * WORD_BYTES - 1, 4 + 4 * WORD_BYTES - 1, data.len() - 20] {
            let mut changed = data.clone();
            changed[at] ^= 1;
            assert_eq!(read(&transaction(CONTRACT, 0, changed)), None, "{at}");
        }
        for length in [0, 3, 4, 36, data.len() - 1, data.len() - WORD_BYTES] {
            assert_eq!(read(&transaction(CONTRACT, 0, data[..length].to_vec())), None, "{length}");
        }
        let allowance = allowance_data(CONTRACT, BaseUnits::new(9));
        let long = [allowance.as_slice(), &[0]].concat();
        assert_eq!(read(&transaction(TOKEN, 0, long)), None);
    }

    proptest! {
        #[test]
        fn what_a_built_call_does_is_read_back(
            to in proptest::collection::vec((any::<[u8; 20]>(), any::<u128>()), 0..40), amount: u128,
        ) {
            let output = |(to, amount)| Output { to, amount: BaseUnits::new(amount) };
            let outputs: Vec<_> = to.into_iter().map(output).collect();
            let paid = read(&transaction(CONTRACT, 0, call_data(TOKEN, &outputs)));
            prop_assert_eq!(paid, Some(Act::Pays { contract: CONTRACT, token: TOKEN, outputs }));
            let amount = BaseUnits::new(amount);
            let allowed = read(&transaction(TOKEN, 0, allowance_data(CONTRACT, amount)));
            prop_assert_eq!(allowed, Some(Act::Allows { contract: CONTRACT, token: TOKEN, amount }));
        }
    }
}
