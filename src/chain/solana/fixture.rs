//! A block in the format of Solana's documentation of `getBlock`, with features that the stand-in
//! node does not produce.

use expect_test::expect;

use super::{decode, wire::WireBlock};
use crate::chain::TransferAsset;

const BLOCK: &str = include_str!("fixture/block.json");
const SLOT: u64 = 310_000_005;

#[test]
fn a_solana_payment_counts_by_the_owner_s_balance_change() {
    let block: WireBlock = serde_json::from_str(BLOCK).unwrap();
    let transfers = decode::transfers(SLOT, block.transactions.as_ref().unwrap()).unwrap();
    let lines = transfers.into_iter().map(|transfer| {
        let asset = match transfer.asset {
            TransferAsset::Native => "native".to_owned(),
            TransferAsset::Contract(mint) => mint,
        };
        format!("{} pays {} {:?} {asset}\n", transfer.key, transfer.to, transfer.amount)
    });
    expect![[r#"
        sigExchange:hotLUT:SOL pays hotLUT Units(500000u) native
        sigExchange:ours:SOL pays ours Units(1000000u) native
        sigTokens:ourToken:SOL pays ourToken Units(2039280u) native
        sigTokens:ours:usdt pays ours Units(900u) usdt
        sigFeeToken:ours:feeToken pays ours Units(990u) feeToken
        sigHuge:ours:look pays ours Units(36893488147419103230u) look
        sigNoTokens:ours:SOL pays ours Units(1u) native
    "#]]
    .assert_eq(&lines.collect::<String>());
}

#[test]
fn slots_without_a_block_are_linked_to_the_block_before_them() {
    let block: WireBlock = serde_json::from_str(BLOCK).unwrap();
    let place = decode::place(SLOT, &block).unwrap();
    let link = |header: crate::chain::BlockRef| {
        format!("{} {} after {}\n", header.height, header.hash, header.parent_hash)
    };
    let skipped = (SLOT - 4..=SLOT).filter_map(|slot| place.skipped(slot)).map(link);
    let links: String = skipped.chain([link(place.header())]).collect();
    expect![[r#"
        310000003 Hash2+1 after Hash2
        310000004 Hash2+2 after Hash2+1
        310000005 Hash5 after Hash2+2
    "#]]
    .assert_eq(&links);
}

#[test]
fn a_parent_is_earlier_than_its_child() {
    let block: WireBlock = serde_json::from_str(BLOCK).unwrap();
    assert_eq!(decode::place(SLOT - 3, &block).unwrap_err(), "parentSlot");
}
