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

/// The first request ran out of time, so the success is the next one's to deliver for, and no
/// third's.
#[tokio::test(flavor = "multi_thread")]
async fn one_request_gets_the_success_and_only_its_own_repeats_get_it_too() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let settle = async |key: Option<&str>| {
            let client = scene.merchant.client.clone();
            let client = match key {
                Some(key) => client.with_header("idempotency-key", key),
                None => client,
            };
            let answer = client.post("/v1/x402/settle", &request).await;
            let is_replay = answer.header("x-gateway-idempotent-replay") == Some("true");
            (answer.json()["success"] == true, is_replay)
        };
        // No block comes.
        assert_eq!(settle(Some("one")).await, (false, false));
        assert_eq!(scene.while_mining(settle(Some("two"))).await, (true, false));
        for (key, is_replay) in
            [(Some("one"), true), (None, true), (Some("two"), false), (Some("one"), true)]
        {
            assert_eq!(settle(key).await, (true, is_replay), "{key:?}");
        }
        assert_eq!(scene.tokens(&payer.address).await, 0);
    })
    .await;
}

/// Without keys, and all at once.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_requests_at_once_one_is_no_replay() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let client = &scene.merchant.client;
        let asked = (0..20).map(|_| client.post("/v1/x402/settle", &request));
        let answers = scene.while_mining(futures_util::future::join_all(asked)).await;
        assert!(answers.iter().all(|answer| answer.json()["success"] == true));
        let replays =
            answers.iter().filter(|answer| answer.header("x-gateway-idempotent-replay").is_some());
        assert_eq!(replays.count(), 19);
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
