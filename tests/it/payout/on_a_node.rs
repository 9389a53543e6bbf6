//! An order of the network's own coin on a real EVM node, hostile recipients among the others.

use gateway::app::payouts::Story;
use serde_json::json;
use support::{broker::eventually, payouts::evm_address};

use super::{
    EVM,
    node::{due, is_settled, items, with_node},
};

const PAID: u32 = 24;
/// Payments that a node keeps of one account, as far as we trust it.
const WINDOW: usize = 16;
/// PUSH1 0, PUSH1 0, REVERT.
const REVERTS: &str = "0x60006000fd";
/// JUMPDEST, PUSH1 0, JUMP: never ends.
const ENDLESS: &str = "0x5b600056";

fn is_sent(story: &Story, nonce: u32) -> bool {
    story.payments.iter().any(|p| p.nonce == i64::from(nonce) && p.state == "sent")
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_is_paid_once_and_those_who_refuse_fail_alone() {
    with_node("", |scene| async move {
        let (refuses, endless, turns) = (evm_address(501), evm_address(502), evm_address(503));
        scene.anvil.rpc("anvil_setCode", json!([refuses, REVERTS])).await.unwrap();
        scene.anvil.rpc("anvil_setCode", json!([endless, ENDLESS])).await.unwrap();
        let mut rows = items(1, PAID);
        for address in [&refuses, &endless, &turns] {
            rows.push(json!({ "address": address, "amount": "0.5" }));
        }
        let order = scene.order("pol", &rows).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        // Nothing is mined while they are sent, so what was signed waits; one recipient turns hostile meanwhile.
        eventually("the first payments are sent", async || {
            let story = scene.payer.story(&id).await;
            let sent = story.payments.iter().filter(|p| p.state == "sent").count();
            (sent >= WINDOW).then_some(())
        })
        .await;
        scene.forget_what_was_sent().await;
        let story = scene
            .mine_until(&id, is_settled, async |round, story| {
                if is_sent(story, PAID) {
                    scene.anvil.rpc("anvil_setCode", json!([turns, REVERTS])).await.unwrap();
                }
                if round % 7 == 3 {
                    scene.forget_what_was_sent().await;
                }
            })
            .await;

        assert_eq!(story.order.state.as_str(), "partial_failed");
        let coins = async |who: &str| scene.anvil.coins(who).await.unwrap();
        for n in 1..=PAID {
            assert_eq!(coins(&evm_address(n)).await, u128::from(n) * 10_u128.pow(16), "{n}");
        }
        assert_eq!((coins(&refuses).await, coins(&endless).await), (0, 0));
        let path = format!("{EVM}/{id}/items?state=failed");
        let failed = scene.payer.merchant.client.get(&path).await.json();
        let turned = coins(&turns).await == 0;
        assert_eq!(failed["total"], if turned { 3 } else { 2 }, "{failed}");

        // Paid, sent back, kept as fees: to the unit, in the books and on the chain.
        let books = story.order.books;
        assert_eq!(books.paid.get() + books.returned.get() + books.kept.get(), due(&order));
        assert_eq!(coins(&evm_address(900)).await, books.returned.get());
        let query = "select coalesce(sum(amount), 0) from ledger_entry where kind = 'network_fee'";
        let fees = scene.number(query).await;
        assert!(fees > 0 && fees <= story.order.quote.network_fee.get());
        let address = order["depositAddress"].as_str().unwrap();
        let left = due(&order) - books.paid.get() - books.returned.get() - fees;
        assert_eq!(coins(address).await, left);
        let nonces = usize::try_from(scene.anvil.nonce(address).await.unwrap()).unwrap();
        assert_eq!(nonces, story.payments.len(), "a nonce of a payment that is not in the books");
    })
    .await;
}
