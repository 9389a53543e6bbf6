//! Data fee of OP stack rollups: the fee for a transaction's bytes, which they write to Ethereum,
//! in addition to its gas.
//!
//! The fee comes from a contract that exists on every one of them since their first block
//! (`GasPriceOracle` of <https://github.com/ethereum-optimism/optimism>). The request is about more
//! bytes than any payment of ours has, none of them compressible, so the result is an upper bound,
//! until the price on Ethereum moves.

use sha3::{Digest, Keccak256};

use super::fees::wide;

pub(super) const ORACLE: &str = "0x420000000000000000000000000000000000000f";
/// `getL1Fee(bytes)`.
const GET_L1_FEE: &str = "49948e0e";
/// A signed token payment has fewer than 200 bytes, however large its numbers are.
const HASHES: u8 = 7;

/// Data of the call, with one argument encoded as its offset, its length and its content.
pub(super) fn question() -> String {
    let noise: String = (0..HASHES).map(|n| hex::encode(Keccak256::digest([n]))).collect();
    format!("0x{GET_L1_FEE}{:064x}{:064x}{noise}", 32, noise.len() / 2)
}

/// The fee in wei; `None` if the response is not a word of at most 128 bits.
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
    fn the_answer_of_the_fee_oracle_is_one_32_byte_word() {
        assert_eq!(answer(&format!("0x{:064x}", 1_234)), Some(1_234));
        assert_eq!(answer("0x"), None);
        assert_eq!(answer(&format!("0x{}", "f".repeat(64))), None);
    }
}
