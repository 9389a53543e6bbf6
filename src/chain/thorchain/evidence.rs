//! Consistency of the two responses, checked before a block is believed.

use sha2::{Digest, Sha256};

/// The header's commitment to its transactions: the Merkle root of their hashes, as CometBFT
/// computes it.
///
/// A leaf is hashed with a zero byte as prefix and a pair with a one, and the left side takes the
/// largest power of two below the count (RFC 6962).
pub(super) fn data_hash(tx_hashes: &[[u8; 32]]) -> [u8; 32] {
    match tx_hashes {
        [] => Sha256::digest([]).into(),
        [leaf] => Sha256::new().chain_update([0]).chain_update(leaf).finalize().into(),
        many => {
            let (left, right) = many.split_at(many.len().div_ceil(2).next_power_of_two());
            let (left, right) = (data_hash(left), data_hash(right));
            let pair = Sha256::new().chain_update([1]).chain_update(left).chain_update(right);
            pair.finalize().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, prelude::BASE64_STANDARD};

    use super::*;

    /// A block of Injective, a chain of the same kind, as recorded in the tests of tendermint-rs.
    #[test]
    fn the_root_of_a_recorded_block_is_that_of_its_header() {
        let recorded: serde_json::Value =
            serde_json::from_str(include_str!("recorded/block.json")).unwrap();
        let block = &recorded["result"]["block"];
        let hashes: Vec<[u8; 32]> = block["data"]["txs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tx| Sha256::digest(BASE64_STANDARD.decode(tx.as_str().unwrap()).unwrap()).into())
            .collect();
        assert_eq!(hashes.len(), 4);
        let header = block["header"]["data_hash"].as_str().unwrap();
        assert_eq!(hex::encode_upper(data_hash(&hashes)), header);
        assert_ne!(hex::encode_upper(data_hash(&hashes[..3])), header);
    }

    #[test]
    fn uneven_counts_put_the_larger_half_left() {
        let leaf = |n: u8| [n; 32];
        let node = |left: [u8; 32], right: [u8; 32]| -> [u8; 32] {
            Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
        };
        let leaves: Vec<[u8; 32]> = (0..5).map(leaf).collect();
        let four = data_hash(&leaves[..4]);
        assert_eq!(data_hash(&leaves), node(four, data_hash(&leaves[4..])));
        assert_eq!(
            data_hash(&leaves[..3]),
            node(data_hash(&leaves[..2]), data_hash(&leaves[2..3]))
        );
        let empty = "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855";
        assert_eq!(hex::encode_upper(data_hash(&[])), empty);
    }
}
