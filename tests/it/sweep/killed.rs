//! Every step is interrupted, and the same command goes on: nothing is lost or moved twice.

use gateway::asset::Network;
use serde_json::Value;
use support::fault::fired::fired;

use super::scene::{Scene, TREASURY, in_state, on_anvil, on_regtest, read};

/// Between every two steps from the bytes to the node.
const SENDING: [&str; 4] = ["sweep.storing", "sweep.stored", "sweep.sending", "sweep.sent"];
const ENDING: [&str; 2] = ["sweep.ending", "sweep.ended"];

async fn killed_everywhere(scene: &Scene) -> Value {
    let network = scene.network.name();
    let lost = scene.file("plan");
    scene.dies("sweep.planned", &["sweep", "plan", "--network", network, "--out", &lost]).await;
    assert!(!std::path::Path::new(&lost).exists());
    let listed = scene.ctl.json(&["sweep", "status"]).await;
    let id = listed[0]["plan_id"].as_str().unwrap().to_owned();
    let plan = scene.file("plan");
    scene.ctl.run(&["sweep", "plan", "--again", &id, "--out", &plan]).await.expect_ok();
    assert!(read(&plan).contains(&id));
    let signed = scene.sign(&plan).await;

    for moment in SENDING {
        scene.dies(moment, &["sweep", "send", &signed, "--once"]).await;
        fired(1);
    }
    scene.ctl.run(&["sweep", "send", &signed, "--once"]).await.expect_ok();
    scene.mine(3).await;
    for moment in ENDING {
        scene.dies(moment, &["sweep", "send", "--id", &id, "--once"]).await;
        fired(1);
    }
    scene.until_ended(&id).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_on_an_evm_network_killed_at_any_step_moves_its_coins_once() {
    on_anvil(|mut scene| async move {
        let before = scene.anvil().coins(TREASURY).await.unwrap();
        scene.paid(2_500, "pol").await;
        let status = killed_everywhere(&scene).await;
        assert_eq!(in_state(&status, "confirmed").len(), 1, "{status}");
        let arrived = scene.anvil().coins(TREASURY).await.unwrap() - before;
        let booked = scene.booked("treasury_custody:polygon", "pol@polygon").await;
        assert_eq!(booked, -i128::try_from(arrived).unwrap());
        scene.is_sound().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_on_bitcoin_killed_at_any_step_moves_its_coins_once() {
    on_regtest(Network::Bitcoin, |mut scene| async move {
        scene.paid(900, "btc").await;
        let status = killed_everywhere(&scene).await;
        assert_eq!(in_state(&status, "confirmed").len(), 1, "{status}");
        assert_eq!(scene.booked("custody:bitcoin", "btc@bitcoin").await, 0);
        scene.is_sound().await;
    })
    .await;
}
