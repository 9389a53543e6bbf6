//! One payload, many requests at once, and several roles.

use gateway_workers::Role;

use super::scene::{CENT, with_scene};

#[tokio::test(flavor = "multi_thread")]
async fn fifty_settles_of_one_payload_are_one_transaction_and_fifty_equal_answers() {
    with_scene(|scene| async move {
        // Further copies of the role are on standby.
        scene.stack.start(&[Role::X402Settlement]);
        let resource = scene.resource().await;
        let payer = scene.payer(7, 60 * CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let answers = scene.settle_all(&vec![request.clone(); 50]).await;
        assert_eq!(answers[0]["success"], true, "{}", answers[0]);
        for answer in &answers {
            assert_eq!(answer, &answers[0]);
        }
        let ended = "select count(*) from x402_settlement where state = 'settled'";
        scene.until("it is final", ended, 1).await;
        let booked = "select count(*) from ledger_entry where kind = 'x402_payment'";
        scene.until("it is booked", booked, 1).await;
        assert_eq!(scene.tokens(&payer.address).await, 59 * CENT);
        assert_eq!(scene.booked().await, CENT);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 1);
        assert_eq!(scene.number("select count(*) from x402_settlement").await, 1);
    })
    .await;
}

/// Different payments at once: each its own nonce of the wallet, and all of them arrive.
#[tokio::test(flavor = "multi_thread")]
async fn many_payments_at_once_are_settled_in_the_order_of_their_nonces() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, 40 * CENT).await;
        let mut requests = Vec::new();
        for nonce in 1..=20 {
            requests.push(scene.request(&payer, &resource["accepts"][0], nonce).await);
        }
        let answers = scene.settle_all(&requests).await;
        assert!(answers.iter().all(|answer| answer["success"] == true), "{answers:?}");
        let booked = "select count(*) from ledger_entry where kind = 'x402_payment'";
        scene.until("all are booked", booked, 20).await;
        assert_eq!(scene.booked().await, 20 * CENT);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 20);
    })
    .await;
}
