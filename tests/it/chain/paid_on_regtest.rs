//! Invoices paid by real transactions on real nodes of bitcoin and litecoin, from the request to the signed IPN. Dogecoin's
//! node is to be had nowhere, so litecoin's stands in: with addresses by key hash the two speak alike.

use std::sync::Arc;

use gateway::asset::{Catalogue, Network};
use serde_json::{Value, json};
use support::{
    broker::eventually,
    receiver::{Received, Receiver},
    regtest::{Kind, Regtest},
    stack::{Merchant, Stack, only, with_configured_stack},
};

const CONFIRMATIONS: u64 = 2;

struct Scene {
    stack: Arc<Stack>,
    node: Regtest,
    network: Network,
    currency: &'static str,
    merchant: Merchant,
    receiver: Receiver,
}

/// A gateway that follows one network on a node of this test. Coins are dear, so that the node's few buy something.
async fn with_node<F: Future<Output = ()>>(network: Network, test: impl FnOnce(Scene) -> F) {
    let kind = if network == Network::Bitcoin { Kind::Bitcoin } else { Kind::Litecoin };
    let currency = Catalogue::get().native(network).code;
    let node = Regtest::start(kind).await.unwrap();
    let genesis = node.genesis().await.unwrap();
    let settings = format!(
        "source = \"node\"\nrpc_url = {:?}\ngenesis = {genesis:?}\nconfirmations = {CONFIRMATIONS}\n\
         poll_ms = 50\n",
        node.url()
    );
    let toml = settings
        .lines()
        .fold(only(network), |toml, setting| format!("{toml}chains.{network}.{setting}\n"));
    with_configured_stack(&toml, |stack| async move {
        let mut connection = stack.database.connect().await;
        let dear = "update rate set price = 10000 where symbol = upper($1)";
        sqlx::query(dear).bind(currency).execute(&mut connection).await.unwrap();
        stack.start_all();
        let merchant = stack.merchant().await;
        let receiver = Receiver::answering(200).await;
        let scene = Scene { stack, node, network, currency, merchant, receiver };
        scene.until_watched().await;
        test(scene).await;
    })
    .await;
}

impl Scene {
    /// The first look starts at the head; what is mined after it is seen.
    async fn until_watched(&self) {
        let mut connection = self.stack.database.connect().await;
        eventually("the watcher's first look", async || {
            let query =
                "select 1 from chain_cursor where network = $1 and watched_through is not null";
            let query = sqlx::query_scalar::<_, i32>(query).bind(self.network.name());
            query.fetch_optional(&mut connection).await.unwrap()
        })
        .await;
    }

    /// Waits until the watcher stands on the node's head.
    async fn until_read(&self) {
        let mut connection = self.stack.database.connect().await;
        let height = self.node.height().await.unwrap();
        let head = self.node.hash_at(height).await.unwrap();
        eventually("the watcher reads the head", async || {
            let query = sqlx::query_scalar("select hash from chain_cursor where network = $1");
            let query = query.bind(self.network.name());
            let hash: String = query.fetch_one(&mut connection).await.unwrap();
            (hash == head).then_some(())
        })
        .await;
    }

