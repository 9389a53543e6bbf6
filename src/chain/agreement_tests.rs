use std::sync::{Arc, Mutex};

use chrono::DateTime;
use metrics_exporter_prometheus::PrometheusBuilder;

use super::*;
use crate::chain::{Transfer, TransferAmount, TransferAsset};

/// A node that answers with the blocks it was given.
#[derive(Default)]
struct Node {
    blocks: Vec<Block>,
    balances: Vec<u128>,
    silent: bool,
    /// It is asked and never answers.
    hangs: bool,
    asked: Mutex<usize>,
}

const NETWORK: Network = Network::Polygon;

fn block(height: u64, branch: &str, paid: &[u128]) -> Block {
    let transfers = paid.iter().enumerate().map(|(n, units)| Transfer {
        key: format!("{branch}{height}:{n}"),
        tx_hash: format!("{branch}{height}"),
        to: "buyer".to_owned(),
        from: None,
        asset: TransferAsset::Native,
        amount: TransferAmount::Units(BaseUnits::new(*units)),
        maturity: 1,
        spends: Arc::default(),
    });
    let parent = height.checked_sub(1).map(|parent| format!("{branch}{parent}"));
    Block {
        header: BlockRef {
            height,
            hash: format!("{branch}{height}"),
            parent_hash: parent.unwrap_or_default(),
            mined_at: DateTime::UNIX_EPOCH,
        },
        transfers: transfers.collect(),
    }
}

fn node(blocks: u64, branch: &str) -> Node {
    let blocks = (0..blocks).map(|height| block(height, branch, &[7])).collect();
    Node { blocks, balances: vec![5], ..Node::default() }
}

fn silent() -> Node {
    Node { silent: true, ..Node::default() }
}

impl Node {
    fn answer<T>(&self, answer: T) -> Result<T, ChainError> {
        *self.asked.lock().unwrap() += 1;
        if self.silent {
            return Err(ChainError::RateLimited { network: NETWORK });
        }
        Ok(answer)
    }

    fn at(&self, height: u64) -> Option<&Block> {
        self.blocks.get(usize::try_from(height).unwrap())
    }
}

impl ChainSource for Node {
    fn network(&self) -> Network {
        NETWORK
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        if self.silent {
            return self.answer(()).map(|()| unreachable!());
        }
        if self.hangs {
            std::future::pending::<()>().await;
        }
        self.answer(self.blocks.last().unwrap().header.clone())
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        self.answer(self.at(height).map(|block| block.header.clone()))
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        self.answer(self.at(height).cloned())
    }

    async fn mempool(&self) -> Result<Waiting, ChainError> {
        self.answer(Waiting::default())
    }

    async fn native_balances(
        &self,
        _at: &BlockRef,
        _addresses: &[String],
    ) -> Result<Option<Vec<BaseUnits>>, ChainError> {
        self.answer(Some(self.balances.iter().copied().map(BaseUnits::new).collect()))
    }
}

fn of(mut nodes: Vec<Node>) -> Agreement<Node> {
    let first = nodes.remove(0);
    Agreement::new(first, nodes)
}

async fn head(nodes: Vec<Node>) -> Result<String, String> {
    of(nodes).head().await.map(|head| head.hash).map_err(|error| error.to_string())
}

#[tokio::test]
async fn the_head_is_the_highest_block_that_two_nodes_tell_alike() {
    let apart = "the node of polygon contradicts itself: its nodes report different data for block";
    for (nodes, expected) in [
        (vec![node(9, "a")], Ok("a8")),
        (vec![node(9, "a"), node(9, "a")], Ok("a8")),
        // One lags: its blocks are those that both have.
        (vec![node(9, "a"), node(6, "a")], Ok("a5")),
        (vec![node(6, "a"), node(9, "a"), node(9, "a")], Ok("a8")),
        // One is on another branch.
        (vec![node(9, "a"), node(9, "b")], Err(format!("{apart} 8"))),
        (vec![node(9, "a"), node(7, "b")], Err(format!("{apart} 6"))),
        (vec![node(9, "b"), node(9, "a"), node(9, "a")], Ok("a8")),
        // One says nothing.
        (vec![silent(), node(9, "a"), node(9, "a")], Ok("a8")),
        (
            vec![silent(), node(9, "a")],
            Err("the node of polygon refuses requests with a rate limit".into()),
        ),
        (vec![silent()], Err("the node of polygon refuses requests with a rate limit".into())),
    ] {
        assert_eq!(head(nodes).await, expected.map(str::to_owned));
    }
}

#[tokio::test]
async fn a_payment_reported_by_one_node_alone_is_not_counted() {
    let liar = || {
        let mut liar = node(3, "a");
        liar.blocks[2] = block(2, "a", &[7, 1_000_000]);
        liar
    };
    let forgetful = || {
        let mut forgetful = node(3, "a");
        forgetful.blocks[2] = block(2, "a", &[]);
        forgetful
    };
    for wrong in [liar(), forgetful()] {
        let refused = of(vec![wrong, node(3, "a")]).block(2).await.unwrap_err();
        assert!(refused.to_string().contains("different data for the content of block 2"));
    }
    for wrong in [liar(), forgetful()] {
        let told = of(vec![wrong, node(3, "a"), node(3, "a")]).block(2).await.unwrap().unwrap();
        assert_eq!(told.transfers.len(), 1);
    }
    // A lagging witness is no contradiction: the block is simply not there yet.
    let told = of(vec![node(3, "a"), node(2, "a"), node(2, "a")]).block(2).await.unwrap();
    assert!(told.is_none());
}

