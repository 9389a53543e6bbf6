//! Requests that cannot be met, each with its own error code.

use serde_json::{Value, json};
use support::{client::Client, server::stack::with_configured_stack, shop::payouts::evm_address};

use super::{PATH, REVERTS, USDT, recipients, refused, settings, sign, with_node};

const LTC: &str = "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9";

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_of_a_request_has_its_code() {
    with_node(|scene| async move {
        let post = async |fields: Value| {
            let mut body = scene.coins(&recipients(1..3));
            body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            scene.merchant.client.post(PATH, &body).await
        };
        let one = evm_address(1);
        let item = |address: &str, amount: &str| json!({ "outputs": [{ "address": address, "amount": amount }] });
        for (fields, code) in [
            (json!({ "network": "tron" }), "UNSUPPORTED_NETWORK"),
            (json!({ "network": "litecoin" }), "UNSUPPORTED_NETWORK"),
            // Switched off in this stack.
            (json!({ "network": "bsc" }), "UNSUPPORTED_NETWORK"),
            (json!({ "currency": "doge" }), "UNSUPPORTED_CURRENCY"),
            (json!({ "network": null }), "INVALID_REQUEST"),
            (json!({ "feeLevel": "warp" }), "INVALID_REQUEST"),
            (json!({ "outputs": [] }), "INVALID_REQUEST"),
            (json!({ "outputs": [{ "address": one }] }), "INVALID_REQUEST"),
            (json!({ "fromAddress": LTC }), "INVALID_ADDRESS"),
            (item(LTC, "1"), "INVALID_ADDRESS"),
            // What is sent there is lost.
            (item("0x0000000000000000000000000000000000000000", "1"), "INVALID_ADDRESS"),
            (item("0x000000000000000000000000000000000000dEaD", "1"), "INVALID_ADDRESS"),
            (item(USDT, "1"), "INVALID_ADDRESS"),
            (item(&one, "0"), "INVALID_AMOUNT"),
            (item(&one, "-1"), "INVALID_AMOUNT"),
            (item(&one, "1e3"), "INVALID_AMOUNT"),
            (item(&one, "0.0000000000000000001"), "INVALID_AMOUNT"),
            (json!({ "outputs": vec![json!({ "address": one, "amount": "1" }); 101] }), "TOO_MANY_ITEMS"),
            (
                json!({ "outputs": [
                    { "address": one, "amount": "1", "reference": "a" },
                    { "address": one, "amount": "2", "reference": "a" },
                ] }),
                "DUPLICATE_REFERENCE",
            ),
        ] {
            let answer = post(fields.clone()).await;
            refused(&answer, 400, code);
        }
        let hostile = evm_address(40);
        scene.anvil.rpc("anvil_setCode", json!([hostile, REVERTS])).await.unwrap();
        let details = refused(&post(item(&hostile, "1")).await, 400, "INVALID_ADDRESS");
        assert_eq!(details[0]["output"], 1);
        assert!(details[0]["value"].as_str().unwrap().eq_ignore_ascii_case(&hostile), "{details}");

        let poor = evm_address(50);
        refused(&post(json!({ "fromAddress": poor })).await, 422, "INSUFFICIENT_FUNDS");
        let all = scene.balance(&scene.from).await;
        let everything = json!({ "outputs": [{ "address": one, "amountRaw": all.to_string() }] });
        let details = refused(&post(everything).await, 422, "INSUFFICIENT_GAS");
        assert_eq!(details["hasRaw"], all.to_string());
        // A node that tells absurd fees has nobody sign them.
        let absurd = json!([format!("{:#x}", 501_000_000_000_u64)]);
        scene.anvil.rpc("anvil_setNextBlockBaseFeePerGas", absurd).await.unwrap();
        scene.anvil.mine().await.unwrap();
        refused(&post(json!({})).await, 503, "NETWORK_FEE_TOO_HIGH");
        let nobody = Client::new(scene.stack.api);
        refused(&nobody.get(PATH).await, 401, "API_KEY_MISSING");
        refused(&scene.merchant.client.get(&format!("{PATH}?state=x")).await, 400, "INVALID_REQUEST");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_builds_one_payout_for_ever_and_another_merchant_s_payout_is_404() {
    with_node(|scene| async move {
        let keyed = scene.merchant.client.clone().with_header("idempotency-key", "k-1");
        let body = scene.coins(&recipients(1..3));
        let twins = (0..8).map(|_| keyed.post(PATH, &body));
        let answers = futures_util::future::join_all(twins).await;
        assert!(
            answers.iter().all(|answer| answer.status == 201 && answer.body == answers[0].body)
        );
        let replays = answers.iter().filter(|a| a.header("x-gateway-idempotent-replay").is_some());
        assert_eq!(replays.count(), 7);
        let other = scene.coins(&recipients(1..4));
        refused(&keyed.post(PATH, &other).await, 409, "IDEMPOTENCY_CONFLICT");
        let listed = scene.merchant.client.get(PATH).await.json();
        assert_eq!((&listed["total"], &listed["pagesCount"]), (&json!(1), &json!(1)));

        let payout = answers[0].json()["data"].clone();
        let id = payout["id"].as_str().unwrap();
        let stranger = scene.stack.merchant().await;
        let ask = async |id: &str| {
            let (client, at) = (&stranger.client, format!("{PATH}/{id}"));
            let signed = json!({ "signed": sign(&scene.anvil, &payout).await });
            let mut answers = vec![client.get(&at).await];
            for operation in ["refresh", "cancel", "submit"] {
                answers.push(client.post(&format!("{at}/{operation}"), &signed).await);
            }
            answers.into_iter().map(|answer| (answer.status, answer.body)).collect::<Vec<_>>()
        };
        let missing = ask("ncp_00000000000000000000000000").await;
        assert!(
            missing
                .iter()
                .all(|(status, body)| *status == 404 && body.contains("PAYOUT_NOT_FOUND"))
        );
        assert_eq!(ask(id).await, missing);
        assert_eq!(stranger.client.get(PATH).await.json()["total"], 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_or_expired_non_custodial_payout_is_not_sent() {
    with_node(|scene| async move {
        let given_up = scene.create(&scene.coins(&recipients(1..2))).await;
        let signed = sign(&scene.anvil, &given_up).await;
        for _ in 0..2 {
            let answer = scene.post(&given_up, "cancel", &json!({})).await;
            assert_eq!(answer.json()["data"]["state"], "cancelled", "{}", answer.body);
        }
        refused(&scene.submit(&given_up, &signed).await, 409, "INVALID_STATE");

        let late = scene.create(&scene.coins(&recipients(1..2))).await;
        let signed = sign(&scene.anvil, &late).await;
        scene
            .stack
            .sql("update nc_payout set expires_at = now(), look_at = now() where state = 'awaiting_signature'")
            .await;
        refused(&scene.submit(&late, &signed).await, 409, "PAYOUT_EXPIRED");
        scene.becomes(&late, "expired").await;
        refused(&scene.submit(&late, &signed).await, 409, "PAYOUT_EXPIRED");
        refused(&scene.post(&late, "refresh", &json!({})).await, 409, "PAYOUT_EXPIRED");
        scene.anvil.mine().await.unwrap();
        assert_eq!(scene.balance(&evm_address(1)).await, 0);
    })
    .await;
}

/// The response reveals nothing of the node's address.
#[tokio::test(flavor = "multi_thread")]
async fn without_its_node_a_network_says_so() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://user:secret@{}", silent.local_addr().unwrap());
    drop(silent);
    with_configured_stack(&settings(&url), |stack| async move {
        let merchant = stack.merchant().await;
        let body = json!({
            "network": "polygon", "currency": "pol", "fromAddress": evm_address(1),
            "outputs": [{ "address": evm_address(2), "amount": "1" }],
        });
        let answer = merchant.client.post(PATH, &body).await;
        refused(&answer, 503, "NODE_UNAVAILABLE");
        assert!(!answer.body.contains("secret") && !answer.body.contains("127.0.0.1"));
    })
    .await;
}
