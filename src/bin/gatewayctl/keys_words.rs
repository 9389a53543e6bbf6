//! Texts of `gatewayctl keys …`: below the flags of its help, and after its answers.

use crate::keys_files::Sealing;

macro_rules! sealing {
    () => {
        "\n\nEnvironment:\n  \
         GATEWAY_PAYOUTS__SEED_KEY  64 hex characters that seal payouts.seed and invoices.seed; payout-batch needs the same\n  \
         GATEWAY_X402__SEED_KEY     64 hex characters that seal x402.seed; x402-settlement needs the same\n  \
         GATEWAY_MASTER_KEY         seals what has no such key; with neither, that seed is not written"
    };
}

const NOTHING_SEALED: &str = "\n\
No seed was written: neither GATEWAY_PAYOUTS__SEED_KEY nor GATEWAY_MASTER_KEY is set. For payouts, set one and run gatewayctl \
keys restore with another directory.";
const NO_X402: &str = "\n\
x402.seed was not written: neither GATEWAY_X402__SEED_KEY nor GATEWAY_MASTER_KEY is set. For payments of programs, set one and \
run gatewayctl keys restore with another directory.";
const NO_PAYOUTS: &str = "\n\
payouts.seed and invoices.seed were not written: neither GATEWAY_PAYOUTS__SEED_KEY nor GATEWAY_MASTER_KEY is set. For payouts, \
set one and run gatewayctl keys restore with another directory.";

/// Follows an answer: the seeds that no key was there for. `None` if none were to be sealed.
pub fn unsealed(sealing: Option<&Sealing>) -> &'static str {
    let Some(sealing) = sealing else { return "" };
    match (&sealing.payouts, &sealing.x402) {
        (Some(_), Some(_)) => "",
        (Some(_), None) => NO_X402,
        (None, Some(_)) => NO_PAYOUTS,
        (None, None) => NOTHING_SEALED,
    }
}

pub const NEW: &str = concat!(
    "\
For a machine that is on no network; it needs no server and no database. The 24 words (BIP-39, no passphrase)
go to the terminal alone. They are the seed of the invoices; the seeds of payouts and of payments by programs
(x402) follow from them (BIP-85, 24 words, index 0 and 1), so that one set of words is all to be kept.

The directory gets gateway.toml (the account public keys, each with its path and its first address), signed
pools of addresses for Solana and NEAR, and the seeds, sealed: payouts.seed for payout-batch, x402.seed for
x402-settlement, invoices.seed for this machine. Their owner alone can read them.

With --dice the words depend on nothing but your rolls: the entropy is the SHA-256 of their digits.

Examples:
  gatewayctl keys new --dir keys
  gatewayctl keys new --dir keys --dice",
    sealing!()
);

pub const RESTORE: &str = concat!(
    "\
Byte for byte what keys new wrote, for the same words, options and sealing key. Run it once before the first
payment: it proves that the words were written down as they are.

Examples:
  gatewayctl keys restore --dir again
  diff -r keys again && echo 'the words are right'",
    sealing!()
);

pub const EXPORT: &str = concat!(
    "\
For gateway.toml and the pools alone, when a file was lost or a pool should be larger. It writes no seed. A
pool that is in use is continued by gatewayctl addresses export.

Example:
  gatewayctl keys export --seeds keys --dir public --pool 50000",
    "\n\nEnvironment:\n  \
     GATEWAY_PAYOUTS__SEED_KEY  the key that sealed payouts.seed and invoices.seed\n  \
     GATEWAY_X402__SEED_KEY     the key that sealed x402.seed\n  \
     GATEWAY_MASTER_KEY         the same, where there is no such key"
);
