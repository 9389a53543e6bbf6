//! Controls a chain in memory that a stub serves.

use std::time::Duration;

use gateway::chain::{ChainSource, TransferAmount, TransferAsset};
use secrecy::SecretString;
use support::{
    fault::faulty_line::Edit,
    node::{
        stub_chain::StubChain,
        stub_node::{Node, StubNode},
    },
};

use super::left_out::Ways;
use crate::chain::conformance::{Act, ChainUnderTest, Coin, Connect, Feature, LeftOut, Output};

/// Default deadline of the sources for a response.
const PATIENCE: Duration = Duration::from_secs(20);

/// Stub and adapter of one network, and the form of its transactions.
pub trait Flavour: Default {
    type Tx: Clone;
    type Node: Node + Default;
    type Source: ChainSource;

    const NAME: &'static str;
    const FIRST_HEIGHT: u64;

    fn source(url: &SecretString, deadline: Duration) -> Self::Source;
    fn chain(node: &mut Self::Node) -> &mut StubChain<Self::Tx>;
    fn lacks(feature: Feature) -> Option<&'static str>;
    fn asset(&self, coin: Coin) -> TransferAsset;
    fn fresh_address() -> String;
    /// Transactions of one payment in a block, and its id as `tx_hash` spells it.
    fn pay(&self, coin: Coin, outputs: &[Output]) -> (Vec<Self::Tx>, String);
    /// The same for one that fails and would have paid an address.
    fn fail(&self, coin: Coin) -> (Vec<Self::Tx>, String);
    fn noise(&self, address: &str) -> Vec<Self::Tx>;
    fn left_out(what: LeftOut) -> Ways;
}

pub struct StubDriver<F: Flavour> {
    pub flavour: F,
    pub node: StubNode<F::Node>,
    pub source: F::Source,
}

/// Decimal digits of an amount.
pub fn digits(amount: &TransferAmount) -> String {
    match amount {
        TransferAmount::Units(units) => units.get().to_string(),
        TransferAmount::Beyond128Bits(text) => text.clone(),
    }
}

impl<F: Flavour> StubDriver<F> {
    pub async fn start() -> Self {
        let node = StubNode::start(F::Node::default()).await.expect("the stub listens");
        let source = F::source(&SecretString::from(node.url()), PATIENCE);
        Self { flavour: F::default(), node, source }
    }

    pub fn wait(&self, transactions: Vec<F::Tx>) {
        F::chain(&mut self.node.node()).waiting.extend(transactions);
    }

    pub fn mine_now(&self) {
        F::chain(&mut self.node.node()).mine();
    }

    /// Sends and mines one native payment; returns its id.
    pub fn pay_now(&self, coin: Coin, to: &str, units: u128) -> String {
        let (transactions, id) = self.flavour.pay(coin, &[Output::new(to, units)]);
        self.wait(transactions);
        self.mine_now();
        id
    }
}

impl<F: Flavour> ChainUnderTest for StubDriver<F> {
    type Source = F::Source;

    fn name(&self) -> String {
        F::NAME.to_owned()
    }

    fn source(&self) -> &F::Source {
        &self.source
    }

    fn first_height(&self) -> u64 {
        F::FIRST_HEIGHT
    }

    fn url(&self) -> String {
        self.node.url().to_owned()
    }

    fn source_at(&self, url: &str, deadline: Duration) -> F::Source {
        F::source(&SecretString::from(url), deadline)
    }

    fn lacks(&self, feature: Feature) -> Option<&'static str> {
        F::lacks(feature)
    }

    fn asset(&self, coin: Coin) -> TransferAsset {
        self.flavour.asset(coin)
    }

    async fn fresh_address(&mut self) -> String {
        F::fresh_address()
    }

    async fn send(&mut self, act: &Act) -> String {
        let (transactions, id) = match act {
            Act::Pay(coin, outputs) => self.flavour.pay(*coin, outputs),
            Act::Fail(coin) => self.flavour.fail(*coin),
            Act::PayHidden(_) => panic!("{:?}", F::lacks(Feature::HiddenNative)),
        };
        self.wait(transactions);
        id
    }

    fn left_out(&self, what: LeftOut) -> &'static [(&'static str, Edit)] {
        F::left_out(what)
    }

    async fn make_noise(&mut self, address: &str) {
        self.wait(self.flavour.noise(address));
    }

    async fn mine(&mut self) {
        self.mine_now();
    }

    /// These chains are final and never reorganise. The stub does it all the same: the key of a
    /// payment must not depend on its place.
    async fn reorg(&mut self, depth: u64, connect: Connect) {
        let mut blocks = F::chain(&mut self.node.node()).roll_back(depth);
        match connect {
            Connect::Same => {
                let (other, _) =
                    self.flavour.pay(Coin::Native, &[Output::new(&F::fresh_address(), 1)]);
                self.wait(other);
            }
            Connect::Moved => {
                let mut all = blocks.concat();
                all.reverse();
                blocks.iter_mut().for_each(Vec::clear);
                blocks.push(all);
            }
            Connect::Gone => blocks.iter_mut().for_each(Vec::clear),
        }
        blocks.resize_with(usize::try_from(depth + 1).expect("a small depth"), Vec::new);
        for transactions in blocks {
            self.wait(transactions);
            self.mine_now();
        }
    }

    async fn forget(&mut self, blocks: u64) {
        F::chain(&mut self.node.node()).roll_back(blocks);
    }
}
