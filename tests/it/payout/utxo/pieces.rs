//! Orders whose money comes in many small pieces. On dogecoin, where a quote has little room above
//! the minimum relay fee, the gateway's own fee pays for them as far as it goes; an order that
//! costs more is held, and its reason names the remedy.

use gateway::{
    app::{
        deposit::follow_chain::{Follower, follower_of},
        payout::{Story, Wallet},
    },
    asset::{Catalogue, Network},
    chain::{Agreement, Source, pay::utxo::transaction::virtual_size},
    money::BaseUnits,
};
use sqlx::Row;
use support::{
    lanes::Lane,
    node::fake_utxo::FakeUtxo,
    server::stack::only,
    shop::payouts::{Orders, new_order, row},
};
use uuid::Uuid;

use super::{
    chain::{address, script, script_of},
    seeds::{CONFIRMATIONS, settings},
};

pub const REFUND: u32 = 900;
/// More blocks than a search for a payment ever goes back.
const BLOCKS_BEFORE: u64 = 130;

pub struct Scene {
    network: Network,
    pub lane: Lane,
    pub node: FakeUtxo,
    follower: Follower<Agreement<Source>>,
    pub wallet: Wallet,
    orders: Orders,
}

impl Scene {
    /// On dogecoin.
    pub async fn open() -> Self {
        Self::open_on(Network::Dogecoin).await
    }

    async fn open_on(network: Network) -> Self {
        let node = FakeUtxo::start(network, 1).await;
        node.mine(BLOCKS_BEFORE);
        let lane = Lane::open(&(only(network) + &settings(network, &node))).await;
        let follower = follower_of(&lane.gateway, lane.gateway.config.chain(network)).unwrap();
        let wallet = Wallet::open(&lane.gateway).unwrap();
        let orders = Orders::open(&lane.gateway).await;
        lane.gateway.note_network_fee(network).await.unwrap();
        let mut scene = Self { network, lane, node, follower: follower.unwrap(), wallet, orders };
        scene.watch().await;
        scene
    }

    pub async fn watch(&mut self) {
        while !self.follower.look(&self.lane.gateway).await.unwrap().complete {}
    }

    /// Pays an order's address in this many pieces, the last of them the largest.
    pub async fn fund(&mut self, to: &str, units: u64, pieces: u64) {
        let each = units / pieces;
        for piece in 1..=pieces {
            let amount = if piece == pieces { units - each * (pieces - 1) } else { each };
            self.node.fund(&script_of(self.network, to), amount);
        }
        self.node.mine(CONFIRMATIONS - 1);
        self.watch().await;
    }

