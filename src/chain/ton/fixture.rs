//! A masterchain block in the format of toncenter's API v3, with content that only an attacker
//! would send.

use std::collections::HashMap;

use expect_test::{Expect, expect};

use super::{
    decode,
    wire::{WireHolders, WireTransactions},
};
use crate::chain::{TransferAmount, TransferAsset};

const BLOCK: &str = include_str!("fixture/block.json");
const HOLDERS: &str = include_str!("fixture/holders.json");
const HEIGHT: u64 = 41_000_000;

/// One line per transfer, then the number of unreadable transactions.
#[track_caller]
fn check(height: u64, holders: &str, expected: &Expect) {
    let page: WireTransactions = serde_json::from_str(BLOCK).unwrap();
    let (transactions, unreadable) = decode::transactions(height, &page.transactions);
    let holders: WireHolders = serde_json::from_str(holders).unwrap();
    let holders: HashMap<_, _> = decode::holders(holders.jetton_wallets).collect();
    let lines = decode::transfers(&transactions, &holders).into_iter().map(|transfer| {
        let amount = match transfer.amount {
            TransferAmount::Units(units) => units.get().to_string(),
            TransferAmount::Beyond128Bits(digits) => format!("beyond {digits}"),
        };
        let asset = match transfer.asset {
            TransferAsset::Native => "native".to_owned(),
            TransferAsset::Contract(contract) => contract[..6].to_owned(),
        };
        let key = transfer.key.replace(&transfer.tx_hash, &transfer.tx_hash[..4]);
        format!("{key} pays {} {amount} {asset}\n", &transfer.to[..6])
    });
    let text: String = lines.collect();
    expected.assert_eq(&format!("{text}unreadable {unreadable}\n"));
}

#[test]
fn a_ton_payment_counts_by_the_amount_that_its_account_kept() {
    check(
        HEIGHT,
        HOLDERS,
        &expect![[r#"
        a1a1:native pays 0:d1d1 1500000000 native
        a4a4:native pays 0:d3d3 7 native
        a7a7:native pays 0:d4d4 beyond 340282366920938463463374607431768211456 native
        a8a8:native pays 0:d4d4 11 native
        b1b1:native pays 0:e1e1 20000000 native
        b2b2:native pays 0:e2e2 20000000 native
        b4b4:native pays 0:e1e1 20000000 native
        b1b1:jetton pays 0:d1d1 25000000 0:e9e9
        unreadable 3
    "#]],
    );
}

#[test]
fn a_wallet_contract_that_no_token_master_confirms_pays_nothing() {
    check(
        HEIGHT,
        r#"{"jetton_wallets":[]}"#,
        &expect![[r#"
        a1a1:native pays 0:d1d1 1500000000 native
        a4a4:native pays 0:d3d3 7 native
        a7a7:native pays 0:d4d4 beyond 340282366920938463463374607431768211456 native
        a8a8:native pays 0:d4d4 11 native
        b1b1:native pays 0:e1e1 20000000 native
        b2b2:native pays 0:e2e2 20000000 native
        b4b4:native pays 0:e1e1 20000000 native
        unreadable 3
    "#]],
    );
}

#[test]
fn transactions_of_another_block_are_not_of_this_one() {
    check(
        HEIGHT + 1,
        HOLDERS,
        &expect![[r#"
        unreadable 17
    "#]],
    );
}
