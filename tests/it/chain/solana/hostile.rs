//! Nodes of Solana that leave out and forget data, or belong to another cluster. None of it may
//! pass for a slot without payments.

use gateway::chain::{Block, ChainError, ChainSource, solana::SolanaSource};
use serde_json::{Value, json};
use support::{
    fault::fired::fired,
    node::json_rpc::{Answer, Proxy},
};

use super::driver::{SolanaChain, random_address, source};

/// Changes one transaction.
type Poison = fn(&mut Value);

async fn proxied(
    chain: &SolanaChain,
    rewrite: impl Fn(&str, &mut Value) + Send + Sync + 'static,
) -> (Proxy, SolanaSource) {
    let proxy = Proxy::start(chain.node.url(), move |method, mut reply| {
        rewrite(method, &mut reply);
        Answer::Reply(reply)
    });
    let proxy = proxy.await.expect("the proxy listens");
    let source = source(proxy.url());
    (proxy, source)
}

async fn told(
    chain: &SolanaChain,
    slot: u64,
    rewrite: impl Fn(&str, &mut Value) + Send + Sync + 'static,
) -> Result<Option<Block>, ChainError> {
    let (proxy, source) = proxied(chain, rewrite).await;
    let block = source.block(slot).await;
    fired(proxy.changed());
    block
}

/// A block with three payments and two more behind it; its slot.
async fn eventful() -> (SolanaChain, u64) {
    let chain = SolanaChain::start().await.unwrap();
    for _ in 0..3 {
        chain.node.pay(&[(random_address(), 5_000)]).await.unwrap();
    }
    let slot = chain.node.mine().await.unwrap();
    for _ in 0..2 {
        chain.node.mine().await.unwrap();
    }
    (chain, slot)
}

fn skip(method: &str, reply: &mut Value, slot: u64) {
    // The header of a later block is requested as well, so the slot is recognised by its time.
    let asked = reply["result"]["blockTime"].as_u64() == Some(1_760_000_000 + slot);
    if method == "getBlock" && asked {
        let error = json!({ "code": -32007, "message": "Slot was skipped" });
        *reply = json!({ "jsonrpc": "2.0", "id": reply["id"], "error": error });
    }
}

#[tokio::test]
async fn a_slot_counts_as_skipped_only_when_a_later_block_says_so() {
    let (chain, slot) = eventful().await;
    let honest = told(&chain, slot, |_, _| ()).await.unwrap().unwrap();
    assert_eq!(honest.transfers.len(), 3);

    // A node that does not return a block it has: the follower waits for it.
    let answer = told(&chain, slot, move |method, reply| skip(method, reply, slot)).await;
    assert!(matches!(answer, Ok(None)), "{answer:?}");

    // A node that does not list it either: the next block names it as its parent.
    let answer = told(&chain, slot, move |method, reply| {
        skip(method, reply, slot);
        if method == "getBlocksWithLimit" {
            reply["result"] = json!([slot + 3]);
        }
    });
    let answer = answer.await;
    assert!(matches!(answer, Err(ChainError::Inconsistent { .. })), "{answer:?}");
}

fn empty(reply: &mut Value) {
    if let Some(transactions) = reply["result"].get_mut("transactions") {
        *transactions = json!([]);
    }
}

#[tokio::test]
async fn a_node_that_empties_its_blocks_is_not_read() {
    let (chain, slot) = eventful().await;
    let all_empty = |_: &str, reply: &mut Value| empty(reply);
    let answer = told(&chain, slot, all_empty).await;
    assert!(matches!(answer, Ok(None)), "later blocks may have content: {answer:?}");
    for _ in 0..16 {
        chain.node.mine().await.unwrap();
    }
    let answer = told(&chain, slot, all_empty).await;
    assert!(matches!(answer, Err(ChainError::Inconsistent { .. })), "{answer:?}");

    // One leader's empty block is read as empty, and so are those of an unused cluster.
    let one_empty = move |_: &str, reply: &mut Value| {
        if reply["result"]["blockTime"].as_u64() == Some(1_760_000_000 + slot) {
            empty(reply);
        }
    };
    assert_eq!(told(&chain, slot, one_empty).await.unwrap().unwrap().transfers, []);
    let (_proxy, source) = proxied(&chain, all_empty).await;
    let source = source.with_test_cluster("EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG");
    assert_eq!(source.block(slot).await.unwrap().unwrap().transfers, []);
}

#[tokio::test]
async fn slots_without_a_block_are_empty_links_of_one_chain() {
    let (chain, _) = eventful().await;
    let head = chain.source.head().await.unwrap();
    let mut parent = chain.source.header(0).await.unwrap().unwrap();
    let mut made_up = 0;
    for height in 1..=head.height {
        let block = chain.source.block(height).await.unwrap().unwrap();
        assert_eq!(block.header.parent_hash, parent.hash, "slot {height}");
        assert_eq!(chain.source.header(height).await.unwrap().unwrap(), block.header);
        if block.header.hash.contains('+') {
            made_up += 1;
            assert_eq!(block.transfers, []);
        }
        parent = block.header;
    }
    assert_eq!(parent, head);
    assert!(made_up >= 2, "no slot was skipped");
}

#[tokio::test]
async fn another_cluster_is_refused() {
    let (chain, _) = eventful().await;
    let (proxy, source) = proxied(&chain, |method, reply| {
        if method == "getGenesisHash" {
            reply["result"] = json!("EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG");
        }
    })
    .await;
    let answer = source.head().await;
    assert!(matches!(answer, Err(ChainError::WrongChain { .. })), "{answer:?}");
    fired(proxy.changed());
}

#[tokio::test]
async fn one_transaction_that_cannot_be_read_does_not_stop_its_block_but_nonsense_does() {
    let (chain, slot) = eventful().await;
    let poisons: [(&str, Poison); 5] = [
        ("no object", |tx| *tx = json!(7)),
        ("no outcome", |tx| drop(tx["meta"].as_object_mut().unwrap().remove("err"))),
        ("no meta", |tx| tx["meta"] = Value::Null),
        ("fewer balances than accounts", |tx| {
            tx["meta"]["postBalances"].as_array_mut().unwrap().pop();
        }),
        ("a balance that is no number", |tx| tx["meta"]["postBalances"][1] = json!("5000")),
    ];
    for (name, poison) in poisons {
        let block = told(&chain, slot, move |_, reply| {
            if reply["result"]["transactions"].is_array() {
                poison(&mut reply["result"]["transactions"][1]);
            }
        });
        assert_eq!(block.await.unwrap().unwrap().transfers.len(), 2, "{name}");
    }
    let answer = told(&chain, slot, |_, reply| {
        if reply["result"]["transactions"].is_array() {
            reply["result"]["transactions"] = json!([1, 2, 3]);
        }
    });
    let answer = answer.await;
    assert!(matches!(answer, Err(ChainError::Malformed { .. })), "{answer:?}");
}
