//! Nodes that refuse, answer nonsense or fall silent.

use std::time::Duration;

use gateway::{
    asset::Network,
    chain::{ChainError, ChainSource},
};
use http::StatusCode;
use serde_json::json;
use support::{
    fault::fired::fired,
    node::{anvil::Anvil, json_rpc::Answer},
};

use super::{
    driver::{random_address, source},
    stage::{LOGS, TRANSFERS, eventful, proxied, without_block_receipts},
};
use crate::chain::conformance::{Act, ChainUnderTest, Coin, Output};

type Node = Box<dyn Fn() -> Answer + Send + Sync>;

#[tokio::test]
async fn a_node_of_another_chain_is_refused() {
    let anvil = Anvil::start(42_161).await.unwrap();
    assert!(source(Network::Arbitrum, anvil.url()).head().await.is_ok());
    let wrong = source(Network::Base, anvil.url()).head().await;
    let Err(ChainError::WrongChain { network: Network::Base, expected, found }) = wrong else {
        panic!("{wrong:?}");
    };
    assert_eq!((expected.as_str(), found.as_str()), ("0x2105", "0xa4b1"));
    fired(1);
    assert!(source(Network::Base, anvil.url()).with_chain_id(42_161).head().await.is_ok());
}

#[tokio::test]
async fn every_kind_of_refusal_has_its_own_error() {
    let (chain, height) = eventful().await;
    let error = |code: i64, message: &str| {
        let error = json!({ "code": code, "message": message });
        Answer::Reply(json!({ "jsonrpc": "2.0", "id": 0, "error": error }))
    };
    let http = |status, text: &str| Answer::Http(status, text.to_owned());
    let cases: [(&str, Node); 10] = [
        ("RateLimited", Box::new(move || http(StatusCode::TOO_MANY_REQUESTS, "slow down"))),
        (
            "RateLimited",
            Box::new(move || http(StatusCode::OK, "Error: lack of computing resources")),
        ),
        ("RateLimited", Box::new(move || error(-32005, "limit exceeded"))),
        ("Refused", Box::new(move || error(-32005, "query returned more than 10000 results"))),
        ("Refused", Box::new(move || error(-32000, "header not found"))),
        ("Unreachable", Box::new(move || http(StatusCode::BAD_GATEWAY, "<html>"))),
        ("Malformed", Box::new(move || http(StatusCode::OK, "<html>"))),
        ("Malformed", Box::new(|| Answer::Reply(json!({ "jsonrpc": "2.0", "id": 0 })))),
        ("Malformed", Box::new(|| Answer::Reply(json!({ "id": 0, "result": { "hash": 1 } })))),
        ("Unreachable", Box::new(|| Answer::Http(StatusCode::OK, "x".repeat(65 * 1024 * 1024)))),
    ];
    for (place, (expected, answer)) in cases.into_iter().enumerate() {
        let (proxy, source) = proxied(&chain.anvil, move |_, _| answer()).await;
        let refused = source.block(height).await.expect_err("no such answer is a block");
        let kind = format!("{refused:?}");
        assert!(kind.starts_with(expected), "case {place}: {kind}");
        assert!(
            !format!("{kind} {refused}").contains(proxy.url()),
            "the address is shown: {refused}"
        );
        fired(proxy.changed());
    }
}

/// In the words of several providers.
#[tokio::test]
async fn a_node_that_caps_the_logs_of_a_block_is_asked_for_its_receipts() {
    let (chain, height) = eventful().await;
    for (code, message) in [
        (-32005, "query returned more than 10000 results"),
        (
            -32602,
            "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range",
        ),
        (-32000, "response size should not greater than 10000000 bytes"),
        (-32005, "too many logs: limit exceeded"),
    ] {
        let (proxy, source) = proxied(&chain.anvil, move |method, mut reply| {
            without_block_receipts(method, &mut reply);
            if method == LOGS {
                let error = json!({ "code": code, "message": message });
                reply = json!({ "jsonrpc": "2.0", "id": reply["id"], "error": error });
            }
            Answer::Reply(reply)
        })
        .await;
        let block = source.block(height).await.unwrap().unwrap();
        assert_eq!(block.transfers.len(), TRANSFERS, "{message}");
        fired(proxy.changed());
    }
}

#[tokio::test]
async fn a_silent_node_and_a_missing_one_are_given_up_in_time() {
    let (chain, height) = eventful().await;
    let (_proxy, quiet) = proxied(&chain.anvil, |_, _| Answer::Silence).await;
    let silent = quiet.with_deadline(Duration::from_millis(300)).block(height).await;
    assert!(matches!(silent, Err(ChainError::Unreachable { .. })), "{silent:?}");

    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/v3/access-key", listener.local_addr().unwrap());
    drop(listener);
    let missing = source(Network::Arbitrum, &url).head().await.unwrap_err();
    assert!(matches!(missing, ChainError::Unreachable { .. }), "{missing:?}");
    assert!(!format!("{missing:?}").contains("access-key"), "{missing:?}");
}

#[tokio::test]
async fn balances_that_do_not_fit_the_question_are_asked_again_one_by_one() {
    let (mut chain, _) = eventful().await;
    let to = random_address();
    chain.send(&Act::Pay(Coin::Native, vec![Output::new(&to, 77)])).await;
    chain.mine().await;
    let at = chain.source.head().await.unwrap();
    let (_proxy, source) = proxied(&chain.anvil, |method, mut reply| {
        if method == "eth_call" {
            reply["result"] = json!("0x");
        }
        Answer::Reply(reply)
    })
    .await;
    let balances = source.native_balances(&at, &[to.clone(), random_address()]).await.unwrap();
    let balances: Vec<u128> = balances.unwrap().into_iter().map(|units| units.get()).collect();
    assert_eq!(balances, [77, 0]);

    let mut unknown = at;
    unknown.hash = format!("0x{}", "ab".repeat(32));
    assert!(source.native_balances(&unknown, &[to]).await.is_err(), "balances of no block");
}
