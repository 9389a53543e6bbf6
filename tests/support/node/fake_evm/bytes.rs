//! Bytes as nodes of this kind write and read them: block filters and RLP.

use sha3::{Digest, Keccak256};

/// Three bits of 2,048 for each name, by the first six bytes of its hash (Yellow Paper 4.3.1).
pub fn add_to_bloom(bloom: &mut [u8; 256], name: &str) {
    let bytes = hex::decode(name.trim_start_matches("0x")).expect("a name is hex");
    let hash = Keccak256::digest(bytes);
    for pair in hash[..6].chunks_exact(2) {
        let bit = usize::from(u16::from_be_bytes([pair[0], pair[1]]) % 2048);
        bloom[255 - bit / 8] |= 1 << (bit % 8);
    }
}

/// The items of a list of texts; an inner list is given as its bytes.
pub fn rlp_list(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut rest, after) = rlp_item(bytes)?;
    let mut items = Vec::new();
    while !rest.is_empty() {
        let (item, after) = rlp_item(rest)?;
        items.push(item);
        rest = after;
    }
    after.is_empty().then_some(items)
}

/// The list of the first `count` items of a list.
pub fn rlp_of_first(bytes: &[u8], count: usize) -> Option<Vec<u8>> {
    let (all, _) = rlp_item(bytes)?;
    let mut rest = all;
    for _ in 0..count {
        (_, rest) = rlp_item(rest)?;
    }
    let kept = &all[..all.len() - rest.len()];
    let length = kept.len().to_be_bytes();
    let digits = &length[kept.len().leading_zeros() as usize / 8..];
    let header = match u8::try_from(kept.len()) {
        Ok(short @ 0..=55) => vec![0xc0 + short],
        _ => [&[0xf7 + u8::try_from(digits.len()).ok()?], digits].concat(),
    };
    Some([header, kept.to_vec()].concat())
}

/// One item and what follows it.
fn rlp_item(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let first = *bytes.first()?;
    let (header, length) = match first {
        0..=0x7f => (0, 1),
        0x80..=0xb7 => (1, usize::from(first - 0x80)),
        0xb8..=0xbf => long(bytes, first - 0xb7)?,
        0xc0..=0xf7 => (1, usize::from(first - 0xc0)),
        0xf8..=0xff => long(bytes, first - 0xf7)?,
    };
    Some((bytes.get(header..header + length)?, bytes.get(header + length..)?))
}

fn long(bytes: &[u8], size: u8) -> Option<(usize, usize)> {
    let size = usize::from(size);
    let length = bytes.get(1..=size)?.iter().fold(0, |n: usize, byte| n * 256 + usize::from(*byte));
    Some((1 + size, length))
}