#[tokio::test]
async fn nodes_that_list_transfers_in_another_order_agree() {
    let mut other = node(3, "a");
    other.blocks[2] = block(2, "a", &[1, 2, 3]);
    let mut one = node(3, "a");
    one.blocks[2] = block(2, "a", &[1, 2, 3]);
    one.blocks[2].transfers.reverse();
    let told = of(vec![one, other]).block(2).await.unwrap().unwrap();
    assert_eq!(told.transfers.len(), 3);
}

#[tokio::test]
async fn a_balance_counts_when_two_nodes_report_it() {
    let at = block(2, "a", &[]).header;
    let rich = || Node { balances: vec![1_000_000], ..node(3, "a") };
    let told = of(vec![rich(), node(3, "a"), node(3, "a")]).native_balances(&at, &[]).await;
    assert_eq!(told.unwrap(), Some(vec![BaseUnits::new(5)]));
    of(vec![rich(), node(3, "a")]).native_balances(&at, &[]).await.unwrap_err();
}

#[tokio::test]
async fn unconfirmed_payments_are_read_from_any_node_that_answers() {
    let nodes = of(vec![silent(), node(3, "a")]);
    assert_eq!(nodes.mempool().await.unwrap(), Waiting::default());
    assert_eq!(*nodes.nodes[0].asked.lock().unwrap(), 1);
}

/// The faults of nodes that are counted while `nodes` are asked for their head, as `node fault`.
async fn faults(nodes: Vec<Node>) -> Vec<String> {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    {
        let _counting = metrics::set_default_local_recorder(&recorder);
        let _ = of(nodes).head().await;
    }
    let label = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!("{name}=\"")).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let page = handle.render();
    let counted = page.lines().filter(|line| line.starts_with("chain_node_faults_total{"));
    let mut faults: Vec<_> =
        counted.map(|line| format!("{} {}", label(line, "node"), label(line, "fault"))).collect();
    faults.sort();
    faults
}

#[tokio::test]
async fn a_stuck_or_silent_witness_is_reported_while_the_other_nodes_go_on() {
    // A block of each chain comes every 50 seconds.
    let node = |blocks: u64| {
        let mut node = node(blocks, "a");
        for block in &mut node.blocks {
            let seconds = 50 * i64::try_from(block.header.height).unwrap();
            block.header.mined_at = DateTime::from_timestamp(seconds, 0).unwrap();
        }
        node
    };
    let hanging = || Node { hangs: true, ..node(9) };
    for (nodes, expected) in [
        (vec![node(9), node(9)], &[][..]),
        // A block is on its way to it.
        (vec![node(9), node(8)], &[]),
        (vec![node(9), node(7)], &["1 behind"]),
        (vec![node(2), node(9), node(9)], &["0 behind"]),
        (vec![node(9), hanging(), node(9)], &["1 silent"]),
        (vec![node(9), silent(), node(9)], &["1 failed"]),
        // One node alone cannot be compared; its errors are those of the look.
        (vec![silent()], &[]),
    ] {
        assert_eq!(faults(nodes).await, expected);
    }
}

/// Of `contract`, at a key that names the amount.
fn token(contract: &str, units: u128) -> Transfer {
    let asset = TransferAsset::Contract(contract.to_owned());
    Transfer {
        key: format!("{contract}:{units}"),
        from: None,
        asset,
        ..block(2, "a", &[units]).transfers.remove(0)
    }
}

#[tokio::test]
async fn an_unlisted_token_that_nodes_read_differently_stops_no_network() {
    const SOLD: &str = "0xc2132d05d31c914a87c6611c10748aeb04b58e8f";
    const STRANGE: &str = "0x00000000000000000000000000000000000000aa";
    let node = |more: &[Transfer]| {
        let mut node = node(3, "a");
        node.blocks[2].transfers.extend_from_slice(more);
        node
    };
    // A buyer's payment in it counts while both nodes report it.
    let (both, one, other) = (token(STRANGE, 1), token(STRANGE, 2), token(STRANGE, 3));
    let nodes = [node(&[both.clone(), one.clone()]), node(&[other, both.clone()])];
    let told = of(nodes.into()).block(2).await.unwrap().unwrap();
    assert_eq!(told.transfers[1..], [both]);
    // The same movement, with a different amount from each node.
    let more = Transfer { amount: TransferAmount::Units(BaseUnits::new(9)), ..one.clone() };
    let told = of(vec![node(&[one]), node(&[more])]).block(2).await.unwrap().unwrap();
    assert_eq!(told.transfers.len(), 1);
    // Of a token in the catalogue, two must report the same.
    let paid = token(SOLD, 5);
    assert!(is_known(NETWORK, &paid), "the catalogue has lost {SOLD}");
    let refused = of(vec![node(std::slice::from_ref(&paid)), node(&[])]).block(2).await;
    assert!(refused.unwrap_err().to_string().contains("different data for the content"));
    let told = of(vec![node(std::slice::from_ref(&paid)), node(&[]), node(&[paid])]).block(2).await;
    assert_eq!(told.unwrap().unwrap().transfers.len(), 2);
}
