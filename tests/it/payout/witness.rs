//! A node that reports payments as final too early, beside an honest one; and a single node that
//! reports their outcome wrongly.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use gateway::payout::payment::{PaymentState, Purpose};
use serde_json::{Value, json};
use support::{
    fault::fired::fired,
    node::json_rpc::{Answer, Proxy},
    server::broker::eventually,
};

use super::node::{COIN, CONFIRMATIONS, USDT, due, is_settled, items, node, told_by, with_scene};

const RECIPIENTS: u32 = 3;
/// Number of blocks by which the reported height is too high.
const LIE: u64 = 100;
/// Requests for the chain tip: one per look at a payment.
const LIES: usize = 10;

/// A block with a number that is not its own.
fn raised(mut reply: Value) -> Value {
    let number = reply["result"]["number"].as_str().and_then(|text| text.strip_prefix("0x"));
    let number = number.map(|digits| u64::from_str_radix(digits, 16).unwrap() + LIE);
    reply["result"]["number"] = json!(number.map(|number| format!("{number:#x}")));
    reply
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_reported_by_one_of_two_nodes_alone_settles_nothing() {
    let anvil = node().await;
    let (lying, told) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (is_lying, its_told) = (lying.clone(), told.clone());
    let liar = Proxy::start(anvil.url(), move |method, reply| {
        if method != "eth_getBlockByNumber" || !is_lying.load(Ordering::Relaxed) {
            return Answer::Reply(reply);
        }
        its_told.fetch_add(1, Ordering::Relaxed);
        Answer::Reply(raised(reply))
    });
    let liar = liar.await.unwrap();
    let nodes = format!("rpc_url = {:?}\nwitnesses = [{:?}]", liar.url(), anvil.url());
    with_scene(anvil, &told_by(&nodes), |scene| async move {
        let order = scene.order("pol", &items(1, RECIPIENTS)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        eventually("everybody is sent his coins", async || {
            let sent = scene.payer.story(&id).await.payments;
            let sent = sent.iter().filter(|payment| payment.state == PaymentState::Sent).count();
            (sent == RECIPIENTS as usize).then_some(())
        })
        .await;
        lying.store(true, Ordering::Relaxed);
        scene.mine(CONFIRMATIONS - 1).await;
        eventually("the payments are seen in their block", async || {
            let mined = "select count(*) from payout_payment where height is not null";
            (scene.number(mined).await == u128::from(RECIPIENTS)).then_some(())
        })
        .await;
        let before = told.load(Ordering::Relaxed);
        eventually("the lie was told again and again", async || {
            (told.load(Ordering::Relaxed) >= before + LIES).then_some(())
        })
        .await;
        let early = scene.payer.story(&id).await;
        assert!(
            early.payments.iter().all(|payment| payment.state == PaymentState::Sent),
            "{:?}",
            early.payments
        );
        assert_eq!(
            scene.number("select count(*) from ledger_entry where kind = 'payout_sent'").await,
            0
        );
        fired(told.load(Ordering::Relaxed));

        lying.store(false, Ordering::Relaxed);
        let story = scene.mine_until(&id, is_settled, async |_, _| {}).await;
        assert_eq!(story.order.state.as_str(), "completed");
    })
    .await;
}

/// A lie about receipts.
#[derive(Clone, Copy)]
struct Forgery {
    /// Of those of a block, not only of those that are asked for alone.
    of_blocks: bool,
    is_reverted: bool,
}

fn forge(receipt: &mut Value, forgery: Forgery) {
    receipt["logs"] = json!([]);
    if forgery.is_reverted {
        receipt["status"] = json!("0x0");
    }
}

/// A node that loses logs, or tells that what was paid was reverted: nobody's money goes back for
/// that.
#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_that_contradicts_its_block_header_settles_no_payment_and_refunds_nothing() {
    let anvil = node().await;
    let (lie, told) = (Arc::new(Mutex::new(None::<Forgery>)), Arc::new(AtomicUsize::new(0)));
    let (its_lie, its_told) = (lie.clone(), told.clone());
    let liar = Proxy::start(anvil.url(), move |method, mut reply| {
        let Some(forgery) = *its_lie.lock().unwrap() else { return Answer::Reply(reply) };
        match method {
            "eth_getTransactionReceipt" if !reply["result"].is_null() => {
                its_told.fetch_add(1, Ordering::Relaxed);
                forge(&mut reply["result"], forgery);
            }
            "eth_getBlockReceipts" if forgery.of_blocks => {
                let receipts = reply["result"].as_array_mut();
                receipts.into_iter().flatten().for_each(|receipt| forge(receipt, forgery));
            }
            _ => {}
        }
        Answer::Reply(reply)
    });
    let liar = liar.await.unwrap();
    let nodes = format!("rpc_url = {:?}", liar.url());
    with_scene(anvil, &told_by(&nodes), |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        let order = scene.order("usdtmatic", &items(1, RECIPIENTS)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        scene.sent(&id, "gas", 1).await;
        scene.mine(CONFIRMATIONS).await;
        scene.sent(&id, "pay", RECIPIENTS as usize).await;
        for (of_blocks, is_reverted) in [(false, false), (true, false), (false, true), (true, true)]
        {
            *lie.lock().unwrap() = Some(Forgery { of_blocks, is_reverted });
            if !of_blocks && !is_reverted {
                scene.mine(CONFIRMATIONS).await;
            }
            let before = told.load(Ordering::Relaxed);
            eventually("the lie was told again and again", async || {
                (told.load(Ordering::Relaxed) >= before + LIES).then_some(())
            })
            .await;
            let story = scene.payer.story(&id).await;
            let mut pays = story.payments.iter().filter(|one| one.purpose == Purpose::Pay);
            assert!(pays.all(|one| one.state == PaymentState::Sent), "{:?}", story.payments);
            assert!(story.order.books.failed.is_zero(), "{}", story.object);
        }
        fired(told.load(Ordering::Relaxed));
        *lie.lock().unwrap() = None;
        let story = scene.mine_until(&id, is_settled, async |_, _| {}).await;
        assert_eq!(story.order.state.as_str(), "completed");
        for n in 1..=RECIPIENTS {
            let paid =
                scene.anvil.tokens(USDT, &support::shop::payouts::evm_address(n)).await.unwrap();
            assert_eq!(paid, u128::from(n) * 10_000, "{n}");
        }
    })
    .await;
}
