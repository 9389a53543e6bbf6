//! Processes are killed between storing and sending, at every named moment, and every recipient is
//! paid once.

use std::time::Duration;

use gateway::merchant::settings::Settings;
use serde_json::{Value, json};
use support::{
    client::Client,
    fault::fired::died_at,
    server::{
        broker::with_broker, database::TestDatabase, installation::Installation, processes::within,
    },
};

use super::{CHAIN_ID, CONFIRMATIONS, PATH, TENTH, node, number, recipients, sign};

/// Moments of the request that submits: before and after its commit.
pub const OF_THE_REQUEST: [&str; 2] = ["nc_payout.storing", "nc_payout.stored"];
/// Moments of the worker that follows.
pub const OF_THE_WORKER: [&str; 3] = ["nc_payout.sending", "nc_payout.sent", "nc_payout.noting"];

pub async fn due_now(database: &TestDatabase) {
    use sqlx::Connection;
    let mut connection = database.connect().await;
    let now = "update nc_payout set look_at = now() where look_at is not null";
    sqlx::query(now).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_between_storing_and_sending_pays_every_recipient_once() {
    let anvil = node().await;
    let (url, chain_id) = (anvil.url().to_owned(), CHAIN_ID.to_string());
    let confirmations = CONFIRMATIONS.to_string();
    let settings = [
        ("GATEWAY_CHAINS__POLYGON__SOURCE", "node"),
        ("GATEWAY_CHAINS__POLYGON__RPC_URL", url.as_str()),
        ("GATEWAY_CHAINS__POLYGON__CHAIN_ID", chain_id.as_str()),
        ("GATEWAY_CHAINS__POLYGON__CONFIRMATIONS", confirmations.as_str()),
        ("GATEWAY_CHAINS__POLYGON__POLL_MS", "50"),
        ("GATEWAY_CHAINS__LITECOIN__SOURCE", "off"),
    ];
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &settings);
        let merchant = installation.gateway.create_merchant("Killed", Settings::default()).await;
        let merchant = merchant.unwrap();
        let client = installation.client(merchant.api_key.reveal());
        let api = installation.start_api().await;
        let everybody = recipients(1..4);
        let outputs: Vec<_> =
            everybody.iter().map(|address| json!({ "address": address, "amount": "0.1" })).collect();
        let body = json!({
            "network": "polygon", "currency": "pol", "fromAddress": anvil.deployer(), "outputs": outputs,
        });
        let created = client.post(PATH, &body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let payout = created.json()["data"].clone();
        let signed = json!({ "signed": sign(&anvil, &payout).await });
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
            let waiting = anvil.rpc("txpool_status", json!([])).await.unwrap();
            assert_eq!(number(&waiting["pending"]), 0, "{moment}: {waiting}");
        }
        for moment in OF_THE_WORKER {
            due_now(&database).await;
            let doomed =
                installation.launch("gateway-worker", &["chain-watcher"], &[("FAIL_POINT", moment)]);
            doomed.process.ended(Duration::from_secs(60)).await;
            assert!(doomed.process.said().contains(&format!("dies at {moment}")));
            died_at(moment);
        }
        due_now(&database).await;
        let _api = installation.start_api().await;
        let _worker = installation.start_workers(&["chain-watcher"]).await;
        within(Duration::from_secs(90), "everybody is paid", async || {
            anvil.mine().await.map_err(|error| error.to_string())?;
            let payout = installation.gateway.read_nc_payout(merchant.id, id_of(&payout)).await;
            let payout = payout.map_err(|error| error.to_string())?;
            let payout: Value = serde_json::from_str(&payout).unwrap();
            if payout["state"] == "completed" { Ok(()) } else { Err(payout.to_string()) }
        })
        .await;
        for address in &everybody {
            let balance = anvil.rpc("eth_getBalance", json!([address, "latest"])).await.unwrap();
            assert_eq!(number(&balance), TENTH);
        }
        let again = client.post(&format!("{at}/submit"), &signed).await;
        assert_eq!(again.status, 200, "{}", again.body);
        database.remove().await;
    })
    .await;
}

pub async fn submit(client: Client, at: String, signed: Value) {
    client.post(&format!("{at}/submit"), &signed).await;
}

pub fn id_of(payout: &Value) -> &str {
    payout["id"].as_str().unwrap()
}
