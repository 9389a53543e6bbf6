//! What verifying knows beside the payment: the settlements that there are, and who the payer is on
//! the chain.

use serde_json::{Value, json};
use support::node::anvil::{address_word, call_data};

use super::scene::{CENT, Scene, with_scene};

/// A wallet that takes every signature for its own, and one that takes none.
const SAYS_YES: &str = "0x631626ba7e60e01b60005260206000f3";
const SAYS_NO: &str = "0x60206000f3";
/// The reason for which verifying and settling refuse a request, without a row for it.
pub(super) async fn refused_by_both(scene: &Scene, request: &Value) -> String {
    let before = scene.number("select count(*) from x402_settlement").await;
    let verdict = scene.verify(request).await;
    assert_eq!(verdict["isValid"], false, "{verdict}");
    let settled = scene.settle(request).await;
    assert_eq!(settled["success"], false, "{settled}");
    assert_eq!(settled["errorReason"], verdict["invalidReason"], "{settled}");
    assert_eq!(scene.number("select count(*) from x402_settlement").await, before);
    verdict["invalidReason"].as_str().unwrap().to_owned()
}

/// The chain knows of none of them yet: only the rows say that the nonce is spoken for.
#[tokio::test(flavor = "multi_thread")]
async fn an_authorization_with_a_settlement_is_valid_only_while_it_is_on_its_way_for_the_same() {
    with_scene(|scene| async move {
        let (resource, other) = (scene.resource().await, scene.resource().await);
        let payer = scene.payer(7, 9 * CENT).await;
        scene
            .stack
            .sql("insert into payout_stop (network, reason) values ('x402', 'a test')")
            .await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        assert_eq!(scene.settle(&request).await["errorReason"], "unexpected_settle_error");
        let valid = json!({ "isValid": true, "payer": payer.address });
        assert_eq!(scene.verify(&request).await, valid);
        // The same nonce, signed for something else.
        let elsewhere = scene.request(&payer, &other["accepts"][0], 1).await;
        let verdict = scene.verify(&elsewhere).await;
        assert_eq!(verdict["invalidReason"], "invalid_transaction_state", "{verdict}");
        scene
            .stack
            .sql(
                "update x402_settlement set state = 'failed', reason = 'unexpected_settle_error', message = 'a test', \
                 ended_at = now()",
            )
            .await;
        let verdict = scene.verify(&request).await;
        assert_eq!(verdict["invalidReason"], "invalid_transaction_state", "{verdict}");
        assert_eq!(scene.tokens(&payer.address).await, 9 * CENT);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_settled_verifies_no_more() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, 2 * CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        assert_eq!(scene.verify(&request).await["isValid"], true);
        assert_eq!(scene.settle(&request).await["success"], true);
        let verdict = scene.verify(&request).await;
        assert_eq!(verdict["invalidReason"], "invalid_transaction_state", "{verdict}");
        // Settling says what came of it, as before.
        assert_eq!(scene.settle(&request).await["success"], true);
    })
    .await;
}

/// A key whose account has code (EIP-7702): the token asks the code, whatever the key signed.
#[tokio::test(flavor = "multi_thread")]
async fn a_payer_whose_address_has_code_pays_by_the_word_of_that_code() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, 2 * CENT).await;
        let code = async |code: &str| {
            scene.anvil.rpc("anvil_setCode", json!([payer.address, code])).await.unwrap();
        };
        code(SAYS_NO).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let reason = refused_by_both(&scene, &request).await;
        assert_eq!(reason, "invalid_exact_evm_payload_signature");
        code(SAYS_YES).await;
        let request = scene.request(&payer, &resource["accepts"][0], 2).await;
        assert_eq!(scene.verify(&request).await["isValid"], true);
        let settled = scene.settle(&request).await;
        assert_eq!(settled["success"], true, "{settled}");
        assert_eq!(scene.tokens(&payer.address).await, CENT);
    })
    .await;
}

/// Everything about the payment is right, and the token refuses it: it is paused, or the payer is
/// on its list.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_token_refuses_is_told_before_a_settlement_is_stored() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let refused = async |why: &str| {
            let settled = scene.settle(&request).await;
            assert_eq!(settled["errorReason"], "invalid_transaction_state", "{settled}");
            assert!(settled["errorMessage"].as_str().unwrap().contains(why), "{settled}");
        };
        scene.call_token(&call_data("pause()", &[])).await;
        refused("Pausable: paused").await;
        scene.call_token(&call_data("unpause()", &[])).await;
        let listed = [address_word(&payer.address)];
        scene.call_token(&call_data("blacklist(address)", &listed)).await;
        refused("Blacklistable: account is blacklisted").await;
        assert_eq!(scene.number("select count(*) from x402_settlement").await, 0);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 0);
    })
    .await;
}
