//! Data fee of OP stack rollups: the fee for a transaction's bytes, which they write to Ethereum,
//! in addition to its gas.
//!
//! The fee comes from a contract that exists on every one of them since their first block
//! (`GasPriceOracle` of <https://github.com/ethereum-optimism/optimism>). The request is about at
//! least as many bytes as the transaction has, none of them compressible, so the result is an upper
//! bound, until the price on Ethereum moves.

use sha3::{Digest, Keccak256};

use super::fees::wide;

pub(super) const ORACLE: &str = "0x420000000000000000000000000000000000000f";
/// `getL1Fee(bytes)`.
const GET_L1_FEE: &str = "49948e0e";
/// More bytes than a signed transaction has beside its data: ids, nonces and prices of gas have at
/// most 8, two numbers of the signature 32.
const AROUND_DATA: usize = 156;
/// Bytes of data of a token transfer (`transfer(address,uint256)`).
pub(super) const TRANSFER: usize = 4 + 2 * WORD;
const WORD: usize = 32;

/// Data of the call about a transaction with so many bytes of data: one argument, encoded as its
/// offset, its length and its content.
pub(super) fn question(data_bytes: usize) -> String {
    let words = (AROUND_DATA + data_bytes).div_ceil(WORD);
    let noise: String =
        (0..words).map(|n| hex::encode(Keccak256::digest(n.to_be_bytes()))).collect();
    format!("0x{GET_L1_FEE}{:064x}{:064x}{noise}", 32, noise.len() / 2)
}

/// The fee in wei; `None` if the response is not a word of at most 128 bits.
pub(super) fn answer(text: &str) -> Option<u128> {
    wide(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        payout::eip1559::Transaction,
        x402::{authorization::SIGNATURE_BYTES_MAX, call},
    };

    fn bytes_asked_about(data_bytes: usize) -> usize {
        let question = question(data_bytes);
        let words = question.strip_prefix("0x49948e0e").unwrap();
        let content = words.len() / 2 - 2 * WORD;
        assert_eq!(words[..128], format!("{:064x}{:064x}", 32, content));
        content
    }

    #[test]
    fn the_oracle_is_asked_about_at_least_as_many_bytes_as_a_payment_has() {
        let name = hex::encode(&Keccak256::digest("getL1Fee(bytes)")[..4]);
        assert_eq!(name, GET_L1_FEE);
        let key = k256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap();
        let settlement = call::BY_KEY_BYTES;
        let longest = settlement + SIGNATURE_BYTES_MAX;
        for data_bytes in [TRANSFER, settlement, longest] {
            let transaction = Transaction {
                chain_id: u64::MAX,
                nonce: u64::MAX,
                priority_fee: u64::MAX.into(),
                max_fee: u64::MAX.into(),
                gas_limit: u64::MAX,
                to: [0xff; 20],
                value: 0,
                data: vec![0xff; data_bytes],
            };
            let (signed, asked) = (transaction.sign(&key).raw.len(), bytes_asked_about(data_bytes));
            assert!(signed <= asked && asked < signed + 2 * WORD, "{signed} {asked}");
        }
        assert_eq!(bytes_asked_about(TRANSFER), 224);
        assert!(bytes_asked_about(settlement) > 400);
    }

    #[test]
    fn the_answer_of_the_fee_oracle_is_one_32_byte_word() {
        assert_eq!(answer(&format!("0x{:064x}", 1_234)), Some(1_234));
        assert_eq!(answer("0x"), None);
        assert_eq!(answer(&format!("0x{}", "f".repeat(64))), None);
    }
}
