//! Processes are killed between storing and sending, at every named moment, and every recipient is
//! paid once.

use std::time::Duration;

use gateway::{asset::Network, merchant::settings::Settings};
use serde_json::{Value, json};
use support::{
    fault::fired::died_at,
    server::{
        broker::with_broker, database::TestDatabase, installation::Installation, processes::within,
    },
};

use super::{
    super::{
        PATH,
        killed::{OF_THE_REQUEST, OF_THE_WORKER, due_now, id_of, submit},
    },
    AMOUNT, WITNESS, body, coins, node, sign, spelt,
};
use crate::payout::utxo::chain::{paid_since, script};

const RECIPIENTS: std::ops::Range<u32> = 1..4;

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_between_storing_and_sending_pays_every_bitcoin_recipient_once() {
    let (node, own) = node(Network::Bitcoin, WITNESS).await;
    let from = spelt(Network::Bitcoin, &node, &own).await;
    let (genesis, began_at) = (node.genesis().await.unwrap(), node.height().await.unwrap());
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let settings = [
            ("GATEWAY_CHAINS__BITCOIN__SOURCE", "node"),
            ("GATEWAY_CHAINS__BITCOIN__RPC_URL", node.url()),
            ("GATEWAY_CHAINS__BITCOIN__GENESIS", genesis.as_str()),
            ("GATEWAY_CHAINS__BITCOIN__CONFIRMATIONS", "2"),
            ("GATEWAY_CHAINS__BITCOIN__POLL_MS", "50"),
            ("GATEWAY_CHAINS__BITCOIN__FEE_RATE", "10"),
            ("GATEWAY_CHAINS__LITECOIN__SOURCE", "off"),
        ];
        let installation = Installation::new(&database.url, &(&*broker).into(), &settings);
        let merchant = installation.gateway.create_merchant("Killed", Settings::default()).await;
        let merchant = merchant.unwrap();
        let client = installation.client(merchant.api_key.reveal());
        let api = installation.start_api().await;
        let inputs = coins(&node, &own, 2).await;
        let created = client.post(PATH, &body(Network::Bitcoin, &from, &inputs, RECIPIENTS)).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let payout = created.json()["data"].clone();
        let psbt = sign(&node, payout["unsigned"]["payload"].as_str().unwrap()).await;
        let signed = json!({ "signed": psbt });
        let at = format!("{PATH}/{}", payout["id"].as_str().unwrap());
        drop(api);
        for moment in OF_THE_REQUEST {
            let doomed = installation.launch("gateway-api", &[], &[("FAIL_POINT", moment)]);
            doomed.listening().await;
            let lost = tokio::spawn(submit(client.clone(), at.clone(), signed.clone()));
            doomed.process.ended(Duration::from_secs(60)).await;
            assert!(doomed.process.said().contains(&format!("dies at {moment}")));
            assert!(lost.await.is_err(), "an answer came from a dead process");
            died_at(moment);
            // Nothing was sent yet, with or without stored bytes.
            let waiting = node.rpc("getrawmempool", json!([])).await.unwrap();
            assert_eq!(waiting, json!([]), "{moment}");
        }
        for moment in OF_THE_WORKER {
            due_now(&database).await;
            let doomed = installation.launch(
                "gateway-worker",
                &["chain-watcher"],
                &[("FAIL_POINT", moment)],
            );
            doomed.process.ended(Duration::from_secs(60)).await;
            assert!(doomed.process.said().contains(&format!("dies at {moment}")));
            died_at(moment);
        }
        due_now(&database).await;
        let _api = installation.start_api().await;
        let _worker = installation.start_workers(&["chain-watcher"]).await;
        within(Duration::from_secs(90), "everybody is paid", async || {
            node.mine(1).await.map_err(|error| error.to_string())?;
            let read = installation.gateway.read_nc_payout(merchant.id, id_of(&payout)).await;
            let read = read.map_err(|error| error.to_string())?;
            let read: Value = serde_json::from_str(&read).unwrap();
            if read["state"] == "completed" { Ok(()) } else { Err(read.to_string()) }
        })
        .await;
        let paid = paid_since(node.url(), began_at).await;
        for number in RECIPIENTS {
            let found = paid.get(&script(Network::Bitcoin, number)).copied();
            assert_eq!(found, Some((1, u128::from(AMOUNT) + u128::from(number))));
        }
        let again = client.post(&format!("{at}/submit"), &signed).await;
        assert_eq!(again.status, 200, "{}", again.body);
        database.remove().await;
    })
    .await;
}
