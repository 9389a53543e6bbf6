//! Texts of `gatewayctl keys …`: below the flags of its help, and after its answers.

use crate::keys_files::{INVOICES_SEED, PAYOUTS_SEED, Sealing, X402_SEED};

macro_rules! sealing {
    () => {
        "\n\nEnvironment:\n  \
         GATEWAY_PAYOUTS__SEED_KEY  64 hex characters that seal payouts.seed; payout-batch needs the same\n  \
         GATEWAY_X402__SEED_KEY     64 hex characters that seal x402.seed; x402-settlement needs the same\n  \
         GATEWAY_COLD_SEED_KEY      64 hex characters that seal invoices.seed; no running program may have them\n  \
         GATEWAY_MASTER_KEY         seals payouts.seed and x402.seed where they have no such key\n\
         A seed without a key is not written: the words make it again."
    };
}

/// Follows an answer without the account of x402, whose seed is the only one that may be missing.
pub const WITHOUT_X402: &str = "\n\
gateway.toml has no section [x402], as there was no x402.seed: for payments of programs, gatewayctl keys restore makes it of \
the words.";

/// Follows an answer: the seeds that no key was there for. Empty if none were to be sealed.
pub fn unsealed(sealing: Option<&Sealing>) -> String {
    let Some(sealing) = sealing else { return String::new() };
    let sentence = |name: &str, keys: &str, purpose: &str| {
        format!(
            "\n{name} was not written: {keys}. {purpose}, set one and run gatewayctl keys restore with another directory."
        )
    };
    let mut text = String::new();
    if sealing.payouts.is_none() {
        let keys = "neither GATEWAY_PAYOUTS__SEED_KEY nor GATEWAY_MASTER_KEY is set";
        text += &sentence(PAYOUTS_SEED, keys, "For payouts");
    }
    if sealing.x402.is_none() {
        let keys = "neither GATEWAY_X402__SEED_KEY nor GATEWAY_MASTER_KEY is set";
        text += &sentence(X402_SEED, keys, "For payments of programs");
    }
    if sealing.invoices.is_none() {
        let keys = "GATEWAY_COLD_SEED_KEY is not set";
        text += &sentence(INVOICES_SEED, keys, "For pools that are made without the words");
    }
    text
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
Byte for byte what keys new wrote, for the same words, options and sealing keys. Run it once before the first
payment: it proves that the words were written down as they are.

Examples:
  gatewayctl keys restore --dir again
  diff -r keys again && echo 'the words are right'",
    sealing!()
);

pub const EXPORT: &str = concat!(
    "\
For gateway.toml and the pools alone, when a file was lost or a pool should be larger. It writes no seed. A
pool that is in use is continued by gatewayctl addresses export. Without x402.seed in that directory,
gateway.toml has no section [x402].

Example:
  gatewayctl keys export --seeds keys --dir public --pool 50000",
    "\n\nEnvironment:\n  \
     GATEWAY_PAYOUTS__SEED_KEY  the key that sealed payouts.seed\n  \
     GATEWAY_X402__SEED_KEY     the key that sealed x402.seed; not needed without that file\n  \
     GATEWAY_COLD_SEED_KEY      the key that sealed invoices.seed\n  \
     GATEWAY_MASTER_KEY         the same for payouts.seed and x402.seed, where they have no such key\n\
     An invoices.seed of an earlier release opens with the key of payouts.seed."
);
