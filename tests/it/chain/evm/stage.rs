//! A node behind a proxy that changes its responses.

use std::time::Duration;

use gateway::{
    asset::Network,
    chain::{Block, ChainError, ChainSource, evm::EvmSource},
};
use serde_json::{Value, json};
use support::{
    fault::fired::fired,
    node::{
        anvil::Anvil,
        json_rpc::{Answer, Proxy},
    },
};

use super::driver::{AnvilChain, random_address, source};
use crate::chain::conformance::{Act, ChainUnderTest, Coin, Output};

pub const BODY: &str = "eth_getBlockByNumber";
pub const RECEIPTS: &str = "eth_getBlockReceipts";
pub const RECEIPT: &str = "eth_getTransactionReceipt";
pub const LOGS: &str = "eth_getLogs";

/// Number of transfers in the block of [`eventful`].
pub const TRANSFERS: usize = 6;

/// Changes one response; gets the method and its result.
pub type Lie = fn(&str, &mut Value);

/// A block with a native payment, three equal token payments in one, a payment of another
/// token, another native payment; and its height.
pub async fn eventful() -> (AnvilChain, u64) {
    let mut chain = AnvilChain::start(Network::Arbitrum).await.expect("anvil starts");
    let output = || Output::new(&random_address(), 5_000);
    chain.send(&Act::Pay(Coin::Native, vec![output()])).await;
    // Three logs that the header's bloom filter cannot distinguish.
    chain.send(&Act::Pay(Coin::Token, vec![output(); 3])).await;
    chain.send(&Act::Pay(Coin::LookAlike, vec![output()])).await;
    chain.send(&Act::Pay(Coin::Native, vec![output()])).await;
    chain.mine().await;
    let height = chain.anvil.height().await.expect("a height");
    (chain, height)
}

pub async fn proxied(
    anvil: &Anvil,
    rewrite: impl Fn(&str, Value) -> Answer + Send + Sync + 'static,
) -> (Proxy, EvmSource) {
    let proxy = Proxy::start(anvil.url(), rewrite).await.expect("the proxy listens");
    let source = source(Network::Arbitrum, proxy.url()).with_deadline(Duration::from_secs(5));
    (proxy, source)
}

/// Reads the block through the source while `lie` changes results on the way.
pub async fn told(anvil: &Anvil, height: u64, lie: Lie) -> Result<Block, ChainError> {
    let (proxy, source) = proxied(anvil, move |method, mut reply| {
        lie(method, &mut reply["result"]);
        Answer::Reply(reply)
    })
    .await;
    let block = source.block(height).await;
    fired(proxy.changed());
    block.map(|block| block.expect("a block up to the head"))
}

/// The same from a node without `eth_getBlockReceipts`.
pub async fn told_by_old_node(anvil: &Anvil, height: u64, lie: Lie) -> Result<Block, ChainError> {
    let (_proxy, source) = proxied(anvil, move |method, mut reply| {
        lie(method, &mut reply["result"]);
        without_block_receipts(method, &mut reply);
        Answer::Reply(reply)
    })
    .await;
    source.block(height).await.map(|block| block.expect("a block up to the head"))
}

pub fn without_block_receipts(method: &str, reply: &mut Value) {
    if method == RECEIPTS {
        let error = json!({ "code": -32601, "message": "Method not found" });
        *reply = json!({ "jsonrpc": "2.0", "id": reply["id"], "error": error });
    }
}

pub fn list(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().expect("a list")
}

pub fn logs_of(receipts: &mut Value, position: usize) -> &mut Vec<Value> {
    list(&mut receipts[position]["logs"])
}
