//! A node whose responses to a broadcast are ambiguous, and a fee market that leaves a payment
//! behind.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use gateway::{
    app::payout::Story,
    asset::{Network, catalogue::Catalogue},
    payout::payment::PaymentState,
};
use http::StatusCode;
use serde_json::{Value, json};
use sqlx::Connection;
use support::{
    fault::fired::fired,
    node::{
        anvil::{Anvil, Call},
        json_rpc::{Answer, Proxy},
    },
    server::{
        broker::eventually,
        stack::{Stack, with_configured_stack},
    },
    shop::payouts::{Payer, evm_address},
};

use super::EVM;

const CHAIN_ID: u64 = 313_373;
const CONFIRMATIONS: u64 = 2;
const RECIPIENTS: u32 = 24;
const EACH: u128 = 10_u128.pow(16);
/// Number of concurrent payments of one order.
const WINDOW: i64 = 16;
/// Makes the order's timer due at once.
const RING: &str = "update timer set due_at = least(due_at, now()) where kind = 'payout'";
/// Number of ambiguous responses: the node has accepted the transaction already.
const AMBIGUOUS: usize = 6;

/// Response of a node, or of a proxy before it, to a transaction that the node accepted.
fn ambiguous(number: usize, reply: Value) -> Answer {
    let error = |text: &str| json!({ "jsonrpc": "2.0", "id": reply["id"], "error": { "code": -32000, "message": text } });
    match number % (AMBIGUOUS + 1) {
        0 => Answer::Http(StatusCode::BAD_GATEWAY, "upstream timed out".to_owned()),
        1 => Answer::Reply(error("already known")),
        2 => Answer::Reply(error("nonce too low")),
        3 => Answer::Reply(json!({ "jsonrpc": "2.0", "id": reply["id"], "result": null })),
        4 => Answer::Reply(
            json!({ "jsonrpc": "2.0", "id": reply["id"], "result": format!("0x{}", "ab".repeat(32)) }),
        ),
        5 => Answer::Http(StatusCode::OK, "<html>try later</html>".to_owned()),
        _ => Answer::Reply(reply),
    }
}

fn configuration(url: &str) -> String {
    let mut toml = format!(
        "[chains.polygon]\nsource = \"node\"\nrpc_url = {url:?}\nchain_id = {CHAIN_ID}\n\
         confirmations = {CONFIRMATIONS}\npoll_ms = 50\n"
    );
    for network in Network::ALL.map(Network::name).into_iter().filter(|name| *name != "polygon") {
        toml.push_str(&format!("[chains.{network}]\nsource = \"off\"\n"));
    }
    toml
}

