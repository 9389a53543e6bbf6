//! Recorded blocks of nodes of the three kinds.

use expect_test::{Expect, expect};

use super::{chain::Chain, decode, wire::WireBlock};
use crate::{asset::Network, chain::TransferAmount};

/// Output of the adapter for a recorded block, one line per transfer, or the reason why it refuses
/// it.
fn read(network: Network, recording: &str) -> String {
    let block: WireBlock = serde_json::from_str(recording).unwrap();
    let chain = Chain::of(network).unwrap();
    let header = decode::header(&block).unwrap();
    let transfers = match decode::transfers(&chain, &block) {
        Ok(transfers) => transfers,
        Err(reason) => return format!("refused: {reason}\n"),
    };
    let mut text = format!("{} at {}\n", header.height, header.mined_at);
    for transfer in transfers {
        let TransferAmount::Units(units) = transfer.amount else { panic!("beyond 128 bits") };
        let key = transfer.key.replace(&transfer.tx_hash, &transfer.tx_hash[..6]);
        let (to, units, maturity) = (transfer.to, units.get(), transfer.maturity);
        text.push_str(&format!("{key} pays {to} {units} after {maturity}\n"));
    }
    text
}

#[track_caller]
fn check(network: Network, recording: &str, expected: &Expect) {
    expected.assert_eq(&read(network, recording));
}

const DOGECOIN: &str = include_str!("fixture/dogecoin.json");
const LITECOIN: &str = include_str!("fixture/litecoin.json");

/// The recording after a change.
fn changed(recording: &str, change: impl FnOnce(&mut serde_json::Value)) -> String {
    let mut block = serde_json::from_str(recording).unwrap();
    change(&mut block);
    block.to_string()
}

