//! Requests that cannot be met, each with its own error code.

use gateway::asset::Network;
use serde_json::{Value, json};

use super::{
    super::refused, AMOUNT, COIN, PATH, WITNESS, outputs, spelt, unconfirmed_coin, with_wallet,
};
use crate::payout::utxo::chain::{address, script};

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_of_a_request_has_its_code() {
    with_wallet(Network::Bitcoin, WITNESS, |scene| async move {
        let inputs = scene.coins(2).await;
        let post = async |fields: Value| {
            let mut body = scene.body(&inputs, 1..3);
            body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            scene.merchant.client.post(PATH, &body).await
        };
        let own = |number| address(Network::Bitcoin, &script(Network::Bitcoin, number));
        let input = |txid: &str, vout: u64| json!({ "txid": txid, "vout": vout });
        let item = |amount: u64| json!([{ "address": own(1), "amountRaw": amount.to_string() }]);
        let (unknown, short) = ("ab".repeat(32), "ab".repeat(31));
        for (fields, code) in [
            (json!({ "inputs": null }), "INVALID_REQUEST"),
            (json!({ "inputs": [] }), "INVALID_REQUEST"),
            (json!({ "inputs": [inputs[0], inputs[0]] }), "INVALID_REQUEST"),
            (json!({ "inputs": [input(&short, 0)] }), "INVALID_REQUEST"),
            (
                json!({ "inputs": (0..101).map(|n| input(&unknown, n)).collect::<Vec<_>>() }),
                "TOO_MANY_ITEMS",
            ),
            // Several keys, a script, and an address of another network.
            (json!({ "fromAddress": own(1) }), "INVALID_ADDRESS"),
            (json!({ "fromAddress": own(3) }), "INVALID_ADDRESS"),
            (
                json!({ "fromAddress": "0x52908400098527886E0F7030069857D2E4169EE7" }),
                "INVALID_ADDRESS",
            ),
            (json!({ "outputs": item(100) }), "AMOUNT_BELOW_DUST"),
            (json!({ "currency": "usdt" }), "UNSUPPORTED_CURRENCY"),
            (json!({ "network": "dogecoin", "currency": "doge" }), "UNSUPPORTED_NETWORK"),
        ] {
            refused(&post(fields).await, 400, code);
        }

        let elsewhere = scene.node.fresh_address().await.unwrap();
        let stranger = super::coins(&scene.node, &elsewhere, 1).await.remove(0);
        let waiting = unconfirmed_coin(&scene.node, &scene.own).await;
        for (one, reason) in [
            (input(&unknown, 0), "does not exist, or is spent"),
            (json!({ "txid": inputs[0]["txid"], "vout": 7 }), "does not exist, or is spent"),
            (stranger, "is not at fromAddress"),
            (waiting, "is unconfirmed; it can be spent once it is in a block"),
        ] {
            let answer = post(json!({ "inputs": [inputs[0], one] })).await;
            let details = refused(&answer, 422, "INPUT_UNAVAILABLE");
            assert_eq!(details[0]["reason"], reason);
            let named = format!("{}:{}", one["txid"].as_str().unwrap(), one["vout"]);
            assert_eq!(
                (details.as_array().unwrap().len(), &details[0]["input"]),
                (1, &json!(named))
            );
        }
        let details = refused(
            &post(json!({ "outputs": item(2 * COIN + 1) })).await,
            422,
            "INSUFFICIENT_FUNDS",
        );
        assert_eq!(
            (&details["hasRaw"], &details["needsRaw"]),
            (&json!("12000000"), &json!("12000001"))
        );
        let details =
            refused(&post(json!({ "outputs": item(2 * COIN) })).await, 422, "INSUFFICIENT_GAS");
        // Two witness inputs and one output to the hash of a script: 179 virtual bytes, at 10 each.
        assert_eq!(details["needsRaw"], json!((2 * COIN + 1_790).to_string()));
        let all = post(json!({ "outputs": item(2 * COIN - 1_790) })).await.json()["data"].clone();
        assert_eq!((&all["changeRaw"], &all["networkFeeRaw"]), (&json!("0"), &json!("1790")));
        let listed = scene.merchant.client.get(PATH).await.json();
        assert_eq!(listed["total"], 1);
    })
    .await;
}

/// A real address pays the same script on a test chain only in its test spelling; the change
/// returns to its source.
#[tokio::test(flavor = "multi_thread")]
async fn one_key_builds_one_payout_and_another_s_inputs_conflict() {
    with_wallet(Network::Litecoin, WITNESS, |scene| async move {
        let inputs = scene.coins(2).await;
        let keyed = scene.merchant.client.clone().with_header("idempotency-key", "k-1");
        let body = scene.body(&inputs[..1], 1..3);
        let first = keyed.post(PATH, &body).await;
        assert_eq!(first.status, 201, "{}", first.body);
        assert_eq!(keyed.post(PATH, &body).await.body, first.body);
        refused(
            &keyed.post(PATH, &scene.body(&inputs[1..], 1..3)).await,
            409,
            "IDEMPOTENCY_CONFLICT",
        );
        let payout = first.json()["data"].clone();
        assert_eq!(payout["fromAddress"], spelt(Network::Litecoin, &scene.node, &scene.own).await);
        let paid: u64 = outputs(Network::Litecoin, 1..3).len() as u64 * AMOUNT + 3;
        assert_eq!(payout["totalRaw"], paid.to_string());
    })
    .await;
}
