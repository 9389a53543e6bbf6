//! Many recipients of a token in one transaction, on a node with the contract for it.

use std::collections::BTreeSet;

use gateway::app::payout::Story;
use serde_json::{Value, json};
use support::{
    fault::fired::fired,
    node::anvil::{address_word, call_data},
    server::broker::eventually,
    shop::payouts::evm_address,
};

use super::{
    EVM,
    node::{
        COIN, CONFIRMATIONS, Scene, USDT, due, is_settled, items, node_with_multisend, told_by,
        with_scene,
    },
};

const ROWS: u32 = 40;
/// Another contract: PUSH1 1, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN.
const OTHER: &str = "0x600160005260206000f3";

async fn with_multisend<F: Future<Output = ()>>(test: impl FnOnce(Scene, String) -> F) {
    let (anvil, contract) = node_with_multisend().await;
    let toml = told_by(&format!("rpc_url = {:?}\nmultisend = {contract:?}", anvil.url()));
    with_scene(anvil, &toml, |scene| async move {
        scene.anvil.set_coins(&scene.gas, 10 * COIN).await.unwrap();
        test(scene, contract).await;
    })
    .await;
}

impl Scene {
    async fn funded(&self, rows: &[Value]) -> (Value, String) {
        let order = self.order("usdtmatic", rows).await;
        self.fund(&order, due(&order)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        (order, id)
    }

    async fn holds(&self, number: u32) -> u128 {
        self.anvil.tokens(USDT, &evm_address(number)).await.unwrap()
    }

    /// The part of the order's tokens that the contract may still move.
    async fn allowed(&self, order: &Value, contract: &str) -> u128 {
        let owner = order["depositAddress"].as_str().unwrap();
        let words = [address_word(owner), address_word(contract)];
        let data = call_data("allowance(address,address)", &words);
        let word =
            self.anvil.rpc("eth_call", json!([{ "to": USDT, "data": data }, "latest"])).await;
        u128::from_str_radix(word.unwrap().as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
    }

    /// Mines until the call of many waits in the mempool. It is not signed before the allowance has
    /// its confirmations, and no block follows the one that gives it the last of them.
    async fn sent_together(&self, id: &str) -> Story {
        let is_signed = |story: &Story| count(story, "allowance") == 1;
        let story = self.mine_until(id, is_signed, async |_, _| ()).await;
        let allowance = story.payments.iter().find(|one| one.purpose.as_str() == "allowance");
        let hash = &allowance.unwrap().tx_hash;
        eventually("the allowance is mined", async || {
            if self.anvil.receipt(hash).await.unwrap().is_null() {
                self.anvil.mine().await.unwrap();
            }
            let receipt = self.anvil.receipt(hash).await.unwrap();
            (!receipt.is_null()).then_some(())
        })
        .await;
        self.mine(CONFIRMATIONS - 1).await;
        eventually("the call of many is sent", async || {
            let story = self.payer.story(id).await;
            let mut calls = story.payments.iter().filter(|one| one.purpose.as_str() == "pay");
            calls.any(|one| one.state.as_str() == "sent").then_some(story)
        })
        .await
    }

    /// Gas of an order's payments of a purpose.
    async fn gas_of(&self, story: &Story, purposes: &[&str]) -> u128 {
        let mut sum = 0;
        for payment in &story.payments {
            if purposes.contains(&payment.purpose.as_str()) {
                let receipt = self.anvil.receipt(&payment.tx_hash).await.unwrap();
                let used = receipt["gasUsed"].as_str().unwrap().trim_start_matches("0x");
                sum += u128::from_str_radix(used, 16).unwrap();
            }
        }
        sum
    }
}

fn count(story: &Story, purpose: &str) -> usize {
    story.payments.iter().filter(|payment| payment.purpose.as_str() == purpose).count()
}

/// Each row of the first ones has its number of cents, once.
async fn all_are_paid_once(scene: &Scene, rows: u32) {
    for n in 1..=rows {
        assert_eq!(scene.holds(n).await, u128::from(n) * 10_000, "{n}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_are_paid_by_one_transaction_and_equal_rows_each_by_a_log_of_their_own() {
    with_multisend(|scene, contract| async move {
        let mut rows = items(1, ROWS);
        rows.extend(["first", "second"].map(|reference| {
            json!({ "address": evm_address(600), "amount": "1.5", "reference": reference })
        }));
        let (order, id) = scene.funded(&rows).await;
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "completed");
        all_are_paid_once(&scene, ROWS).await;
        assert_eq!(scene.holds(600).await, 3_000_000);
        assert_eq!(count(&story, "allowance"), 1);
        let paid = count(&story, "pay");
        assert!(paid <= 3, "{paid} payments");
        fired(1);
        assert_eq!(scene.allowed(&order, &contract).await, 0);
        let path = format!("{EVM}/{id}/items?limit=100");
        let found = scene.payer.merchant.client.get(&path).await.json();
        let hashes: BTreeSet<_> = found["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["txHash"].to_string())
            .collect();
        assert_eq!(hashes.len(), paid, "{found}");
        let books = story.order.books;
        assert_eq!(books.paid.get() + books.returned.get() + books.kept.get(), due(&order));
        scene.gas_adds_up(&order, 10 * COIN).await;
        assert_eq!(scene.number("select count(*) from operator_alert").await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_allowance_goes_to_a_contract_with_other_code() {
    with_multisend(|scene, contract| async move {
        scene.anvil.rpc("anvil_setCode", json!([contract, OTHER])).await.unwrap();
        let (order, id) = scene.funded(&items(1, 8)).await;
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "completed");
        all_are_paid_once(&scene, 8).await;
        assert_eq!((count(&story, "allowance"), count(&story, "pay")), (0, 8));
        assert_eq!(scene.allowed(&order, &contract).await, 0);
        fired(1);
    })
    .await;
}

/// The contract is exchanged after it was allowed: it gets no call of ours.
#[tokio::test(flavor = "multi_thread")]
async fn code_that_changes_after_the_allowance_is_not_called() {
    with_multisend(|scene, contract| async move {
        let (_, id) = scene.funded(&items(1, 8)).await;
        let is_open = |story: &Story| {
            story
                .payments
                .iter()
                .any(|one| one.purpose.as_str() == "allowance" && one.state.as_str() == "sent")
        };
        scene.mine_until(&id, is_open, async |_, _| ()).await;
        scene.anvil.rpc("anvil_setCode", json!([contract, OTHER])).await.unwrap();
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "completed");
        all_are_paid_once(&scene, 8).await;
        assert_eq!((count(&story, "allowance"), count(&story, "pay")), (1, 8));
        fired(1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whom_the_token_refuses_keeps_no_other_from_his_money() {
    with_multisend(|scene, _| async move {
        let refused = evm_address(501);
        scene.anvil.blacklist(USDT, &refused).await.unwrap();
        let mut rows = items(1, ROWS);
        rows.insert(3, json!({ "address": refused, "amount": "3" }));
        let (_, id) = scene.funded(&rows).await;
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "partial_failed");
        all_are_paid_once(&scene, ROWS).await;
        assert_eq!(scene.holds(501).await, 0);
        assert_eq!(story.order.books.failed.get(), 3_000_000);
        let paid = count(&story, "pay");
        assert!(paid < 30, "{paid} payments");
        fired(1);
    })
    .await;
}

/// One recipient is refused between the estimate and the block.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_fails_in_its_block_pays_nobody_and_its_rows_are_paid_one_by_one() {
    with_multisend(|scene, _| async move {
        let (order, id) = scene.funded(&items(1, 12)).await;
        let story = scene.sent_together(&id).await;
        assert_eq!(count(&story, "pay"), 1);
        scene.anvil.blacklist(USDT, &evm_address(7)).await.unwrap();
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "partial_failed");
        let states: Vec<_> = story
            .payments
            .iter()
            .filter(|one| one.purpose.as_str() == "pay")
            .map(|one| one.state.as_str())
            .collect();
        assert_eq!((states[0], states.len()), ("failed", 12), "{states:?}");
        fired(1);
        for n in 1..=12 {
            let units = if n == 7 { 0 } else { u128::from(n) * 10_000 };
            assert_eq!(scene.holds(n).await, units, "{n}");
        }
        let books = story.order.books;
        assert_eq!((books.paid.get(), books.failed.get()), (71 * 10_000, 70_000));
        assert_eq!(books.paid.get() + books.returned.get() + books.kept.get(), due(&order));
        assert_eq!(scene.holds(900).await, books.returned.get());
    })
    .await;
}

/// The same call at a higher fee takes the place of the first, and both pay once.
#[tokio::test(flavor = "multi_thread")]
async fn an_allowance_and_a_call_are_replaced_at_a_higher_fee_and_pay_once() {
    with_multisend(|scene, contract| async move {
        let (order, id) = scene.funded(&items(1, 12)).await;
        let mut replaced = 0;
        for purpose in ["allowance", "pay"] {
            // No block follows the moment at which its bytes are stored: it waits in the mempool.
            let is_signed = |story: &Story| count(story, purpose) == 1;
            scene.mine_until(&id, is_signed, async |_, _| ()).await;
            let find = async || {
                let mut payments = scene.payer.story(&id).await.payments.into_iter();
                payments.find(|one| one.purpose.as_str() == purpose).unwrap()
            };
            eventually("a node took it", async || {
                (find().await.state.as_str() == "sent").then_some(())
            })
            .await;
            replaced += scene.stack.gateway.bump_order(&id).await.unwrap();
            let rings = "update timer set due_at = now() where kind = 'payout'";
            scene.run(rings).await;
            // It was mined before where it was signed and sent between the look and the block.
            eventually("it is replaced, or was mined before", async || {
                let payment = find().await;
                let receipt = scene.anvil.receipt(&payment.tx_hash).await.unwrap();
                (payment.versions > 1 || !receipt.is_null()).then_some(())
            })
            .await;
        }
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "completed");
        assert!(story.payments.iter().any(|one| one.versions > 1), "{:?}", story.payments);
        fired(replaced);
        all_are_paid_once(&scene, 12).await;
        assert_eq!((count(&story, "allowance"), count(&story, "pay")), (1, 1));
        assert_eq!(scene.allowed(&order, &contract).await, 0);
    })
    .await;
}

/// A token that keeps a part of what it moves is not paid together: the contract refuses it.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_keeps_a_part_is_refused_by_the_contract() {
    let (anvil, contract) = node_with_multisend().await;
    let owner = anvil.deployer();
    let word = |units: u32| format!("{units:064x}");
    let approve = call_data("approve(address,uint256)", &[address_word(&contract), word(1_000)]);
    let call = |to: &str, data: &str| json!([{ "from": owner, "to": to, "data": data }]);
    anvil.rpc("eth_sendTransaction", call(USDT, &approve)).await.unwrap();
    anvil.mine().await.unwrap();
    let words = [
        address_word(USDT),
        word(96),
        word(160),
        word(1),
        address_word(&evm_address(1)),
        word(1),
        word(500),
    ];
    let send = call_data("send(address,address[],uint256[])", &words);
    anvil.rpc("eth_estimateGas", call(&contract, &send)).await.unwrap();
    // Of another's tokens it moves nothing.
    let stranger = json!([{ "from": evm_address(77), "to": contract, "data": send }]);
    anvil.rpc("eth_estimateGas", stranger).await.unwrap_err();
    let slot = format!("0x{}", word(2));
    anvil.rpc("anvil_setStorageAt", json!([USDT, slot, format!("0x{}", word(3))])).await.unwrap();
    anvil.rpc("eth_estimateGas", call(&contract, &send)).await.unwrap_err();
}

/// The measurement of docs/payouts.md.
#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_recipients_cost_less_together() {
    const RECIPIENTS: u32 = 200;
    with_multisend(|scene, contract| async move {
        let mut each = [0, 0];
        for (place, first) in [(0, 1_000), (1, 2_000)] {
            let (_, id) = scene.funded(&items(first, RECIPIENTS)).await;
            let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
            assert_eq!(story.order.state.as_str(), "completed");
            let own = scene.gas_of(&story, &["pay", "allowance"]).await;
            let all = scene.gas_of(&story, &["pay", "allowance", "gas"]).await;
            each[place] = all / u128::from(RECIPIENTS);
            let way = if place == 0 { "together" } else { "one by one" };
            println!(
                "{RECIPIENTS} recipients {way}: {} gas each, {} with the gas that is fronted; {} transactions",
                own / u128::from(RECIPIENTS),
                each[place],
                count(&story, "pay") + count(&story, "allowance")
            );
            scene.anvil.rpc("anvil_setCode", json!([contract, OTHER])).await.unwrap();
        }
        assert!(each[0] * 4 < each[1] * 3, "{each:?}");
    })
    .await;
}
