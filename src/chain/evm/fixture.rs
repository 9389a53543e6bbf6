//! Recorded blocks of the chains' own nodes, with the transaction kinds that no test node makes.

use expect_test::{Expect, expect};

use super::recording::read_recording;
use crate::{
    asset::Network,
    chain::{TransferAmount, TransferAsset},
};

/// Output of the adapter for a recording, one line per transfer, or the reason why it refuses it.
fn read(network: Network, recording: &str) -> String {
    let transfers = match read_recording(network, recording) {
        Ok(transfers) => transfers,
        Err(reason) => return format!("refused: {reason}\n"),
    };
    transfers
        .into_iter()
        .map(|transfer| {
            let amount = match transfer.amount {
                TransferAmount::Units(units) => units.get().to_string(),
                TransferAmount::Beyond128Bits(digits) => format!("beyond {digits}"),
            };
            let asset = match transfer.asset {
                TransferAsset::Native => "native".to_owned(),
                TransferAsset::Contract(contract) => contract[..6].to_owned(),
            };
            let key = transfer.key.replace(&transfer.tx_hash, &transfer.tx_hash[..6]);
            format!("{key} pays {} {amount} {asset}\n", &transfer.to[..6])
        })
        .collect()
}

#[track_caller]
fn check(network: Network, recording: &str, expected: &Expect) {
    expected.assert_eq(&read(network, recording));
}

const OPTIMISM: &str = include_str!("fixture/optimism.json");
const ARBITRUM: &str = include_str!("fixture/arbitrum.json");
const POLYGON: &str = include_str!("fixture/polygon.json");
const AVALANCHE: &str = include_str!("fixture/avalanche.json");
const AVALANCHE_EMPTY: &str = include_str!("fixture/avalanche-empty.json");

