//! An order paid out on a real EVM node, hostile recipients among the others.

use std::{sync::Arc, time::Duration};

use gateway::{
    app::payouts::Story,
    asset::{Network, catalogue::Catalogue},
    storage::payouts::payments::PaymentRow,
};
use serde_json::{Value, json};
use sqlx::Connection;
use support::{
    anvil::{Anvil, Call},
    broker::eventually,
    payouts::{Payer, evm_address},
    stack::{Stack, with_configured_stack},
};

use super::EVM;

const CHAIN_ID: u64 = 313_372;
const CONFIRMATIONS: u64 = 2;
const PAID: u32 = 24;
/// PUSH1 0, PUSH1 0, REVERT.
const REVERTS: &str = "0x60006000fd";
/// JUMPDEST, PUSH1 0, JUMP: never ends.
const ENDLESS: &str = "0x5b600056";

async fn balance(anvil: &Anvil, address: &str) -> u128 {
    let text = anvil.rpc("eth_getBalance", json!([address, "latest"])).await.unwrap();
    u128::from_str_radix(text.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

async fn run(stack: &Stack, statement: &'static str) {
    let mut connection = stack.database.connect().await;
    sqlx::query(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// As if the process had died after every node took its bytes and before any of it was noted.
async fn forget_what_was_sent(stack: &Stack) {
    run(stack, "update payout_payment set state = 'signed', sent_at = null where state = 'sent'")
        .await;
    run(stack, "update payout_item set state = 'pending' where state = 'sent'").await;
}

async fn until_watched(stack: &Stack) {
    eventually("the watcher's first look", async || {
        let mut connection = stack.database.connect().await;
        let query = "select 1 from chain_cursor where watched_through is not null";
        let found: Option<i32> =
            sqlx::query_scalar(query).fetch_optional(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        found
    })
    .await;
}

/// Mines block after block. One recipient turns hostile once its payment is sent, and the gateway forgets now and then
/// what it sent.
async fn mine_until_settled(payer: &Payer, anvil: &Anvil, id: &str, turns: &str) -> Story {
    for round in 0..400 {
        anvil.mine().await.unwrap();
        tokio::time::sleep(Duration::from_millis(150)).await;
        let story = payer.story(id).await;
        let is_turning = |p: &PaymentRow| p.nonce == i64::from(PAID) && p.state == "sent";
        if story.payments.iter().any(is_turning) {
            anvil.rpc("anvil_setCode", json!([turns, REVERTS])).await.unwrap();
        }
        if round % 7 == 3 {
            forget_what_was_sent(&payer.stack).await;
        }
        let books = story.order.books;
        if story.order.state.is_terminal() && books.left().is_zero() && books.reserved.is_zero() {
            return story;
        }
    }
    panic!("it is not settled after 400 blocks: {}", payer.story(id).await.object);
}

/// Paid, sent back, kept as fees: to the unit, in the books and on the chain.
async fn adds_up(payer: &Payer, anvil: &Anvil, story: &Story, due: u128, refund: &str) {
    let books = story.order.books;
    assert_eq!(books.paid.get() + books.returned.get() + books.kept.get(), due);
    assert_eq!(balance(anvil, refund).await, books.returned.get());
    let mut connection = payer.stack.database.connect().await;
    let query =
        "select coalesce(sum(amount), 0)::text from ledger_entry where kind = 'network_fee'";
    let fees: String = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let fees: u128 = fees.parse().unwrap();
    assert!(fees > 0 && fees <= story.order.quote.network_fee.get());
    let address = &story.order.deposit.as_ref().unwrap().address;
    let left = due - books.paid.get() - books.returned.get() - fees;
    assert_eq!(balance(anvil, address).await, left);
    let nonces = anvil.rpc("eth_getTransactionCount", json!([address, "latest"])).await.unwrap();
    let signed = format!("{:#x}", story.payments.len());
    assert_eq!(nonces, json!(signed), "a nonce was used by a payment that is not in the books");
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_is_paid_once_and_those_who_refuse_fail_alone() {
    let anvil = Arc::new(Anvil::start(CHAIN_ID).await.unwrap());
    let mut toml = format!(
        "[chains.polygon]\nsource = \"node\"\nrpc_url = {:?}\nchain_id = {CHAIN_ID}\n\
         confirmations = {CONFIRMATIONS}\npoll_ms = 50\n",
        anvil.url()
    );
    for network in Network::ALL.map(Network::name).into_iter().filter(|name| *name != "polygon") {
        toml.push_str(&format!("[chains.{network}]\nsource = \"off\"\n"));
    }
    with_configured_stack(&toml, |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let (refuses, endless, turns) = (evm_address(501), evm_address(502), evm_address(503));
        anvil.rpc("anvil_setCode", json!([refuses, REVERTS])).await.unwrap();
        anvil.rpc("anvil_setCode", json!([endless, ENDLESS])).await.unwrap();
        until_watched(&stack).await;

        let mut items: Vec<Value> = (1..=PAID)
            .map(|n| json!({ "address": evm_address(n), "amount": format!("0.{n:02}") }))
            .collect();
        for address in [&refuses, &endless, &turns] {
            items.push(json!({ "address": address, "amount": "0.5" }));
        }
        let coin = Catalogue::get().native(Network::Polygon).code;
        let refund = evm_address(900);
        let fields = json!({ "network": "polygon", "currency": coin, "refundAddress": refund, "items": items });
        let id = payer.draft(EVM, fields).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        let due: u128 = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        let address = order["depositAddress"].as_str().unwrap().to_owned();
        let from = anvil.deployer().to_owned();
        let call = Call { to: Some(&address), value: format!("{due:#x}"), data: "0x".into() };
        anvil.send(&from, &call).await.unwrap();
        for _ in 0..CONFIRMATIONS {
            anvil.mine().await.unwrap();
        }
        // Nothing is mined while they are sent, so what was signed waits; one recipient turns hostile meanwhile.
        eventually("the first payments are sent", async || {
            let sent = payer.story(&id).await.payments.iter().filter(|p| p.state == "sent").count();
            (sent >= 16).then_some(())
        })
        .await;
        forget_what_was_sent(&stack).await;
        let story = mine_until_settled(&payer, &anvil, &id, &turns).await;

        assert_eq!(story.order.state.as_str(), "partial_failed");
        for n in 1..=PAID {
            assert_eq!(balance(&anvil, &evm_address(n)).await, u128::from(n) * 10_u128.pow(16), "{n}");
        }
        for hostile in [&refuses, &endless] {
            assert_eq!(balance(&anvil, hostile).await, 0);
        }
        let failed = payer.merchant.client.get(&format!("{EVM}/{id}/items?state=failed")).await.json();
        let turned = balance(&anvil, &turns).await == 0;
        assert_eq!(failed["total"], if turned { 3 } else { 2 }, "{failed}");
        adds_up(&payer, &anvil, &story, due, &refund).await;
    })
    .await;
}
