//! Nodes that refuse, lie or fall silent. None of it may pass for a block without payments.

use std::time::Duration;

use gateway::chain::{
    Block, ChainError, ChainSource, near::NearSource, thorchain::ThorchainSource, tron::TronSource,
};
use http::StatusCode;
use secrecy::SecretString;
use serde_json::{Value, json};
use support::{
    fault::fired::fired,
    node::stub_node::{Answer, Ask},
};

use super::{
    driver::{Flavour, StubDriver},
    near::Near,
    thorchain::Thorchain,
    tron::Tron,
};
use crate::chain::conformance::{Coin, Output};

/// Answers any request.
type Node = fn() -> Answer;
/// Changes one response; gets the path and the JSON.
type Lie = fn(&str, &mut Value);
type Lies<'a> = &'a [(&'a str, Lie)];
/// With the number of remaining transfers.
type Poisons<'a> = &'a [(&'a str, usize, Lie)];

/// A chain whose newest block has four payments in three transactions, and the height of that
/// block.
async fn eventful<F: Flavour>() -> (StubDriver<F>, u64) {
    let chain = StubDriver::<F>::start().await;
    chain.mine_now();
    let output = |units| Output::new(&F::fresh_address(), units);
    for outputs in [vec![output(5)], vec![output(6), output(7)], vec![output(8)]] {
        chain.wait(chain.flavour.pay(Coin::Token, &outputs).0);
    }
    chain.mine_now();
    let height = chain.source.head().await.unwrap().height;
    (chain, height)
}

/// Reads the block through the adapter while the JSON of every response is changed.
async fn told<F: Flavour>(
    chain: &StubDriver<F>,
    height: u64,
    lie: Lie,
) -> Result<Block, ChainError> {
    let before = chain.node.changed();
    chain.node.lie(move |ask, answer| match answer {
        Answer::Json(mut value) => {
            lie(&ask.path, &mut value);
            Answer::Json(value)
        }
        other @ (Answer::Status(..) | Answer::Text(..) | Answer::Moved(_) | Answer::Silence) => {
            other
        }
    });
    let block = chain.source.block(height).await;
    chain.node.tell_the_truth();
    fired(chain.node.changed() - before);
    block.map(|block| block.expect("a block up to the head"))
}

/// All responses that are the same for every network.
async fn general_refusals<F: Flavour>() {
    let (chain, height) = eventful::<F>().await;
    let cases: [(&str, Node); 8] = [
        ("RateLimited", || Answer::Text(StatusCode::TOO_MANY_REQUESTS, "slow down".into())),
        ("RateLimited", || {
            Answer::Text(StatusCode::OK, "Error: lack of computing resources".into())
        }),
        ("RateLimited", || {
            Answer::Status(StatusCode::FORBIDDEN, json!({ "error": "request limit reached" }))
        }),
        ("Refused", || Answer::Status(StatusCode::BAD_REQUEST, json!({ "error": "no" }))),
        ("Refused", || Answer::Moved("https://elsewhere.example/".into())),
        ("Unreachable", || Answer::Text(StatusCode::BAD_GATEWAY, "<html>".into())),
        ("Malformed", || Answer::Text(StatusCode::OK, "<html>".into())),
        ("Malformed", || Answer::Json(json!([[], "a"]))),
    ];
    for (place, (expected, answer)) in cases.into_iter().enumerate() {
        chain.node.lie(move |_, _| answer());
        let block = chain.source.block(height).await.map(|block| block.map(|b| b.transfers));
        let refused = block.expect_err("no such answer is a block");
        let kind = format!("{refused:?}");
        assert!(kind.starts_with(expected), "{} case {place}: {kind}", F::NAME);
        assert!(!format!("{kind} {refused}").contains(chain.node.url()), "the address is shown");
        assert!(chain.source.head().await.is_err(), "{} case {place}: a head", F::NAME);
    }
    // Half a response, as behind a proxy that gave up.
    chain.node.lie(|_, answer| match answer {
        Answer::Json(value) => {
            let text = value.to_string();
            Answer::Text(StatusCode::OK, text[..text.len() / 2].to_owned())
        }
        other @ (Answer::Status(..) | Answer::Text(..) | Answer::Moved(_) | Answer::Silence) => {
            other
        }
    });
    let cut = chain.source.block(height).await;
    assert!(matches!(cut, Err(ChainError::Malformed { .. })), "{}: {cut:?}", F::NAME);
    fired(chain.node.changed());
    chain.node.tell_the_truth();
    assert_eq!(chain.source.block(height).await.unwrap().unwrap().transfers.len(), 4 + fees::<F>());
}

/// Transfers in a block of [`eventful`] that are not its payments.
fn fees<F: Flavour>() -> usize {
    if F::NAME == "thorchain" { 3 } else { 0 }
}

#[tokio::test]
async fn every_kind_of_refusal_has_its_own_error() {
    general_refusals::<Thorchain>().await;
    general_refusals::<Near>().await;
    general_refusals::<Tron>().await;
}

#[tokio::test]
async fn a_silent_node_is_given_up_in_time() {
    async fn silent<F: Flavour>(make: impl FnOnce(&SecretString) -> F::Source) {
        let chain = StubDriver::<F>::start().await;
        chain.node.lie(|_, _| Answer::Silence);
        let head = make(&SecretString::from(chain.node.url())).head().await;
        assert!(matches!(head, Err(ChainError::Unreachable { .. })), "{}: {head:?}", F::NAME);
        fired(chain.node.changed());
    }
    let soon = Duration::from_millis(300);
    silent::<Thorchain>(|url| ThorchainSource::new(url).unwrap().with_deadline(soon)).await;
    silent::<Near>(|url| NearSource::new(url).unwrap().with_deadline(soon)).await;
    silent::<Tron>(|url| TronSource::new(url).unwrap().with_deadline(soon)).await;
}

#[tokio::test]
async fn a_node_of_another_chain_is_refused() {
    let thorchain = StubDriver::<Thorchain>::start().await;
    thorchain.node.node().network = "thorchain-stagenet-2".to_owned();
    let head = thorchain.source.head().await;
    assert!(matches!(head, Err(ChainError::WrongChain { .. })), "{head:?}");
    let block = thorchain.source.block(1).await;
    assert!(matches!(block, Err(ChainError::WrongChain { .. })), "{block:?}");
    fired(1);

    let near = StubDriver::<Near>::start().await;
    near.node.node().chain.blocks[0].hash = rand::random();
    let head = near.source.head().await;
    assert!(matches!(head, Err(ChainError::WrongChain { .. })), "{head:?}");
    // The test network begins higher; its servers say so.
    near.node.lie(|ask, answer| {
        let below = json!({ "error": "Block height is before the genesis", "type": "BLOCK_HEIGHT_TOO_LOW" });
        if ask.path.ends_with("/9820210") { Answer::Status(StatusCode::NOT_FOUND, below) } else { answer }
    });
    let head = near.source.head().await;
    assert!(matches!(head, Err(ChainError::WrongChain { .. })), "{head:?}");
    fired(near.node.changed());

    let tron = StubDriver::<Tron>::start().await;
    tron.node.node().chain.blocks[0].hash = rand::random();
    let head = tron.source.head().await;
    assert!(matches!(head, Err(ChainError::WrongChain { .. })), "{head:?}");
}

#[tokio::test]
async fn a_near_node_without_old_blocks_is_recognised_by_its_error() {
    let chain = StubDriver::<Near>::start().await;
    chain.mine_now();
    chain.node.node().archive_below = Some(Near::FIRST_HEIGHT + 1);
    let head = chain.source.head().await.unwrap();
    assert_eq!(head.height, Near::FIRST_HEIGHT + 1);
    let archived = chain.source.block(Near::FIRST_HEIGHT).await;
    assert!(matches!(archived, Err(ChainError::Refused { code: 302, .. })), "{archived:?}");
}

async fn refuses<F: Flavour>(lies: Lies<'_>) {
    let (chain, height) = eventful::<F>().await;
    for (name, lie) in lies {
        let block = told(&chain, height, *lie).await;
        let is_refused =
            matches!(block, Err(ChainError::Inconsistent { .. } | ChainError::Malformed { .. }));
        assert!(is_refused, "{} {name}: {block:?}", F::NAME);
    }
}

/// Checks the remaining transfers when one entry of the block cannot be read.
async fn quarantines<F: Flavour>(poisons: Poisons<'_>) {
    let (chain, height) = eventful::<F>().await;
    let honest = told(&chain, height, |_, _| ()).await.unwrap();
    for (name, left, poison) in poisons {
        let block = told(&chain, height, *poison).await;
        let block = block.unwrap_or_else(|error| panic!("{} {name}: {error}", F::NAME));
        assert_eq!(block.transfers.len(), *left, "{} {name}", F::NAME);
        // The remaining transfers keep their keys.
        for transfer in &block.transfers {
            assert!(honest.transfers.contains(transfer), "{} {name}: {transfer:?}", F::NAME);
        }
    }
}

#[tokio::test]
async fn answers_of_thorchain_that_do_not_fit_together_are_refused() {
    refuses::<Thorchain>(&[
        ("the results are of another block", |path, value| {
            if path == "/block_results" {
                value["result"]["height"] = json!("1");
            }
        }),
        ("another height is served", |path, value| {
            if path == "/block" {
                value["result"]["block"]["header"]["height"] = json!("1");
            }
        }),
    ])
    .await;
}

#[tokio::test]
async fn a_thorchain_block_without_rewards_counts_once_a_newer_block_exists() {
    let (chain, height) = eventful::<Thorchain>().await;
    chain.node.node().without_rewards = |_| true;
    assert!(chain.source.block(height).await.unwrap().is_none(), "it is the newest");
    chain.mine_now();
    for lost in [height, height + 1] {
        let block = chain.source.block(lost).await;
        let is_missed = match &block {
            Err(error) => matches!(error, ChainError::Inconsistent { .. }),
            Ok(block) => lost > height && block.is_none(),
        };
        assert!(is_missed, "{lost}: {block:?}");
        fired(1);
    }
    // One block in which it failed, as the real chain may have.
    chain.node.node().without_rewards = |height| height == 3;
    assert_eq!(height + 1, 4);
    let block = chain.source.block(height).await.unwrap().unwrap();
    assert_eq!(block.transfers.len(), 4 + fees::<Thorchain>());
}

#[tokio::test]
async fn one_entry_of_thorchain_that_cannot_be_read_does_not_stop_its_block() {
    quarantines::<Thorchain>(&[
        ("a result", 5, |path, value| {
            if path == "/block_results" {
                value["result"]["txs_results"][0]["code"] = json!("none");
            }
        }),
        ("an event", 6, |path, value| {
            if path == "/block_results" {
                let events = value["result"]["txs_results"][0]["events"].as_array_mut().unwrap();
                *events.last_mut().unwrap() = json!(7);
            }
        }),
    ])
    .await;
}

#[tokio::test]
async fn answers_of_near_that_do_not_fit_together_are_refused() {
    refuses::<Near>(&[
        ("a chunk is of another block", |_, value| {
            let other = json!("11111111111111111111111111111111");
            value["shards"][0]["chunk"]["header"]["chunk_hash"] = other;
        }),
        ("a chunk is missing", |_, value| value["shards"][0]["chunk"] = Value::Null),
        ("a log is emptied", |_, value| {
            let entry = &mut value["shards"][0]["receipt_execution_outcomes"][0];
            entry["execution_outcome"]["outcome"]["logs"] = json!([]);
        }),
        ("a success is told as a failure", |_, value| {
            let entry = &mut value["shards"][0]["receipt_execution_outcomes"][0];
            entry["execution_outcome"]["outcome"]["status"] = json!("Unknown");
        }),
        ("another height is served", |_, value| value["block"]["header"]["height"] = json!(7)),
        ("the last block is not there", |_, value| *value = Value::Null),
    ])
    .await;
}

#[tokio::test]
async fn one_entry_of_near_that_cannot_be_read_does_not_stop_its_block() {
    quarantines::<Near>(&[
        ("an outcome", 3, |_, value| {
            value["shards"][0]["receipt_execution_outcomes"][0]["receipt"] = json!("none");
        }),
        ("an outcome beside another receipt", 3, |_, value| {
            let entry = &mut value["shards"][0]["receipt_execution_outcomes"][0];
            entry["receipt"]["receipt_id"] = json!("11111111111111111111111111111111");
        }),
    ])
    .await;
}

#[tokio::test]
async fn a_near_block_that_a_node_hides_as_skipped_is_detected() {
    let (chain, height) = eventful::<Near>().await;
    chain.mine_now();
    chain.source.head().await.unwrap();
    chain.node.lie(move |ask, answer| {
        if ask.path.ends_with(&format!("/{height}")) { Answer::Json(Value::Null) } else { answer }
    });
    let block = chain.source.block(height).await;
    assert!(matches!(block, Err(ChainError::Inconsistent { .. })), "{block:?}");
    fired(chain.node.changed());
}

#[tokio::test]
async fn a_near_shard_whose_outcomes_are_all_missing_is_detected() {
    let (chain, before) = eventful::<Near>().await;
    // One in each shard.
    for units in [5, 6] {
        let output = Output::new(&Near::fresh_address(), units);
        chain.wait(chain.flavour.pay(Coin::Token, &[output]).0);
    }
    chain.mine_now();
    let height = before + 1;
    chain.source.head().await.unwrap();
    let whole = chain.source.block(height).await.unwrap().unwrap();
    assert_eq!(whole.transfers.len(), 2);
    for shard in 0..2 {
        chain.node.lie(move |ask, answer| match answer {
            Answer::Json(mut value) if ask.path.ends_with(&format!("/{height}")) => {
                value["shards"][shard]["receipt_execution_outcomes"] = json!([]);
                Answer::Json(value)
            }
            other @ (Answer::Json(_)
            | Answer::Status(..)
            | Answer::Text(..)
            | Answer::Moved(_)
            | Answer::Silence) => other,
        });
        if shard == 0 {
            assert!(
                chain.source.block(height).await.unwrap().is_none(),
                "nothing bears it out yet"
            );
            chain.mine_now();
        }
        chain.source.head().await.unwrap();
        let block = chain.source.block(height).await;
        let words = format!("outcomes of shard {shard} are missing");
        assert!(format!("{block:?}").contains(&words), "{block:?}");
    }
}

/// Otherwise a reader would never catch up: the newest block is newer at each request.
#[tokio::test]
async fn a_near_block_with_an_inactive_shard_becomes_the_head_once_the_next_block_exists() {
    let (chain, height) = eventful::<Near>().await;
    chain.node.node().chain.skip = 1;
    chain.node.node().quiet_at = Some(height + 2);
    chain.mine_now();
    assert_eq!(chain.source.head().await.unwrap().height, height);
    chain.mine_now();
    assert_eq!(chain.source.head().await.unwrap().height, height + 3);
    let block = chain.source.block(height + 2).await.unwrap().unwrap();
    assert_eq!((block.header.height, block.transfers.len()), (height + 2, 0));
}

#[tokio::test]
async fn an_empty_near_block_counts_once_the_next_block_confirms_that_it_is_empty() {
    let (chain, height) = eventful::<Near>().await;
    let emptied = |answer: Answer| match answer {
        Answer::Json(mut value) => {
            let shards = value["shards"].as_array_mut();
            for shard in shards.into_iter().flatten() {
                shard["receipt_execution_outcomes"] = json!([]);
            }
            Answer::Json(value)
        }
        other @ (Answer::Status(..) | Answer::Text(..) | Answer::Moved(_) | Answer::Silence) => {
            other
        }
    };
    chain.node.lie(move |_, answer| emptied(answer));
    assert!(chain.source.block(height).await.unwrap().is_none(), "nothing bears it out yet");
    chain.mine_now();
    chain.source.head().await.unwrap();
    let block = chain.source.block(height).await;
    assert!(matches!(block, Err(ChainError::Inconsistent { .. })), "{block:?}");
    fired(chain.node.changed());
    chain.node.tell_the_truth();
    assert_eq!(chain.source.block(height).await.unwrap().unwrap().transfers.len(), 4);

    chain.node.node().chain.skip = 1;
    chain.node.node().idle_at = Some(height + 3);
    chain.mine_now();
    assert_eq!(chain.source.head().await.unwrap().height, height + 1);
    let idle = chain.source.header(height + 3).await.unwrap().unwrap();
    assert!(chain.source.block(idle.height).await.unwrap().is_none());
    chain.mine_now();
    chain.source.head().await.unwrap();
    let block = chain.source.block(idle.height).await.unwrap().unwrap();
    assert_eq!((block.header, block.transfers.len()), (idle, 0));
}

const BLOCK: &str = "/walletsolidity/getblockbynum";
const INFOS: &str = "/walletsolidity/gettransactioninfobyblocknum";

#[tokio::test]
async fn answers_of_tron_that_do_not_fit_together_are_refused() {
    refuses::<Tron>(&[
        ("a transaction is doubled", |path, value| {
            if path == BLOCK {
                value["transactions"][0] = value["transactions"][1].clone();
            }
        }),
        ("an outcome is doubled", |path, value| {
            if path == INFOS {
                value[0] = value[1].clone();
            }
        }),
        ("the outcomes are of another block", |path, value| {
            if path == INFOS {
                value[0]["blockNumber"] = json!(1);
            }
        }),
        ("the outcomes are of another time", |path, value| {
            if path == INFOS {
                value[2]["blockTimeStamp"] = json!(1);
            }
        }),
        ("the id is not of this height", |path, value| {
            if path == BLOCK {
                value["block_header"]["raw_data"]["number"] = json!(1);
            }
        }),
    ])
    .await;
}

#[tokio::test]
async fn one_entry_of_tron_that_cannot_be_read_does_not_stop_its_block() {
    quarantines::<Tron>(&[
        ("a transaction", 3, |path, value| {
            if path == BLOCK {
                value["transactions"][0]["raw_data"] = json!("none");
            }
        }),
        ("an outcome", 3, |path, value| {
            if path == INFOS {
                value[0]["log"] = json!("none");
            }
        }),
        ("a log", 3, |path, value| {
            if path == INFOS {
                value[1]["log"][0]["topics"] = json!([1, 2, 3]);
            }
        }),
        ("a transaction whose result is not known", 2, |path, value| {
            if path == BLOCK {
                value["transactions"][1]["ret"] = json!([]);
            }
        }),
    ])
    .await;
}

#[tokio::test]
async fn a_tron_error_with_status_200_is_recognised_as_an_error() {
    let (chain, height) = eventful::<Tron>().await;
    for (message, expected) in [
        ("class java.lang.NullPointerException : null", "Refused"),
        ("lack of computing resources", "RateLimited"),
    ] {
        for path in [BLOCK, INFOS] {
            let error = json!({ "Error": message });
            chain.node.lie(
                move |ask: &Ask, answer| {
                    if ask.path == path { Answer::Json(error.clone()) } else { answer }
                },
            );
            let kind = format!("{:?}", chain.source.block(height).await.unwrap_err());
            assert!(kind.starts_with(expected), "{path} {message}: {kind}");
        }
    }
}
