//! Orders on a node that loses, doubles and delays answers, says what is not so, forgets what waits and reorganises blocks,
//! while the payer is given up in the middle. Every chance is drawn from a seed.
//!
//! `GATEWAY_TEST_SEEDS` says how many; `GATEWAY_TEST_SEED` is the first one.

use std::time::{Duration, Instant};

use gateway::{
    app::{
        follow_chain::{Follower, follower_of},
        payouts::{Story, Wallet},
    },
    asset::Network,
    chain::{Agreement, Source},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use support::{
    fake_utxo::FakeUtxo,
    fired::fired,
    lanes::{Lane, Seeds, killed_after, moment},
    payouts::{Orders, new_order, row},
    stack::only,
};
use uuid::Uuid;

use super::chain::{address, script, script_of};

const BITCOIN: Network = Network::Bitcoin;
const CONFIRMATIONS: u64 = 3;
const STEPS_MAX: usize = 600;
/// More than a search for a payment ever goes back, which on a node that fails takes several looks.
const BLOCKS_BEFORE: u64 = 130;
/// Prices get old.
const SEEDS_PER_PRICE: usize = 20;
const SEEDS: u64 = 8;

/// What orders were made of.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    looks: u64,
    kills: u64,
    failures: u64,
    reorganisations: u64,
    slowest: Duration,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.looks += other.looks;
        self.kills += other.kills;
        self.failures += other.failures;
        self.reorganisations += other.reorganisations;
        self.slowest = self.slowest.max(other.slowest);
    }
}

/// A gateway that pays on its own fake node.
struct Scene {
    lane: Lane,
    node: FakeUtxo,
    wallet: Wallet,
    orders: Orders,
    follower: Follower<Agreement<Source>>,
    tally: Tally,
    /// What the last look that was not given up came to.
    last: String,
}

/// What one seed is about.
struct Plan {
    recipients: std::ops::Range<u32>,
    refund: Option<String>,
    surplus: u64,
}

impl Plan {
    fn draw(random: &mut StdRng, turn: usize) -> Self {
        // One in forty takes two batches.
        let rows = if random.random_ratio(1, 40) { 203 } else { random.random_range(1..5) };
        let first = 1_000 * u32::try_from(turn + 1).unwrap();
        let recipients = first..first + rows;
        let refund = address(BITCOIN, &script(BITCOIN, first + 999));
        let refund = random.random_bool(0.5).then_some(refund);
        Self { recipients, refund, surplus: random.random_range(0..3) * 25_000 }
    }

    fn amount(number: u32) -> u64 {
        10_000 + u64::from(number % 1_000)
    }
}

impl Scene {
    async fn open(seed: u64) -> Self {
        let (node, chain) = (FakeUtxo::start(seed).await, "chains.bitcoin");
        node.mine(BLOCKS_BEFORE);
        let toml = only(BITCOIN)
            + &format!(
                "{chain}.source = \"node\"\n{chain}.rpc_url = {:?}\n{chain}.genesis = {:?}\n\
                 {chain}.confirmations = {CONFIRMATIONS}\n{chain}.large_confirmations = {CONFIRMATIONS}\n\
                 payouts.hour_usd_max = 100000000\npayouts.day_usd_max = 100000000\n",
                node.url(),
                node.genesis()
            );
        let lane = Lane::open(&toml).await;
        let wallet = Wallet::open(&lane.gateway).unwrap();
        let orders = Orders::open(&lane.gateway).await;
        let settings = lane.gateway.config.chain(BITCOIN);
        let follower = follower_of(&lane.gateway, settings).unwrap().unwrap();
        let (tally, last) = (Tally::default(), String::new());
        let mut scene = Self { lane, node, wallet, orders, follower, tally, last };
        scene.watch().await;
        scene
    }

