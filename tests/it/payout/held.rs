//! Balances of payout addresses on a real EVM node, compared with the rows.

use gateway::{
    app::payout::Story,
    asset::Network,
    payout::payment::{PaymentState, Purpose},
};
use serde_json::{Value, json};
use support::server::broker::eventually;

use super::node::{COIN, GWEI, Scene, due, is_settled, items, with_node};

/// Compares at two heights that the watcher has read; returns the number of differences in the end.
async fn differ(scene: &Scene) -> usize {
    let mut differ = 0;
    for _ in 0..2 {
        scene.mine(1).await;
        let head = scene.anvil.rpc("eth_blockNumber", json!([])).await.unwrap();
        let head = u128::from_str_radix(&head.as_str().unwrap()[2..], 16).unwrap();
        eventually("the watcher reads the head", async || {
            (scene.number("select max(height) from chain_cursor").await >= head).then_some(())
        })
        .await;
        let done = scene.stack.gateway.reconcile(Network::Polygon).await.unwrap().unwrap();
        differ = done.differ;
    }
    differ
}

/// Reported differences, by address and amount in base units.
async fn told(scene: &Scene) -> Vec<(String, String, String)> {
    let found = scene.stack.gateway.balance_differences(None, 100).await.unwrap();
    found.into_iter().map(|one| (one.address, one.token_id, one.unexplained)).collect()
}

async fn alerts(scene: &Scene) -> u128 {
    scene.number("select count(*) from operator_alert where kind = 'gas_wallet_short'").await
}

/// Completes an order that pays `currency` to two recipients.
async fn settled(scene: &Scene, currency: &str) -> Value {
    let order = scene.order(currency, &items(1, 2)).await;
    // Gas is fronted while blocks ask much, so that enough is left afterwards to be returned.
    scene.set_base_fee(GWEI).await;
    scene.fund(&order, due(&order)).await;
    let id = order["id"].as_str().unwrap().to_owned();
    let fee = async |_, story: &Story| {
        let is_paid = story.payments.iter().any(|payment| payment.purpose == Purpose::Pay);
        scene.set_base_fee(if is_paid { GWEI / 100 } else { GWEI }).await;
    };
    scene.mine_until(&id, is_settled, fee).await;
    order
}

#[tokio::test(flavor = "multi_thread")]
async fn balances_of_orders_are_compared_and_a_theft_is_reported() {
    with_node("", |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        let coins = settled(&scene, "pol").await;
        let tokens = settled(&scene, "usdtmatic").await;
        assert_eq!(differ(&scene).await, 0, "{:?}", told(&scene).await);
        let address = tokens["depositAddress"].as_str().unwrap();
        let one = scene.stack.gateway.check_balance(Network::Polygon, address).await.unwrap();
        assert!(one.iter().any(|one| !one.expected.is_zero()), "gas or tokens are left: {one:?}");

        let address = coins["depositAddress"].as_str().unwrap();
        let left = scene.anvil.coins(address).await.unwrap();
        scene.anvil.set_coins(address, left - 1).await.unwrap();
        assert_eq!(differ(&scene).await, 1);
        let expected = (address.to_owned(), "pol@polygon".to_owned(), "-1".to_owned());
        assert_eq!(told(&scene).await, [expected]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_not_compared_while_its_payments_are_under_way() {
    with_node("", |scene| async move {
        let order = scene.order("pol", &items(1, 2)).await;
        scene.fund(&order, due(&order)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        eventually("its payments are sent", async || {
            let story = scene.payer.story(&id).await;
            story.payments.iter().any(|p| p.state == PaymentState::Sent).then_some(())
        })
        .await;
        // Mined, and not final yet.
        let address = order["depositAddress"].as_str().unwrap();
        let asked = scene.stack.gateway.check_balance(Network::Polygon, address).await;
        assert!(asked.unwrap_err().to_string().contains("are not final yet"));
        scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(differ(&scene).await, 0, "{:?}", told(&scene).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn coins_missing_from_the_gas_wallet_raise_one_alert() {
    with_node("", |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        assert_eq!(differ(&scene).await, 0);
        assert_eq!(scene.number("select paid_in from gas_wallet").await, COIN);
        settled(&scene, "usdtmatic").await;
        differ(&scene).await;
        assert_eq!(
            scene.number("select paid_in from gas_wallet").await,
            COIN,
            "all is accounted for"
        );
        let left = scene.anvil.coins(&scene.gas).await.unwrap();
        scene.anvil.set_coins(&scene.gas, left + COIN).await.unwrap();
        differ(&scene).await;
        assert_eq!(
            scene.number("select paid_in from gas_wallet").await,
            2 * COIN,
            "an operator did"
        );
        assert_eq!(alerts(&scene).await, 0);

        scene.anvil.set_coins(&scene.gas, left + COIN - 5).await.unwrap();
        for _ in 0..3 {
            differ(&scene).await;
            assert_eq!(alerts(&scene).await, 1);
        }
        assert_eq!(scene.number("select paid_in from gas_wallet").await, 2 * COIN - 5);
    })
    .await;
}

/// After the accounts are split, older orders still return their gas to the older wallet.
#[tokio::test(flavor = "multi_thread")]
async fn gas_that_went_back_to_an_older_wallet_says_nothing_of_the_present_one() {
    with_node("", |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        settled(&scene, "usdtmatic").await;
        let to = format!("select count(*) from payout_payment where returned_to = '{}'", scene.gas);
        assert_eq!(scene.number(&to).await, 1);
        assert_eq!(differ(&scene).await, 0);
        assert_eq!(scene.number("select paid_in from gas_wallet").await, COIN);
        // As if another wallet had got it.
        let returned = "select sum(amount) from payout_payment where purpose = 'gas_return'";
        let returned = scene.number(returned).await;
        assert!(returned > 0);
        let older = "update payout_payment set returned_to = '0x01' where purpose = 'gas_return'";
        scene.run(older).await;
        let left = scene.anvil.coins(&scene.gas).await.unwrap();
        scene.anvil.set_coins(&scene.gas, left - returned).await.unwrap();
        differ(&scene).await;
        assert_eq!(
            (scene.number("select paid_in from gas_wallet").await, alerts(&scene).await),
            (COIN, 0)
        );
        scene.anvil.set_coins(&scene.gas, left - returned - 5).await.unwrap();
        differ(&scene).await;
        assert_eq!(alerts(&scene).await, 1, "what somebody took is still seen");
    })
    .await;
}
