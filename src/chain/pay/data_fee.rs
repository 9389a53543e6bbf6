//! What rollups of the OP stack take for a transaction's bytes, which they write to Ethereum, beside its gas.
//!
//! A contract that every one of them is born with tells it (`GasPriceOracle` of
//! <https://github.com/ethereum-optimism/optimism>). It is asked about more bytes than any payment of ours has, and none of
//! them can be compressed, so what it says is an upper bound, until the price below moves.

use sha3::{Digest, Keccak256};

use super::fees::wide;

pub(super) const ORACLE: &str = "0x420000000000000000000000000000000000000f";
/// `getL1Fee(bytes)`.
const GET_L1_FEE: &str = "49948e0e";
/// A token payment with its signature has less than 200 bytes, however large its numbers are.
const HASHES: u8 = 7;

/// The data of a call: the question with one argument, which is written as its place, its length and itself.
pub(super) fn question() -> String {
    let noise: String = (0..HASHES).map(|n| hex::encode(Keccak256::digest([n]))).collect();
    format!("0x{GET_L1_FEE}{:064x}{:064x}{noise}", 32, noise.len() / 2)
}

/// In wei; `None` for what is no word of at most 128 bits.
pub(super) fn answer(text: &str) -> Option<u128> {
    wide(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_asked_about_more_bytes_than_a_payment_has() {
        let name = hex::encode(&Keccak256::digest("getL1Fee(bytes)")[..4]);
        assert_eq!(name, GET_L1_FEE);
        let question = question();
        let words = question.strip_prefix("0x49948e0e").unwrap();
        assert_eq!(words.len(), 64 * (2 + usize::from(HASHES)));
        assert_eq!(&words[..128], format!("{:064x}{:064x}", 32, 224));
    }

    #[test]
    fn an_answer_is_one_word() {
        assert_eq!(answer(&format!("0x{:064x}", 1_234)), Some(1_234));
        assert_eq!(answer("0x"), None);
        assert_eq!(answer(&format!("0x{}", "f".repeat(64))), None);
    }
}