    /// Confirms an order and funds it.
    async fn order(&mut self, plan: &Plan) -> (String, u64) {
        let to = |n| address(BITCOIN, &script(BITCOIN, n));
        let rows = plan.recipients.clone().map(|n| row(n, to(n), Plan::amount(n).into())).collect();
        let mut wanted = new_order(BITCOIN, "btc", rows);
        wanted.refund_address.clone_from(&plan.refund);
        let object = self.orders.confirmed(&self.lane.gateway, &wanted).await;
        let due: u64 = object["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        let to = script_of(BITCOIN, object["depositAddress"].as_str().unwrap());
        let received = due + plan.surplus;
        self.node.fund(&to, received);
        self.node.mine(CONFIRMATIONS - 1);
        self.watch().await;
        (object["id"].as_str().unwrap().to_owned(), received)
    }

    async fn watch(&mut self) {
        while !self.follower.look(&self.lane.gateway).await.unwrap().complete {}
    }

    async fn run(&mut self, statement: &'static str, order: Uuid) {
        let query = sqlx::query(statement).bind(order);
        query.execute(&mut self.lane.connection).await.unwrap();
    }

    /// One look of a worker, which is given up in the middle now and then.
    async fn work(&mut self, random: &mut StdRng, order: Uuid) {
        let polls = if random.random_bool(0.4) { moment(random) } else { u32::MAX };
        let work = self.lane.gateway.advance_payout(order, &self.wallet);
        // It may say that the node failed it, which is the point; the next look goes on.
        let outcome = killed_after(polls, work).await;
        self.tally.looks += 1;
        match outcome {
            Some(outcome) => self.last = format!("{outcome:?}"),
            None => {
                self.tally.kills += 1;
                self.run("update payout_order set leased_until = null where id = $1", order).await;
            }
        }
    }

    /// What a chain and its time do by themselves.
    async fn upheaval(&mut self, random: &mut StdRng, order: Uuid) {
        match random.random_range(0..100) {
            0..50 => self.node.mine(random.random_range(1..3)),
            50..58 => self.node.forget(),
            58..68 => {
                let depth = random.random_range(1..CONFIRMATIONS);
                self.node.reorganise(usize::try_from(depth).unwrap(), random.random_bool(0.4));
                self.tally.reorganisations += 1;
            }
            68..84 => {
                let waited = "update payout_payment set sent_at = now() - interval '1 minute' \
                              where order_id = $1 and state = 'sent'";
                self.run(waited, order).await;
            }
            84..90 => {
                let waited = "update payout_payment set sent_at = now() - interval '3 hours' \
                              where order_id = $1 and state = 'sent'";
                self.run(waited, order).await;
            }
            _ => {}
        }
    }

    /// Whether the order owes nothing and nothing of it is under way; it is never held.
    async fn is_settled(&mut self, order: Uuid, seed: u64) -> bool {
        let query = "select hold_reason, \
                            state = 'completed' and reserved = 0 \
                            and (refund_address is null or kept + paid + returned = credited + late) \
                            and not exists (select from payout_payment p \
                                            where p.order_id = o.id and p.state in ('signed', 'sent')) \
                     from payout_order o where id = $1";
        let (held, settled): (Option<String>, bool) =
            sqlx::query_as(query).bind(order).fetch_one(&mut self.lane.connection).await.unwrap();
        assert_eq!(held, None, "seed {seed}");
        settled
    }

    /// Everybody was paid 0 or 1 times; how many once.
    fn paid_once(&self, plan: &Plan, seed: u64) -> usize {
        let mut count = 0;
        for number in plan.recipients.clone() {
            let found = self.node.paid(&script(BITCOIN, number));
            if found.0 > 0 {
                assert_eq!(found, (1, Plan::amount(number)), "seed {seed}, recipient {number}");
                count += 1;
            }
        }
        count
    }

    async fn one(&mut self, seed: u64, turn: usize) {
        let (started, mut random) = (Instant::now(), StdRng::seed_from_u64(seed));
        self.node.reseed(seed);
        let plan = Plan::draw(&mut random, turn);
        let (id, received) = self.order(&plan).await;
        let order = self.lane.gateway.explain_payout(&id).await.unwrap().order.id;
        self.node.set_unkind(true);
        for _ in 0..STEPS_MAX {
            self.work(&mut random, order).await;
            self.paid_once(&plan, seed);
            self.upheaval(&mut random, order).await;
            self.paid_once(&plan, seed);
            self.watch().await;
            if self.is_settled(order, seed).await {
                self.node.set_unkind(false);
                let story = self.lane.gateway.explain_payout(&id).await.unwrap();
                self.adds_up(&plan, &story, received, seed).await;
                self.tally.slowest = self.tally.slowest.max(started.elapsed());
                return;
            }
        }
        let story = self.lane.gateway.explain_payout(&id).await.unwrap();
        let (object, payments, last) = (story.object, story.payments, &self.last);
        panic!("seed {seed}: not settled: {object} {payments:?}, the last look: {last}");
    }

    /// In the end: paid once each, and to the unit on the chain and in the books.
    async fn adds_up(&mut self, plan: &Plan, story: &Story, received: u64, seed: u64) {
        assert_eq!(story.order.state.as_str(), "completed", "seed {seed}");
        assert_eq!(self.paid_once(plan, seed), plan.recipients.len(), "seed {seed}");
        let paid: u64 = plan.recipients.clone().map(Plan::amount).sum();
        let refund = plan.refund.as_ref().map(|to| script_of(BITCOIN, to));
        let refunded = refund.map_or(0, |to| self.node.paid(&to).1);
        let books = story.order.books;
        assert_eq!(books.paid.get(), u128::from(paid), "seed {seed}");
        assert_eq!(books.returned.get(), u128::from(refunded), "seed {seed}");
        let held = books.kept.get() + books.left().get();
        assert_eq!(held + u128::from(paid + refunded), u128::from(received), "seed {seed}");
        let query = "select coalesce(sum(fee), 0)::bigint from payout_payment where order_id = $1";
        let fees: i64 = sqlx::query_scalar(query)
            .bind(story.order.id)
            .fetch_one(&mut self.lane.connection)
            .await
            .unwrap();
        let place = story.order.deposit.as_ref().unwrap();
        let left = self.node.unspent(&script_of(BITCOIN, &place.address));
        assert_eq!(paid + refunded + left + fees.unsigned_abs(), received, "seed {seed}");
    }
}

async fn tell(seeds: Vec<u64>) -> Tally {
    let mut scene = Scene::open(seeds[0]).await;
    for (turn, seed) in seeds.into_iter().enumerate() {
        if turn % SEEDS_PER_PRICE == 0 {
            scene.lane.refresh_rates().await;
            scene.lane.gateway.note_network_fee(BITCOIN).await.unwrap();
        }
        scene.one(seed, turn).await;
        if turn % 50 == 49 {
            println!("{} orders in this lane: {:?}", turn + 1, scene.tally);
        }
    }
    let failures = scene.node.failures();
    let tally = Tally { failures, ..scene.tally };
    scene.lane.close().await;
    tally
}

#[test]
fn whatever_a_node_does_everybody_is_paid_once() {
    let (seeds, started) = (Seeds::given("GATEWAY_TEST_SEEDS", SEEDS), Instant::now());
    let mut total = Tally::default();
    for tally in seeds.in_lanes(tell) {
        total.add(tally);
    }
    let count = seeds.count;
    println!("{count} orders in {:?}: {total:?}", started.elapsed());
    let (kills, failures) = (total.kills, total.failures);
    fired(kills + failures);
    assert!(kills > count && failures > count, "hardly anything went wrong");
}
