//! Invoices paid by real transactions on a real EVM node, from the request to the signed IPN.

mod apart;
mod asked_about;
mod every_network;

use std::{
    ops::Deref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use gateway::asset::{
    Family, Network,
    address::{AccountKey, Realm, sandbox},
};
use http::StatusCode;
use serde_json::{Value, json};
use support::{
    fault::fired::fired,
    node::{
        anvil::{Anvil, Call, address_word, call_data, word},
        json_rpc::{Answer, Proxy},
    },
    server::broker::eventually,
    shop::paying::{Paying, due, with_paying_as},
};

/// Chain id of no real network.
const CHAIN_ID: u64 = 313_371;
const CONFIRMATIONS: u64 = 2;
/// The contracts of USDT and USDC in the catalogue.
const USDT: &str = "0xc2132d05d31c914a87c6611c10748aeb04b58e8f";
const USDC: &str = "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359";
/// Above any amount of these tests, for the deployer.
const SUPPLY: &str = "ffffffffffffffff";

/// A gateway whose Polygon is a node of this test, with the catalogue's tokens on it.
struct Scene {
    paying: Paying,
    anvil: Anvil,
}

impl Deref for Scene {
    type Target = Paying;

    fn deref(&self) -> &Paying {
        &self.paying
    }
}

async fn with_node<F: Future<Output = ()>>(test: impl FnOnce(Scene) -> F) {
    let anvil = node_with_tokens().await;
    let told_by = format!("rpc_url = {:?}", anvil.url());
    with_told(anvil, &told_by, test).await;
}

async fn node_with_tokens() -> Anvil {
    let anvil = Anvil::start(CHAIN_ID).await.unwrap();
    let token = anvil.deploy("Token").await.unwrap();
    for contract in [USDT, USDC] {
        anvil.place_token(&token, contract, SUPPLY).await.unwrap();
    }
    anvil
}

/// `told_by` are the settings for the node from which the gateway reads `anvil`.
async fn with_told<F: Future<Output = ()>>(
    anvil: Anvil,
    told_by: &str,
    test: impl FnOnce(Scene) -> F,
) {
    let settings = format!("chain_id = {CHAIN_ID}\nconfirmations = {CONFIRMATIONS}\n{told_by}");
    with_paying_as(Network::Polygon, &settings, async |paying| test(Scene { paying, anvil }).await)
        .await;
}

impl Scene {
    /// Broadcasts a token payment of `units` by the deployer.
    async fn pay_token(&self, contract: &str, to: &str, units: u128) -> String {
        let words = [address_word(to), word(&format!("{units:x}"))];
        let data = call_data("transfer(address,uint256)", &words);
        let call = Call { to: Some(contract), value: "0x0".to_owned(), data };
        self.anvil.send(self.anvil.deployer(), &call).await.unwrap()
    }

    async fn pay_native(&mut self, to: &str, units: u128) -> String {
        let from = self.anvil.next_account();
        let call = Call { to: Some(to), value: format!("{units:#x}"), data: "0x".to_owned() };
        self.anvil.send(&from, &call).await.unwrap()
    }

    async fn mine(&self, blocks: u64) {
        for _ in 0..blocks {
            self.anvil.mine().await.unwrap();
        }
    }

    /// Waits until the watcher has reached the node's chain tip.
    async fn until_read(&self) {
        let head = self.anvil.rpc("eth_getBlockByNumber", json!(["latest", false])).await.unwrap();
        self.paying.until_at(head["hash"].as_str().unwrap()).await;
    }

    /// The address that the next invoice on an EVM network will get.
    async fn next_address(&self) -> String {
        let query = "select max(derivation_index) from deposit_address where family = 'evm'";
        let mut connection = self.stack.database.connect().await;
        let last: i64 = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
        let key = sandbox::account_key(Realm::Main, Family::Evm).unwrap();
        let key = AccountKey::parse(Family::Evm, key).unwrap();
        key.address(u32::try_from(last + 1).unwrap()).unwrap().to_lowercase()
    }

    /// Waits until the balance of a new address was compared with its initial one.
    async fn until_compared(&self, address: &str) {
        let mut connection = self.stack.database.connect().await;
        eventually("the starting balance was read", async || {
            let query =
                "select 1 from deposit_address where match_key = $1 and starting_balance > 0";
            let query = sqlx::query_scalar::<_, i32>(query).bind(address);
            query.fetch_optional(&mut connection).await.unwrap()
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_payment_finishes_its_invoice_after_its_confirmations() {
    with_node(|scene| async move {
        let invoice = scene.invoice("usdtmatic").await;
        let (address, units) = due(&invoice, 6);
        scene.pay_token(USDT, &address, units).await;
        scene.mine(CONFIRMATIONS - 1).await;
        scene.until_read().await;
        assert_eq!(scene.status(&invoice).await, "waiting", "one confirmation is not enough");
        scene.mine(1).await;
        let ipn = scene.ipns(1).await.remove(0);
        assert_eq!(ipn["payment_id"], invoice["payment_id"]);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
        assert_eq!(scene.status(&invoice).await, "finished");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn native_coins_count_whether_they_come_by_a_transfer_or_out_of_a_contract() {
    with_node(|mut scene| async move {
        let forwarder = scene.anvil.deploy("Forwarder").await.unwrap();
        let invoice = scene.invoice("pol").await;
        let (address, units) = due(&invoice, 18);
        let half = units / 2;
        scene.pay_native(&address, half).await;
        scene.mine(CONFIRMATIONS).await;
        eventually("the first half", async || {
            (scene.status(&invoice).await == "partially_paid").then_some(())
        })
        .await;
        let data = call_data("forward(address)", &[address_word(&address)]);
        let value = format!("{:#x}", units - half);
        let from = scene.anvil.next_account();
        let call = Call { to: Some(&forwarder), value, data };
        scene.anvil.send(&from, &call).await.unwrap();
        scene.mine(CONFIRMATIONS).await;
        // Only the balance shows it; it counts from the block at which it was read.
        scene.until_read().await;
        eventually("the rest is confirmed", async || {
            scene.mine(1).await;
            (scene.status(&invoice).await == "finished").then_some(())
        })
        .await;
        let ipn = scene.ipns(1).await.remove(0);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn coins_held_by_an_address_before_it_was_assigned_pay_no_invoice() {
    with_node(|mut scene| async move {
        let before = scene.invoice("pol").await;
        let (_, units) = due(&before, 18);
        let next = scene.next_address().await;
        scene.pay_native(&next, units).await;
        scene.mine(CONFIRMATIONS).await;
        scene.until_read().await;
        let invoice = scene.invoice("pol").await;
        assert_eq!(invoice["pay_address"].as_str().unwrap().to_lowercase(), next);
        scene.mine(CONFIRMATIONS + 2).await;
        scene.until_read().await;
        scene.until_compared(&next).await;
        assert_eq!(scene.status(&invoice).await, "waiting");
        let (address, units) = due(&invoice, 18);
        scene.pay_native(&address, units).await;
        scene.mine(CONFIRMATIONS).await;
        let ipn = scene.ipns(1).await.remove(0);
        assert_eq!(ipn["payment_id"], invoice["payment_id"]);
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"], "{ipn}");
    })
    .await;
}

/// Changes every payment of one unit to one of `claim`, while there is a claim.
fn inflate(claim: Option<u128>, mut reply: Value) -> (Value, usize) {
    let Some(claim) = claim else { return (reply, 0) };
    let mut lies = 0;
    let transactions = reply.pointer_mut("/result/transactions").and_then(Value::as_array_mut);
    for transaction in transactions.into_iter().flatten() {
        if transaction["value"] == "0x1" {
            transaction["value"] = json!(format!("{claim:#x}"));
            lies += 1;
        }
    }
    (reply, lies)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_reported_by_one_of_two_nodes_alone_credits_nothing_and_moves_no_cursor() {
    let anvil = node_with_tokens().await;
    let (claim, told) = (Arc::new(Mutex::new(None)), Arc::new(AtomicUsize::new(0)));
    let (its_claim, its_told) = (claim.clone(), told.clone());
    let liar = Proxy::start(anvil.url(), move |_, reply| {
        let (reply, lies) = inflate(*its_claim.lock().unwrap(), reply);
        its_told.fetch_add(lies, Ordering::Relaxed);
        Answer::Reply(reply)
    });
    let liar = liar.await.unwrap();
    let told_by = format!("rpc_url = {:?}\nwitnesses = [{:?}]", liar.url(), anvil.url());
    with_told(anvil, &told_by, |mut scene| async move {
        let invoice = scene.invoice("pol").await;
        let (address, units) = due(&invoice, 18);
        *claim.lock().unwrap() = Some(units);
        scene.pay_native(&address, 1).await;
        scene.mine(CONFIRMATIONS).await;
        eventually("the lie was told again and again", async || {
            (told.load(Ordering::Relaxed) >= 5).then_some(())
        })
        .await;
        assert_eq!(scene.status(&invoice).await, "waiting");
        for state in ["seen", "final"] {
            assert_eq!(scene.deposits(state).await, (0, 0));
        }
        fired(told.load(Ordering::Relaxed));

        *claim.lock().unwrap() = None;
        scene.pay_native(&address, units - 1).await;
        scene.mine(CONFIRMATIONS).await;
        let ipn = scene.ipns(1).await.remove(0);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_distinguishes_good_wrong_and_silent_nodes() {
    let anvil = node_with_tokens().await;
    let other = Anvil::start(CHAIN_ID + 1).await.unwrap();
    let silent = Proxy::start(anvil.url(), |_, _| {
        Answer::Http(StatusCode::TOO_MANY_REQUESTS, String::new())
    });
    let silent = silent.await.unwrap();
    let told_by =
        format!("rpc_url = {:?}\nwitnesses = [{:?}, {:?}]", anvil.url(), other.url(), silent.url());
    let mut settings = gateway::config::Config::from_toml(&format!(
        "database_url = \"postgres://nobody@127.0.0.1:1/none\"\namqp_url = \"amqp://nobody@127.0.0.1:1\"\n\
         master_key = \"{}\"\n[chains.polygon]\nsource = \"node\"\nchain_id = {CHAIN_ID}\n{told_by}\n",
        "11".repeat(32)
    ))
    .unwrap();
    settings.database_connections_max = 1;
    let gateway = gateway::app::Gateway::new(settings).unwrap();
    let findings = gateway.doctor(Some(Network::Polygon)).await;
    let told: Vec<_> = findings
        .iter()
        .map(|finding| format!("{} {}: {}", finding.check, finding.health.as_str(), finding.detail))
        .filter(|line| line.starts_with("node"))
        .collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].starts_with("node 0 of polygon ok: serves the right chain"), "{told:?}");
    assert!(
        told[1].starts_with("node 1 of polygon broken") && told[1].contains("serves chain"),
        "{told:?}"
    );
    assert!(
        told[2].starts_with("node 2 of polygon broken") && told[2].contains("rate limit"),
        "{told:?}"
    );
    // Addresses of nodes carry keys.
    assert!(told.iter().all(|line| !line.contains("127.0.0.1")), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_tokens_are_reported_and_pay_nothing() {
    with_node(|scene| async move {
        let stranger = scene.anvil.deploy("Token").await.unwrap();
        let invoice = scene.invoice("usdtmatic").await;
        let (address, units) = due(&invoice, 6);
        scene.pay_token(USDC, &address, units).await;
        scene.pay_token(&stranger, &address, units).await;
        scene.mine(CONFIRMATIONS).await;
        let mut told: Vec<_> = scene
            .ipns(2)
            .await
            .into_iter()
            .map(|ipn| {
                assert_eq!(ipn["payment_status"], "waiting");
                assert_eq!(ipn["actually_paid"].to_string(), "0");
                let notice = &ipn["_gateway"]["notice"];
                let text = |name: &str| notice[name].as_str().unwrap_or_default().to_lowercase();
                (text("type"), text("contract_address"))
            })
            .collect();
        told.sort();
        let expected =
            [("suspicious_token_received", stranger.as_str()), ("wrong_token_received", USDC)];
        let expected = expected.map(|(kind, contract)| (kind.to_owned(), contract.to_lowercase()));
        assert_eq!(told, expected);
        assert_eq!(scene.status(&invoice).await, "waiting");
        scene.pay_token(USDT, &address, units).await;
        scene.mine(CONFIRMATIONS).await;
        let ipns = scene.ipns(3).await;
        assert_eq!(ipns[2]["payment_status"], "finished");
        assert_eq!(ipns[2]["_gateway"], Value::Null);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_is_reorganised_away_before_its_confirmations_pays_nothing() {
    with_node(|mut scene| async move {
        let invoice = scene.invoice("usdtmatic").await;
        let (address, units) = due(&invoice, 6);
        scene.mine(1).await;
        scene.pay_token(USDT, &address, units).await;
        scene.mine(1).await;
        scene.until_read().await;
        assert_eq!(scene.deposits("seen").await, (1, 0), "the payment was not seen");
        scene.anvil.roll_back(1).await.unwrap();
        // Another branch without the payment, long enough to confirm the blocks of the first.
        let elsewhere = format!("0x{}", hex::encode(rand::random::<[u8; 20]>()));
        scene.pay_native(&elsewhere, 1).await;
        scene.mine(CONFIRMATIONS + 2).await;
        scene.until_read().await;
        eventually("the payment is withdrawn", async || {
            (scene.deposits("withdrawn").await == (0, 1)).then_some(())
        })
        .await;
        assert_eq!(scene.status(&invoice).await, "waiting");
        assert_eq!(scene.receiver.received().len(), 0);

        scene.pay_token(USDT, &address, units).await;
        scene.mine(CONFIRMATIONS).await;
        let ipn = scene.ipns(1).await.remove(0);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"], invoice["pay_amount"]);
    })
    .await;
}
