//! Invoices paid by real messages on TON's virtual machine, from the request to the signed IPN.

use gateway::{
    app::market::set_currency::Change,
    asset::{Network, catalogue::Catalogue},
};
use support::{
    node::ton::TonNode,
    shop::paying::{due, with_paying},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_bounced_pays_nothing_and_one_that_stays_finishes_its_invoice() {
    let node = TonNode::start().await.unwrap();
    with_paying(Network::Ton, node.url(), async |paying| {
        let invoice = paying.invoice("ton").await;
        let (address, nanotons) = due(&invoice, 9);
        let (_, is_aborted) = node.pay(&address, nanotons, true).await.unwrap();
        assert!(is_aborted, "the deposit address is deployed already");
        paying.until_read(node.mine().await.unwrap()).await;
        assert_eq!(paying.status(&invoice).await, "waiting");

        // The wallet is still not deployed, so this is aborted too, and stays.
        let (_, is_aborted) = node.pay(&address, nanotons, false).await.unwrap();
        assert!(is_aborted);
        node.mine().await.unwrap();
        let ipn = paying.ipns(1).await.remove(0);
        assert_eq!(ipn["payment_id"], invoice["payment_id"]);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_pays_under_its_own_master_contract_alone() {
    let node = TonNode::start().await.unwrap();
    let usdt = Catalogue::get().by_token_id("usdtton@ton").unwrap();
    node.token("Tether USD", usdt.contract).await.unwrap();
    let fake = node.token("Tether USD", None).await.unwrap();
    with_paying(Network::Ton, node.url(), async |paying| {
        // The spec lists no token minimum for TON, so an operator has to enable its tokens.
        paying.stack.gateway.set_currency(usdt, Change::Enable).await.unwrap();
        let invoice = paying.invoice("usdtton").await;
        let (address, units) = due(&invoice, 6);
        node.pay_token(&fake, &address, units).await.unwrap();
        node.mine().await.unwrap();
        let notice = paying.ipns(1).await.remove(0);
        assert_eq!(notice["payment_status"], "waiting");
        assert_eq!(notice["_gateway"]["notice"]["type"], "suspicious_token_received");

        node.pay_token(usdt.contract.unwrap(), &address, units).await.unwrap();
        node.mine().await.unwrap();
        let ipn = paying.ipns(2).await.remove(1);
        assert_eq!(ipn["payment_id"], invoice["payment_id"]);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
    })
    .await;
}
