//! A large order on bitcoind, against as many outputs in as few transactions that the node signs
//! itself.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::{
    asset::{Network, Realm, address},
    payout::PayoutFamily,
};
use serde_json::json;
use support::{
    node::regtest::{Kind, Regtest},
    shop::payouts::{new_order, row},
};

use super::{
    programs::{Mining, Programs, with_programs},
    rows,
};
use crate::report::{Goal, Report, Rounds};

const ROWS: u32 = 1_000;
const BLOCK_EVERY: Duration = Duration::from_millis(250);
const UNITS: u64 = 2_000;

pub async fn run(report: &mut Report) {
    let rows = rows(ROWS);
    let name = format!("payout: {rows} rows on bitcoind, funded to confirmed");
    if !report.wants(&name) {
        return;
    }
    let node = Arc::new(Regtest::start(Kind::Bitcoin).await.unwrap());
    let section = [
        ("source", "node".to_owned()),
        ("rpc_url", node.url().to_owned()),
        ("genesis", node.genesis().await.unwrap()),
        ("confirmations", "1".to_owned()),
        ("large_confirmations", "1".to_owned()),
        ("poll_ms", "50".to_owned()),
        ("fee_rate", "10".to_owned()),
    ];
    let (mut rounds, count) = (Rounds::default(), report.rounds);
    let miner = node.clone();
    let _mining = Mining::every(BLOCK_EVERY, move || {
        let miner = miner.clone();
        async move { miner.mine(1).await.unwrap() }
    });
    with_programs(Network::Bitcoin, &section, |mut programs| async move {
        for _ in 0..count {
            let ours = pay(&mut programs, &node, rows).await;
            rounds.add(ours, straight(&node, rows).await);
        }
        programs.stop().await;
        let limit = "as many outputs in as few transactions, none of which waits for another";
        report.value(&name, "s", Some(limit), Goal::AtMost(30.0), rounds);
    })
    .await;
}

/// Script of one of many recipients.
fn script(number: u32) -> Vec<u8> {
    [&[0, 20], &[0; 16][..], &number.to_be_bytes()].concat()
}

/// Seconds that the programs take.
async fn pay(programs: &mut Programs, node: &Regtest, rows: u32) -> f64 {
    let to =
        |number| address::of_script(Network::Bitcoin, Realm::Regtest, &script(number)).unwrap();
    let recipients = (1..=rows).map(|number| row(number, to(number), UNITS.into())).collect();
    let order = programs.order(&new_order(Network::Bitcoin, "btc", recipients)).await;
    let due = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
    let to = order["depositAddress"].as_str().unwrap().to_owned();
    node.pay(&[(to, due)]).await.unwrap();
    programs.until_paid().await
}

/// Seconds that the node takes: from the first transaction until none is pending.
async fn straight(node: &Regtest, rows: u32) -> f64 {
    let outputs: Vec<_> = (1..=rows).map(|number| (script(number), UNITS)).collect();
    let started = Instant::now();
    for batch in outputs.chunks(PayoutFamily::Utxo.batch_rows_max()) {
        node.pay_scripts(batch).await.unwrap();
    }
    while node.rpc("getmempoolinfo", json!([])).await.unwrap()["size"] != 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    started.elapsed().as_secs_f64()
}
