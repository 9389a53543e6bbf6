//! The doctor's findings about the tokens sold on Solana and TRON, in the table for people; and
//! about nodes that contradict each other.

use gateway::{
    app::{
        Gateway,
        operator::doctor::{Finding, Health},
    },
    asset::{Catalogue, Currency, Network},
    config::Config,
};
use support::{
    client::ctl::{Ctl, Ran},
    fault::fired::fired,
    node::{java_tron::node_hex, solana::SolanaNode},
    server::database::TestDatabase,
};

use super::{
    conformance::Coin,
    stub::{driver::StubDriver, tron::Tron},
};

/// A doctor's run against the node of one network.
struct Visit {
    database: TestDatabase,
    ctl: Ctl,
    network: Network,
}

impl Visit {
    async fn to(network: Network, url: &str) -> Self {
        let database = TestDatabase::create().await;
        let section = format!("GATEWAY_CHAINS__{}", network.name().to_uppercase());
        let ctl = Ctl::over(&database.url)
            .with(&format!("{section}__SOURCE"), "node")
            .with(&format!("{section}__RPC_URL"), url);
        Self { database, ctl, network }
    }

    async fn run(&self) -> Ran {
        self.ctl.run(&["doctor", "--network", self.network.name()]).await
    }

    /// The table's line about tokens: its state and findings; and the advice below, if there is
    /// any.
    async fn tokens(&self) -> (String, String, Option<String>) {
        let ran = self.run().await;
        let check = format!("tokens of {}", self.network);
        let line = ran.stdout.lines().find(|line| line.starts_with(&check));
        let line = line.unwrap_or_else(|| panic!("no {check} in {ran:?}"));
        let rest = line[check.len()..].trim();
        let (state, found) = rest.split_once(' ').unwrap();
        let advice = ran.stdout.lines().find_map(|line| line.strip_prefix(&format!("{check}: ")));
        (state.to_owned(), found.trim().to_owned(), advice.map(ToOwned::to_owned))
    }
}

fn sold(network: Network) -> Vec<&'static Currency> {
    let all = Catalogue::get().all().iter();
    all.filter(|c| c.network == network && c.contract.is_some()).collect()
}

/// `[right, wrong, absent]` as the table shows them; the last token of the catalogue is the one
/// that is wrong or absent.
async fn tells_them_apart(visit: Visit, set: impl AsyncFn(&Currency, Option<u8>)) {
    let tokens = sold(visit.network);
    let last = tokens[tokens.len() - 1];
    let (id, contract) = (last.token_id(), last.contract.unwrap());
    for token in &tokens[..tokens.len() - 1] {
        set(token, Some(token.decimals)).await;
    }
    set(last, None).await;
    let advice = "disable them until it is clear which is wrong: gatewayctl currency disable";
    let absent = format!("{id} does not exist: no contract is at {contract}");
    let expected = ("broken".to_owned(), absent, Some(advice.to_owned()));
    assert_eq!(visit.tokens().await, expected);

    set(last, Some(last.decimals + 2)).await;
    let wrong = format!("{id} has {} decimals, not {}", last.decimals + 2, last.decimals);
    assert_eq!(visit.tokens().await, ("broken".to_owned(), wrong, Some(advice.to_owned())));
    assert_eq!(visit.run().await.code, 1);

    set(last, Some(last.decimals)).await;
    let right = format!("{} are there, with the catalogue's decimals", tokens.len());
    assert_eq!(visit.tokens().await, ("ok".to_owned(), right, None));
    visit.database.remove().await;
}

#[tokio::test]
async fn the_doctor_checks_solana_mints_and_their_decimals() {
    let node = SolanaNode::start().await.unwrap();
    let visit = Visit::to(Network::Solana, node.url()).await;
    tells_them_apart(visit, async |token, decimals| {
        if let Some(decimals) = decimals {
            node.mint_of(token.contract.unwrap(), decimals).await.unwrap();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_checks_tron_contracts_and_their_decimals() {
    let chain = StubDriver::<Tron>::start().await;
    chain.mine_now();
    let visit = Visit::to(Network::Tron, chain.node.url()).await;
    tells_them_apart(visit, async |token, decimals| {
        let contract = node_hex(token.contract.unwrap())[2..].to_owned();
        let known = &mut chain.node.node().decimals;
        match decimals {
            Some(decimals) => known.insert(contract, decimals),
            None => known.remove(&contract),
        };
    })
    .await;
}

/// A gateway without own servers that is configured with two nodes of TRON.
fn beside(first: &str, second: &str) -> Gateway {
    let mut settings = Config::from_toml(&format!(
        "database_url = \"postgres://nobody@127.0.0.1:1/none\"\namqp_url = \"amqp://nobody@127.0.0.1:1\"\n\
         master_key = \"{}\"\n[chains.tron]\nsource = \"node\"\nrpc_url = {first:?}\nwitnesses = [{second:?}]\n",
        "11".repeat(32)
    ))
    .unwrap();
    settings.database_connections_max = 1;
    Gateway::new(settings).unwrap()
}

async fn found(gateway: &Gateway, check: &str) -> Finding {
    let findings = gateway.doctor(Some(Network::Tron)).await;
    let finding = findings.into_iter().find(|finding| finding.check == check);
    finding.unwrap_or_else(|| panic!("no {check}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_names_which_of_two_nodes_differs() {
    let (one, other) = (StubDriver::<Tron>::start().await, StubDriver::<Tron>::start().await);
    let knows = |chain: &StubDriver<Tron>, token: &Currency, decimals| {
        let contract = node_hex(token.contract.unwrap())[2..].to_owned();
        chain.node.node().decimals.insert(contract, decimals);
    };
    let tokens = sold(Network::Tron);
    for chain in [&one, &other] {
        chain.mine_now();
        tokens.iter().for_each(|token| knows(chain, token, token.decimals));
    }
    let gateway = beside(one.node.url(), other.node.url());
    let (said, address) = ("tokens of tron", "address on tron");
    let alike = found(&gateway, said).await;
    let right = format!("{} are there, with the catalogue's decimals, by 2 nodes", tokens.len());
    assert_eq!((alike.health, alike.detail), (Health::Ok, right));
    let alike = found(&gateway, address).await;
    let first = alike.facts["address"].as_str().unwrap().to_owned();
    assert_eq!(alike.detail, format!("{first} holds 0 TRX at block 1"));

    knows(&other, tokens[0], tokens[0].decimals + 2);
    other.pay_now(Coin::Native, &first, 5_000_000);
    let differs = found(&gateway, said).await;
    let (id, decimals) = (tokens[0].token_id(), tokens[0].decimals);
    let wrong = format!("node 1: {id} has {} decimals, not {decimals}", decimals + 2);
    assert_eq!((differs.health, differs.detail), (Health::Broken, wrong));
    let differs = found(&gateway, address).await;
    let held = format!("{first} holds 0 TRX at block 1, but by node 1 5 TRX at block 2");
    assert_eq!((differs.health, differs.detail), (Health::Doubtful, held));
    assert!(differs.advice.unwrap().contains("run it again"));
    // It reported other decimals, and another balance.
    fired(2);

    let gateway = beside(one.node.url(), "http://127.0.0.1:1");
    let silent = found(&gateway, said).await;
    assert_eq!(silent.health, Health::Broken);
    assert!(silent.detail.starts_with("node 1: the node of tron did not answer"), "{silent:?}");
    assert_eq!(silent.advice, None, "nothing speaks against the tokens");
}
