//! The doctor's grades of nodes, good and bad ones.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use gateway::{
    app::{
        Gateway,
        operator::doctor::{Finding, Health},
    },
    asset::Network,
    config::Config,
};
use http::StatusCode;
use serde_json::json;
use support::{
    client::ctl::Ctl,
    node::json_rpc::{Answer, Proxy},
};

use super::{
    conformance::{Act, ChainUnderTest, Coin, Output},
    evm::driver::AnvilChain,
    stub::{
        driver::{Flavour, StubDriver},
        tron::Tron,
    },
};

const NETWORK: Network = Network::Polygon;

async fn paid_chain() -> AnvilChain {
    let mut chain = AnvilChain::start(NETWORK).await.unwrap();
    for coin in [Coin::Native, Coin::Token] {
        let to = chain.fresh_address().await;
        chain.send(&Act::Pay(coin, vec![Output::new(&to, 7)])).await;
    }
    chain.mine().await;
    chain
}

/// Findings of a gateway without own servers, whose nodes of Polygon are at `urls`.
async fn findings(urls: &[&str]) -> Vec<Finding> {
    let witnesses: Vec<_> = urls[1..].iter().map(|url| format!("{url:?}")).collect();
    let mut settings = Config::from_toml(&format!(
        "database_url = \"postgres://nobody@127.0.0.1:1/none\"\namqp_url = \"amqp://nobody@127.0.0.1:1\"\n\
         master_key = \"{}\"\n[chains.polygon]\nsource = \"node\"\nrpc_url = {:?}\nwitnesses = [{}]\n",
        "11".repeat(32),
        urls[0],
        witnesses.join(", "),
    ))
    .unwrap();
    settings.database_connections_max = 1;
    Gateway::new(settings).unwrap().doctor(Some(NETWORK)).await
}

fn found<'a>(findings: &'a [Finding], check: &str) -> &'a Finding {
    let found = findings.iter().find(|finding| finding.check == check);
    found.unwrap_or_else(|| panic!("no {check} in {findings:#?}"))
}

