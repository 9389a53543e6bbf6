//! Proofs for nodes that refuse, break off, fall silent or go back.

use std::time::{Duration, Instant};

use gateway::chain::{ChainError, ChainSource};
use http::StatusCode;
use support::fault::{
    faulty_line::{Fault, FaultyLine},
    fired::fired,
};

use super::{
    Outcome,
    driver::{ChainUnderTest, Feature},
    proof::{block, head},
};

const PATIENCE: Duration = Duration::from_secs(20);
const IMPATIENCE: Duration = Duration::from_millis(400);
/// For a silent node: every call of a response has the deadline to itself, and busy machines are
/// slow.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(10);
const LOST: u64 = 3;

/// Result of every call of a source behind such a proxy.
async fn told<C: ChainUnderTest>(
    chain: &C,
    fault: Fault,
    deadline: Duration,
) -> Vec<(&'static str, ChainError)> {
    let height = head(chain).await.height;
    let url = chain.url();
    let line = FaultyLine::to(&url).await.expect("the line stands");
    let whole = chain.source_at(line.url(), deadline);
    let there = whole.block(height).await.expect("the line is good").expect("up to the head");
    assert_eq!(there.header.height, height);

    line.set(Some(fault));
    // A separate source each time: it must remember nothing from before the fault.
    let source = || chain.source_at(line.url(), deadline);
    let mut told = Vec::new();
    let mut refused = |call, answer: Result<String, ChainError>| {
        let error = answer.map_or_else(
            |error| error,
            |answer| panic!("{} believes {call} under {fault:?}: {answer}", chain.name()),
        );
        let text = format!("{error} {error:?}");
        assert!(!text.contains(line.url()), "{}: the address is shown: {text}", chain.name());
        told.push((call, error));
    };
    refused("head", source().head().await.map(|head| format!("{head:?}")));
    refused("header", source().header(height).await.map(|header| format!("{header:?}")));
    refused("block", source().block(height).await.map(|block| format!("{block:?}")));
    if chain.lacks(Feature::Mempool).is_none() {
        refused("mempool", source().mempool().await.map(|waiting| format!("{waiting:?}")));
    }
    fired(line.spoilt());
    told
}

async fn is_told<C: ChainUnderTest>(chain: &mut C, fault: Fault, kind: &str) -> Outcome {
    if let Some(reason) = chain.lacks(Feature::Line) {
        return Outcome::Lacking(reason);
    }
    chain.mine().await;
    for (call, error) in told(chain, fault, PATIENCE).await {
        let found = format!("{error:?}");
        assert!(found.starts_with(kind), "{} {call} under {fault:?}: {found}", chain.name());
    }
    Outcome::Proven
}

pub async fn rate_limit<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    let fault = Fault::Says(StatusCode::TOO_MANY_REQUESTS, "slow down");
    is_told(chain, fault, "RateLimited").await
}

pub async fn outage<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    is_told(chain, Fault::Says(StatusCode::BAD_GATEWAY, "<html>"), "Unreachable").await
}

/// A truncated response of any length is not a response.
pub async fn truncation<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    if let Some(reason) = chain.lacks(Feature::Line) {
        return Outcome::Lacking(reason);
    }
    chain.mine().await;
    for thousandths in [0, 300, 700, 990] {
        told(chain, Fault::Part(thousandths), PATIENCE).await;
    }
    told(chain, Fault::Cut(500), PATIENCE).await;
    Outcome::Proven
}

pub async fn silence<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    if let Some(reason) = chain.lacks(Feature::Line) {
        return Outcome::Lacking(reason);
    }
    let url = chain.url();
    let line = FaultyLine::to(&url).await.expect("the line stands");
    line.set(Some(Fault::Silence));
    let source = chain.source_at(line.url(), IMPATIENCE);
    let began = Instant::now();
    for answer in [source.head().await.map(drop), source.block(1).await.map(drop)] {
        assert!(matches!(answer, Err(ChainError::Unreachable { .. })), "{answer:?}");
    }
    assert!(began.elapsed() < GIVEN_UP_AFTER, "{}: {:?}", chain.name(), began.elapsed());
    fired(line.spoilt());
    Outcome::Proven
}

/// A node that lost its newest blocks, or another one behind the same address that does not have
/// them yet.
pub async fn going_back<C: ChainUnderTest>(chain: &mut C) -> Outcome {
    if let Some(reason) = chain.lacks(Feature::Line) {
        return Outcome::Lacking(reason);
    }
    chain.mine().await;
    let kept = head(chain).await;
    for _ in 0..LOST {
        chain.mine().await;
    }
    let lost = head(chain).await;
    assert!(lost.height > kept.height);

    chain.forget(LOST).await;
    let name = chain.name();
    assert_eq!(head(chain).await, kept, "{name}: its head is not the last block that it has");
    fired(1);
    let source = chain.source();
    assert_eq!(source.header(lost.height).await.expect("header"), None, "{name}");
    assert!(source.block(lost.height).await.expect("block").is_none(), "{name}");
    assert_eq!(block(chain, kept.height).await.header, kept, "{name}");

    chain.mine().await;
    let next = block(chain, kept.height + 1).await.header;
    assert_eq!(next.parent_hash, kept.hash, "{name}: it does not go on from where it is");
    Outcome::Proven
}
