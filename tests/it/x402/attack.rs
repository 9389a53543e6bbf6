//! Attacks: replays, strangers' addresses, emptied accounts, a lying token, gas that is burnt.

use gateway::x402::{
    authorization::{Authorization, spelt},
    call,
    check::Signer,
};
use serde_json::json;

use super::scene::{CENT, Lie, Payer, Scene, USDC, body, domain, with_lying_scene, with_scene};

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

/// The call succeeds, uses the nonce and moves nothing. Only the token's own log of the payment is
/// believed; but a node may have left it out, so the payment has not failed either.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_lies_about_success_settles_nothing() {
    with_lying_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        scene.lie(Lie::MovesNothing).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let settled = scene.settle(&request).await;
        assert_eq!(settled["success"], false, "{settled}");
        let alerts = "select count(*) from operator_alert where kind = 'x402_unexplained'";
        scene.until("an alert is raised", alerts, 1).await;
        let open = "select count(*) from x402_settlement where state = 'submitted' and height is not null \
             and answered_hash is null";
        scene.until("it stays open", open, 1).await;
        assert_eq!(scene.booked().await, 0);
        // It keeps nobody else waiting.
        scene.lie(Lie::No).await;
        let another = scene.request(&payer, &resource["accepts"][0], 2).await;
        assert_eq!(scene.settle(&another).await["success"], true);
        assert_eq!(scene.number(open).await, 1);
    })
    .await;
}

/// A contract that answers zero to everything, so that not even the nonce is used.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_did_nothing_at_all_has_failed() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        scene.hand_in(&scene.merchant, &request).await;
        let is_sent = "select count(*) from x402_settlement where sent_at is not null";
        scene.until_without_a_block("it is sent", is_sent, 1).await;
        // PUSH1 32, PUSH1 0, RETURN.
        let code = json!([USDC, "0x60206000f3"]);
        scene.anvil.rpc("anvil_setCode", code).await.unwrap();
        let failed = "select count(*) from x402_settlement where state = 'failed' and reason = 'invalid_transaction_state'";
        scene.until("it has failed", failed, 1).await;
        let alerts = "select count(*) from operator_alert where kind = 'x402_unexplained'";
        assert_eq!(scene.number(alerts).await, 1);
    })
    .await;
}

/// A row as a thief writes it who has the password of the API: for a merchant who has settled
/// before, with the fields of `authorization` and that call, for the address of `pay_to`.
async fn written(scene: &Scene, authorization: &Authorization, call: &[u8], pay_to: &str) {
    let mut connection = scene.stack.database.connect().await;
    let done = sqlx::query(
        "insert into x402_settlement (id, merchant_id, address_id, network, asset, payer, nonce, amount, call, call_sha256, \
         valid_before) \
         select gen_random_uuid(), s.merchant_id, a.id, s.network, s.asset, $1, $2, $3::text::numeric, $4, s.call_sha256, \
         s.valid_before from (select * from x402_settlement order by created_at limit 1) s, deposit_address a \
         where a.match_key = $5",
    )
    .bind(spelt(&authorization.from))
    .bind(authorization.nonce.bytes().to_vec())
    .bind(authorization.value.to_u128().unwrap().to_string())
    .bind(call)
    .bind(pay_to.to_lowercase())
    .execute(&mut connection)
    .await
    .unwrap();
    assert_eq!(done.rows_affected(), 1);
}

/// The wallet reads everything again before it signs.
#[tokio::test(flavor = "multi_thread")]
async fn the_wallet_signs_nothing_that_nobody_verified() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let (accepts, pay_to) = (&resource["accepts"][0], resource["pay_to"].as_str().unwrap());
        let payer = scene.payer(7, 9 * CENT).await;
        let good = scene.authorization(&payer, accepts, 1).await;
        let request = body(accepts, &good, &payer.sign(&domain(), &good));
        assert_eq!(scene.settle(&request).await["success"], true);
        let call = |authorization: &Authorization, signer: &Payer| {
            let signature = signer.sign(&domain(), authorization);
            call::data(authorization, &hex::decode(&signature[2..]).unwrap(), Signer::Key)
        };
        let of_nonce = |nonce: u64| Authorization { nonce: nonce.into(), ..good };

        // The call pays somebody else than the address that the row names.
        let elsewhere = Authorization { to: [9; 20], ..of_nonce(2) };
        written(&scene, &elsewhere, &call(&elsewhere, &payer), pay_to).await;
        // Another key's signature, in a row that agrees with itself.
        let forged = of_nonce(3);
        written(&scene, &forged, &call(&forged, &Payer::new(8)), pay_to).await;
        // One call under two nonces, and one with more bytes than the token reads.
        let (twice, longer) = (of_nonce(4), of_nonce(5));
        written(&scene, &twice, &call(&of_nonce(40), &payer), pay_to).await;
        let padded = [call(&longer, &payer), vec![7; 64]].concat();
        written(&scene, &longer, &padded, pay_to).await;
        // Less than is settled: the gas costs more.
        let little = Authorization { value: 1_u64.into(), ..of_nonce(6) };
        written(&scene, &little, &call(&little, &payer), pay_to).await;
        // The payer signed, and the address is another merchant's.
        let other = scene.stack.merchant().await;
        let fields = json!({ "url": "https://api.example/b", "price_amount": "0.01", "networks": ["polygon"] });
        let foreign = other.client.post("/v1/x402/resources", &fields).await.json();
        let foreign = foreign["pay_to"].as_str().unwrap();
        let to = gateway::payout::transfer::address_bytes(foreign).unwrap();
        let to_another = Authorization { to, ..of_nonce(7) };
        written(&scene, &to_another, &call(&to_another, &payer), foreign).await;

        for (nonce, reason) in [
            (2, "invalid_payload"),
            (3, "invalid_exact_evm_payload_signature"),
            (4, "invalid_payload"),
            (5, "invalid_payload"),
            (6, "invalid_payment_requirements"),
            (7, "invalid_exact_evm_payload_recipient_mismatch"),
        ] {
            let refused = format!(
                "select count(*) from x402_settlement where nonce = decode('{nonce:064x}', 'hex') \
                 and state = 'failed' and sender is null and reason = '{reason}'"
            );
            scene.until(reason, &refused, 1).await;
        }
        assert_eq!(scene.tokens(&payer.address).await, 8 * CENT);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thrown_switch_keeps_everything_unsigned_until_it_ends() {
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
