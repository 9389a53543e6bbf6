//! From a signature to the merchant's books.

use gateway::x402::{Word, settlement::State};
use serde_json::json;

use super::scene::{CENT, CONFIRMATIONS, Payer, body, domain, with_scene};

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_payment_is_settled_in_one_block_and_booked_once() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let payer = scene.payer(7, 3 * CENT).await;
        let request = scene.request(&payer, accepts, 1).await;
        assert_eq!(
            scene.verify(&request).await,
            json!({ "isValid": true, "payer": payer.address })
        );
        let gas_before = scene.anvil.coins(&scene.gas).await.unwrap();
        let settled = scene.settle(&request).await;
        assert_eq!(settled["success"], true, "{settled}");
        assert_eq!(settled["payer"], payer.address);
        assert_eq!(
            (&settled["network"], &settled["amount"]),
            (&json!("eip155:137"), &json!("10000"))
        );
        let receipt = scene.anvil.receipt(settled["transaction"].as_str().unwrap()).await.unwrap();
        assert_eq!(receipt["status"], "0x1");
        assert_eq!(scene.tokens(&payer.address).await, 2 * CENT);
        assert_eq!(scene.tokens(resource["pay_to"].as_str().unwrap()).await, CENT);

        let ended =
            format!("select count(*) from x402_settlement where state = '{}'", State::Settled);
        scene.until("the settlement is final", &ended, 1).await;
        scene
            .until(
                "the payment is booked",
                "select count(*) from ledger_entry where kind = 'x402_payment'",
                1,
            )
            .await;
        assert_eq!(scene.booked().await, CENT);
        // Gas: what left the wallet is what the books say.
        let fee = scene
            .number(
                "select coalesce(sum(amount), 0) from ledger_entry where credit = 'x402_gas:polygon'",
            )
            .await;
        assert_eq!(gas_before - scene.anvil.coins(&scene.gas).await.unwrap(), fee);
        assert!(fee > 0);

        // The same request again, before and after the end: the first answer, and nothing moves.
        assert_eq!(scene.settle(&request).await, settled);
        for _ in 0..CONFIRMATIONS + 2 {
            scene.anvil.mine().await.unwrap();
        }
        assert_eq!(scene.tokens(&payer.address).await, 2 * CENT);
        assert_eq!(scene.booked().await, CENT);
        let events = scene.merchant.client.get("/v1/events?type=x402.paid").await.json();
        let event = &events["data"][0];
        assert_eq!(events["data"].as_array().unwrap().len(), 1);
        assert_eq!(event["resource_id"], resource["resource_id"]);
        assert_eq!(event["payload"]["amount"], "0.01");
        assert_eq!(event["payload"]["tx_hash"], settled["transaction"]);
    })
    .await;
}

/// A transfer to the address of a resource without a settlement is a payment for it too.
#[tokio::test(flavor = "multi_thread")]
async fn a_plain_transfer_to_a_resource_is_booked_for_its_merchant() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        scene.give(resource["pay_to"].as_str().unwrap(), CENT).await;
        let booked = "select count(*) from ledger_entry where kind = 'x402_payment'";
        scene.until("the transfer is booked", booked, 1).await;
        assert_eq!(scene.booked().await, CENT);
        assert_eq!(scene.number("select count(*) from x402_settlement").await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_bad_payment_is_refused_with_the_protocol_s_reason_and_costs_nothing() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let payer = scene.payer(7, CENT).await;
        let good = scene.authorization(&payer, accepts, 1).await;
        let stranger = Payer::new(8);
        let reason = async |authorization, signer: &Payer| {
            let request = body(accepts, &authorization, &signer.sign(&domain(), &authorization));
            let verdict = scene.verify(&request).await;
            assert_eq!(verdict["isValid"], false, "{verdict}");
            let settled = scene.settle(&request).await;
            assert_eq!(settled["success"], false);
            assert_eq!(settled["errorReason"], verdict["invalidReason"]);
            assert_eq!(settled["transaction"], "");
            verdict["invalidReason"].as_str().unwrap().to_owned()
        };
        let prefix = "invalid_exact_evm_payload";
        let now = scene.now().await;
        let changed = |change: fn(&mut gateway::x402::authorization::Authorization, u64)| {
            let mut authorization = good;
            change(&mut authorization, now);
            authorization
        };
        let signed_by_another = reason(good, &stranger).await;
        assert_eq!(signed_by_another, format!("{prefix}_signature"));
        // Less than two blocks of Polygon and six seconds.
        let expired = changed(|one, now| one.valid_before = (now + 8).into());
        assert_eq!(reason(expired, &payer).await, format!("{prefix}_authorization_valid_before"));
        let early = changed(|one, now| one.valid_after = (now + 60).into());
        assert_eq!(reason(early, &payer).await, format!("{prefix}_authorization_valid_after"));
        let less = changed(|one, _| one.value = Word::from(9_999_u64));
        assert_eq!(reason(less, &payer).await, format!("{prefix}_authorization_value_mismatch"));
        let elsewhere = changed(|one, _| one.to = [9; 20]);
        assert_eq!(reason(elsewhere, &payer).await, format!("{prefix}_recipient_mismatch"));
        let poor = Payer::new(9);
        let without = scene.authorization(&poor, accepts, 1).await;
        assert_eq!(reason(without, &poor).await, "insufficient_funds");
        assert_eq!(scene.number("select count(*) from x402_settlement").await, 0);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_no_request_is_400_and_a_request_without_a_key_401() {
    with_scene(|scene| async move {
        for path in ["/v1/x402/verify", "/v1/x402/settle"] {
            let client = &scene.merchant.client;
            client.post(path, &json!({})).await.expect_error(400, "X402_INVALID_PAYLOAD");
            scene.stack.anybody().post(path, &json!({})).await.expect_error(401, "API_KEY_MISSING");
        }
    })
    .await;
}
