//! Requests and refusals (spec, "Other surfaces" 2).

use gateway::{asset::Network, config::Profile, payout::Funding};
use http::Method;
use serde_json::{Value, json};
use support::{
    client::{Answer, Client},
    server::{
        broker::eventually,
        stack::{only, with_configured_stack},
    },
    shop::payouts::{Payer, evm_address},
};

use super::{EVM, LTC, UTXO, two_rows};

fn refused(answer: &Answer, status: u16, kind: &str) -> Value {
    let json = answer.json();
    assert_eq!((answer.status, &json["ok"]), (status, &json!(false)), "{}", answer.body);
    assert_eq!(json["error"]["kind"], kind, "{}", answer.body);
    assert!(json["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
    json["error"]["details"].clone()
}

fn says(answer: &Answer, words: &str) {
    let json = answer.json();
    let message = json["error"]["message"].as_str().unwrap();
    assert!(message.contains(words), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recipients_file_is_read_in_every_format_and_its_faults_are_reported_by_row_and_column() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payer = Payer::open(&stack).await;
        let client = payer.merchant.client.clone().with_header("content-type", "text/csv");
        let good = format!("Wallet;Sum;External_ID\n{};1.5;x-1\n", evm_address(1));
        let path = format!("{EVM}?network=polygon&currency=usdtmatic&label=wages");
        let created = client.send(Method::POST, &path, &good).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let order = &created.json()["data"];
        assert_eq!((&order["itemCount"], &order["label"]), (&json!(1), &json!("wages")));
        assert_eq!(order["payoutTotalRaw"], "1500000");

        let bad = format!(
            "address,amount,reference\n{0},1,=cmd\nnonsense,1,b\n{0},1e3,c\n{0},1.0000001,d\n{0},2,e\n{0},2,e\n",
            evm_address(1)
        );
        let details = refused(&client.send(Method::POST, &path, &bad).await, 400, "invalid_csv");
        let told: Vec<_> = details
            .as_array()
            .unwrap()
            .iter()
            .map(|fault| format!("{} {}", fault["row"], fault["column"].as_str().unwrap()))
            .collect();
        assert_eq!(told, ["2 reference", "3 address", "4 amount", "5 amount", "7 reference"]);
        assert_eq!(details[0]["value"], "=cmd");

        let empty = client.send(Method::POST, &path, "address,amount\n").await;
        refused(&empty, 400, "empty_batch");
        let large = "x".repeat(1024 * 1024 + 1);
        refused(&client.send(Method::POST, &path, &large).await, 413, "csv_too_large");
        let mut long = "address,amount\n".to_owned();
        for n in 0..2_001 {
            long.push_str(&format!("{},1\n", evm_address(n)));
        }
        refused(&client.send(Method::POST, &path, &long).await, 400, "too_many_rows");

        let form = payer
            .merchant
            .client
            .clone()
            .with_header("content-type", "multipart/form-data; boundary=cut");
        let part = |name: &str, text: &str| {
            format!("--cut\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
        };
        let body = part("network", "polygon")
            + &part("currency", "usdtmatic")
            + "--cut\r\ncontent-disposition: form-data; name=\"file\"; filename=\"p.csv\"\r\ncontent-type: text/csv\r\n\r\n"
            + &good
            + "\r\n--cut--\r\n";
        let created = form.send(Method::POST, EVM, &body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let template = payer.merchant.client.get(&format!("{EVM}/template.csv")).await;
        assert_eq!(template.body, "address,amount,reference,memo\r\n");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_has_its_kind() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payer = Payer::open(&stack).await;
        let client = &payer.merchant.client;
        let post = async |fields: Value| {
            let mut body = two_rows();
            body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            client.post(EVM, &body).await
        };
        let item = |address: &str, amount: &str| json!({ "items": [{ "address": address, "amount": amount }] });
        let one = evm_address(1);
        for (fields, kind) in [
            (json!({ "network": "tron" }), "unsupported_network"),
            (json!({ "network": "litecoin" }), "unsupported_network"),
            // Switched off in this stack.
            (json!({ "network": "bsc" }), "unsupported_network"),
            (json!({ "currency": "doge" }), "unsupported_currency"),
            (json!({ "network": null }), "invalid_request"),
            (json!({ "feeMode": "nobody" }), "invalid_request"),
            (json!({ "metadata": [1] }), "invalid_request"),
            (json!({ "callbackUrl": "ftp://x" }), "invalid_request"),
            (json!({ "refundAddress": LTC }), "invalid_address"),
            (json!({ "items": [] }), "empty_batch"),
            (json!({ "items": null }), "invalid_request"),
            (json!({ "items": [{ "address": 1 }] }), "invalid_request"),
            (item(LTC, "1"), "invalid_address"),
            (item(&one, "0"), "invalid_amount"),
            (item(&one, "-1"), "invalid_amount"),
            (item(&one, "0.0000001"), "invalid_amount"),
            (item(&one, "1e400"), "invalid_amount"),
        ] {
            refused(&post(fields.clone()).await, 400, kind);
        }
        let fee_mode = json!({ "feeMode": "recipient", "items": [{ "address": one, "amount": "0.000002" }] });
        refused(&post(fee_mode).await, 400, "amount_below_dust");
        refused(&client.get(&format!("{EVM}/empo_nothing")).await, 404, "order_not_found");
        let stranger = stack.merchant().await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        refused(&stranger.client.get(&format!("{EVM}/{id}")).await, 404, "order_not_found");
        refused(&client.get(&format!("{UTXO}/{id}")).await, 404, "order_not_found");
        let changed = json!({ "acceptTotalRaw": "1" });
        let details = refused(&client.post(&format!("{EVM}/{id}/confirm"), &changed).await, 409, "quote_changed");
        assert!(details["totalToSendRaw"].is_string());
        let nobody = Client::new(stack.api);
        refused(&nobody.get(EVM).await, 401, "api_key_missing");
        let own = payer.confirm(EVM, &id).await["depositAddress"].as_str().unwrap().to_owned();
        let details = refused(&post(item(&own, "1")).await, 400, "invalid_address");
        assert!(details[0]["reason"].as_str().unwrap().contains("gateway"), "{details}");
    })
    .await;
}

/// Faulty requests of a merchant for an existing order, and those that come too late.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_past_that_state_refuses_with_the_code_of_the_reason() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        use gateway_workers::Role;
        stack.start(&[Role::ChainWatcher, Role::DepositMatching]);
        let payer = Payer::open(&stack).await;
        let client = &payer.merchant.client;
        let ask = async |id: &str, what: &str| {
            client.post(&format!("{EVM}/{id}/{what}"), &json!({})).await
        };
        let draft = async || payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();

        let id = draft().await;
        stack.sql("update payout_order set expires_at = now() - interval '1 second'").await;
        let late = ask(&id, "confirm").await;
        refused(&late, 409, "quote_expired");
        says(&late, "refresh it");
        assert_eq!(ask(&id, "refresh-quote").await.status, 200);
        let order = payer.confirm(EVM, &id).await;

        payer.fund(&order, 1_000_000).await;
        eventually("it is seen", async || {
            (payer.story(&id).await.order.funding != Funding::None).then_some(())
        })
        .await;
        let seen = ask(&id, "refresh-quote").await;
        refused(&seen, 409, "deposit_already_detected");
        says(&seen, "a deposit was detected already");

        let id = draft().await;
        assert_eq!(ask(&id, "cancel").await.status, 200);
        for what in ["confirm", "refresh-quote"] {
            let ended = ask(&id, what).await;
            assert_eq!(refused(&ended, 409, "invalid_state"), json!({ "state": "cancelled" }));
            says(&ended, "the order is cancelled");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_of_another_network_is_distinguished_from_an_invalid_one() {
    with_configured_stack(&only(Network::Bitcoin), |stack| async move {
        let payer = Payer::open(&stack).await;
        let testnet = "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx";
        let body = json!({
            "network": "bitcoin", "currency": "btc", "items": [{ "address": testnet, "amount": "1" }],
        });
        let answer = payer.merchant.client.post(UTXO, &body).await;
        let details = refused(&answer, 400, "wrong_network_address");
        assert_eq!((&details[0]["row"], &details[0]["column"]), (&json!(1), &json!("address")));
        says(&answer, "row 1: address");
        let mut refund = body.clone();
        refund["items"][0]["address"] = json!("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4");
        refund["refundAddress"] = json!(testnet);
        let answer = payer.merchant.client.post(UTXO, &refund).await;
        refused(&answer, 400, "wrong_network_address");
        says(&answer, "refundAddress");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_none_creates_nothing() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payer = Payer::open(&stack).await;
        let client = &payer.merchant.client;
        let long = "k".repeat(256);
        for keys in [&[""][..], &[&long], &["k-1", "k-2"]] {
            let with = |client: Client, key: &&str| client.with_header("idempotency-key", key);
            let answer = keys.iter().fold(client.clone(), with).post(EVM, &two_rows()).await;
            refused(&answer, 400, "invalid_idempotency_key");
            says(&answer, "sent once, with 1 to 255 characters");
        }
        assert_eq!(client.get(EVM).await.json()["total"], 0);
    })
    .await;
}

/// The watcher of a real network records its fees; until it has, no quote is possible.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_quoted_while_the_node_gives_no_fee() {
    let node =
        "chains.polygon.source = \"node\"\nchains.polygon.rpc_url = \"http://127.0.0.1:9\"\n";
    with_configured_stack(&(only(Network::Polygon) + node), |stack| async move {
        let payer = Payer::open(&stack).await;
        let answer = payer.merchant.client.post(EVM, &two_rows()).await;
        refused(&answer, 503, "node_unavailable");
        says(&answer, "fees are not known at the moment");
        stack
            .sql("insert into network_fee (network, fee_rate) values ('polygon', 6000000000)")
            .await;
        payer.draft(EVM, two_rows()).await;
        stack.sql("update network_fee set observed_at = now() - interval '11 minutes'").await;
        let answer = payer.merchant.client.post(EVM, &two_rows()).await;
        refused(&answer, 503, "node_unavailable");
        assert_eq!(payer.merchant.client.get(EVM).await.json()["total"], 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_pays_once_and_never_for_another_order() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payer = Payer::open(&stack).await;
        let client = payer.merchant.client.clone().with_header("idempotency-key", "k-1");
        let body = two_rows();
        let twins = (0..8).map(|_| client.post(EVM, &body));
        let answers = futures_util::future::join_all(twins).await;
        assert!(answers.iter().all(|answer| answer.status == 201));
        assert!(answers.iter().all(|answer| answer.body == answers[0].body));
        let fresh =
            answers.iter().filter(|answer| answer.header("x-gateway-idempotent-replay").is_none());
        assert_eq!(fresh.count(), 1);
        let mut other = two_rows();
        other["items"][0]["amount"] = json!("10.000001");
        refused(&client.post(EVM, &other).await, 409, "idempotency_conflict");
        let listed = payer.merchant.client.get(EVM).await.json();
        assert_eq!((&listed["total"], &listed["pagesCount"]), (&json!(1), &json!(1)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn production_offers_no_payouts_until_an_operator_switches_them_on() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payer = Payer::open(&stack).await;
        let key = payer.merchant.new.api_key.reveal();
        assert_eq!(stack.gateway.config.payouts.enabled, None, "it is the default that is tested");
        let order_in = async |profile, enabled| {
            let replica = stack.replica_of(|config| {
                config.profile = profile;
                config.payouts.enabled = enabled;
            });
            Client::new(replica.await).with_key(key).post(EVM, &two_rows()).await
        };
        let sandbox = order_in(Profile::Sandbox, None).await;
        assert_eq!(sandbox.status, 201, "{}", sandbox.body);
        for enabled in [None, Some(false)] {
            let answer = order_in(Profile::Production, enabled).await;
            refused(&answer, 403, "payouts_disabled");
        }
        // There it is refused for another reason: no network is followed unless it is named.
        let answer = order_in(Profile::Production, Some(true)).await;
        assert_ne!(answer.json()["error"]["kind"], "payouts_disabled", "{}", answer.body);
    })
    .await;
}