    /// A confirmed order of `rows` rows of `units`, funded exactly in `pieces` pieces: its id,
    /// address and total.
    pub async fn order(&mut self, rows: u32, units: u64, pieces: u64) -> (String, String, u64) {
        let network = self.network;
        let recipient = |n| row(n, address(network, &script(network, n)), units.into());
        let currency = Catalogue::get().native(network).code;
        let mut wanted = new_order(network, currency, (1..=rows).map(recipient).collect());
        wanted.refund_address = Some(address(network, &script(network, REFUND)));
        let object = self.orders.confirmed(&self.lane.gateway, &wanted).await;
        let due = object["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        let to = object["depositAddress"].as_str().unwrap().to_owned();
        self.fund(&to, due, pieces).await;
        (object["id"].as_str().unwrap().to_owned(), to, due)
    }

    pub async fn story(&self, id: &str) -> Story {
        self.lane.gateway.explain_payout(id).await.unwrap()
    }

    /// Looks at an order until it owes nothing, or is held.
    pub async fn work(&mut self, id: &str) -> Story {
        let row: Uuid = self.story(id).await.order.id;
        for _ in 0..60 {
            self.lane.gateway.advance_payout(row, &self.wallet).await.unwrap();
            let story = self.story(id).await;
            let (order, books) = (&story.order, story.order.books);
            let is_settled =
                order.state.is_terminal() && books.left().is_zero() && books.reserved.is_zero();
            if order.held.is_some() || is_settled {
                return story;
            }
            self.node.mine(1);
            self.watch().await;
        }
        panic!("it is not settled: {}", self.story(id).await.object);
    }

    /// Checks the sums to the unit: in the books, and on the chain. Returns the network fees.
    pub async fn adds_up(&mut self, story: &Story, received: u64, rows: u32, units: u64) -> u64 {
        let books = story.order.books;
        assert_eq!(story.order.state.as_str(), "completed");
        let total = books.paid.get() + books.returned.get() + books.kept.get();
        assert_eq!(total, u128::from(received), "{books:?}");
        let mut paid = 0;
        for n in 1..=rows {
            assert_eq!(self.node.paid(&script(self.network, n)).1, units, "recipient {n}");
            paid += units;
        }
        assert_eq!(books.paid.get(), u128::from(paid));
        let refunded = self.node.paid(&script(self.network, REFUND)).1;
        assert_eq!(books.returned.get(), u128::from(refunded));
        let query = "select coalesce(sum(fee), 0)::bigint from payout_payment where order_id = $1";
        let query = sqlx::query(query).bind(story.order.id);
        let fees: i64 = query.fetch_one(&mut self.lane.connection).await.unwrap().get(0);
        let fees = fees.unsigned_abs();
        assert!(u128::from(fees) <= books.kept.get(), "{fees} of {books:?}");
        let place = story.order.deposit.as_ref().unwrap();
        let left = self.node.unspent(&script_of(self.network, &place.address));
        assert_eq!(paid + refunded + left + fees, received);
        fees
    }
}

/// An order of one row that came in `pieces`, which its fees pay for.
async fn is_paid(units: u64, pieces: u64) {
    let mut scene = Scene::open().await;
    let (id, _, due) = scene.order(1, units, pieces).await;
    let story = scene.work(&id).await;
    assert_eq!(story.order.held, None);
    let fees = scene.adds_up(&story, due, 1, units).await;
    let spent: i64 = sqlx::query_scalar("select count(*) from payout_input")
        .fetch_one(&mut scene.lane.connection)
        .await
        .unwrap();
    assert_eq!(spent.unsigned_abs(), pieces);
    assert!(fees >= 148 * 1_000 * pieces, "{fees}");
    scene.lane.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_order_in_seven_pieces_is_paid() {
    is_paid(30_000_000, 7).await;
}

/// More than three times the deposits that a quote expects.
#[tokio::test(flavor = "multi_thread")]
async fn a_small_order_in_as_many_pieces_as_all_its_fees_pay_for_is_paid() {
    is_paid(30_000_000, 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fee_of_a_larger_order_pays_for_more_pieces_and_what_is_left_of_it_returns() {
    is_paid(1_000_000_000, 30).await;
}

/// The missing deposit that the reason names, in base units.
fn missing(reason: &str, symbol: &str) -> u64 {
    let (_, rest) = reason.split_once("One more deposit of ").unwrap();
    let (amount, _) = rest.split_once(&format!(" {symbol} or more")).unwrap();
    u64::try_from(BaseUnits::parse(amount, 8).unwrap().get()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_funded_by_too_many_outputs_is_held_until_the_deposit_it_asks_for_arrives() {
    const UNITS: u64 = 15_000_000;
    let mut scene = Scene::open().await;
    let (id, to, due) = scene.order(2, UNITS, 25).await;
    let story = scene.work(&id).await;
    let reason = story.order.held.unwrap().to_string();
    assert!(reason.contains(&to) && reason.contains("would exceed the quote"), "{reason}");
    assert!(story.payments.is_empty());
    let more = missing(&reason, "DOGE");
    scene.fund(&to, more, 1).await;
    assert_eq!(scene.lane.gateway.release_order(&id, "ada").await.unwrap(), 0);
    let story = scene.work(&id).await;
    assert_eq!(story.order.held, None);
    assert!(story.order.books.returned.get() > 0);
    scene.adds_up(&story, due + more, 2, UNITS).await;
    scene.lane.close().await;
}

/// Coins in a transaction at a rate that no block takes stay locked for long: nothing of it
/// returns, and there is no change for a child.
#[tokio::test(flavor = "multi_thread")]
async fn no_first_version_offers_less_than_half_of_what_the_network_asks() {
    const UNITS: u64 = 200_000;
    const PIECES: u64 = 45;
    let mut scene = Scene::open_on(Network::Bitcoin).await;
    let asked = scene.lane.gateway.config.chain(Network::Bitcoin).fee_rate;
    let (id, to, due) = scene.order(1, UNITS, PIECES).await;
    let story = scene.work(&id).await;
    let reason = story.order.held.unwrap().to_string();
    assert!(reason.contains(&to) && reason.contains("would exceed the quote"), "{reason}");
    assert!(story.payments.is_empty());
    let more = missing(&reason, "BTC");
    scene.fund(&to, more, 1).await;
    assert_eq!(scene.lane.gateway.release_order(&id, "ada").await.unwrap(), 0);
    let story = scene.work(&id).await;
    assert_eq!(story.order.held, None);
    scene.adds_up(&story, due + more, 1, UNITS).await;
    let signed: Vec<(Vec<u8>, i64)> = sqlx::query_as("select raw, fee::bigint from payout_version")
        .fetch_all(&mut scene.lane.connection)
        .await
        .unwrap();
    for (raw, fee) in signed {
        let bytes = u128::from(virtual_size(&raw).unwrap());
        assert!(u128::from(fee.unsigned_abs()) * 2 >= bytes * asked, "{fee} for {bytes}");
    }
    scene.lane.close().await;
}

/// The node reports its minimum rate; a transaction below it is not even relayed.
#[tokio::test(flavor = "multi_thread")]
async fn no_first_version_offers_less_than_the_node_lets_in() {
    const UNITS: u64 = 200_000;
    let mut scene = Scene::open_on(Network::Bitcoin).await;
    let (id, _, due) = scene.order(1, UNITS, 25).await;
    let quoted = scene.story(&id).await.order.quote.fee_rate;
    scene.node.set_least(u64::try_from(quoted).unwrap());
    let story = scene.work(&id).await;
    assert!(story.order.held.unwrap().to_string().contains("would exceed the quote"));
    assert!(story.payments.is_empty());
    scene.node.set_least(1);
    assert_eq!(scene.lane.gateway.release_order(&id, "ada").await.unwrap(), 0);
    let story = scene.work(&id).await;
    assert_eq!(story.order.held, None);
    scene.adds_up(&story, due, 1, UNITS).await;
    scene.lane.close().await;
}
