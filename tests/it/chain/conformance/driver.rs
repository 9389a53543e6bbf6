//! Abilities required of a chain under test. Nothing here depends on how a chain works.

use std::time::Duration;

use gateway::{
    chain::{ChainSource, TransferAmount, TransferAsset},
    money::BaseUnits,
};
use support::fault::faulty_line::Edit;

/// A chain whose events the test controls, and the source that must report them.
///
/// A driver panics if its chain does not obey; that is a fault of the test, not of the source.
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

    /// A source that reads at `url` as [`source`](Self::source) reads the node; with
    /// [`Feature::Line`].
    fn source_at(&self, url: &str, deadline: Duration) -> Self::Source;

    /// Reason why this chain cannot show `feature`; `None` if it can, and then the suite demands
    /// it.
    fn lacks(&self, feature: Feature) -> Option<&'static str>;

    /// The asset that a transfer of `coin` must be reported as.
    fn asset(&self, coin: Coin) -> TransferAsset;

    /// A new unpaid address, as `match_key` spells it.
    async fn fresh_address(&mut self) -> String;

    /// Broadcasts one transaction, which stays pending until [`mine`](Self::mine). Returns its id
    /// as `tx_hash` spells it.
    async fn send(&mut self, act: &Act) -> String;

    /// Broadcasts a native payment that replaces the pending one called `tx_hash` with a higher fee
    /// from the same sender (replace-by-fee); with [`Feature::Replacement`]. Returns its id.
    async fn replace(&mut self, tx_hash: &str, output: &Output) -> String {
        panic!("{:?}: {tx_hash} stays before {output:?}", self.lacks(Feature::Replacement));
    }

    /// Named ways in which a node's responses leave out `what`; with [`Feature::Evidence`].
    fn left_out(&self, what: LeftOut) -> &'static [(&'static str, Edit)] {
        panic!("{:?}", self.lacks(Feature::Evidence(what)));
    }

    /// Broadcasts every kind of transaction of this chain that looks like a payment to `address`
    /// but is none.
    async fn make_noise(&mut self, address: &str);

    /// Mines one block with all waiting transactions.
    async fn mine(&mut self);

    /// Replaces the newest `depth` blocks by `depth + 1` others; their transactions come back as
    /// `connect` says.
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
    /// A second token with the name of the first.
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

/// Features that some chains have and others do not.
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
    /// Transactions that look like payments but are none.
    Noise,
    /// Native value that shows in balances only; then the source answers `native_balances`.
    HiddenNative,
    Mempool,
    /// Pending transactions that can be replaced by others with a higher fee.
    Replacement,
    /// Blocks that are replaced by others. Missing if every block that a source shows is final.
    Reorganisations,
    /// A node with an HTTP interface.
    Line,
    /// Data in a node's responses that shows an omission.
    Evidence(LeftOut),
}

/// Part of a block that a node's responses leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// Every payment.
    All,
    /// One transaction of several, or all of its effects.
    Transaction,
    /// One movement of a transaction that makes several.
    Movement,
}

/// Fate of the transactions of replaced blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connect {
    /// Each is mined at its height again, after one more transaction has taken the first place.
    Same,
    /// All are mined in the last block, in another order.
    Moved,
    /// None is mined again.
    Gone,
}
