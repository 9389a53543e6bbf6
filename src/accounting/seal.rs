//! The hash chain over the entries of an account.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The hash of an account without entries.
pub const START: Hash = [0; 32];

pub type Hash = [u8; 32];

/// An entry with everything that its hash covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: i64,
    pub kind: String,
    pub source: Uuid,
    pub asset: String,
    pub debit: String,
    pub credit: String,
    /// Base units as digits.
    pub amount: String,
    pub created_at: DateTime<Utc>,
}

/// The hash of an account behind an entry. Frozen: another spelling would break every chain.
pub fn next(before: &Hash, entry: &Entry) -> Hash {
    let mut text = String::new();
    let at = entry.created_at.timestamp_micros();
    // Writing to memory cannot fail. No field holds a line break.
    let _ = write!(
        text,
        "{}\n{}\n{}\n{}\n{}\n{}\n{}\n{at}\n",
        entry.id, entry.kind, entry.source, entry.asset, entry.debit, entry.credit, entry.amount
    );
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(text);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            id: 7,
            kind: "deposit".to_owned(),
            source: Uuid::from_u128(9),
            asset: "usdtmatic@polygon".to_owned(),
            debit: "custody:polygon".to_owned(),
            credit: "merchant:1".to_owned(),
            amount: "1000000".to_owned(),
            created_at: "2026-03-09T08:05:07.000001Z".parse().unwrap(),
        }
    }

    #[test]
    fn the_hash_covers_every_field_and_the_hash_before() {
        let first = next(&START, &entry());
        // Calculated apart from this code.
        assert_eq!(
            hex::encode(first),
            "92db574387a17fd527414c6e34d85c50495e09c86ef61a39eae015698586037b"
        );
        let changes: [fn(&mut Entry); 8] = [
            |entry| entry.id += 1,
            |entry| entry.kind = "excess".to_owned(),
            |entry| entry.source = Uuid::nil(),
            |entry| entry.asset = "pol@polygon".to_owned(),
            |entry| entry.debit = "custody:bsc".to_owned(),
            |entry| entry.credit = "merchant:2".to_owned(),
            |entry| entry.amount = "1000001".to_owned(),
            |entry| entry.created_at += chrono::TimeDelta::microseconds(1),
        ];
        for change in changes {
            let mut changed = entry();
            change(&mut changed);
            assert_ne!(next(&START, &changed), first, "{changed:?}");
        }
        assert_ne!(next(&first, &entry()), first);
    }
}
