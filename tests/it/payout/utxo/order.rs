//! Whole orders on real nodes, from the upload to the last confirmation.

use std::time::Instant;

use gateway::{
    app::payout::Story,
    asset::{Catalogue, Network},
};
use serde_json::json;
use support::server::broker::eventually;

use super::{chain::paid_since, scene::with_node};
use crate::payout::UTXO;

const ROWS: u32 = 1_000;
const SURPLUS: u64 = 40_000;

/// Recipient that nodes with [`STRICT`] refuse to pay this little: a script hash, whose dust limit
/// there is 7,200. By default it is 5,400 on litecoin.
const REFUSED: u32 = 70_001;
const REFUSED_AMOUNT: u64 = 6_000;
const STRICT: &[&str] = &["-dustrelayfee=0.0004"];

/// Two deposits fund the order, one of them too large; all rows are paid but one that the node
/// refuses, if it can be asked. The surplus and that row's money are refunded, and every step has
/// its event in order.
async fn pays_everybody_once(network: Network, rows: u32, surplus: u64) {
    let is_asked = network != Network::Dogecoin;
    with_node(network, if is_asked { STRICT } else { &[] }, |scene| async move {
        let refund = scene.node.fresh_address().await.unwrap();
        let refund = if network == Network::Dogecoin { scene.recipient(70_000) } else { refund };
        let paid = rows - u32::from(is_asked);
        let mut items = scene.rows(1..=paid);
        if is_asked {
            let amount = REFUSED_AMOUNT.to_string();
            let refused = json!({ "address": scene.recipient(REFUSED), "amountRaw": amount });
            items.insert(items.len() / 2, refused);
        }
        let failed = if is_asked { REFUSED_AMOUNT } else { 0 };
        let (id, address, due) = scene.order(items, Some(&refund)).await;
        let began = Instant::now();
        let first = due / 3;
        scene.fund(&address, first).await;
        scene.fund(&address, due - first + surplus).await;
        let story = scene.mine_until_settled(&id).await;
        println!("{rows} recipients on {network} were paid in {:?}", began.elapsed());

        let end = if is_asked { "partial_failed" } else { "completed" };
        assert_eq!(story.order.state.as_str(), end);
        assert_eq!(story.order.books.failed.get(), u128::from(failed));
        let back = u128::from(surplus + failed) + fees_of(&story, failed);
        assert_eq!(story.order.books.returned.get(), back);
        scene.adds_up(&story, due + surplus, 1..=paid, Some(&refund)).await;
        let chain = paid_since(scene.node.url(), scene.began_at).await;
        assert!(!chain.contains_key(&super::chain::script(network, REFUSED)));
        let batches = rows.div_ceil(200);
        let purposes: Vec<_> = story.payments.iter().map(|p| p.purpose.as_str()).collect();
        let expected = [vec!["pay"; batches as usize], vec!["refund"]].concat();
        assert_eq!(purposes, expected);
        let names = scene.payer.event_names(2 + 2 + 1 + 2 * batches as usize).await;
        assert_eq!(names[..2], ["created", "deposit_detected"]);
        let count = |name: &str| names.iter().filter(|other| *other == name).count();
        assert_eq!(count("batch_broadcasted"), batches as usize);
        assert_eq!(count("batch_failed"), usize::from(is_asked));
        assert_eq!(count("batch_confirmed"), batches as usize - usize::from(is_asked));
        assert_eq!(names.last().unwrap(), end);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thousand_bitcoin_recipients_one_fails_alone_and_all_others_are_paid_once() {
    pays_everybody_once(Network::Bitcoin, ROWS, SURPLUS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thousand_litecoin_recipients_one_fails_alone_and_all_others_are_paid_once() {
    pays_everybody_once(Network::Litecoin, ROWS, SURPLUS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn recipients_on_dogecoin_are_paid_once_each() {
    pays_everybody_once(Network::Dogecoin, 210, 5_000_000).await;
}

/// Any address can receive coins from third parties: here outputs that cost more than their value,
/// and more of them than one transaction can spend.
#[tokio::test(flavor = "multi_thread")]
async fn dust_sent_by_others_does_not_prevent_a_refund() {
    const DUST: u64 = 600;
    const OUTPUTS: usize = 510;
    with_node(Network::Bitcoin, &[], |scene| async move {
        let refund = scene.node.fresh_address().await.unwrap();
        let (id, address, due) = scene.order(scene.rows(1..=3), Some(&refund)).await;
        scene.stack.gateway.cancel_any_payout(&id).await.unwrap();
        let (txid, _) = scene.node.pay(&vec![(address.clone(), DUST); OUTPUTS]).await.unwrap();
        scene.node.mine_exactly(&[txid]).await.unwrap();
        scene.fund(&address, due).await;
        let came = due + DUST * OUTPUTS as u64;
        let is_back = async || {
            scene.node.mine(1).await.unwrap();
            let books = scene.payer.story(&id).await.order.books;
            let all = books.credited.get() + books.late.get() == u128::from(came);
            (all && books.left().is_zero() && books.reserved.is_zero()).then_some(books)
        };
        let books = eventually("all that is worth sending went back", is_back).await;
        assert_eq!(books.returned.get() + books.kept.get(), u128::from(came));
        assert!(books.returned.get() > u128::from(due * 9 / 10), "{books:?}");
        let chain = paid_since(scene.node.url(), scene.began_at).await;
        let script = super::chain::script_of(scene.network, &refund);
        assert_eq!(chain[&script].1, books.returned.get());
    })
    .await;
}

/// Rows that can never be paid are reported at once, each with its fault; nothing is created.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_cannot_be_paid_are_refused_when_they_are_sent() {
    with_node(Network::Litecoin, &[], |scene| async move {
        let good = scene.recipient(1);
        let mut typo = good.clone();
        typo.replace_range(typo.len() - 1.., if good.ends_with('q') { "p" } else { "q" });
        let items = json!([
            { "address": good, "amountRaw": "10000" },
            { "address": good, "amountRaw": "545" },
            { "address": typo, "amountRaw": "10000" },
            { "address": "bcrt1qquv9lg5g2r4jkr0ahun0ddfg5xntxjelwjpnuw", "amountRaw": "10000" },
            // An address of litecoin's extension block, which only a wallet of its own kind pays.
            { "address": format!("tmweb1{}", "q".repeat(100)), "amountRaw": "10000" },
        ]);
        let currency = Catalogue::get().native(Network::Litecoin).code;
        let body = json!({ "network": "litecoin", "currency": currency, "items": items });
        let refused = scene.payer.merchant.client.post(UTXO, &body).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        let rows: Vec<_> = refused.json()["error"]["details"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fault| fault["row"].as_u64().unwrap())
            .collect();
        assert_eq!(rows, [2, 3, 4, 5], "{}", refused.body);
    })
    .await;
}

/// Fees of one row worth `amount` that never went out: its output of 43 bytes at the quoted rate,
/// and its share of our own fee.
fn fees_of(story: &Story, amount: u64) -> u128 {
    if amount == 0 {
        return 0;
    }
    let (order, amount) = (&story.order, u128::from(amount));
    let service = order.quote.service_fee.get() * amount / order.payout_total.get();
    43 * order.quote.fee_rate + service
}

/// The node's own dust limit is higher than the network's: one row fails, and its money is
/// refunded.
async fn fails_alone(network: Network) {
    with_node(network, STRICT, |scene| async move {
        let refund = scene.node.fresh_address().await.unwrap();
        let mut items = scene.rows(1..=20);
        let amount = REFUSED_AMOUNT.to_string();
        items.insert(7, json!({ "address": scene.recipient(REFUSED), "amountRaw": amount }));
        let (id, address, due) = scene.order(items, Some(&refund)).await;
        scene.fund(&address, due + 50_000).await;
        let story = scene.mine_until_settled(&id).await;
        assert_eq!(story.order.state.as_str(), "partial_failed");
        assert_eq!(story.order.books.failed.get(), u128::from(REFUSED_AMOUNT));
        let back = u128::from(50_000 + REFUSED_AMOUNT) + fees_of(&story, REFUSED_AMOUNT);
        assert_eq!(story.order.books.returned.get(), back);
        scene.adds_up(&story, due + 50_000, 1..=20, Some(&refund)).await;
        let client = &scene.payer.merchant.client;
        let failed = client.get(&format!("{UTXO}/{id}/items?state=failed")).await.json();
        assert_eq!(failed["total"], 1, "{failed}");
        let error = failed["data"][0]["error"].as_str().unwrap();
        assert!(error.starts_with("the network refuses it: dust"), "{error}");
        let chain = paid_since(scene.node.url(), scene.began_at).await;
        assert!(!chain.contains_key(&super::chain::script(network, REFUSED)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_bitcoinds_refuse_fails_alone() {
    fails_alone(Network::Bitcoin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_litecoinds_refuse_fails_alone() {
    fails_alone(Network::Litecoin).await;
}

/// An underfunded order refunds everything in one transaction without change.
async fn goes_back_without_change(network: Network) {
    with_node(network, &[], |scene| async move {
        let refund = scene.recipient(70_000);
        let came = 3 * scene.amount(0);
        let (id, address, _) = scene.order(scene.rows(1..=3), Some(&refund)).await;
        let cancelled =
            scene.payer.merchant.client.post(&format!("{UTXO}/{id}/cancel"), &json!({})).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.body);
        scene.fund(&address, came).await;
        eventually("the deposit is booked", async || {
            (scene.payer.story(&id).await.order.books.late.get() == u128::from(came)).then_some(())
        })
        .await;
        let story = scene.mine_until_settled(&id).await;
        let books = story.order.books;
        assert_eq!(books.returned.get() + books.kept.get(), u128::from(came));
        assert_eq!(super::chain::unspent(scene.node.url(), &address).await, 0);
        scene.adds_up(&story, came, [], Some(&refund)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_without_recipients_to_pay_is_refunded_without_a_change_output() {
    goes_back_without_change(Network::Bitcoin).await;
}

/// Its nodes ask for so much that the fee of a refund buys no second output.
#[tokio::test(flavor = "multi_thread")]
async fn a_dogecoin_deposit_without_recipients_to_pay_is_refunded_without_a_change_output() {
    goes_back_without_change(Network::Dogecoin).await;
}
