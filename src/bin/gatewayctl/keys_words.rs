//! Text below the flags in the help of `gatewayctl keys …`.

macro_rules! sealing {
    () => {
        "\n\nEnvironment:\n  \
         GATEWAY_PAYOUTS__SEED_KEY  64 hex characters that seal both seeds; the role payout-batch needs the same\n  \
         GATEWAY_MASTER_KEY         seals them where there is no such key; with neither, no seed is written"
    };
}

/// Follows an answer.
pub const NOTHING_SEALED: &str = "\n\
No seed was written: neither GATEWAY_PAYOUTS__SEED_KEY nor GATEWAY_MASTER_KEY is set. For payouts, set one and run gatewayctl \
keys restore with another directory.";

pub const NEW: &str = concat!(
    "\
For a machine that is on no network; it needs no server and no database. The 24 words (BIP-39, no passphrase)
go to the terminal alone. They are the seed of the invoices; a seed of its own for payouts follows from them
(BIP-85, 24 words, index 0), so that one set of words is all to be kept.

The directory gets gateway.toml (the account public keys, each with its path and its first address), signed
pools of addresses for Solana and NEAR, and both seeds, sealed: payouts.seed for payout-batch, invoices.seed
for this machine. Their owner alone can read them.

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
     GATEWAY_PAYOUTS__SEED_KEY  the key that sealed the seeds\n  \
     GATEWAY_MASTER_KEY         the same, where there is no such key"
);
