//! Signed transactions are exactly the built ones, or nothing of them is kept.

use serde_json::{Value, json};
use support::{node::anvil::Anvil, server::broker::eventually};

use super::{CHAIN_ID, Scene, TENTH, recipients, refused, sign, sign_fields, with_node};

/// The first transaction with some fields changed.
fn changed(payout: &Value, fields: &Value) -> Value {
    let mut transaction = payout["unsigned"]["payload"][0]["transaction"].clone();
    transaction.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    transaction
}

async fn differs(scene: &Scene, payout: &Value, signed: &[String], field: &str) {
    let details = refused(&scene.submit(payout, signed).await, 422, "SIGNATURE_MISMATCH");
    let fields: Vec<_> =
        details.as_array().into_iter().flatten().map(|one| &one["field"]).collect();
    assert_eq!(fields, [field], "{details}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_field_another_chain_and_another_key_are_refused() {
    with_node(|scene| async move {
        let payout = scene.create(&scene.coins(&recipients(1..3))).await;
        let good = sign(&scene.anvil, &payout).await;
        let thief = recipients(66..67).remove(0);
        for (fields, field) in [
            (json!({ "value": "0x1" }), "value"),
            (json!({ "to": thief }), "to"),
            (json!({ "data": "0x00" }), "data"),
            (json!({ "gas": "0xfffff" }), "gas"),
            (json!({ "maxFeePerGas": "0xfffffffffff" }), "maxFeePerGas"),
        ] {
            let forged = sign_fields(&scene.anvil, &changed(&payout, &fields)).await;
            differs(&scene, &payout, &[forged, good[1].clone()], field).await;
        }
        // The same account on another chain.
        let other = Anvil::start(CHAIN_ID + 1).await.unwrap();
        let there = json!({ "chainId": format!("{:#x}", CHAIN_ID + 1) });
        let replayed = sign_fields(&other, &changed(&payout, &there)).await;
        differs(&scene, &payout, &[replayed, good[1].clone()], "chainId").await;

        let accounts = scene.anvil.rpc("eth_accounts", json!([])).await.unwrap();
        let stranger = json!({ "from": accounts[3] });
        let stranger = sign_fields(&scene.anvil, &changed(&payout, &stranger)).await;
        let one = good[..1].to_vec();
        let twice = vec![good[0].clone(), good[0].clone()];
        for signed in [vec![stranger, good[1].clone()], one, twice, vec![]] {
            refused(&scene.submit(&payout, &signed).await, 422, "SIGNATURE_MISMATCH");
        }
        let unsigned = payout["unsigned"]["payload"][0]["serialized"].as_str().unwrap().to_owned();
        let answer = scene.submit(&payout, &[unsigned, good[1].clone()]).await;
        refused(&answer, 422, "SIGNATURE_MISMATCH");
        for body in [json!({}), json!({ "signed": 1 }), json!({ "signed": ["zz", "0x"] })] {
            refused(&scene.post(&payout, "submit", &body).await, 400, "INVALID_REQUEST");
        }
        let read = scene.read(&payout).await;
        assert_eq!((&read["state"], &read["txHashes"]), (&json!("awaiting_signature"), &json!([])));
        assert_eq!(scene.submit(&payout, &good).await.status, 200);
        scene.becomes(&payout, "completed").await;
        assert_eq!(scene.balance(&thief).await, 0);
    })
    .await;
}

/// Transactions signed for an earlier build are refused for the later one.
#[tokio::test(flavor = "multi_thread")]
async fn a_rebuilt_payout_needs_new_signatures() {
    with_node(|scene| async move {
        let payout = scene.create(&scene.coins(&recipients(1..2))).await;
        let old = sign(&scene.anvil, &payout).await;
        let answer = scene.post(&payout, "refresh", &json!({ "feeLevel": "fast" })).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let fresh = answer.json()["data"].clone();
        assert_eq!((&fresh["id"], &fresh["feeLevel"]), (&payout["id"], &json!("fast")));
        assert_ne!(fresh["unsigned"], payout["unsigned"]);
        refused(&scene.submit(&payout, &old).await, 422, "SIGNATURE_MISMATCH");
        let signed = sign(&scene.anvil, &fresh).await;
        assert_eq!(scene.submit(&payout, &signed).await.status, 200);
        let late = scene.post(&payout, "refresh", &json!({})).await;
        let details = refused(&late, 409, "INVALID_STATE");
        assert_eq!(details["state"], "submitted");
        refused(&scene.post(&payout, "cancel", &json!({})).await, 409, "INVALID_STATE");
        refused(&scene.submit(&payout, &old).await, 409, "INVALID_STATE");
        scene.becomes(&payout, "completed").await;
        assert_eq!(scene.balance(&recipients(1..2)[0]).await, TENTH);
    })
    .await;
}

/// The merchant broadcasts the first signed transaction directly, and then has the payout built
/// again.
#[tokio::test(flavor = "multi_thread")]
async fn a_payout_broadcast_by_its_merchant_pays_once_however_often_it_is_rebuilt() {
    with_node(|scene| async move {
        let payout = scene.create(&scene.coins(&recipients(1..3))).await;
        let signed = sign(&scene.anvil, &payout).await;
        let nonces = |payout: &Value| {
            let outputs = payout["outputs"].as_array().unwrap();
            outputs.iter().map(|output| output["nonce"].clone()).collect::<Vec<_>>()
        };
        let fresh = scene.post(&payout, "refresh", &json!({ "feeLevel": "fast" })).await;
        assert_eq!(nonces(&fresh.json()["data"]), nonces(&payout), "only one of them confirms");
        let anew = sign(&scene.anvil, &fresh.json()["data"]).await;
        for raw in &signed {
            scene.anvil.rpc("eth_sendRawTransaction", json!([raw])).await.unwrap();
        }
        for _ in 0..2 {
            // While it is pending, and when it is in a block.
            let late = scene.post(&payout, "refresh", &json!({})).await;
            refused(&late, 409, "NONCE_USED");
            let said = late.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(said.contains("submit that") && said.contains("cancel the payout"), "{said}");
            refused(&scene.submit(&payout, &anew).await, 422, "BROADCAST_REJECTED");
            scene.anvil.mine().await.unwrap();
        }
        for address in recipients(1..3) {
            assert_eq!(scene.balance(&address).await, TENTH);
        }
    })
    .await;
}

/// The merchant uses the nonce for another transaction: before submitting, and while the payout is
/// pending.
#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_used_meanwhile_is_reported_and_nothing_is_paid() {
    with_node(|scene| async move {
        let payout = scene.create(&scene.coins(&recipients(1..2))).await;
        let signed = sign(&scene.anvil, &payout).await;
        let own = |nonce: &Value, price: &str| {
            json!([{
                "from": scene.from, "to": scene.from, "value": "0x0", "gas": "0x5208",
                "nonce": format!("{:#x}", nonce.as_u64().unwrap()), "maxFeePerGas": price,
                "maxPriorityFeePerGas": price,
            }])
        };
        let first = own(&payout["outputs"][0]["nonce"], "0x3b9aca00");
        scene.anvil.rpc("eth_sendTransaction", first).await.unwrap();
        refused(&scene.submit(&payout, &signed).await, 422, "BROADCAST_REJECTED");
        scene.anvil.mine().await.unwrap();
        refused(&scene.submit(&payout, &signed).await, 422, "BROADCAST_REJECTED");
        refused(&scene.post(&payout, "refresh", &json!({})).await, 409, "NONCE_USED");
        assert_eq!(scene.post(&payout, "cancel", &json!({})).await.status, 200);
        let fresh = scene.create(&scene.coins(&recipients(1..2))).await;
        let nonce = &fresh["outputs"][0]["nonce"];
        assert_eq!(nonce.as_u64(), payout["outputs"][0]["nonce"].as_u64().map(|n| n + 1));

        let signed = sign(&scene.anvil, &fresh).await;
        assert_eq!(scene.submit(&fresh, &signed).await.status, 200);
        scene.anvil.rpc("eth_sendTransaction", own(nonce, "0x174876e800")).await.unwrap();
        let ended = eventually("it has failed", async || {
            // A lagging node looks like this for a while, so nothing is decided soon after the
            // broadcast.
            let age = "update nc_payout_transaction set sent_at = now() - interval '1 hour'";
            scene.stack.sql(age).await;
            scene.anvil.mine().await.unwrap();
            Some(scene.read(&fresh).await).filter(|read| read["state"] == "failed")
        })
        .await;
        let error = ended["outputs"][0]["error"].as_str().unwrap();
        assert_eq!(error, format!("nonce {nonce} of fromAddress was used by another transaction"));
        assert_eq!(scene.balance(&recipients(1..2)[0]).await, 0);
    })
    .await;
}

