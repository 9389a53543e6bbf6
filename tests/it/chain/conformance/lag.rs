//! The proof about nodes that lag: asked behind one address, some answer from before the newest block.

use std::{collections::BTreeSet, time::Duration};

use gateway::chain::{Block, BlockRef, ChainSource};
use support::{fired::fired, lagging_line::LaggingLine};

use super::{
    Outcome,
    driver::{Act, ChainUnderTest, Coin, Feature, Output},
    proof::head,
};

const PATIENCE: Duration = Duration::from_secs(20);
/// Some nodes keep a question about what they have not got yet waiting.
const IMPATIENCE: Duration = Duration::from_secs(1);

/// What there is to know of the newest block.
struct Truth {
    /// The head of whoever lags.
    before: BlockRef,
    newest: Block,
}

impl Truth {
    /// Reads all of it by `source`, so that every question is asked once.
    async fn told_by(source: &impl ChainSource, before: BlockRef) -> Self {
        let head = source.head().await.expect("head");
        let header = source.header(head.height).await.expect("header");
        assert_eq!(header.as_ref(), Some(&head));
        let newest = source.block(head.height).await.expect("block").expect("up to the head");
        assert_eq!(newest.header, head);
        Self { before, newest }
    }

    /// Whatever is told is the truth, and all of it. To say nothing, or that something is wrong, is no lie.
    async fn is_all(&self, source: &impl ChainSource, place: &str) {
        let newest = &self.newest.header;
        if let Ok(head) = source.head().await {
            assert!(head == self.before || head == *newest, "{place}: there is no such {head:?}");
        }
        if let Ok(Some(header)) = source.header(newest.height).await {
            assert_eq!(header, *newest, "{place}");
        }
        if let Ok(Some(block)) = source.block(newest.height).await {
            assert_eq!(block.header, *newest, "{place}");
            assert_eq!(block.transfers, self.newest.transfers, "{place}: a part passes for all");
        }
    }

    /// The node that lags, and it alone, is at the end of the line.
    async fn is_not_there(&self, source: &impl ChainSource, place: &str) {
        let head = source.head().await.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(head, self.before, "{place}: its head is not the last block that it has");
        let height = self.newest.header.height;
        assert_eq!(source.header(height).await.expect("header"), None, "{place}");
        assert!(source.block(height).await.expect("block").is_none(), "{place}");
    }
}

/// Which questions reach the node that lags: each alone, and all but each.
fn mixtures(questions: &BTreeSet<String>) -> Vec<BTreeSet<String>> {
    let alone = questions.iter().map(|question| BTreeSet::from([question.clone()]));
    let others = questions.iter().map(|question| {
        questions.iter().filter(|other| *other != question).cloned().collect::<BTreeSet<_>>()
    });
    alone.chain(others).collect()
}

async fn pay<C: ChainUnderTest>(chain: &mut C) {
    for coin in [Coin::Native, Coin::Token] {
        if coin == Coin::Native || chain.lacks(Feature::Tokens).is_none() {
            let to = chain.fresh_address().await;
            chain.send(&Act::Pay(coin, vec![Output::new(&to, 1_000)])).await;
        }
    }
    chain.mine().await;
}

pub async fn behind<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    if let Some(reason) = chain.lacks(Feature::Line) {
        return Outcome::Lacking(reason);
    }
    chain.mine().await;
    let before = head(chain).await;
    pay(chain).await;
    let line = LaggingLine::to(&chain.url()).await.expect("the line stands");
    let follower = chain.source_at(line.url(), PATIENCE);
    let truth = Truth::told_by(&follower, before).await;
    assert!(!truth.newest.transfers.is_empty(), "{}: nothing was paid", chain.name());
    let questions = line.questions();
    chain.forget(1).await;

    for mixture in mixtures(&questions) {
        let place = format!("{} whose {mixture:?} lag", chain.name());
        line.lag(mixture);
        truth.is_all(&chain.source_at(line.url(), IMPATIENCE), &place).await;
    }
    let place = format!("{} that lags", chain.name());
    line.lag(questions);
    truth.is_not_there(&chain.source_at(line.url(), PATIENCE), &place).await;
    // To one who has seen the newest block already.
    truth.is_not_there(&follower, &place).await;
    fired(line.lagged());

    line.lag(BTreeSet::new());
    let caught_up = Truth::told_by(&follower, truth.before.clone()).await.newest;
    assert_eq!(caught_up.header, truth.newest.header, "{}", chain.name());
    assert_eq!(caught_up.transfers, truth.newest.transfers, "{}", chain.name());
    // What came back to the waiting ones is out of the next proof's way.
    chain.mine().await;
    Outcome::Proven
}
