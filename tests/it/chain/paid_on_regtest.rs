//! Invoices paid by real transactions on real nodes of bitcoin and litecoin, from the request to
//! the signed IPN. No dogecoin node is available, so litecoin's replaces it: with P2PKH addresses
//! the two behave alike.

use std::ops::Deref;

use gateway::asset::{Catalogue, Network};
use serde_json::{Value, json};
use support::{
    fault::fired::fired,
    node::regtest::{Kind, Regtest},
    server::broker::eventually,
    shop::paying::{Paying, due, with_dear_coins},
};

const CONFIRMATIONS: u64 = 2;
/// The minimum of bitcoin.
const DOLLARS: u32 = 250;
const DECIMALS: u32 = 8;

/// A gateway that follows one network on a node of this test.
struct Scene {
    paying: Paying,
    node: Regtest,
    currency: &'static str,
}

impl Deref for Scene {
    type Target = Paying;

    fn deref(&self) -> &Paying {
        &self.paying
    }
}

async fn with_node<F: Future<Output = ()>>(network: Network, test: impl FnOnce(Scene) -> F) {
    let kind = if network == Network::Bitcoin { Kind::Bitcoin } else { Kind::Litecoin };
    let currency = Catalogue::get().native(network).code;
    let node = Regtest::start(kind).await.unwrap();
    let genesis = node.genesis().await.unwrap();
    let settings = format!(
        "rpc_url = {:?}\ngenesis = {genesis:?}\nconfirmations = {CONFIRMATIONS}",
        node.url()
    );
    with_dear_coins(network, &settings, async |paying| {
        test(Scene { paying, node, currency }).await;
    })
    .await;
}

impl Scene {
    /// Waits until the watcher has reached the node's chain tip.
    async fn until_read(&self) {
        let height = self.node.height().await.unwrap();
        self.paying.until_at(&self.node.hash_at(height).await.unwrap()).await;
    }

    /// A new invoice, with its address and its amount in base units.
    async fn owed(&self) -> (Value, String, u64) {
        let invoice = self.invoice_of(DOLLARS, self.currency).await;
        let (address, units) = due(&invoice, DECIMALS);
        (invoice, address, units.try_into().unwrap())
    }

    /// Waits for these numbers of deposits in `state`, in blocks and pending.
    async fn until_deposits(&self, state: &str, count: (i64, i64)) {
        eventually(&format!("{count:?} deposits are {state}"), async || {
            (self.deposits(state).await == count).then_some(())
        })
        .await;
    }

    /// The newest of `count` IPNs, which reports `invoice` as paid.
    async fn finishes(&self, invoice: &Value, count: usize) -> Value {
        let ipn = self.ipns(count).await.remove(count - 1);
        assert_eq!(ipn["payment_id"], invoice["payment_id"]);
        assert_eq!(ipn["payment_status"], "finished");
        ipn
    }
}

/// One invoice is paid, the payment is reversed on another branch, and it is paid again; another
/// one is paid in a block mined before any watcher can know of the invoice.
async fn finishes_invoices(network: Network) {
    with_node(network, |scene| async move {
        let (invoice, address, units) = scene.owed().await;
        let to = |address: &str, units| [(address.to_owned(), units)];
        let (_, coin) = scene.node.pay(&to(&address, units)).await.unwrap();
        scene.until_deposits("seen", (0, 1)).await;
        scene.node.mine(1).await.unwrap();
        scene.until_deposits("seen", (1, 0)).await;
        assert_eq!(scene.status(&invoice).await, "waiting", "one confirmation is not enough");

        let nobody = scene.node.fresh_address().await.unwrap();
        scene.node.roll_back(1).await.unwrap();
        let taken_back = scene.node.signed_payment(&coin, &to(&nobody, 1_000), 90_000).await;
        scene.node.mine_exactly(&[taken_back.unwrap()]).await.unwrap();
        scene.node.mine(CONFIRMATIONS + 1).await.unwrap();
        scene.until_read().await;
        scene.until_deposits("withdrawn", (0, 1)).await;
        assert_eq!(scene.status(&invoice).await, "waiting");
        fired(1);
        assert_eq!(scene.receiver.received().len(), 0);

        scene.node.pay(&to(&address, units)).await.unwrap();
        scene.node.mine(CONFIRMATIONS).await.unwrap();
        let ipn = scene.finishes(&invoice, 1).await;
        assert_eq!(ipn["actually_paid"], ipn["pay_amount"]);

        let (invoice, address, units) = scene.owed().await;
        scene.node.pay(&to(&address, units)).await.unwrap();
        scene.node.mine(CONFIRMATIONS).await.unwrap();
        scene.finishes(&invoice, 2).await;
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

/// An invoice is paid by a block reward itself: real coins, which cannot be spent before they have
/// `maturity` confirmations.
async fn is_paid_by_a_reward(network: Network, maturity: u64) {
    with_node(network, |scene| async move {
        let (invoice, address, units) = scene.owed().await;
        scene.node.rpc("generatetoaddress", json!([1, address])).await.unwrap();
        scene.until_deposits("seen", (1, 0)).await;
        scene.node.mine(maturity - 2).await.unwrap();
        scene.until_read().await;
        assert_eq!(scene.status(&invoice).await, "waiting", "it has one confirmation too few");

        scene.node.mine(1).await.unwrap();
        let ipn = scene.finishes(&invoice, 1).await;
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
