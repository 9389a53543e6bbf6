//! Invoices paid on a substitute for Solana, from the request to the signed IPN.

use gateway::asset::{Network, catalogue::Catalogue};
use support::{
    node::solana::SolanaNode,
    shop::paying::{due, with_paying},
};

#[tokio::test(flavor = "multi_thread")]
async fn coins_and_tokens_finish_their_invoices_and_a_failed_payment_does_not() {
    let node = SolanaNode::start().await.unwrap();
    let usdt = Catalogue::get().by_token_id("usdtsol@solana").unwrap();
    let mint = node.mint(usdt.contract).await.unwrap();
    with_paying(Network::Solana, node.url(), async |paying| {
        paying.stack.gateway.fill_addresses(Network::Solana, 10).await.unwrap();
        let invoice = paying.invoice("sol").await;
        let (address, lamports) = due(&invoice, 9);
        node.make_noise(&mint, &address).await.unwrap();
        paying.until_read(node.mine().await.unwrap()).await;
        assert_eq!(paying.status(&invoice).await, "waiting");

        node.pay(&[(address, lamports)]).await.unwrap();
        node.mine().await.unwrap();
        let ipn = paying.ipns(1).await.remove(0);
        assert_eq!(ipn["payment_id"], invoice["payment_id"]);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);

        let invoice = paying.invoice("usdtsol").await;
        let (address, units) = due(&invoice, 6);
        node.pay_token(&mint, &[(address, units)]).await.unwrap();
        node.mine().await.unwrap();
        let ipn = paying.ipns(2).await.remove(1);
        assert_eq!(ipn["payment_id"], invoice["payment_id"]);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_in_a_confirmed_block_is_seen_at_once_and_paid_once_it_is_final() {
    let node = SolanaNode::start().await.unwrap();
    node.mine().await.unwrap();
    with_paying(Network::Solana, node.url(), async |paying| {
        paying.stack.gateway.fill_addresses(Network::Solana, 10).await.unwrap();
        let invoice = paying.invoice("sol").await;
        let (address, lamports) = due(&invoice, 9);
        paying.until_read(1).await;
        node.hold(1).await.unwrap();
        node.pay(&[(address, lamports)]).await.unwrap();
        node.mine().await.unwrap();
        paying.shows_unconfirmed(&invoice, lamports).await;
        assert_eq!(paying.status(&invoice).await, "waiting");
        assert_eq!(paying.deposits("seen").await, (0, 1));

        node.hold(0).await.unwrap();
        let ipn = paying.ipns(1).await.remove(0);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
        assert_eq!(paying.deposits("settled").await, (1, 0));
    })
    .await;
}
