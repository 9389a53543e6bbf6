//! The connection between a watcher and its node is interrupted, in both directions and in one
//! (F37).

use std::time::Duration;

use support::fault::{
    fired::fired,
    link::{Link, Passes},
};

use super::{CONFIRMATIONS, USDT, due, node_with_tokens, with_told};

/// Longer than the limit of a request.
const APART: Duration = Duration::from_secs(14);

async fn paid_apart(passes: Passes) {
    let anvil = node_with_tokens().await;
    let link = Link::to(anvil.url()).await;
    let told_by = format!("rpc_url = {:?}", link.url());
    with_told(anvil, &told_by, |scene| async move {
        let invoice = scene.invoice("usdtmatic").await;
        let (address, units) = due(&invoice, 6);
        scene.until_read().await;
        link.let_pass(passes);
        scene.pay_token(USDT, &address, units).await;
        scene.mine(CONFIRMATIONS).await;
        tokio::time::sleep(APART).await;
        assert!(link.stopped() > 0, "they were never apart");
        assert_eq!(scene.status(&invoice).await, "waiting", "it was seen without the way");
        fired(link.stopped());
        link.let_pass(Passes::Everything);
        let ipn = scene.ipns(1).await.remove(0);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
        scene.until_read().await;
        assert_eq!(scene.ipns(1).await.len(), 1, "told twice");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_cut_off_from_its_node_finds_the_payment_afterwards() {
    paid_apart(Passes::Nothing).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_that_receives_nothing_from_its_node_finds_the_payment_afterwards() {
    paid_apart(Passes::Questions).await;
}
