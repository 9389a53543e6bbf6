//! Deposits of orders on a real EVM node: a vanished deposit pays no recipient, and a deposit by a
//! contract is found.

use serde_json::json;
use support::{
    node::anvil::{Call, address_word, call_data},
    server::broker::eventually,
    shop::payouts::evm_address,
};

use super::{
    EVM,
    node::{Scene, due, is_settled, items, with_node},
};

async fn funding(scene: &Scene, id: &str) -> &'static str {
    scene.payer.story(id).await.order.funding.as_str()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_that_vanishes_before_its_confirmations_funds_no_payout() {
    with_node("", |scene| async move {
        let order = scene.order("pol", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.send_deposit(&order, due(&order)).await;
        scene.mine(1).await;
        eventually("it is seen", async || (funding(&scene, &id).await == "detected").then_some(()))
            .await;
        let forgotten = scene.anvil.roll_back(1).await.unwrap();
        assert_eq!(forgotten.concat().len(), 1);
        scene.anvil.rpc("anvil_dropAllTransactions", serde_json::json!([])).await.unwrap();
        scene.mine(6).await;
        let withdrawn = "select count(*) from deposit where state = 'withdrawn'";
        eventually("it is withdrawn", async || scene.number(withdrawn).await.checked_sub(1)).await;
        let story = scene.payer.story(&id).await;
        assert_eq!(story.order.state.as_str(), "pending_deposit");
        assert!(story.payments.is_empty() && story.order.books.credited.is_zero());
        for n in 1..=2 {
            assert_eq!(scene.anvil.coins(&evm_address(n)).await.unwrap(), 0);
        }
        // No deposit is on its way any more, so today's prices may be quoted.
        let path = format!("{EVM}/{id}/refresh-quote");
        let refreshed = scene.payer.merchant.client.post(&path, &json!({})).await;
        assert_eq!(refreshed.status, 200, "{}", refreshed.body);
        assert_eq!(funding(&scene, &id).await, "none");
        let order = refreshed.json()["data"].clone();
        scene.fund(&order, due(&order)).await;
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "completed");
        assert_eq!(story.order.books.credited.get(), due(&order));
        let refused = scene.payer.merchant.client.post(&path, &json!({})).await;
        assert_eq!(refused.status, 409, "{}", refused.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn coins_that_a_contract_sends_fund_an_order() {
    with_node("", |scene| async move {
        let forwarder = scene.anvil.deploy("Forwarder").await.unwrap();
        let order = scene.order("pol", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        let address = order["depositAddress"].as_str().unwrap();
        let data = call_data("forward(address)", &[address_word(address)]);
        let call = Call { to: Some(&forwarder), value: format!("{:#x}", due(&order)), data };
        scene.anvil.send(scene.anvil.deployer(), &call).await.unwrap();
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "completed");
        assert_eq!(story.order.books.credited.get(), due(&order));
        assert_eq!(scene.anvil.coins(&evm_address(2)).await.unwrap(), 2 * 10_u128.pow(16));
    })
    .await;
}
