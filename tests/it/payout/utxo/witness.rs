//! A node that reports a height too high, beside an honest one.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use gateway::{asset::Network, payout::payment::PaymentState};
use serde_json::json;
use sqlx::Connection;
use support::{
    fault::fired::fired,
    node::{
        json_rpc::{Answer, Proxy},
        regtest::Regtest,
    },
    server::broker::eventually,
};

use super::scene::{CONFIRMATIONS, kind_of, settings, with_scene};

const LIE: u64 = 100;
/// Requests for the height: one per look at a payment.
const LIES: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_reported_by_one_of_two_nodes_alone_settles_nothing() {
    let network = Network::Bitcoin;
    let node = Arc::new(Regtest::start_with(kind_of(network), &[]).await.unwrap());
    let (lying, told) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (is_lying, its_told) = (lying.clone(), told.clone());
    let liar = Proxy::start(node.url(), move |method, mut reply| {
        if method == "getblockcount" && is_lying.load(Ordering::Relaxed) {
            reply["result"] = json!(reply["result"].as_u64().unwrap() + LIE);
            its_told.fetch_add(1, Ordering::Relaxed);
        }
        Answer::Reply(reply)
    });
    let liar = liar.await.unwrap();
    let alone = settings(network, &node, &node.genesis().await.unwrap());
    let witness = format!("chains.{network}.witnesses = [{:?}]", node.url());
    let toml = alone.replace(&format!("{:?}", node.url()), &format!("{:?}", liar.url())) + &witness;
    with_scene(network, node, &toml, |scene| async move {
        let (id, address, due) = scene.order(scene.rows(1..=3), None).await;
        scene.fund(&address, due).await;
        eventually("everybody is sent his coins", async || {
            let payments = scene.payer.story(&id).await.payments;
            payments.iter().any(|payment| payment.state == PaymentState::Sent).then_some(())
        })
        .await;
        scene.node.mine(CONFIRMATIONS - 1).await.unwrap();
        let mut connection = scene.stack.database.connect().await;
        eventually("the payment is seen in its block", async || {
            let query = "select count(height) from payout_payment";
            let seen: i64 = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
            (seen > 0).then_some(())
        })
        .await;
        connection.close().await.unwrap();
        lying.store(true, Ordering::Relaxed);
        eventually("the lie was told again and again", async || {
            (told.load(Ordering::Relaxed) >= LIES).then_some(())
        })
        .await;
        let early = scene.payer.story(&id).await.payments;
        assert!(early.iter().all(|payment| payment.state == PaymentState::Sent), "{early:?}");
        fired(told.load(Ordering::Relaxed));

        lying.store(false, Ordering::Relaxed);
        let story = scene.mine_until_settled(&id).await;
        assert_eq!(story.order.state.as_str(), "completed");
    })
    .await;
}
