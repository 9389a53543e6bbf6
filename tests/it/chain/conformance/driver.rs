//! What a chain under test must be able to do. Nothing here knows how a chain works.

use std::time::Duration;

use gateway::{
    chain::{ChainSource, TransferAmount, TransferAsset},
    money::BaseUnits,
};
use support::faulty_line::Edit;

/// A chain that can be told what happens on it, and the source that must report it.
///
/// A driver panics if its chain does not do what it is told; that is a fault of the test, not of the source.
pub trait ChainUnderTest {
    type Source: ChainSource;

    /// The head of this chain's column.
    fn name(&self) -> String;

    fn source(&self) -> &Self::Source;

    /// The lowest block there is.
    fn first_height(&self) -> u64 {
        0
    }

    /// The node's address, with [`Feature::Line`].
    fn url(&self) -> String {
        panic!("{:?}", self.lacks(Feature::Line));
    }

    /// A source that reads at `url` as [`source`](Self::source) reads the node; with [`Feature::Line`].
    fn source_at(&self, url: &str, deadline: Duration) -> Self::Source;

    /// Why this chain cannot show `feature`; `None` where it can, and then the suite demands it.
    fn lacks(&self, feature: Feature) -> Option<&'static str>;

    /// What a transfer of `coin` must be reported as.
    fn asset(&self, coin: Coin) -> TransferAsset;

    /// An address nobody has paid yet, as `match_key` spells it.
    async fn fresh_address(&mut self) -> String;

    /// Broadcasts one transaction, which waits for [`mine`](Self::mine). Returns its id as `tx_hash` spells it.
    async fn send(&mut self, act: &Act) -> String;

    /// Broadcasts a native payment that takes the place of the waiting one called `tx_hash`, as its sender does who offers
    /// more for it; with [`Feature::Replacement`]. Returns its id.
    async fn replace(&mut self, tx_hash: &str, output: &Output) -> String {
        panic!("{:?}: {tx_hash} stays before {output:?}", self.lacks(Feature::Replacement));
    }

    /// Ways in which a node answers and leaves `what` out of it, each with a name; with [`Feature::Evidence`].
    fn left_out(&self, what: LeftOut) -> &'static [(&'static str, Edit)] {
        panic!("{:?}", self.lacks(Feature::Evidence(what)));
    }

    /// Broadcasts everything this chain knows that looks like a payment to `address` and is none.
    async fn make_noise(&mut self, address: &str);

    /// Mines one block with all waiting transactions.
    async fn mine(&mut self);

    /// Replaces the newest `depth` blocks by `depth + 1` others; what was in them comes back as `connect` says.
    async fn reorg(&mut self, depth: u64, connect: Connect);

    /// The node loses its newest `blocks`; with [`Feature::Line`].
    async fn forget(&mut self, blocks: u64);
}

/// One transaction.
#[derive(Debug, Clone)]
pub enum Act {
    /// Pays all outputs. More than one only with the matching [`Feature`].
    Pay(Coin, Vec<Output>),
    /// Is mined and fails, and would have paid some address had it not.
    Fail(Coin),
    /// Pays native value in a way that no block shows.
    PayHidden(Output),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coin {
    Native,
    Token,
    /// A second token that calls itself like the first.
    LookAlike,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub to: String,
    pub amount: TransferAmount,
}

impl Output {
    pub fn new(to: &str, units: u128) -> Self {
        Self { to: to.to_owned(), amount: TransferAmount::Units(BaseUnits::new(units)) }
    }
}

/// What some chains have and others do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    Tokens,
    ManyNativeOutputs,
    ManyTokenOutputs,
    /// Amounts of this coin above 2^128 - 1.
    Beyond128Bits(Coin),
    /// The largest 128-bit amount of this coin.
    LargestAmount(Coin),
    ZeroAmount(Coin),
    /// Transactions that are mined and fail.
    Failures,
    /// Things that look like payments and are none.
    Noise,
    /// Native value that shows in balances only; then the source answers `native_balances`.
    HiddenNative,
    Mempool,
    /// Waiting transactions that give way to others with a higher fee.
    Replacement,
    /// Blocks that are replaced by others. Missing where every block that a source shows is final.
    Reorganisations,
    /// A node that is asked over HTTP.
    Line,
    /// Something in a node's answers that shows what was left out of them.
    Evidence(LeftOut),
}

/// What of a block a node leaves out of its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// Every payment.
    All,
    /// One transaction of several, or all that came of it.
    Transaction,
    /// One movement of a transaction that makes several.
    Movement,
}

/// What happens to the transactions of replaced blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connect {
    /// Each is mined at its height again, after one more transaction has taken the first place.
    Same,
    /// All are mined in the last block, in another order.
    Moved,
    /// None is mined again.
    Gone,
}
