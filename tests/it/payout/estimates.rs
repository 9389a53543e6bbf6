//! A node's responses about gas and its price that are not the recipient's fault.

use std::collections::HashMap;

use gateway::{
    app::payout::{AdvanceError, Story, Wallet},
    asset::Network,
    payout::{batch::VERSIONS_MAX, payment::PaymentState},
};
use support::{
    lanes::Lane,
    node::fake_evm::{Cast, Dear, FakeEvm, State},
    server::stack::only,
    shop::payouts::{Orders, evm_address, fund_from_nowhere, new_order, row},
};

use super::node::{COIN, due};

const CHAIN_ID: u64 = 313_376;
const CONFIRMATIONS: usize = 3;
const ROWS: u32 = 3;
const AMOUNT: u128 = COIN / 100;
const ROUNDS: u32 = 60;
const GWEI: u128 = 1_000_000_000;

/// A gateway that pays on a fake node without faults.
struct Scene {
    lane: Lane,
    fake: FakeEvm,
    wallet: Wallet,
    orders: Orders,
}

impl Scene {
    async fn open() -> Self {
        Self::beside(None).await
    }

    async fn beside(witness: Option<&FakeEvm>) -> Self {
        let (fake, chain) = (FakeEvm::start().await.unwrap(), "chains.polygon");
        let witnesses: Vec<_> = witness.into_iter().map(FakeEvm::url).collect();
        let toml = only(Network::Polygon)
            + &format!(
                "{chain}.source = \"node\"\n{chain}.rpc_url = {:?}\n{chain}.chain_id = {CHAIN_ID}\n\
                 {chain}.confirmations = {CONFIRMATIONS}\n{chain}.witnesses = {witnesses:?}\n",
                fake.url()
            );
        let lane = Lane::open(&toml).await;
        let wallet = Wallet::open(&lane.gateway).unwrap();
        let orders = Orders::open(&lane.gateway).await;
        Self { lane, fake, wallet, orders }
    }

    /// A funded order over coins, on a chain of its own.
    async fn order(&mut self) -> Story {
        let fresh = "insert into network_fee (network, fee_rate) values ('polygon', 6000000000) \
                     on conflict (network) do update set observed_at = now()";
        sqlx::raw_sql(fresh).execute(&mut self.lane.connection).await.unwrap();
        let rows = (1..=ROWS).map(|n| row(n, evm_address(n), AMOUNT)).collect();
        let wanted = new_order(Network::Polygon, "pol", rows);
        let order = self.orders.confirmed(&self.lane.gateway, &wanted).await;
        let address = order["depositAddress"].as_str().unwrap().to_lowercase();
        let cast = Cast {
            chain_id: CHAIN_ID,
            required: CONFIRMATIONS,
            order: address.clone(),
            ..Cast::default()
        };
        self.fake.begin(1, cast, HashMap::from([(address, due(&order))]));
        self.fake.with(State::be_honest);
        let id = order["id"].as_str().unwrap();
        fund_from_nowhere(&mut self.lane.connection, id, None).await;
        self.story(id).await
    }

    async fn story(&self, id: &str) -> Story {
        self.lane.gateway.explain_payout(id).await.unwrap()
    }

    /// One look, and the order after it.
    async fn look(&mut self, order: &Story) -> (Result<(), AdvanceError>, Story) {
        let done = self.lane.gateway.advance_payout(order.order.id, &self.wallet).await;
        self.fake.with(State::pass);
        (done, self.story(&order.order.order_id).await)
    }

    /// Every recipient is paid, and none twice.
    async fn is_paid_once(&mut self, order: &Story) {
        for _ in 0..ROUNDS {
            let (done, story) = self.look(order).await;
            done.unwrap();
            if story.order.state.is_terminal() {
                assert_eq!(story.order.state.as_str(), "completed");
                assert_eq!(story.order.waits_for, None);
                let paid = self.fake.with(|chain| chain.paid());
                let each = (1..=ROWS).map(|n| (evm_address(n), (1, AMOUNT)));
                assert_eq!(paid, each.collect());
                return;
            }
        }
        panic!("it is not paid: {}", self.story(&order.order.order_id).await.object);
    }
}

