//! An order of the network's own coin on a real EVM node, hostile recipients among the others.

use gateway::{
    app::payout::Story,
    payout::{hold::Hold, payment::PaymentState},
};
use serde_json::json;
use support::{fault::fired::fired, server::broker::eventually, shop::payouts::evm_address};

use super::{
    EVM,
    node::{due, is_settled, items, with_node},
};

const PAID: u32 = 24;
/// Concurrent payments of one account that we expect a node to keep.
const WINDOW: usize = 16;
/// PUSH1 0, PUSH1 0, REVERT.
const REVERTS: &str = "0x60006000fd";
/// JUMPDEST, PUSH1 0, JUMP: never ends.
const ENDLESS: &str = "0x5b600056";
/// JUMP, with nothing to say where to.
const UNDERFLOW: &str = "0x56";
/// PUSH1 0, JUMP: to where nothing may be jumped to.
const ASTRAY: &str = "0x600056";

fn is_sent(story: &Story, nonce: u32) -> bool {
    story.payments.iter().any(|p| p.nonce == i64::from(nonce) && p.state == PaymentState::Sent)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recipient_is_paid_once_and_a_recipient_that_reverts_fails_alone() {
    with_node("", |scene| async move {
        let turns = evm_address(503);
        let hostile = [(501, REVERTS), (502, ENDLESS), (504, UNDERFLOW), (505, ASTRAY)];
        let mut rows = items(1, PAID);
        for (number, code) in hostile {
            let address = evm_address(number);
            scene.anvil.rpc("anvil_setCode", json!([address, code])).await.unwrap();
            rows.push(json!({ "address": address, "amount": "0.5" }));
        }
        rows.push(json!({ "address": turns, "amount": "0.5" }));
        let order = scene.order("pol", &rows).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        // No block is mined while they are sent, so signed payments stay pending; one recipient
        // turns hostile meanwhile.
        eventually("the first payments are sent", async || {
            let story = scene.payer.story(&id).await;
            let sent = story.payments.iter().filter(|p| p.state == PaymentState::Sent).count();
            (sent >= WINDOW).then_some(())
        })
        .await;
        fired(scene.forget_what_was_sent().await);
        let story = scene
            .mine_until(&id, is_settled, async |round, story| {
                if is_sent(story, PAID) {
                    scene.anvil.rpc("anvil_setCode", json!([turns, REVERTS])).await.unwrap();
                }
                if round % 7 == 3 {
                    fired(scene.forget_what_was_sent().await);
                }
            })
            .await;

        assert_eq!(story.order.state.as_str(), "partial_failed");
        let coins = async |who: &str| scene.anvil.coins(who).await.unwrap();
        for n in 1..=PAID {
            assert_eq!(coins(&evm_address(n)).await, u128::from(n) * 10_u128.pow(16), "{n}");
        }
        for (number, code) in hostile {
            assert_eq!(coins(&evm_address(number)).await, 0, "{code}");
        }
        let path = format!("{EVM}/{id}/items?state=failed");
        let failed = scene.payer.merchant.client.get(&path).await.json();
        let turned = coins(&turns).await == 0;
        assert_eq!(failed["total"], if turned { 5 } else { 4 }, "{failed}");
        fired(failed["total"].as_u64().unwrap());

        // Paid, refunded, kept as fees: to the unit, in the books and on the chain.
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

        let names = scene.payer.event_names(5).await;
        let told =
            ["created", "deposit_detected", "batch_broadcasted", "batch_failed", "partial_failed"];
        assert_eq!(names, told);
        let last = scene.payer.events().pop().unwrap();
        assert_eq!(last["order"]["failedRaw"], books.failed.get().to_string());
        assert_eq!(last["order"]["lastBatch"]["failedCount"], failed["total"]);
    })
    .await;
}

/// A rest that an order keeps, because it is worth less than sending it, pays for no refund.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_deposit_is_refunded_at_its_own_cost_although_an_earlier_rest_was_kept() {
    with_node("", |scene| async move {
        let order = scene.order("pol", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.stack.gateway.cancel_any_payout(&id).await.unwrap();
        scene.fund(&order, 1).await;
        let is_kept = |story: &Story| story.order.books.kept.get() == 1;
        scene.mine_until(&id, is_kept, async |_, _| ()).await;
        let late = due(&order);
        scene.fund(&order, late).await;
        let is_back = |story: &Story| !story.order.books.returned.is_zero() && is_settled(story);
        let story = scene.mine_until(&id, is_back, async |_, _| ()).await;
        let books = story.order.books;
        assert_eq!(books.returned.get() + books.kept.get(), late + 1);
        assert_eq!(scene.anvil.coins(&evm_address(900)).await.unwrap(), books.returned.get());
        assert!(books.returned.get() > late / 2, "{books:?}");
    })
    .await;
}

/// The recipient's account refuses coins in that very block, and accepts them again later.
#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_failed_in_its_block_is_made_anew_once_it_is_released() {
    with_node("", |scene| async move {
        let merchant = evm_address(900);
        let order = scene.order("pol", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        let came = due(&order) / 2;
        scene.fund(&order, came).await;
        eventually("it is booked", async || {
            (!scene.payer.story(&id).await.order.books.credited.is_zero()).then_some(())
        })
        .await;
        let gateway = &scene.stack.gateway;
        gateway.cancel_any_payout(&id).await.unwrap();
        eventually("its refund is sent", async || {
            let story = scene.payer.story(&id).await;
            story.payments.iter().any(|payment| payment.state == PaymentState::Sent).then_some(())
        })
        .await;
        let becomes = async |code: &str| {
            scene.anvil.rpc("anvil_setCode", json!([merchant, code])).await.unwrap();
        };
        becomes(REVERTS).await;
        let is_held = |story: &Story| story.order.held.is_some();
        let story = scene.mine_until(&id, is_held, async |_, _| ()).await;
        assert_eq!(story.order.held.as_ref().map(Hold::reason), Some("its refund failed"));
        becomes("0x").await;
        if gateway.release_order(&id, "ada").await.unwrap() > 0 {
            gateway.release_order(&id, "ben").await.unwrap();
        }
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        let states: Vec<_> = story.payments.iter().map(|p| p.state.as_str()).collect();
        assert_eq!(states, ["failed", "confirmed"]);
        let books = story.order.books;
        assert_eq!(books.returned.get() + books.kept.get(), came);
        assert_eq!(scene.anvil.coins(&merchant).await.unwrap(), books.returned.get());
    })
    .await;
}