#[test]
fn a_merge_mined_block_of_dogecoin_pays_its_own_receivers_only() {
    check(
        Network::Dogecoin,
        DOGECOIN,
        &expect![[r#"
        3721345 at 2021-05-13 10:20:13 UTC
        c1c1c1:0 pays D5kTEGxmas71USKAcAaJptKjq8NJc6EK8C 1000154150000 after 240
        c2c2c2:0 pays DFpN6QqFfUm3gKNaxN6tNcab1FArL9cZLE 12345678912345678 after 1
        c2c2c2:1 pays A37YDYSwz3438rFtm1SLVcQHyD7JeueC9H 1 after 1
        c3c3c3:0 pays DFpN6QqFfUm3gKNaxN6tNcab1FArL9cZLE 4999900000 after 1
    "#]],
    );
}

#[test]
fn coins_that_leave_the_extension_block_of_litecoin_wait_for_six_blocks() {
    check(
        Network::Litecoin,
        LITECOIN,
        &expect![[r#"
        437 at 2026-11-21 23:37:45 UTC
        2583cb:0 pays ltc1qv5f2vpt722scak6jendh4s4gx9tdp4h0jr64pp 1250002820 after 100
        13b91b:1 pays ltc1qf55850p7aseh7tfnqzrg80ad3lccr09zrxcv5w 125000000 after 6
    "#]],
    );
}

#[test]
fn an_output_or_a_transaction_that_cannot_be_read_stays_alone() {
    let odd_output = changed(DOGECOIN, |block| {
        block["tx"][1]["vout"][0]["value"] = serde_json::json!("much");
    });
    check(
        Network::Dogecoin,
        &odd_output,
        &expect![[r#"
        3721345 at 2021-05-13 10:20:13 UTC
        c1c1c1:0 pays D5kTEGxmas71USKAcAaJptKjq8NJc6EK8C 1000154150000 after 240
        c2c2c2:1 pays A37YDYSwz3438rFtm1SLVcQHyD7JeueC9H 1 after 1
        c3c3c3:0 pays DFpN6QqFfUm3gKNaxN6tNcab1FArL9cZLE 4999900000 after 1
    "#]],
    );
    let odd_transaction = changed(DOGECOIN, |block| {
        block["tx"][1].as_object_mut().unwrap().remove("vout");
    });
    check(
        Network::Dogecoin,
        &odd_transaction,
        &expect![[r#"
        3721345 at 2021-05-13 10:20:13 UTC
        c1c1c1:0 pays D5kTEGxmas71USKAcAaJptKjq8NJc6EK8C 1000154150000 after 240
        c3c3c3:0 pays DFpN6QqFfUm3gKNaxN6tNcab1FArL9cZLE 4999900000 after 1
    "#]],
    );
    let nameless = changed(DOGECOIN, |block| {
        block["tx"][1].as_object_mut().unwrap().remove("txid");
    });
    check(
        Network::Dogecoin,
        &nameless,
        &expect![[r#"
        3721345 at 2021-05-13 10:20:13 UTC
        c1c1c1:0 pays D5kTEGxmas71USKAcAaJptKjq8NJc6EK8C 1000154150000 after 240
        c3c3c3:0 pays DFpN6QqFfUm3gKNaxN6tNcab1FArL9cZLE 4999900000 after 1
    "#]],
    );
}

#[test]
fn a_block_that_misses_or_changes_a_transaction_is_refused() {
    let refused = expect![[r#"
        refused: its transactions are not those that its header commits to
    "#]];
    let dropped = changed(DOGECOIN, |block| {
        block["tx"].as_array_mut().unwrap().pop();
    });
    check(Network::Dogecoin, &dropped, &refused);
    let invented = changed(DOGECOIN, |block| {
        let mut other = block["tx"][2].clone();
        other["txid"] = serde_json::json!("ee".repeat(32));
        block["tx"].as_array_mut().unwrap().push(other);
    });
    check(Network::Dogecoin, &invented, &refused);
    let strange = changed(DOGECOIN, |block| {
        block["tx"] = serde_json::json!([{ "id": 1 }, { "id": 2 }]);
    });
    check(
        Network::Dogecoin,
        &strange,
        &expect![[r#"
            refused: none of its 2 transactions can be read
        "#]],
    );
}

/// A block as full as blocks get. The time is only printed: a limit would measure the load of the
/// machine.
#[test]
fn ten_thousand_transactions_are_read_from_one_block() {
    const COUNT: usize = 10_000;
    let full = changed(DOGECOIN, |block| {
        let (first, model) = (block["tx"][0].clone(), block["tx"][1].clone());
        let mut all = vec![first];
        for n in 1..COUNT {
            let mut transaction = model.clone();
            transaction["txid"] = serde_json::json!(format!("{n:064x}"));
            all.push(transaction);
        }
        let ids = all.iter().map(|tx| decode::digest(tx["txid"].as_str().unwrap()).unwrap());
        let mut root = decode::merkle_root(ids.collect());
        root.reverse();
        block["merkleroot"] = serde_json::json!(hex::encode(root));
        block["tx"] = all.into();
    });
    let began = std::time::Instant::now();
    let block: WireBlock = serde_json::from_str(&full).unwrap();
    let transfers = decode::transfers(&Chain::of(Network::Dogecoin).unwrap(), &block).unwrap();
    println!("{COUNT} transactions, {} bytes: {:?}", full.len(), began.elapsed());
    assert_eq!(transfers.len(), 2 * (COUNT - 1) + 1);
}

#[test]
fn of_what_a_transaction_spends_some_is_kept_and_a_replacement_keeps_the_same() {
    let spending = |coins: &mut dyn Iterator<Item = u32>| {
        let recording = changed(DOGECOIN, |block| {
            let input =
                |n| serde_json::json!({ "txid": format!("{n:064x}"), "vout": 7, "sequence": 1 });
            block["tx"][1]["vin"] = coins.map(input).collect();
        });
        let block: WireBlock = serde_json::from_str(&recording).unwrap();
        let chain = Chain::of(Network::Dogecoin).unwrap();
        let transfers = decode::transfers(&chain, &block).unwrap();
        transfers[1].spends.clone()
    };
    assert_eq!(spending(&mut (0..3)).len(), 3);
    let kept = spending(&mut (0..2_000));
    assert_eq!(kept.len(), 16);
    // A wallet may name them in another order.
    assert_eq!(kept, spending(&mut (0..2_000).rev()));
}
