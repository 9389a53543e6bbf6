//! Blocks and receipts as an EVM node writes them: odd entries are left out, nothing is invented.

use std::collections::HashSet;

use gateway::{
    asset::Network,
    chain::{TransferAmount, evm::read_recording},
};

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(transfers) = read_recording(Network::Ethereum, text) else { return };
    let mut keys = HashSet::new();
    for transfer in &transfers {
        // A node can name one transaction twice; two movements must never share a name otherwise.
        let repeats = text.matches(transfer.tx_hash.trim_start_matches("0x")).count() > 1;
        assert!(keys.insert(&transfer.key) || repeats, "{} twice", transfer.key);
        assert!(transfer.key.starts_with(&transfer.tx_hash), "{}", transfer.key);
        assert!(transfer.to.len() == 42 && transfer.to.starts_with("0x"), "{}", transfer.to);
        match &transfer.amount {
            TransferAmount::Units(units) => assert!(!units.is_zero(), "{}", transfer.key),
            TransferAmount::Beyond128Bits(digits) => {
                assert!(digits.len() >= 39 && digits.bytes().all(|b| b.is_ascii_digit()));
            }
        }
    }
}
