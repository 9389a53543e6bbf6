//! A large order of coins on an EVM node, against as many transactions signed in advance and sent
//! directly to it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::{asset::Network, payout::eip1559::Transaction};
use k256::ecdsa::SigningKey;
use serde_json::json;
use support::{
    node::anvil::{Anvil, Call},
    shop::payouts::{evm_address, new_order, row},
};
use url::Url;

use super::{
    programs::{Mining, Programs, with_programs},
    rows,
};
use crate::{
    endpoint::{Caller, post},
    report::{Goal, Report, Rounds},
};

const ROWS: u32 = 2_000;
const CHAIN_ID: u64 = 313_374;
const BLOCK_EVERY: Duration = Duration::from_millis(100);
const UNITS: u128 = 1_000_000;
const GWEI: u128 = 1_000_000_000;

pub async fn run(report: &mut Report) {
    let rows = rows(ROWS);
    let name = format!("payout: {rows} rows on an EVM node, funded to confirmed");
    if !report.wants(&name) {
        return;
    }
    let anvil = Arc::new(Anvil::start(CHAIN_ID).await.unwrap());
    let section = [
        ("source", "node".to_owned()),
        ("rpc_url", anvil.url().to_owned()),
        ("chain_id", CHAIN_ID.to_string()),
        ("confirmations", "1".to_owned()),
        ("poll_ms", "50".to_owned()),
    ];
    let (mut rounds, count) = (Rounds::default(), report.rounds);
    let miner = anvil.clone();
    let _mining = Mining::every(BLOCK_EVERY, move || {
        let miner = miner.clone();
        async move { miner.mine().await.unwrap() }
    });
    with_programs(Network::Polygon, &section, |mut programs| async move {
        for _ in 0..count {
            let ours = pay(&mut programs, &anvil, rows).await;
            rounds.add(ours, straight(&anvil, rows).await);
        }
        programs.stop().await;
        let limit = "as many transactions, signed beforehand, sent over one connection and mined";
        report.value(&name, "s", Some(limit), Goal::AtMost(120.0), rounds);
    })
    .await;
}

/// Seconds that the programs take.
async fn pay(programs: &mut Programs, anvil: &Anvil, rows: u32) -> f64 {
    let recipients = (1..=rows).map(|number| row(number, evm_address(number), UNITS)).collect();
    let order = programs.order(&new_order(Network::Polygon, "pol", recipients)).await;
    let due: u128 = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
    let to = order["depositAddress"].as_str();
    let call = Call { to, value: format!("{due:#x}"), data: "0x".into() };
    anvil.send(anvil.deployer(), &call).await.unwrap();
    programs.until_paid().await
}

/// Seconds that the node takes: from the first byte until the sender's last nonce is used.
async fn straight(anvil: &Anvil, rows: u32) -> f64 {
    let key = SigningKey::from_slice(&rand::random::<[u8; 32]>()).unwrap();
    let transaction = |nonce: u64| Transaction {
        chain_id: CHAIN_ID,
        nonce,
        priority_fee: GWEI,
        max_fee: 100 * GWEI,
        gas_limit: 21_000,
        to: [0x70; 20],
        value: UNITS,
        data: vec![],
    };
    let signed: Vec<_> = (0..u64::from(rows)).map(|nonce| transaction(nonce).sign(&key)).collect();
    let requests: Vec<_> = signed.iter().map(|signed| request(&signed.raw)).collect();
    let sender = &signed[0].sender;
    anvil.set_coins(sender, 10_u128.pow(24)).await.unwrap();
    let url = Url::parse(anvil.url()).unwrap();
    let mut caller = Caller::open(url.socket_addrs(|| None).unwrap()[0]).await;
    let started = Instant::now();
    for request in &requests {
        assert_eq!(caller.send(request).await, 200);
    }
    while anvil.nonce(sender).await.unwrap() < u64::from(rows) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    started.elapsed().as_secs_f64()
}

fn request(raw: &[u8]) -> Vec<u8> {
    let params = [format!("0x{}", hex::encode(raw))];
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": params });
    post("/", &[], &body.to_string())
}
