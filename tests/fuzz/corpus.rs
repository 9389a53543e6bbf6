//! The kept corpus, and random variations of it, through every target: needs no tools, so every
//! test run includes it.

use std::path::{Path, PathBuf};

use fuzz::{TARGETS, Target};
use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};

/// Variations of each kept input.
const VARIATIONS: usize = 400;
const SEED: &str = "GATEWAY_TEST_SEED";

fn corpus(target: Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5, "{} keeps only {} inputs", target.name, files.len());
    files
}

/// Flips, removes, doubles or inserts a few bytes.
fn bend(data: &mut Vec<u8>, random: &mut StdRng) {
    for _ in 0..random.random_range(1..4) {
        let at = if data.is_empty() { 0 } else { random.random_range(0..data.len()) };
        match random.random_range(0..4) {
            0 if !data.is_empty() => data[at] ^= 1 << random.random_range(0..8),
            1 if !data.is_empty() => drop(data.remove(at)),
            2 if !data.is_empty() => data.insert(at, data[at]),
            _ => data.insert(at, (random.next_u32() & 0xff) as u8),
        }
    }
}

#[test]
fn the_kept_corpus_and_its_neighbours_break_no_property() {
    let given = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = given.unwrap_or_else(rand::random);
    println!("{SEED}={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    for target in TARGETS {
        for file in corpus(*target) {
            let kept = std::fs::read(&file).unwrap();
            (target.check)(&kept);
            for _ in 0..VARIATIONS {
                let mut bent = kept.clone();
                bend(&mut bent, &mut random);
                let shown = bent.escape_ascii().to_string();
                let fine = std::panic::catch_unwind(|| (target.check)(&bent)).is_ok();
                assert!(fine, "{} breaks on {shown}", target.name);
            }
        }
    }
}