async fn balance(anvil: &Anvil, address: &str) -> u128 {
    let text = anvil.rpc("eth_getBalance", json!([address, "latest"])).await.unwrap();
    u128::from_str_radix(text.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

async fn sql(stack: &Stack, statement: &'static str) {
    let mut connection = stack.database.connect().await;
    sqlx::query(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// Creates an order of the node's own coin, with its money at its address; returns its id.
async fn funded(payer: &Payer, anvil: &Anvil, recipients: u32) -> String {
    eventually("the watcher's first look", async || {
        let mut connection = payer.stack.database.connect().await;
        let query = "select 1 from chain_cursor where watched_through is not null";
        let found: Option<i32> =
            sqlx::query_scalar(query).fetch_optional(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        found
    })
    .await;
    let items: Vec<_> = (1..=recipients)
        .map(|n| json!({ "address": evm_address(n), "amountRaw": EACH.to_string() }))
        .collect();
    let coin = Catalogue::get().native(Network::Polygon).code;
    let refund = evm_address(900);
    let fields =
        json!({ "network": "polygon", "currency": coin, "refundAddress": refund, "items": items });
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
    id
}

/// Mines until the order has ended.
async fn mine_until_ended(payer: &Payer, anvil: &Anvil, id: &str) -> Story {
    for _ in 0..600 {
        anvil.mine().await.unwrap();
        sql(&payer.stack, RING).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let story = payer.story(id).await;
        if story.order.state.is_terminal() {
            return story;
        }
    }
    panic!("it has not ended: {}", payer.story(id).await.object);
}

/// Every recipient is paid once, and every nonce was used by a payment in the books.
async fn everybody_is_paid_once(anvil: &Anvil, story: &Story, recipients: u32) {
    assert_eq!(story.order.state.as_str(), "completed");
    for n in 1..=recipients {
        assert_eq!(balance(anvil, &evm_address(n)).await, EACH, "recipient {n}");
    }
    let sender = &story.order.deposit.as_ref().unwrap().address;
    let used = anvil.rpc("eth_getTransactionCount", json!([sender, "latest"])).await.unwrap();
    let used = i64::from_str_radix(used.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    let signed = story.payments.iter().map(|payment| payment.nonce + 1).max();
    assert!(Some(used) <= signed && used >= i64::from(recipients), "{used} of {signed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_broadcast_answers_pay_every_recipient_exactly_once() {
    let anvil = Arc::new(Anvil::start(CHAIN_ID).await.unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let proxy = Proxy::start(anvil.url(), move |method, reply| {
        if method == "eth_sendRawTransaction" {
            ambiguous(counted.fetch_add(1, Ordering::Relaxed), reply)
        } else {
            Answer::Reply(reply)
        }
    })
    .await
    .unwrap();
    with_configured_stack(&configuration(proxy.url()), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let id = funded(&payer, &anvil, RECIPIENTS).await;
        let story = mine_until_ended(&payer, &anvil, &id).await;
        everybody_is_paid_once(&anvil, &story, RECIPIENTS).await;
        // Each kind of response was given, so the same bytes were sent more often than there are
        // payments.
        let asked = asked.load(Ordering::Relaxed);
        assert!(asked > story.payments.len(), "{asked} broadcasts");
        fired(asked - story.payments.len());
        assert!(story.payments.iter().all(|payment| payment.versions == 1));
    })
    .await;
}

/// Half of an order is in the chain when the fee market leaves the other half behind. That half is
/// pending with its nonces, and continues with a higher fee for the same nonce (replace-by-fee).
#[tokio::test(flavor = "multi_thread")]
async fn payments_priced_out_by_the_fee_market_keep_their_nonce_and_confirm_by_replacement() {
    let anvil = Arc::new(Anvil::start(CHAIN_ID + 1).await.unwrap());
    let toml =
        configuration(anvil.url()).replace(&CHAIN_ID.to_string(), &(CHAIN_ID + 1).to_string());
    with_configured_stack(&toml, |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let id = funded(&payer, &anvil, RECIPIENTS).await;
        let sent = async |from: i64| {
            eventually(&format!("payments from nonce {from} on are sent"), async || {
                sql(&stack, RING).await;
                let payments = payer.story(&id).await.payments;
                payments.into_iter().find(|p| p.state == PaymentState::Sent && p.nonce >= from)
            })
            .await
        };
        // The concurrent payments become final, the rest is sent.
        sent(WINDOW - 1).await;
        for _ in 0..CONFIRMATIONS {
            anvil.mine().await.unwrap();
        }
        let hash = sent(WINDOW).await.tx_hash;
        let offered = anvil.rpc("eth_getTransactionByHash", json!([hash])).await.unwrap();
        let offered = offered["maxFeePerGas"].as_str().unwrap().trim_start_matches("0x").to_owned();
        let offered = u128::from_str_radix(&offered, 16).unwrap();
        // Above the offered fee, below the maximum of one more version.
        for _ in 0..3 {
            let base = format!("{:#x}", offered + offered / 50);
            anvil.rpc("anvil_setNextBlockBaseFeePerGas", json!([base])).await.unwrap();
            anvil.mine().await.unwrap();
        }
        assert_eq!(balance(&anvil, &evm_address(1)).await, EACH);
        let behind = evm_address(u32::try_from(WINDOW).unwrap() + 1);
        assert_eq!(balance(&anvil, &behind).await, 0, "the fee market left nobody behind");
        let nonces = |story: &Story| -> Vec<i64> {
            let mut nonces: Vec<_> = story.payments.iter().map(|p| p.nonce).collect();
            nonces.sort_unstable();
            nonces
        };
        let before = nonces(&payer.story(&id).await);
        stack.gateway.bump_order(&id).await.unwrap();
        let bumped = eventually("a higher fee is offered", async || {
            sql(&stack, RING).await;
            Some(payer.story(&id).await)
                .filter(|story| story.payments.iter().any(|p| p.versions > 1))
        })
        .await;
        assert!(nonces(&bumped).starts_with(&before), "a version took another nonce");
        fired(bumped.payments.iter().filter(|p| p.versions > 1).count());
        anvil.rpc("anvil_setNextBlockBaseFeePerGas", json!(["0x1"])).await.unwrap();
        let story = mine_until_ended(&payer, &anvil, &id).await;
        everybody_is_paid_once(&anvil, &story, RECIPIENTS).await;
    })
    .await;
}