    /// The id, the address and the amount in base units of a new invoice.
    async fn invoice(&self) -> (String, String, u64) {
        let body = json!({
            "price_amount": 250, "price_currency": "usd", "pay_currency": self.currency,
            "ipn_callback_url": self.receiver.url,
        });
        let created = self.merchant.client.post("/v1/payment", &body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let invoice = created.json();
        let amount: rust_decimal::Decimal = invoice["pay_amount"].to_string().parse().unwrap();
        let units = (amount * rust_decimal::Decimal::from(100_000_000)).normalize();
        let text = |name: &str| invoice[name].as_str().unwrap().to_owned();
        (text("payment_id"), text("pay_address"), units.to_string().parse().unwrap())
    }

    async fn status(&self, id: &str) -> String {
        let answer = self.merchant.client.get(&format!("/v1/payment/{id}")).await.json();
        answer["payment_status"].as_str().unwrap().to_owned()
    }

    /// How many deposits are in `state`, in a block or waiting for one.
    async fn until_deposits(&self, state: &str, mined: bool, count: i64) {
        let mut connection = self.stack.database.connect().await;
        eventually(&format!("{count} deposits are {state}"), async || {
            let query =
                "select count(*) from deposit where state = $1 and (height is not null) = $2";
            let query = sqlx::query_scalar(query).bind(state).bind(mined);
            let found: i64 = query.fetch_one(&mut connection).await.unwrap();
            (found == count).then_some(())
        })
        .await;
    }

    /// The first `count` IPNs, verified; there are no more.
    async fn ipns(&self, count: usize) -> Vec<Value> {
        let received = self.receiver.wait_for(count).await;
        let secret = self.merchant.new.webhook_secret.reveal();
        received.iter().for_each(|ipn| ipn.verify(secret));
        assert_eq!(received.len(), count);
        received.iter().map(Received::json).collect()
    }
}

/// One invoice is paid, the payment is taken back on another branch, and it is paid again; another one is paid in a block
/// that is there before any watcher can know of the invoice.
async fn finishes_invoices(network: Network) {
    with_node(network, |scene| async move {
        let (id, address, units) = scene.invoice().await;
        let to = |address: &str, units| [(address.to_owned(), units)];
        let (_, coin) = scene.node.pay(&to(&address, units)).await.unwrap();
        scene.until_deposits("seen", false, 1).await;
        scene.node.mine(1).await.unwrap();
        scene.until_deposits("seen", true, 1).await;
        assert_eq!(scene.status(&id).await, "waiting", "one confirmation is not enough");

        let nobody = scene.node.fresh_address().await.unwrap();
        scene.node.roll_back(1).await.unwrap();
        let taken_back = scene.node.signed_payment(&coin, &to(&nobody, 1_000), 90_000).await;
        scene.node.mine_exactly(&[taken_back.unwrap()]).await.unwrap();
        scene.node.mine(CONFIRMATIONS + 1).await.unwrap();
        scene.until_read().await;
        scene.until_deposits("withdrawn", false, 1).await;
        assert_eq!(scene.status(&id).await, "waiting");
        assert_eq!(scene.receiver.received().len(), 0);

        scene.node.pay(&to(&address, units)).await.unwrap();
        scene.node.mine(CONFIRMATIONS).await.unwrap();
        let ipn = scene.ipns(1).await.remove(0);
        assert_eq!(
            (ipn["payment_id"].as_str(), ipn["payment_status"].as_str()),
            (Some(&*id), Some("finished"))
        );
        assert_eq!(ipn["actually_paid"], ipn["pay_amount"]);

        let (id, address, units) = scene.invoice().await;
        scene.node.pay(&to(&address, units)).await.unwrap();
        scene.node.mine(CONFIRMATIONS).await.unwrap();
        let ipn = scene.ipns(2).await.remove(1);
        assert_eq!(
            (ipn["payment_id"].as_str(), ipn["payment_status"].as_str()),
            (Some(&*id), Some("finished"))
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_on_bitcoin_is_finished_after_a_payment_that_was_taken_back() {
    finishes_invoices(Network::Bitcoin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_on_litecoin_is_finished_after_a_payment_that_was_taken_back() {
    finishes_invoices(Network::Litecoin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_on_dogecoin_is_finished_after_a_payment_that_was_taken_back() {
    finishes_invoices(Network::Dogecoin).await;
}

/// An invoice is paid by the very reward of a block: real coins, which nobody can spend before they have `maturity`
/// confirmations.
async fn is_paid_by_a_reward(network: Network, maturity: u64) {
    with_node(network, |scene| async move {
        let (id, address, units) = scene.invoice().await;
        scene.node.rpc("generatetoaddress", json!([1, address])).await.unwrap();
        scene.until_deposits("seen", true, 1).await;
        scene.node.mine(maturity - 2).await.unwrap();
        scene.until_read().await;
        assert_eq!(scene.status(&id).await, "waiting", "it has one confirmation too few");

        scene.node.mine(1).await.unwrap();
        let ipn = scene.ipns(1).await.remove(0);
        assert_eq!(
            (ipn["payment_id"].as_str(), ipn["payment_status"].as_str()),
            (Some(&*id), Some("finished"))
        );
        let paid: rust_decimal::Decimal = ipn["actually_paid"].to_string().parse().unwrap();
        assert!(paid > rust_decimal::Decimal::new(units.try_into().unwrap(), 8), "{ipn}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reward_of_bitcoin_pays_once_it_can_be_spent() {
    is_paid_by_a_reward(Network::Bitcoin, 100).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reward_of_dogecoin_pays_once_it_can_be_spent() {
    is_paid_by_a_reward(Network::Dogecoin, 240).await;
}