/// On Arbitrum the data fee is part of a payment's gas, so the fees of others on Ethereum can make
/// every transfer take more than was quoted.
#[tokio::test(flavor = "multi_thread")]
async fn while_every_transfer_costs_more_than_quoted_rows_wait_and_none_fails() {
    let mut scene = Scene::open().await;
    for (dear, word) in [(Dear::Refused, "exceeds allowance"), (Dear::Told, "were quoted for one")]
    {
        let order = scene.order().await;
        scene.fake.with(|chain| chain.set_dear(Some(dear)));
        for _ in 0..3 {
            let (done, story) = scene.look(&order).await;
            assert!(done.is_err() && story.payments.is_empty(), "{dear:?}");
            assert!(story.order.books.failed.is_zero(), "{dear:?}: {}", story.object);
            let waits_for = story.order.waits_for.unwrap_or_default();
            assert!(waits_for.contains(word), "{dear:?}: {waits_for}");
        }
        scene.fake.with(|chain| chain.set_dear(None));
        scene.is_paid_once(&order).await;
    }
    scene.lane.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_no_node_estimates_keeps_no_other_from_being_sent() {
    let mut scene = Scene::open().await;
    let order = scene.order().await;
    scene.fake.with(|chain| {
        chain.unknown.insert(evm_address(1));
        chain.loses_payments = true;
    });
    let states =
        |story: &Story| story.payments.iter().map(|payment| payment.state).collect::<Vec<_>>();
    let (_, story) = scene.look(&order).await;
    assert_eq!(states(&story), [PaymentState::Signed; 2]);
    scene.fake.with(|chain| chain.loses_payments = false);
    let (done, story) = scene.look(&order).await;
    assert!(done.is_err());
    assert_eq!(states(&story), [PaymentState::Sent; 2]);
    let waits_for = story.order.waits_for.unwrap_or_default();
    assert!(waits_for.contains("missing trie node"), "{waits_for}");
    scene.fake.with(|chain| chain.unknown.clear());
    scene.is_paid_once(&order).await;
    scene.lane.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_estimate_that_failed_fails_no_row() {
    let mut scene = Scene::open().await;
    let order = scene.order().await;
    scene.fake.with(|chain| chain.refusals.insert(evm_address(1), 1));
    scene.is_paid_once(&order).await;
    assert_eq!(scene.fake.with(|chain| chain.refusals[&evm_address(1)]), 0, "it was never asked");
    scene.lane.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_one_of_two_nodes_cannot_estimate_is_signed() {
    let witness = FakeEvm::start().await.unwrap();
    let mut scene = Scene::beside(Some(&witness)).await;
    let order = scene.order().await;
    let cast = Cast { chain_id: CHAIN_ID, required: CONFIRMATIONS, ..Cast::default() };
    witness.begin(1, cast, HashMap::new());
    witness.with(State::be_honest);
    for fake in [&scene.fake, &witness] {
        fake.with(|chain| chain.refusals.insert(evm_address(2), u32::MAX));
    }
    scene.fake.with(|chain| chain.refusals.insert(evm_address(1), u32::MAX));
    let (done, story) = scene.look(&order).await;
    done.unwrap();
    // The second row is refused by both.
    assert_eq!(story.payments.len(), usize::try_from(ROWS).unwrap() - 1);
    assert_eq!(story.order.books.failed.get(), AMOUNT, "{}", story.object);
    let left = |fake: &FakeEvm, n| fake.with(|chain| chain.refusals.get(&evm_address(n)).copied());
    assert!(left(&scene.fake, 1) < Some(u32::MAX) && left(&witness, 2) < Some(u32::MAX));
    scene.lane.close().await;
}

/// The sixth version is the last only while its offer meets the network's fee.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_outbid_after_six_versions_is_replaced_again_and_bump_reports_the_count() {
    let mut scene = Scene::open().await;
    let order = scene.order().await;
    let (row, id) = (order.order.id, order.order.order_id.clone());
    let gateway = &scene.lane.gateway;
    let versions = async || -> Vec<i64> {
        let story = gateway.explain_payout(&id).await.unwrap();
        story.payments.iter().map(|payment| payment.versions).collect()
    };
    gateway.advance_payout(row, &scene.wallet).await.unwrap();
    for round in 1..VERSIONS_MAX {
        assert_eq!(versions().await, [i64::from(round); 3]);
        assert_eq!(gateway.bump_order(&id).await.unwrap(), 3, "{round}");
        gateway.advance_payout(row, &scene.wallet).await.unwrap();
    }
    // Each has six versions, and they meet the network's fee.
    assert_eq!(gateway.bump_order(&id).await.unwrap(), 0);
    gateway.advance_payout(row, &scene.wallet).await.unwrap();
    assert_eq!(versions().await, [i64::from(VERSIONS_MAX); 3]);
    scene.fake.with(|chain| chain.set_base(3 * GWEI));
    assert_eq!(gateway.bump_order(&id).await.unwrap(), 3);
    gateway.advance_payout(row, &scene.wallet).await.unwrap();
    assert_eq!(versions().await, [i64::from(VERSIONS_MAX) + 1; 3]);
    scene.is_paid_once(&order).await;
    scene.lane.close().await;
}