/// Two payouts of one sender are built on the same nonce; only one of them can be submitted.
#[tokio::test(flavor = "multi_thread")]
async fn two_payouts_never_reserve_the_same_nonce() {
    with_node(|scene| async move {
        let first = scene.create(&scene.coins(&recipients(1..2))).await;
        let second = scene.create(&scene.coins(&recipients(2..3))).await;
        assert_eq!(first["outputs"][0]["nonce"], second["outputs"][0]["nonce"]);
        let (one, other) = (sign(&scene.anvil, &first).await, sign(&scene.anvil, &second).await);
        let answers =
            futures_util::future::join(scene.submit(&first, &one), scene.submit(&second, &other));
        let (one, other) = answers.await;
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 422], "{} {}", one.body, other.body);
        let (kept, lost) = if one.status == 200 { (&first, &second) } else { (&second, &first) };
        refused(&scene.post(lost, "refresh", &json!({})).await, 409, "NONCE_USED");
        assert_eq!(scene.post(lost, "cancel", &json!({})).await.status, 200);
        let address = lost["outputs"][0]["address"].as_str().unwrap().to_owned();
        let anew = scene.create(&scene.coins(&[address])).await;
        let again = sign(&scene.anvil, &anew).await;
        assert_eq!(scene.submit(&anew, &again).await.status, 200);
        scene.becomes(kept, "completed").await;
        scene.becomes(&anew, "completed").await;
        for address in recipients(1..3) {
            assert_eq!(scene.balance(&address).await, TENTH);
        }
    })
    .await;
}
