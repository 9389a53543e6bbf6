//! Verification of signed EVM transactions: each must equal the built one to the bit, and be signed
//! by the intended sender.

use std::collections::HashMap;

use crate::payout::eip1559::{Signed, Transaction, Unreadable, read_signed};

/// Reason why signed transactions are refused. Nothing of them is kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error("{built} transactions were built and {signed} came back; send all of them at once")]
    Count { built: usize, signed: usize },
    #[error("signed transaction {position} {reason}")]
    Unreadable { position: usize, reason: Unreadable },
    #[error("signed transactions {first} and {second} have the same nonce")]
    SameNonce { first: usize, second: usize },
    #[error("signed transaction {position} has nonce {nonce}, which was not asked for")]
    OtherNonce { position: usize, nonce: u64 },
    #[error("signed transaction {position} differs from what was built in {}", names(.differences))]
    Differs { position: usize, differences: Vec<Difference> },
    #[error("signed transaction {position} is signed by {signer}, not by fromAddress")]
    OtherSigner { position: usize, signer: String },
}

/// One field that differs from the built transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// As wallets call it.
    pub field: String,
    pub built: String,
    pub signed: String,
}

fn names(differences: &[Difference]) -> String {
    differences.iter().map(|one| one.field.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the signed transactions in the order of `built`, or the first fault. They may come in
/// any order: the nonce identifies each. Positions count from 0.
pub fn check(
    built: &[Transaction],
    sender: &str,
    signed: &[Vec<u8>],
) -> Result<Vec<Signed>, Mismatch> {
    if built.len() != signed.len() {
        return Err(Mismatch::Count { built: built.len(), signed: signed.len() });
    }
    let mut by_nonce = HashMap::new();
    for (position, raw) in signed.iter().enumerate() {
        let signed =
            read_signed(raw).map_err(|reason| Mismatch::Unreadable { position, reason })?;
        let nonce = signed.transaction.nonce;
        let wanted = built.iter().find(|built| built.nonce == nonce);
        let wanted = wanted.ok_or(Mismatch::OtherNonce { position, nonce })?;
        let differences = differences(wanted, &signed.transaction);
        if !differences.is_empty() {
            return Err(Mismatch::Differs { position, differences });
        }
        if !signed.sender.eq_ignore_ascii_case(sender) {
            return Err(Mismatch::OtherSigner { position, signer: signed.sender });
        }
        if let Some((first, _)) = by_nonce.insert(nonce, (position, signed)) {
            return Err(Mismatch::SameNonce { first, second: position });
        }
    }
    // The number is that of the built ones, and all have different nonces of built ones: none is
    // missing.
    let found = |built: &Transaction| by_nonce.remove(&built.nonce).map(|(_, signed)| signed);
    let ordered: Vec<_> = built.iter().filter_map(found).collect();
    if ordered.len() == built.len() {
        Ok(ordered)
    } else {
        Err(Mismatch::Count { built: built.len(), signed: ordered.len() })
    }
}

fn differences(built: &Transaction, signed: &Transaction) -> Vec<Difference> {
    let address = |bytes: &[u8; 20]| format!("0x{}", hex::encode(bytes));
    let data = |bytes: &[u8]| format!("0x{}", hex::encode(bytes));
    let texts = |of: &Transaction| {
        [
            ("chainId", of.chain_id.to_string()),
            ("to", address(&of.to)),
            ("value", of.value.to_string()),
            ("data", data(&of.data)),
            ("gas", of.gas_limit.to_string()),
            ("maxFeePerGas", of.max_fee.to_string()),
            ("maxPriorityFeePerGas", of.priority_fee.to_string()),
        ]
    };
    texts(built)
        .into_iter()
        .zip(texts(signed))
        .filter(|(built, signed)| built != signed)
        .map(|((field, built), (_, signed))| Difference { field: field.to_owned(), built, signed })
        .collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use k256::ecdsa::SigningKey;
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    const SENDER: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

    fn key() -> SigningKey {
        SigningKey::from_slice(&hex::decode(KEY).unwrap()).unwrap()
    }

    fn built(nonce: u64) -> Transaction {
        Transaction {
            chain_id: 137,
            nonce,
            priority_fee: 1,
            max_fee: 2,
            gas_limit: 21_000,
            to: [7; 20],
            value: 5,
            data: vec![],
        }
    }

    fn raw(transaction: Transaction) -> Vec<u8> {
        transaction.sign(&key()).raw
    }

    #[test]
    fn signed_transactions_of_a_payout_are_accepted_in_any_order() {
        let signed = [raw(built(6)), raw(built(5))];
        let taken = check(&[built(5), built(6)], SENDER, &signed).unwrap();
        let nonces: Vec<_> = taken.iter().map(|signed| signed.transaction.nonce).collect();
        assert_eq!(nonces, [5, 6]);
    }

    #[test]
    fn any_other_psbt_is_refused_with_the_reason() {
        let stranger = SigningKey::from_slice(&[9; 32]).unwrap();
        let changes: [(&str, Vec<Vec<u8>>); 12] = [
            ("amount", vec![raw(Transaction { value: 6, ..built(5) })]),
            ("recipient", vec![raw(Transaction { to: [8; 20], ..built(5) })]),
            ("data", vec![raw(Transaction { data: vec![1], ..built(5) })]),
            ("chain", vec![raw(Transaction { chain_id: 1, ..built(5) })]),
            ("gas", vec![raw(Transaction { gas_limit: 22_000, ..built(5) })]),
            ("fee and tip", vec![raw(Transaction { max_fee: 3, priority_fee: 3, ..built(5) })]),
            ("nonce", vec![raw(built(6))]),
            ("signer", vec![built(5).sign(&stranger).raw]),
            ("too many", vec![raw(built(5)), raw(built(6))]),
            ("none", vec![]),
            ("not signed", vec![built(5).unsigned()]),
            ("legacy", vec![vec![0xf8, 0x6c]]),
        ];
        let told: String = changes
            .iter()
            .map(|(name, signed)| {
                format!("{name}: {}\n", check(&[built(5)], SENDER, signed).unwrap_err())
            })
            .collect();
        expect![[r#"
            amount: signed transaction 0 differs from what was built in value
            recipient: signed transaction 0 differs from what was built in to
            data: signed transaction 0 differs from what was built in data
            chain: signed transaction 0 differs from what was built in chainId
            gas: signed transaction 0 differs from what was built in gas
            fee and tip: signed transaction 0 differs from what was built in maxFeePerGas, maxPriorityFeePerGas
            nonce: signed transaction 0 has nonce 6, which was not asked for
            signer: signed transaction 0 is signed by 0x58da990a8f4a3a6ca7cb6315d68a140105917352, not by fromAddress
            too many: 1 transactions were built and 2 came back; send all of them at once
            none: 1 transactions were built and 0 came back; send all of them at once
            not signed: signed transaction 0 is not the RLP of an EIP-1559 transaction that calls an address
            legacy: signed transaction 0 is not an EIP-1559 transaction, whose first byte is 2
        "#]]
        .assert_eq(&told);
        let twice = [raw(built(5)), raw(built(5))];
        let same = Mismatch::SameNonce { first: 0, second: 1 };
        assert_eq!(check(&[built(5), built(6)], SENDER, &twice), Err(same));
    }

    proptest! {
        /// Of all transactions signed with the right key, only the built one passes.
        #[test]
        fn only_the_transaction_that_was_built_is_accepted(
            chain_id in 136_u64..139, nonce in 4_u64..7, priority_fee in 0_u128..3, max_fee in 1_u128..4,
            gas_limit in 20_999_u64..21_002, to in 6_u8..9, value in 4_u128..7, length in 0_usize..2,
        ) {
            let other = Transaction {
                chain_id, nonce, priority_fee, max_fee, gas_limit, to: [to; 20], value, data: vec![0; length],
            };
            let same = other == built(5);
            prop_assert_eq!(check(&[built(5)], SENDER, &[raw(other)]).is_ok(), same);
        }
    }
}
