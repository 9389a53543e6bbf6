//! Attacks: replays, strangers' addresses, emptied accounts, a lying token, gas that is burnt.

use gateway::x402::authorization::spelt;
use serde_json::json;
use support::node::anvil::{call_data, word};

use super::scene::{CENT, body, domain, with_scene};

#[tokio::test(flavor = "multi_thread")]
async fn one_merchant_cannot_settle_to_the_address_of_another() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let other = scene.stack.merchant().await.client;
        let refused = other.post("/v1/x402/settle", &request).await.json();
        assert_eq!(refused["success"], false);
        assert_eq!(refused["errorReason"], "invalid_exact_evm_payload_recipient_mismatch");
        // And cannot learn of it once it is settled.
        assert_eq!(scene.settle(&request).await["success"], true);
        let refused = other.post("/v1/x402/settle", &request).await.json();
        assert_eq!((&refused["success"], &refused["transaction"]), (&json!(false), &json!("")));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_nonce_pays_for_nothing_else() {
    with_scene(|scene| async move {
        let (first, second) = (scene.resource().await, scene.resource().await);
        let payer = scene.payer(7, 5 * CENT).await;
        let request = scene.request(&payer, &first["accepts"][0], 1).await;
        assert_eq!(scene.settle(&request).await["success"], true);
        let again = scene.request(&payer, &second["accepts"][0], 1).await;
        let refused = scene.settle(&again).await;
        assert_eq!(refused["errorReason"], "invalid_transaction_state", "{refused}");
        assert_eq!(scene.verify(&again).await["isValid"], false);
        assert_eq!(scene.tokens(&payer.address).await, 4 * CENT);
    })
    .await;
}

/// The terms of another resource, or a higher price, with the payment of the first one.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_for_one_resource_is_none_for_another() {
    with_scene(|scene| async move {
        let (first, second) = (scene.resource().await, scene.resource().await);
        let payer = scene.payer(7, 5 * CENT).await;
        let request = scene.request(&payer, &first["accepts"][0], 1).await;
        assert_eq!(scene.settle(&request).await["success"], true);
        let mut dearer = first["accepts"][0].clone();
        dearer["amount"] = json!("20000");
        for (terms, reason) in [
            (&second["accepts"][0], "recipient_mismatch"),
            (&dearer, "authorization_value_mismatch"),
        ] {
            let mut shown = request.clone();
            shown["paymentRequirements"] = terms.clone();
            // A payer may say anything about what he accepted.
            for accepted in [terms, &first["accepts"][0]] {
                shown["paymentPayload"]["accepted"] = accepted.clone();
                let refused = scene.settle(&shown).await;
                let told = refused["errorReason"].as_str().unwrap();
                let expected = if accepted == terms {
                    format!("invalid_exact_evm_payload_{reason}")
                } else {
                    "invalid_payment_requirements".to_owned()
                };
                assert_eq!(told, expected, "{refused}");
                assert_eq!(
                    (&refused["success"], &refused["transaction"]),
                    (&json!(false), &json!(""))
                );
            }
        }
        assert_eq!(scene.tokens(&payer.address).await, 4 * CENT);
        assert_eq!(scene.number("select count(*) from x402_settlement").await, 1);
    })
    .await;
}

/// Both are valid one at a time, and his balance covers one: the second would be reverted at our
/// expense.
#[tokio::test(flavor = "multi_thread")]
async fn two_payments_from_one_balance_cost_no_reverted_transaction() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let payer = scene.payer(7, CENT).await;
        let mut requests = Vec::new();
        for nonce in 1..=5 {
            requests.push(scene.request(&payer, accepts, nonce).await);
        }
        let mut successes = 0;
        for request in &requests {
            successes += u32::from(scene.settle(request).await["success"] == true);
        }
        assert_eq!(successes, 1);
        let sent =
            scene.number("select count(*) from x402_settlement where sender is not null").await;
        assert_eq!(sent, 1);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 1);
    })
    .await;
}

/// All of them are checked before any is stored, and a node finds nothing wrong with each alone.
#[tokio::test(flavor = "multi_thread")]
async fn payments_at_once_from_one_balance_cost_no_reverted_transaction() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let mut requests = Vec::new();
        for nonce in 1..=5 {
            requests.push(scene.request(&payer, &resource["accepts"][0], nonce).await);
        }
        let answers = scene.settle_all(&requests).await;
        let successes = answers.iter().filter(|answer| answer["success"] == true).count();
        assert_eq!(successes, 1, "{answers:?}");
        let open = "select count(*) from x402_settlement where state in ('verified', 'submitted')";
        scene.until("all have ended", open, 0).await;
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 1);
        let lost =
            "select count(*) from x402_settlement where state = 'failed' and fee is not null";
        assert_eq!(scene.number(lost).await, 0);
        assert_eq!(scene.tokens(resource["pay_to"].as_str().unwrap()).await, CENT);
    })
    .await;
}

/// The call succeeds and moves nothing. Only the token's own log of the payment is believed.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_lies_about_success_settles_nothing() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        scene.call_token(&call_data("lie(bool)", &[word("1")])).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let settled = scene.settle(&request).await;
        assert_eq!(settled["success"], false, "{settled}");
        let failed = "select count(*) from x402_settlement where state = 'failed'";
        scene.until("it has failed", failed, 1).await;
        assert_eq!(scene.booked().await, 0);
        let alerts = "select count(*) from operator_alert where kind = 'x402_unexplained'";
        assert_eq!(scene.number(alerts).await, 1);
    })
    .await;
}

/// A stolen password of the API writes a row; the wallet reads the call again before it signs.
#[tokio::test(flavor = "multi_thread")]
async fn the_wallet_signs_no_call_that_nobody_verified() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let mut authorization = scene.authorization(&payer, &resource["accepts"][0], 1).await;
        let request = body(&resource["accepts"][0], &authorization, &payer.sign(&domain(), &authorization));
        assert_eq!(scene.settle(&request).await["success"], true);
        // A row whose call pays somebody else than the address that it names.
        authorization.to = [9; 20];
        let call = gateway::x402::call::data(
            &authorization,
            &[1; 65],
            gateway::x402::check::Signer::Contract,
        );
        let mut connection = scene.stack.database.connect().await;
        sqlx::query(
            "insert into x402_settlement (id, merchant_id, address_id, network, asset, payer, nonce, amount, call, \
             call_sha256, valid_before) \
             select gen_random_uuid(), merchant_id, address_id, network, asset, payer, decode(repeat('07', 32), 'hex'), amount, \
             $1, call_sha256, valid_before from x402_settlement",
        )
        .bind(call)
        .execute(&mut connection)
        .await
        .unwrap();
        let failed = "select count(*) from x402_settlement where state = 'failed' and sender is null";
        scene.until("it is refused", failed, 1).await;
        assert_eq!(scene.tokens(&spelt(&[9; 20])).await, 0);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thrown_switch_and_a_limit_keep_everything_unsigned_until_they_end() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        scene
            .stack
            .sql("insert into payout_stop (network, reason) values ('x402', 'a test')")
            .await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let waits = scene.settle(&request).await;
        assert_eq!(waits["errorReason"], "unexpected_settle_error", "{waits}");
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 0);
        scene.stack.sql("delete from payout_stop where network = 'x402'").await;
        // The same request gets its outcome.
        assert_eq!(scene.settle(&request).await["success"], true);
    })
    .await;
}
