//! A coin and a token on each EVM network, over a node with that network's own chain id and a token
//! where the catalogue expects one. Such a node does not show a network's differences from
//! Ethereum's virtual machine.

use gateway::asset::catalogue::{Catalogue, Currency};
use serde_json::Value;
use support::{node::anvil::Anvil, shop::paying::with_paying_as};

use super::{CONFIRMATIONS, Scene, due};

/// Above the minimum of Ethereum's tokens.
const DOLLARS: u32 = 600;
/// Above the amount of any token, for the deployer: most have 6 decimals, some 18.
const SUPPLY: &str = "ffffffffffffffffffffffff";

fn named(currency: &str) -> &'static Currency {
    Catalogue::get().named(currency).unwrap()
}

/// Invoices in `coin` and in `token`, given by their API names, are paid and finish.
async fn finished(coin: &str, token: &str) {
    let (network, contract) = (named(token).network, named(token).contract.unwrap());
    assert_eq!((named(coin).network, named(coin).is_native()), (network, true));
    let anvil = Anvil::start(network.evm_chain_id().unwrap()).await.unwrap();
    let deployed = anvil.deploy("Token").await.unwrap();
    anvil.place_token(&deployed, contract, SUPPLY).await.unwrap();
    let settings = format!("confirmations = {CONFIRMATIONS}\nrpc_url = {:?}", anvil.url());
    with_paying_as(network, &settings, async |paying| {
        let mut scene = Scene { paying, anvil };
        let invoice = scene.invoice_of(DOLLARS, coin).await;
        let (address, units) = due(&invoice, 18);
        scene.pay_native(&address, units).await;
        is_told(&scene, 1, &invoice).await;

        let invoice = scene.invoice_of(DOLLARS, token).await;
        let (address, units) = due(&invoice, named(token).decimals.into());
        scene.pay_token(contract, &address, units).await;
        is_told(&scene, 2, &invoice).await;
    })
    .await;
}

/// Once its payment is confirmed, the `count`th IPN finishes `invoice`.
async fn is_told(scene: &Scene, count: usize, invoice: &Value) {
    scene.mine(CONFIRMATIONS).await;
    let ipn = scene.ipns(count).await.remove(count - 1);
    assert_eq!(ipn["payment_id"], invoice["payment_id"]);
    assert_eq!(ipn["payment_status"], "finished");
    assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ethereum_finishes_an_invoice_in_coins_and_one_in_tokens() {
    finished("eth", "usdterc20").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn polygon_finishes_an_invoice_in_coins_and_one_in_tokens() {
    finished("pol", "usdtmatic").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bsc_finishes_an_invoice_in_coins_and_one_in_tokens() {
    finished("bnb", "usdtbsc").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arbitrum_finishes_an_invoice_in_coins_and_one_in_tokens() {
    finished("etharb", "usdtarb").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn optimism_finishes_an_invoice_in_coins_and_one_in_tokens() {
    finished("ethop", "usdtop").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn base_finishes_an_invoice_in_coins_and_one_in_tokens() {
    finished("ethbase", "usdcbase").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn avalanche_finishes_an_invoice_in_coins_and_one_in_tokens() {
    finished("avax", "usdtarc20").await;
}
