//! Proof for lagging nodes: behind one address, some respond from before the newest block.

use std::{collections::BTreeSet, time::Duration};

use gateway::chain::{Block, BlockRef, ChainSource};
use support::fault::{fired::fired, lagging_line::LaggingLine};

use super::{
    Outcome,
    driver::{Act, ChainUnderTest, Coin, Feature, Output},
    proof::head,
};

const PATIENCE: Duration = Duration::from_secs(20);
/// Some nodes hold a request for data that they do not have yet.
const IMPATIENCE: Duration = Duration::from_secs(1);

/// All facts about the newest block.
struct Truth {
    /// Chain tip of the lagging node.
    before: BlockRef,
    newest: Block,
}

impl Truth {
    /// Reads all of it by `source`, so that every request is made once.
    async fn told_by(source: &impl ChainSource, before: BlockRef) -> Self {
        let head = source.head().await.expect("head");
        let header = source.header(head.height).await.expect("header");
        assert_eq!(header.as_ref(), Some(&head));
        let newest = source.block(head.height).await.expect("block").expect("up to the head");
        assert_eq!(newest.header, head);
        Self { before, newest }
    }

    /// Every response must be true and complete. No response, or an error, is not a lie.
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

    /// Only the lagging node is behind the proxy.
    async fn is_not_there(&self, source: &impl ChainSource, place: &str) {
        let head = source.head().await.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(head, self.before, "{place}: its head is not the last block that it has");
        let height = self.newest.header.height;
        assert_eq!(source.header(height).await.expect("header"), None, "{place}");
        assert!(source.block(height).await.expect("block").is_none(), "{place}");
    }
}

/// Sets of requests that reach the lagging node: each alone, and all but each.
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
    // For a follower that has already seen the newest block.
    truth.is_not_there(&follower, &place).await;
    fired(line.lagged());

    line.lag(BTreeSet::new());
    let caught_up = Truth::told_by(&follower, truth.before.clone()).await.newest;
    assert_eq!(caught_up.header, truth.newest.header, "{}", chain.name());
    assert_eq!(caught_up.transfers, truth.newest.transfers, "{}", chain.name());
    // Mines the transactions that became pending again, so that they do not disturb the next proof.
    chain.mine().await;
    Outcome::Proven
}
