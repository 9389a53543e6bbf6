//! Payments that are pending for too long: replaced where nodes accept a higher fee
//! (replace-by-fee), bumped by a child where they do not (CPFP).

use gateway::{asset::Network, payout::payment::Purpose};
use serde_json::{Value, json};
use sqlx::Connection;
use support::{fault::fired::fired, server::broker::eventually};

use super::scene::{CONFIRMATIONS, Scene, with_node};

async fn waiting(scene: &Scene) -> Vec<String> {
    let listed = scene.node.rpc("getrawmempool", json!([])).await.unwrap();
    listed.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

/// Hashes and fees of all signed versions, the oldest first.
async fn versions(scene: &Scene) -> Vec<(String, i64)> {
    let mut connection = scene.stack.database.connect().await;
    let query = "select tx_hash, fee::bigint from payout_version order by created_at, version";
    let rows = sqlx::query_as(query).fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_payment_on_bitcoin_is_replaced_by_fee_and_pays_once() {
    with_node(Network::Bitcoin, &[], |scene| async move {
        let refund = scene.node.fresh_address().await.unwrap();
        let (id, address, due) = scene.order(scene.rows(1..=5), Some(&refund)).await;
        scene.fund(&address, due + 60_000).await;
        let first = scene.until_sent(&id, 1).await.payments[0].tx_hash.clone();
        assert_eq!(waiting(&scene).await, std::slice::from_ref(&first));
        scene.wait_long().await;
        let second = eventually("a higher fee takes its place", async || {
            waiting(&scene).await.pop().filter(|waiting| *waiting != first)
        })
        .await;
        let signed = versions(&scene).await;
        assert_eq!([&signed[0].0, &signed[1].0], [&first, &second]);
        assert!(signed[1].1 > signed[0].1, "{signed:?}");
        fired(1);
        let inputs = |tx: &Value| {
            tx["vin"].as_array().unwrap().iter().map(|i| i["txid"].clone()).collect::<Vec<_>>()
        };
        let mined = scene.node.rpc("getrawtransaction", json!([second, 1])).await.unwrap();
        assert_eq!(inputs(&mined).len(), 1);
        let story = scene.mine_until_settled(&id).await;
        assert_eq!(story.order.state.as_str(), "completed");
        assert_eq!(story.payments[0].tx_hash, second);
        scene.adds_up(&story, due + 60_000, 1..=5, Some(&refund)).await;
    })
    .await;
}

/// The first version is mined after all, by a miner that never got the second.
#[tokio::test(flavor = "multi_thread")]
async fn the_mined_version_of_a_payment_counts_and_its_change_is_spent_next() {
    with_node(Network::Bitcoin, &[], |scene| async move {
        let refund = scene.node.fresh_address().await.unwrap();
        let (id, address, due) = scene.order(scene.rows(1..=5), Some(&refund)).await;
        scene.fund(&address, due + 60_000).await;
        let first = scene.until_sent(&id, 1).await.payments[0].tx_hash.clone();
        let raw = scene.node.rpc("getrawtransaction", json!([first])).await.unwrap();
        scene.wait_long().await;
        eventually("a higher fee takes its place", async || {
            waiting(&scene).await.pop().filter(|waiting| *waiting != first)
        })
        .await;
        scene.node.mine_exactly(&[raw.as_str().unwrap().to_owned()]).await.unwrap();
        let story = scene.mine_until_settled(&id).await;
        assert_eq!(story.payments[0].tx_hash, first);
        scene.adds_up(&story, due + 60_000, 1..=5, Some(&refund)).await;
    })
    .await;
}

/// Transactions below 11 per virtual byte are not mined here: ten is not enough, a child that
/// raises both is.
async fn is_confirmed_by_cpfp(network: Network, arguments: &'static [&'static str]) {
    with_node(network, arguments, |scene| async move {
        let refund = scene.recipient(70_000);
        let surplus = scene.amount(0) * 6;
        let (id, address, due) = scene.order(scene.rows(1..=5), Some(&refund)).await;
        scene.fund(&address, due + surplus).await;
        let parent = scene.until_sent(&id, 1).await.payments[0].tx_hash.clone();
        scene.node.mine(3).await.unwrap();
        assert_eq!(waiting(&scene).await, std::slice::from_ref(&parent), "nobody mines it");
        fired(1);
        scene.wait_long().await;
        let story = scene.until_sent(&id, 2).await;
        assert_eq!(story.payments[1].purpose, Purpose::Bump);
        let child = story.payments[1].tx_hash.clone();
        assert!(waiting(&scene).await.contains(&child));
        scene.node.mine(1).await.unwrap();
        assert!(waiting(&scene).await.is_empty(), "both are mined");
        let tip = scene.node.hash_at(scene.node.height().await.unwrap()).await.unwrap();
        let block = scene.node.rpc("getblock", json!([tip, 1])).await.unwrap();
        for hash in [&parent, &child] {
            assert!(block["tx"].as_array().unwrap().contains(&json!(hash)));
        }
        // The rest is refunded at the same fee, and is bumped by a child as well.
        let mut story = scene.payer.story(&id).await;
        for _ in 0..100 {
            let books = story.order.books;
            if story.order.state.is_terminal() && books.left().is_zero() && books.reserved.is_zero()
            {
                break;
            }
            scene.wait_long().await;
            scene.node.mine(1).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            story = scene.payer.story(&id).await;
        }
        assert_eq!(story.order.state.as_str(), "completed");
        scene.adds_up(&story, due + surplus, 1..=5, Some(&refund)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_payment_on_litecoin_is_confirmed_by_cpfp() {
    is_confirmed_by_cpfp(Network::Litecoin, &["-blockmintxfee=0.00011"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_payment_on_dogecoin_is_confirmed_by_cpfp() {
    is_confirmed_by_cpfp(Network::Dogecoin, &["-blockmintxfee=0.0101"]).await;
}

async fn ask(scene: &Scene, query: &'static str) -> String {
    let mut connection = scene.stack.database.connect().await;
    let answer = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    answer
}

/// Waits until a look that begins from now on has ended: each moves the timer when it fires and
/// when it ends.
async fn is_looked_at(scene: &Scene) {
    let due = async || ask(scene, "select due_at::text from timer where kind = 'payout'").await;
    for _ in 0..4 {
        let before = due().await;
        eventually("the timer moves", async || (due().await != before).then_some(())).await;
    }
}

/// Spending a deposit for every recipient uses up the whole quote, so nothing is left for a child.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_cannot_be_paid_for_does_not_hold_its_order() {
    const DEPOSITS: u64 = 40;
    with_node(Network::Litecoin, &[], |scene| async move {
        let refund = scene.recipient(70_000);
        let (id, address, due) = scene.order(scene.rows(1..=40), Some(&refund)).await;
        let each = (due + 10_000).div_ceil(DEPOSITS);
        let came = each * DEPOSITS;
        let outputs: Vec<_> = (0..DEPOSITS).map(|_| (address.clone(), each)).collect();
        let (txid, _) = scene.node.pay(&outputs).await.unwrap();
        scene.node.mine_exactly(&[txid]).await.unwrap();
        scene.node.mine(CONFIRMATIONS - 1).await.unwrap();
        scene.until_sent(&id, 1).await;
        let change = "select coalesce(max(change_amount), 0)::text from payout_version";
        assert_ne!(ask(&scene, change).await, "0", "a child has something to spend");
        scene.wait_long().await;
        is_looked_at(&scene).await;
        let story = scene.payer.story(&id).await;
        assert_eq!((story.order.held, story.payments.len()), (None, 1));
        let story = scene.mine_until_settled(&id).await;
        assert_eq!(story.order.state.as_str(), "completed");
        scene.adds_up(&story, came, 1..=40, Some(&refund)).await;
    })
    .await;
}

/// A child pays nobody: limits that are used up meanwhile leave no payment stuck.
#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_payment_is_bumped_by_a_child_whatever_limit_is_used_up() {
    with_node(Network::Litecoin, &["-blockmintxfee=0.00011"], |scene| async move {
        let refund = scene.recipient(70_000);
        let surplus = scene.amount(0) * 6;
        let (id, address, due) = scene.order(scene.rows(1..=5), Some(&refund)).await;
        scene.fund(&address, due + surplus).await;
        scene.until_sent(&id, 1).await;
        let (gateway, merchant) = (&scene.stack.gateway, scene.payer.merchant.new.id);
        let limits = gateway.set_payout_limits(merchant, (Some(1), Some(1))).await.unwrap();
        assert_eq!((limits.merchant_hour, limits.merchant_day), (1, 1));
        // More is signed by now than that; what was signed cannot be edited without this.
        scene
            .stack
            .sql("set session_replication_role = replica; update payout_payment set value_usd = 2")
            .await;
        fired(1);
        scene.wait_long().await;
        assert_eq!(scene.until_sent(&id, 2).await.payments[1].purpose, Purpose::Bump);
    })
    .await;
}
