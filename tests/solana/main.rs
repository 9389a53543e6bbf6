//! `make test-solana`: invoices paid on Solana's own virtual machine, from the request to the
//! signed IPN.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use gateway::{
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
    },
    invoice::Status,
};
use serde_json::Value;
use support::{
    node::surfpool::{Program, Surfpool},
    shop::paying::{Paying, due, with_paying_on},
};

const FEE_BPS: u32 = 100;

/// A gateway that follows a new node, with addresses in its pool.
async fn with_solana(test: impl AsyncFnOnce(&Surfpool, &Paying)) {
    let node = Surfpool::start().await.unwrap();
    with_paying_on(Network::Solana, node.url(), Some(node.genesis()), async |paying| {
        paying.stack.gateway.fill_addresses(Network::Solana, 10).await.unwrap();
        test(&node, &paying).await;
    })
    .await;
}

fn mint_of(token_id: &str) -> &'static str {
    let currency: &Currency = Catalogue::get().by_token_id(token_id).unwrap();
    currency.contract.unwrap()
}

/// The `count`th IPN finishes `invoice`, with exactly the paid amount.
async fn finishes(paying: &Paying, count: usize, invoice: &Value) {
    let ipn = paying.ipns(count).await.remove(count - 1);
    assert_eq!(ipn["payment_id"], invoice["payment_id"]);
    assert_eq!(ipn["payment_status"], "finished");
    assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn coins_finish_their_invoice_and_a_failed_payment_does_not() {
    with_solana(async |node, paying| {
        let invoice = paying.invoice("sol").await;
        let (address, lamports) = due(&invoice, 9);
        node.fail(&address).await.unwrap();
        node.pay(&address, lamports / 2).await.unwrap();
        paying.becomes(&invoice, Status::Partial).await;
        node.pay(&address, lamports - lamports / 2).await.unwrap();
        finishes(paying, 1, &invoice).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_finish_their_invoice_by_either_instruction_and_a_failed_payment_does_not() {
    with_solana(async |node, paying| {
        let mint = mint_of("usdcsol@solana");
        node.mint(mint, Program::Token).await.unwrap();
        let invoice = paying.invoice("usdcsol").await;
        let (address, units) = due(&invoice, 6);
        node.fail_token(mint, &address).await.unwrap();
        node.pay_token(mint, &address, units / 2).await.unwrap();
        paying.becomes(&invoice, Status::Partial).await;
        node.pay_token_plainly(mint, &address, units - units / 2).await.unwrap();
        finishes(paying, 1, &invoice).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_keeps_a_fee_pays_what_arrives() {
    with_solana(async |node, paying| {
        let mint = mint_of("pyusdsol@solana");
        node.mint(mint, Program::Token2022 { fee_bps: FEE_BPS }).await.unwrap();
        let invoice = paying.invoice("pyusdsol").await;
        let (address, units) = due(&invoice, 6);
        // The fee is deducted from the sent amount, rounded up.
        node.pay_token(mint, &address, units).await.unwrap();
        paying.becomes(&invoice, Status::Partial).await;
        let missing = (units * u128::from(FEE_BPS)).div_ceil(10_000);
        let sent = (missing * 10_000).div_ceil(u128::from(10_000 - FEE_BPS));
        node.pay_token(mint, &address, sent).await.unwrap();
        finishes(paying, 1, &invoice).await;
    })
    .await;
}
