//! The settings file that is carried from the machine with the words to the gateway.

use std::fmt::Write as _;

use super::{PublicKey, PublicKeys};
use crate::asset::address::{Account, Realm};

const HEAD: &str = "\
# Written by gatewayctl keys. Public keys alone: nothing can be spent with them, but they link all addresses of this
# installation, so do not publish them. GATEWAY_CONFIG names this file, or its sections go into your own.
";
const POOLS: &str = "\
# Solana and NEAR: their addresses come from pools. Import each .pool file: gatewayctl addresses import FILE
";
const FIRST: &str = "\
# No program starts with a key whose first address is another one.
";
const PAYOUTS: &str = "\
# Of the seed in payouts.seed, which is for the role payout-batch alone: there, payouts.seed_file names it.
";
const X402: &str = "\
# Of the seed in x402.seed, which is for the role x402-settlement alone: there, x402.seed_file names it.
";

/// The file, in TOML: always the same text for the same keys.
pub fn settings(keys: &PublicKeys) -> String {
    let mut text = HEAD.to_owned();
    if keys.realm == Realm::Regtest {
        text.push_str("# Keys of TEST networks of bitcoin, litecoin and dogecoin.\n");
    }
    text.push_str("\n[addresses]\n");
    for row in keys.of_account(Account::Invoices) {
        key(&mut text, row, row.family.name());
    }
    text.push_str(POOLS);
    line(&mut text, "pool_signer", &keys.pool_signer);
    text.push_str("\n[addresses.expected_first_address]\n");
    text.push_str(FIRST);
    for row in keys.of_account(Account::Invoices) {
        line(&mut text, row.family.name(), &row.first_address);
    }
    text.push_str("\n[payouts.accounts]\n");
    text.push_str(PAYOUTS);
    for row in keys.of_account(Account::Payouts) {
        key(&mut text, row, row.family.name());
    }
    for row in keys.of_account(Account::Gas) {
        key(&mut text, row, row.account.name());
    }
    for row in keys.of_account(Account::X402) {
        text.push_str("\n[x402]\n");
        text.push_str(X402);
        key(&mut text, row, "account");
    }
    text
}

fn key(text: &mut String, row: &PublicKey, name: &str) {
    if let Some(key) = &row.key {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# {}", row.path);
        line(text, name, key);
    }
}

/// Keys and addresses are letters, digits, `-` and `_`: nothing to escape.
fn line(text: &mut String, name: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{name} = \"{value}\"");
}
