//! A node that falsely reports a payout's nonces as used by other transactions, beside an honest
//! one.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use support::{
    fault::fired::fired,
    node::json_rpc::{Answer, Proxy},
    server::broker::eventually,
};

use super::{PATH, REVERTS, TENTH, node, recipients, refused, settings, sign, with_scene};

/// Requests for the nonces: one per look at a payout.
const LIES: usize = 10;

/// It knows none of our transactions, and all nonces are used.
fn displaced(method: &str, mut reply: Value) -> Value {
    match method {
        "eth_getTransactionReceipt" | "eth_getTransactionByHash" => reply["result"] = Value::Null,
        "eth_getTransactionCount" => reply["result"] = json!("0xffff"),
        _ => {}
    }
    reply
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_does_not_fail_when_one_of_two_nodes_alone_reports_it() {
    let anvil = node().await;
    let (lying, told) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (is_lying, its_told) = (lying.clone(), told.clone());
    let liar = Proxy::start(anvil.url(), move |method, reply| {
        if !is_lying.load(Ordering::Relaxed) {
            return Answer::Reply(reply);
        }
        let counts = method == "eth_getTransactionCount";
        its_told.fetch_add(usize::from(counts), Ordering::Relaxed);
        Answer::Reply(displaced(method, reply))
    });
    let liar = liar.await.unwrap();
    let witness = format!("confirmations = 2\nwitnesses = [{:?}]\n", anvil.url());
    let toml = settings(liar.url()).replacen("confirmations = 2\n", &witness, 1);
    with_scene(anvil, &toml, |scene| async move {
        let payout = scene.create(&scene.coins(&recipients(1..3))).await;
        let signed = sign(&scene.anvil, &payout).await;
        assert_eq!(scene.submit(&payout, &signed).await.status, 200);
        lying.store(true, Ordering::Relaxed);
        eventually("the lie was told again and again", async || {
            // A transaction broadcast long ago may be judged as displaced.
            let age = "update nc_payout_transaction set sent_at = now() - interval '1 hour'";
            scene.stack.sql(age).await;
            (told.load(Ordering::Relaxed) >= LIES).then_some(())
        })
        .await;
        assert_eq!(scene.read(&payout).await["state"], "submitted");
        lying.store(false, Ordering::Relaxed);
        scene.becomes(&payout, "completed").await;
        for address in recipients(1..3) {
            assert_eq!(scene.balance(&address).await, TENTH);
        }
    })
    .await;
}

/// A node whose estimates all revert refuses no recipient: a second node is asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_recipient_is_not_refused_on_the_estimate_of_one_of_two_nodes() {
    let anvil = node().await;
    let liar = Proxy::start(anvil.url(), |method, mut reply| {
        if method == "eth_estimateGas" {
            let id = reply["id"].clone();
            reply = json!({
                "jsonrpc": "2.0", "id": id, "error": { "code": 3, "message": "execution reverted" },
            });
        }
        Answer::Reply(reply)
    });
    let liar = liar.await.unwrap();
    let witness = format!("confirmations = 2\nwitnesses = [{:?}]\n", anvil.url());
    let toml = settings(liar.url()).replacen("confirmations = 2\n", &witness, 1);
    with_scene(anvil, &toml, |scene| async move {
        let payout = scene.create(&scene.coins(&recipients(1..4))).await;
        fired(liar.changed());
        let signed = sign(&scene.anvil, &payout).await;
        assert_eq!(scene.submit(&payout, &signed).await.status, 200);
        scene.becomes(&payout, "completed").await;

        // The one that both refuse is named, and it alone.
        scene.anvil.rpc("anvil_setCode", json!([recipients(2..3)[0], REVERTS])).await.unwrap();
        let answer = scene.merchant.client.post(PATH, &scene.coins(&recipients(1..4))).await;
        let details = refused(&answer, 400, "INVALID_ADDRESS");
        assert_eq!(details.as_array().unwrap().len(), 1, "{details}");
        assert_eq!(details[0]["output"], 2, "{details}");
    })
    .await;
}
