//! Confirmed blocks: their payments are seen before they are final, and a block is read once.

use std::sync::{Arc, Mutex};

use gateway::chain::{BlockRef, ChainSource, Waiting, solana::SolanaSource};
use support::{
    fault::fired::fired,
    node::json_rpc::{Answer, Proxy},
};

use super::driver::{SolanaChain, random_address, source};

/// A cluster, and a reader whose requests for blocks with content are counted.
struct Counted {
    chain: SolanaChain,
    source: SolanaSource,
    /// The hashes of the blocks that were read, in their order.
    read: Arc<Mutex<Vec<String>>>,
    _proxy: Proxy,
}

impl Counted {
    async fn start() -> Self {
        let chain = SolanaChain::start().await.unwrap();
        chain.node.mine().await.unwrap();
        let read = Arc::new(Mutex::new(Vec::new()));
        let noted = read.clone();
        let proxy = Proxy::start(chain.node.url(), move |_, reply| {
            if reply["result"]["transactions"].is_array() {
                let hash = reply["result"]["blockhash"].as_str().unwrap().to_owned();
                noted.lock().unwrap().push(hash);
            }
            Answer::Reply(reply)
        });
        let proxy = proxy.await.unwrap();
        let source = source(proxy.url());
        Self { chain, source, read, _proxy: proxy }
    }

    /// Pays somebody in the next block; the signature and its slot.
    async fn pay(&self) -> (String, u64) {
        let paid = self.chain.node.pay(&[(random_address(), 5_000)]).await.unwrap();
        (paid, self.chain.node.mine().await.unwrap())
    }

    async fn waiting(&self) -> Waiting {
        self.source.mempool().await.unwrap()
    }

    /// Reads the blocks from `first` up to the head; each is what a reader of final blocks alone
    /// gets. Returns the hashes of their payments.
    async fn read_final(&self, first: &BlockRef) -> Vec<String> {
        let head = self.source.head().await.unwrap();
        let mut paid = Vec::new();
        for slot in first.height + 1..=head.height {
            let block = self.source.block(slot).await.unwrap().unwrap();
            let plain = self.chain.source.block(slot).await.unwrap().unwrap();
            assert_eq!((&block.header, &block.transfers), (&plain.header, &plain.transfers));
            paid.extend(block.transfers.into_iter().map(|transfer| transfer.tx_hash));
        }
        paid
    }

    /// The number of blocks that were read, each once.
    fn read_once(&self) -> usize {
        let mut read = self.read.lock().unwrap().clone();
        let count = read.len();
        read.sort();
        read.dedup();
        assert_eq!(read.len(), count, "a block was read twice");
        count
    }
}

#[tokio::test]
async fn payments_in_confirmed_blocks_wait_and_their_blocks_are_read_once() {
    let counted = Counted::start().await;
    let node = &counted.chain.node;
    let first = counted.source.head().await.unwrap();
    let mut paid = Vec::new();
    for _ in 0..5 {
        paid.push(counted.pay().await.0);
    }
    node.hold(5).await.unwrap();
    assert_eq!(counted.source.head().await.unwrap(), first);
    for _ in 0..2 {
        let waiting = counted.waiting().await;
        assert_eq!(
            waiting.transfers.iter().map(|t| &t.tx_hash).collect::<Vec<_>>(),
            paid.iter().collect::<Vec<_>>()
        );
        assert_eq!(waiting.tip, Some((first.height, first.hash.clone())));
    }
    assert_eq!(counted.read_once(), 5);

    // Two become final, and later all of them and some that were not read before.
    node.hold(3).await.unwrap();
    assert_eq!(counted.read_final(&first).await, paid[..2]);
    let second = counted.source.head().await.unwrap();
    assert_eq!(counted.waiting().await.transfers.len(), 3);
    for _ in 0..3 {
        paid.push(counted.pay().await.0);
    }
    node.hold(0).await.unwrap();
    assert_eq!(counted.read_final(&second).await, paid[2..]);
    assert_eq!(counted.read_once(), 8);
    assert_eq!(counted.waiting().await.transfers, []);
}

#[tokio::test]
async fn a_confirmed_block_that_does_not_become_final_is_never_credited() {
    for later in 0..2 {
        let counted = Counted::start().await;
        let node = &counted.chain.node;
        let first = counted.source.head().await.unwrap();
        let (lost, slot) = counted.pay().await;
        node.hold(1).await.unwrap();
        assert!(counted.waiting().await.listed.contains(&lost));
        // Another block takes its slot, and is final before anybody asks again.
        node.forget(1).await.unwrap();
        let (kept, same_slot) = counted.pay().await;
        assert_eq!(same_slot, slot);
        for _ in 0..later {
            node.mine().await.unwrap();
        }
        node.hold(0).await.unwrap();
        fired(1);
        assert_eq!(counted.read_final(&first).await, [kept], "{later} blocks later");
        assert_eq!(counted.waiting().await.transfers, []);
    }
}

#[tokio::test]
async fn a_payment_whose_confirmed_block_was_replaced_vanishes_once_the_others_were_read() {
    let counted = Counted::start().await;
    let node = &counted.chain.node;
    let first = counted.source.head().await.unwrap();
    let (lost, slot) = counted.pay().await;
    node.hold(1).await.unwrap();
    assert!(counted.waiting().await.listed.contains(&lost));
    node.forget(1).await.unwrap();
    let (taken, _) = counted.pay().await;
    let (next, _) = counted.pay().await;
    node.hold(2).await.unwrap();
    fired(1);
    // The next block shows that the branch was left. What the new one holds is not known yet.
    let waiting = counted.waiting().await;
    assert_eq!((waiting.listed.len(), waiting.tip), (0, Some((slot, String::new()))));
    let waiting = counted.waiting().await;
    let mut listed: Vec<_> = waiting.listed.into_iter().collect();
    let mut paid = vec![taken, next];
    listed.sort();
    paid.sort();
    assert_eq!((listed, waiting.tip), (paid, Some((first.height, first.hash))));
}
