//! The filter over the logs of a block that its header carries.

use std::collections::HashSet;

use sha3::{Digest, Keccak256};

const BYTES: usize = 256;
const BIT_MASK: u16 = 2047;

/// The header's filter over the contracts and topics of all logs of a block (Yellow Paper 4.3.1).
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Bloom([u8; BYTES]);

impl std::fmt::Debug for Bloom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bits: u32 = self.0.iter().map(|byte| byte.count_ones()).sum();
        write!(f, "Bloom({bits} bits)")
    }
}

impl Bloom {
    pub(super) const EMPTY: Self = Self([0; BYTES]);

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; BYTES];
        hex::decode_to_slice(text.strip_prefix("0x")?, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Adds contracts and topics; what is not hex is in no filter.
    pub(super) fn add<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        // A block repeats few contracts and topics many times.
        let mut seen = HashSet::new();
        for name in names.filter(|name| seen.insert(*name)) {
            let digits = name.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
            let Some(bytes) = digits else { continue };
            let hash = Keccak256::digest(bytes);
            for pair in hash[..6].chunks_exact(2) {
                let bit = u16::from_be_bytes([pair[0], pair[1]]) & BIT_MASK;
                self.0[BYTES - 1 - usize::from(bit / 8)] |= 1 << (bit % 8);
            }
        }
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(ours, theirs)| ours & theirs == *theirs)
    }
}