fn advice(finding: &Finding) -> &str {
    finding.advice.as_deref().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_node_is_graded_with_its_methods_and_its_calls_a_day() {
    let chain = paid_chain().await;
    let told = findings(&[chain.anvil.url()]).await;
    let methods = found(&told, "methods of node 0 of polygon");
    assert_eq!(methods.health, Health::Ok, "{methods:?}");
    assert!(
        methods.detail.starts_with("answers 5 of 5 that are asked; the slowest, "),
        "{methods:?}"
    );
    let load = found(&told, "load of node 0 of polygon");
    assert_eq!(load.health, Health::Ok, "{load:?}");
    // 43,200 looks of two calls, and 43,200 blocks of two. There is no database to count invoices.
    assert!(load.detail.starts_with("about 172,800 calls a day, 2.0 a second: "), "{load:?}");
    assert!(load.detail.contains("4 at once, and refused none"), "{load:?}");
    assert_eq!(load.facts["open_invoices"], json!(null));
    let tried = load.facts["tried_calls"].as_u64().unwrap();
    assert!((1..=40).contains(&tried), "no flood: {load:?}");
    let grade = found(&told, "grade of polygon");
    assert_eq!((grade.health, &grade.facts["grade"]), (Health::Ok, &json!("good")), "{grade:?}");
    assert!(
        grade.detail.starts_with("good: 1 of 1 nodes can be used; it is believed alone"),
        "{grade:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_lacks_a_method_or_wants_fewer_calls_is_named_with_what_to_do() {
    let chain = paid_chain().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let old = Proxy::start(chain.anvil.url(), move |method, mut reply| {
        if method == "eth_getBlockReceipts" {
            let error = json!({ "code": -32601, "message": "the method does not exist" });
            reply = json!({ "jsonrpc": "2.0", "id": reply["id"], "error": error });
        }
        if method == "eth_getBlockByNumber" && asked.fetch_add(1, Ordering::Relaxed) >= 15 {
            return Answer::Http(StatusCode::TOO_MANY_REQUESTS, String::new());
        }
        Answer::Reply(reply)
    });
    let old = old.await.unwrap();
    let told = findings(&[old.url()]).await;
    let methods = found(&told, "methods of node 0 of polygon");
    assert_eq!(methods.health, Health::Doubtful, "{methods:?}");
    assert!(methods.detail.ends_with("; it does not have eth_getBlockReceipts"), "{methods:?}");
    assert!(advice(methods).contains("choose a node that has it"), "{methods:?}");
    let load = found(&told, "load of node 0 of polygon");
    assert_eq!(load.health, Health::Doubtful, "{load:?}");
    assert!(load.detail.ends_with("and asked for fewer (rate limit)"), "{load:?}");
    assert!(advice(load).starts_with("take a plan or a node that allows "), "{load:?}");
    let grade = found(&told, "grade of polygon");
    assert_eq!(grade.health, Health::Doubtful, "{grade:?}");
    let todo = json!(["methods of node 0 of polygon", "load of node 0 of polygon"]);
    assert_eq!((&grade.facts["grade"], &grade.facts["todo"]), (&json!("usable"), &todo));
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_stand_on_two_chains_are_not_fit_together() {
    let (one, other) = (paid_chain().await, paid_chain().await);
    // A node cannot be its own witness, by one name.
    let by_name = one.anvil.url().replace("127.0.0.1", "localhost");
    let alike = findings(&[one.anvil.url(), &by_name]).await;
    let agreement = found(&alike, "agreement on polygon");
    assert_eq!(agreement.health, Health::Ok, "{agreement:?}");
    assert!(agreement.detail.starts_with("2 nodes have the same block "), "{agreement:?}");
    assert_eq!(found(&alike, "grade of polygon").facts["grade"], "good");

    // The newest blocks of both have enough confirmations to be compared.
    for _ in 0..20 {
        one.anvil.mine().await.unwrap();
        other.anvil.mine().await.unwrap();
    }
    let told = findings(&[one.anvil.url(), other.anvil.url()]).await;
    let agreement = found(&told, "agreement on polygon");
    assert_eq!(agreement.health, Health::Broken, "{agreement:?}");
    assert!(agreement.detail.starts_with("they have different blocks "), "{agreement:?}");
    assert!(advice(agreement).contains("nothing is credited while they differ"), "{agreement:?}");
    let grade = found(&told, "grade of polygon");
    assert_eq!((grade.health, &grade.facts["grade"]), (Health::Broken, &json!("unfit")));

    let alone = findings(&[one.anvil.url(), "http://127.0.0.1:1"]).await;
    let grade = found(&alone, "grade of polygon");
    assert!(
        grade.detail.starts_with("not fit: 1 of 2 nodes can be used, and two must agree"),
        "{grade:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_prints_the_grade_last_and_as_json() {
    let chain = StubDriver::<Tron>::start().await;
    for _ in 0..3 {
        chain.pay_now(Coin::Native, &Tron::fresh_address(), 5);
    }
    let ctl = Ctl::over("postgres://nobody@127.0.0.1:1/none")
        .with("GATEWAY_CHAINS__TRON__SOURCE", "node")
        .with("GATEWAY_CHAINS__TRON__RPC_URL", chain.node.url());
    let report = ctl.run(&["--json", "doctor", "--network", "tron"]).await.json();
    let checks = report["checks"].as_array().unwrap();
    let check = |name: &str| {
        let found = checks.iter().find(|check| check["check"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {report}"))
    };
    let methods = check("methods of node 0 of tron")["methods"].as_array().unwrap();
    let block = methods.iter().find(|method| method["method"] == "walletsolidity/getblockbynum");
    assert_eq!(block.unwrap()["state"], "answers", "{methods:?}");
    assert_eq!(block.unwrap()["level"], "required");
    assert_eq!(check("load of node 0 of tron")["calls_a_day"], 28_800 * 3 + 28_800 * 2);
    assert!(check("grade of tron")["grade"].is_string());
    // No node's address is repeated: it may carry a key.
    let text = ctl.run(&["doctor", "--network", "tron"]).await.stdout;
    assert!(!text.contains(chain.node.url()), "{text}");
    let table: Vec<_> = text.lines().filter(|line| line.starts_with("grade of tron")).collect();
    assert!(!table.is_empty(), "{text}");

    let none = Ctl::over("postgres://nobody@127.0.0.1:1/none")
        .with("GATEWAY_CHAINS__TRON__SOURCE", "off")
        .run(&["doctor", "--network", "tron"])
        .await;
    assert!(none.stdout.contains("no node is configured"), "{none:?}");
    assert!(none.stdout.contains("set chains.tron.rpc_url"), "{none:?}");
}
