//! Litecoin's extension block (MWEB): coins that leave it for one of our addresses.

use gateway::{
    asset::Network,
    chain::{ChainSource, TransferAmount},
    money::BaseUnits,
};
use serde_json::{Value, json};

use super::driver::{RegtestChain, random_address};

/// The first block of regtest that has an extension block.
const ACTIVE_AT: u64 = 432;
const DOES_IT: &str = "the node does what the test says";

/// A wallet of the node, with an address of the extension block if `kind` is `mweb`.
async fn wallet(chain: &RegtestChain, name: &str, kind: &str) -> String {
    chain.node.rpc("createwallet", json!([name])).await.expect(DOES_IT);
    let address = chain.node.wallet_rpc(name, "getnewaddress", json!(["", kind])).await;
    address.expect(DOES_IT).as_str().expect("an address").to_owned()
}

async fn send(chain: &RegtestChain, wallet: &str, to: &str, amount: &str) -> String {
    let params = json!([to, amount]);
    let sent: Value = chain.node.wallet_rpc(wallet, "sendtoaddress", params).await.expect(DOES_IT);
    sent.as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_peg_out_is_reported_from_its_block_and_matures_with_six_confirmations() {
    let chain = RegtestChain::start(Network::Litecoin).await.expect("the node starts");
    let public = wallet(&chain, "public", "bech32").await;
    let secret = wallet(&chain, "secret", "mweb").await;
    chain.node.pay(&[(public.clone(), 9_000_000)]).await.expect(DOES_IT);
    let height = chain.node.height().await.expect(DOES_IT);
    // The block in which it begins must bring coins into it.
    chain.node.mine(ACTIVE_AT - 1 - height).await.expect(DOES_IT);
    send(&chain, "public", &secret, "0.05").await;
    chain.node.mine(1).await.expect(DOES_IT);

    let to = random_address(Network::Litecoin);
    let sent = send(&chain, "secret", &to, "0.0125").await;
    let waiting = chain.source.mempool().await.expect("mempool");
    assert!(
        waiting.transfers.iter().all(|transfer| transfer.to != to),
        "it has no output before its block"
    );
    chain.node.mine(1).await.expect(DOES_IT);

    let head = chain.source.head().await.expect("head");
    assert!(head.height > ACTIVE_AT);
    let block = chain.source.block(head.height).await.expect("block").expect("up to the head");
    let found: Vec<_> = block.transfers.iter().filter(|transfer| transfer.to == to).collect();
    assert_eq!(found.len(), 1, "{:?}", block.transfers);
    assert_eq!(found[0].amount, TransferAmount::Units(BaseUnits::new(1_250_000)));
    assert_ne!(found[0].tx_hash, sent, "the buyer's own transaction is in no block");
    let maturities: Vec<u64> = block.transfers.iter().map(|transfer| transfer.maturity).collect();
    assert_eq!(maturities, [100, 6], "the reward and the peg-out");
}