#[test]
fn deposits_of_an_op_chain_pay_like_other_transactions_unless_they_failed() {
    check(
        Network::Optimism,
        OPTIMISM,
        &expect![[r#"
        0xd1d1:native pays 0xa1a1 100000000000000000 native
        0xd4d4:native pays 0xa1a1 10000000000000000 native
    "#]],
    );
}

#[test]
fn every_kind_of_arbitrum_transaction_is_read_and_an_unreadable_one_stays_alone() {
    check(
        Network::Arbitrum,
        ARBITRUM,
        &expect![[r#"
        0xe1e1:native pays 0xa1a1 10000000000000000 native
        0xe3e3:native pays 0xa1a1 500000000000000 native
        0xe4e4:native pays 0xa1a1 7 native
        0xe6e6:native pays 0xa1a1 11 native
    "#]],
    );
}

#[test]
fn polygon_may_serve_state_sync_logs_that_its_header_leaves_out() {
    check(
        Network::Polygon,
        POLYGON,
        &expect![[r#"
        0x7171:log:0 pays 0xa1a1 25000000 0xc213
        0x7272:log:0 pays 0xa2a2 7000000 0xc213
    "#]],
    );
}

#[test]
fn no_other_network_may_serve_logs_that_its_header_leaves_out() {
    check(
        Network::Ethereum,
        POLYGON,
        &expect![[r#"
        refused: there are logs that the header does not commit to
    "#]],
    );
}

#[test]
fn a_missing_state_sync_receipt_is_tolerated_and_a_missing_payment_receipt_refuses_the_block() {
    let without = |position: usize| {
        let mut recording: serde_json::Value = serde_json::from_str(POLYGON).unwrap();
        recording["receipts"].as_array_mut().unwrap().remove(position);
        recording.to_string()
    };
    check(
        Network::Polygon,
        &without(1),
        &expect![[r#"
        0x7171:log:0 pays 0xa1a1 25000000 0xc213
    "#]],
    );
    check(
        Network::Polygon,
        &without(0),
        &expect![[r#"
        refused: transaction 0x7171717171717171717171717171717171717171717171717171717171717171 has no receipt
    "#]],
    );
}

/// The hash of the state sync was computed independently of the adapter, from the recording's
/// block.
#[test]
fn only_a_state_sync_may_have_a_receipt_and_no_place_in_its_block() {
    const STATE_SYNC: &str = "0x6d43cffdca69772ebcf19f5fb9505c2e4e3463a5f25a1263c27baccfb2443bbf";
    let unlisted = |tx_hash: &str| {
        let mut recording: serde_json::Value = serde_json::from_str(POLYGON).unwrap();
        recording["block"]["transactions"].as_array_mut().unwrap().remove(1);
        recording["receipts"][1]["transactionHash"] = tx_hash.into();
        recording.to_string()
    };
    check(
        Network::Polygon,
        &unlisted(STATE_SYNC),
        &expect![[r#"
            0x7171:log:0 pays 0xa1a1 25000000 0xc213
            0x6d43:log:0 pays 0xa2a2 7000000 0xc213
        "#]],
    );
    check(
        Network::Polygon,
        &unlisted(&format!("0x{}", "72".repeat(32))),
        &expect![[r#"
            refused: there is a receipt of 0x7272727272727272727272727272727272727272727272727272727272727272, which is not in the block
        "#]],
    );
}

#[test]
fn logs_of_a_failed_transaction_pay_nothing() {
    let mut recording: serde_json::Value = serde_json::from_str(POLYGON).unwrap();
    for status in [serde_json::json!("0x0"), serde_json::Value::Null] {
        recording["receipts"][0]["status"] = status;
        check(
            Network::Polygon,
            &recording.to_string(),
            &expect![[r#"
                0x7272:log:0 pays 0xa2a2 7000000 0xc213
            "#]],
        );
    }
}

#[test]
fn a_block_of_avalanche_is_read_whatever_blocks_its_header_settles() {
    check(
        Network::Avalanche,
        AVALANCHE,
        &expect![[r#"
            0xa4a4:native pays 0xa2a2 10000000000000000 native
            0xa3a3:log:0 pays 0xa1a1 25000000 0x9702
        "#]],
    );
    check(Network::Avalanche, AVALANCHE_EMPTY, &expect![""]);
    let mut settles_nothing: serde_json::Value = serde_json::from_str(AVALANCHE).unwrap();
    settles_nothing["block"]["logsBloom"] = format!("0x{}", "00".repeat(256)).into();
    let settles_nothing = settles_nothing.to_string();
    assert_eq!(read(Network::Avalanche, &settles_nothing), read(Network::Avalanche, AVALANCHE));
}

#[test]
fn a_block_of_avalanche_still_refuses_a_lost_receipt_and_a_gap_in_its_logs() {
    let changed = |change: fn(&mut serde_json::Value)| {
        let mut recording: serde_json::Value = serde_json::from_str(AVALANCHE).unwrap();
        change(&mut recording["receipts"]);
        recording.to_string()
    };
    check(
        Network::Avalanche,
        &changed(|receipts| drop(receipts.as_array_mut().unwrap().remove(0))),
        &expect![[r#"
            refused: transaction 0xa3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3 has no receipt
        "#]],
    );
    check(
        Network::Avalanche,
        &changed(|receipts| receipts[0]["logs"][0]["logIndex"] = "0x1".into()),
        &expect![[r#"
            refused: the logs of 0xa3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3 are not numbered in a row
        "#]],
    );
}

#[test]
fn before_helicon_avalanche_s_header_commits_to_its_own_logs() {
    let mined_at = |recording: &str, timestamp: &str| {
        let mut recording: serde_json::Value = serde_json::from_str(recording).unwrap();
        recording["block"]["timestamp"] = timestamp.into();
        recording.to_string()
    };
    // One second before, and the second itself.
    let (before, since) = ("0x6ab297ef", "0x6ab297f0");
    check(
        Network::Avalanche,
        &mined_at(AVALANCHE, before),
        &expect![[r#"
            refused: there are logs that the header does not commit to
        "#]],
    );
    check(
        Network::Avalanche,
        &mined_at(AVALANCHE_EMPTY, before),
        &expect![[r#"
            refused: the header commits to logs that were not served
        "#]],
    );
    for recording in [AVALANCHE, AVALANCHE_EMPTY] {
        let read_since = read(Network::Avalanche, &mined_at(recording, since));
        assert_eq!(read_since, read(Network::Avalanche, recording));
    }
}
