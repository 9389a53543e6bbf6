//! Orders on bitcoin, litecoin and dogecoin, on a node that loses, duplicates and delays responses,
//! lies, drops its mempool, raises its fees and reorganises blocks, while the payer is interrupted
//! at any point. Every random choice is drawn from a seed.
//!
//! `GATEWAY_TEST_SEEDS` sets the number; `GATEWAY_TEST_SEED` is the first one.

mod plan;

use std::time::Instant;

use gateway::{
    app::{
        Gateway,
        deposit::follow_chain::{FollowError, Follower, follower_of},
        payout::{Story, Wallet},
    },
    asset::{Catalogue, Network},
    chain::{Agreement, Source},
    payout::payment::Purpose,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use support::{
    books,
    fault::fired::fired_as,
    lanes::{Lane, Seeds, Tally, killed_after, moment},
    node::fake_utxo::FakeUtxo,
    shop::{
        payout_events,
        payouts::{Orders, new_order, row},
    },
};
use uuid::Uuid;

use self::plan::{NETWORKS, Plan};
use super::chain::{script, script_of};

pub const CONFIRMATIONS: u64 = 3;
const STEPS_MAX: usize = 600;
/// A payment whose change would be dust after a child cannot have one, and waits until fees fall.
const DEAR_STEPS_MAX: usize = 120;
/// More blocks than a search for a payment ever goes back, which on a failing node takes several
/// looks.
const BLOCKS_BEFORE: u64 = 130;
/// Seeds after which prices must be refreshed.
const SEEDS_PER_PRICE: usize = 20;
const SEEDS: u64 = 8;

/// One network's fake node, and its watcher.
struct Chain {
    network: Network,
    node: FakeUtxo,
    follower: Follower<Agreement<Source>>,
    /// Default fee rate of payments per virtual byte.
    fee_rate: u64,
}

impl Chain {
    async fn watch(&mut self, gateway: &Gateway) {
        loop {
            match self.follower.look(gateway).await {
                Ok(look) if look.complete => return,
                // The payer's calls fail here, and the watcher shares one of them.
                Ok(_) | Err(FollowError::Chain(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Raises the fee rate of the network, so that transactions at the initial rate stay pending,
    /// or resets it.
    fn set_dear(&self, dear: bool) {
        self.node.set_price(if dear { self.fee_rate + self.fee_rate / 10 } else { 0 });
    }
}

/// A gateway that pays on its own fake nodes.
struct Scene {
    lane: Lane,
    chains: Vec<Chain>,
    /// Index of the current order's chain.
    at: usize,
    wallet: Wallet,
    orders: Orders,
    tally: Tally,
    /// Result of the last look that was not interrupted.
    last: String,
}

pub fn settings(network: Network, node: &FakeUtxo) -> String {
    let chain = format!("chains.{network}");
    format!(
        "{chain}.source = \"node\"\n{chain}.rpc_url = {:?}\n{chain}.genesis = {:?}\n\
         {chain}.confirmations = {CONFIRMATIONS}\n{chain}.large_confirmations = {CONFIRMATIONS}\n\
         {chain}.head_age_max_seconds = 0\n",
        node.url(),
        node.genesis()
    )
}

impl Scene {
    async fn open(seed: u64) -> Self {
        let others = Network::ALL.into_iter().filter(|network| !NETWORKS.contains(network));
        let off = |network| format!("chains.{network}.source = \"off\"\n");
        let mut toml = others.map(off).collect::<String>();
        toml += "payouts.hour_usd_max = 100000000\npayouts.day_usd_max = 100000000\n";
        let mut nodes = Vec::new();
        for network in NETWORKS {
            let node = FakeUtxo::start(network, seed).await;
            node.mine(BLOCKS_BEFORE);
            toml += &settings(network, &node);
            nodes.push((network, node));
        }
        let lane = Lane::open(&toml).await;
        let mut chains = Vec::new();
        for (network, node) in nodes {
            let settings = lane.gateway.config.chain(network);
            let fee_rate = u64::try_from(settings.fee_rate).unwrap();
            let follower = follower_of(&lane.gateway, settings).unwrap().unwrap();
            let mut chain = Chain { network, node, follower, fee_rate };
            chain.watch(&lane.gateway).await;
            chains.push(chain);
        }
        let wallet = Wallet::open(&lane.gateway).unwrap();
        let orders = Orders::open(&lane.gateway).await;
        let (tally, last) = (Tally::default(), String::new());
        Self { lane, chains, at: 0, wallet, orders, tally, last }
    }

    fn chain(&self) -> &Chain {
        &self.chains[self.at]
    }

    fn node(&self) -> &FakeUtxo {
        &self.chain().node
    }

    /// Confirms an order and funds it.
    async fn order(&mut self, plan: &Plan) -> (String, u64) {
        let row = |n| row(n, plan.address(n), plan.amount(n).into());
        let rows = plan.recipients.clone().map(row).collect();
        let currency = Catalogue::get().native(plan.network).code;
        let mut wanted = new_order(plan.network, currency, rows);
        wanted.refund_address.clone_from(&plan.refund);
        let object = self.orders.confirmed(&self.lane.gateway, &wanted).await;
        let due: u64 = object["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        let to = script_of(plan.network, object["depositAddress"].as_str().unwrap());
        let received = due + plan.surplus;
        self.node().fund(&to, received);
        self.node().mine(CONFIRMATIONS - 1);
        self.watch().await;
        (object["id"].as_str().unwrap().to_owned(), received)
    }

    async fn watch(&mut self) {
        self.chains[self.at].watch(&self.lane.gateway).await;
    }

    async fn run(&mut self, statement: &'static str, order: Uuid) {
        let query = sqlx::query(statement).bind(order);
        query.execute(&mut self.lane.connection).await.unwrap();
    }

    /// One look of a worker, which is interrupted now and then.
    async fn work(&mut self, random: &mut StdRng, order: Uuid) {
        let polls = if random.random_bool(0.4) { moment(random) } else { u32::MAX };
        let work = self.lane.gateway.advance_payout(order, &self.wallet);
        // It may report a failure of the node, which is intended; the next look continues.
        let outcome = killed_after(polls, work).await;
        self.tally.note("looks", 1);
        match outcome {
            Some(outcome) => self.last = format!("{outcome:?}"),
            None => {
                self.tally.note("kills", 1);
                self.run("update payout_order set leased_until = null where id = $1", order).await;
            }
        }
    }

    /// Random changes of a chain and of time.
    async fn upheaval(&mut self, random: &mut StdRng, order: Uuid, is_dear: bool) {
        match random.random_range(0..100) {
            0..50 => self.node().mine(random.random_range(1..3)),
            50..55 => self.node().forget(),
            55..58 => self.node().forget_last(),
            58..68 => {
                let depth = random.random_range(1..CONFIRMATIONS);
                self.node().reorganise(usize::try_from(depth).unwrap(), random.random_bool(0.4));
                self.tally.note("reorganisations", 1);
            }
            68..84 => {
                let waited = "update payout_payment set sent_at = now() - interval '1 minute' \
                              where order_id = $1 and state = 'sent'";
                self.run(waited, order).await;
            }
            // A pending payment is helped sooner or later, and not only by chance.
            at if at < 90 || is_dear => {
                let waited = "update payout_payment set sent_at = now() - interval '3 hours' \
                              where order_id = $1 and state = 'sent'";
                self.run(waited, order).await;
            }
            _ => {}
        }
    }

    /// Returns true if a replacement or a child was signed.
    async fn is_helped(&mut self, order: Uuid) -> bool {
        let query = "select exists (select from payout_payment p join payout_version v on v.payment_id = p.id \
                                    where p.order_id = $1 and (p.purpose = 'bump' or v.version > 1))";
        sqlx::query_scalar(query).bind(order).fetch_one(&mut self.lane.connection).await.unwrap()
    }

    /// Returns true if the order owes nothing and nothing of it is in progress; it must never be
    /// held.
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

    /// Every recipient was paid 0 or 1 times; returns the number paid once.
    fn paid_once(&self, plan: &Plan) -> usize {
        let (mut count, seed) = (0, plan.seed);
        for number in plan.recipients.clone() {
            let found = self.node().paid(&script(plan.network, number));
            if found.0 > 0 {
                assert_eq!(found, (1, plan.amount(number)), "seed {seed}, recipient {number}");
                count += 1;
            }
        }
        count
    }

    async fn one(&mut self, seed: u64, turn: usize) {
        let (started, mut random) = (Instant::now(), StdRng::seed_from_u64(seed));
        let plan = Plan::draw(seed, &mut random, turn);
        let place = self.chains.iter().position(|chain| chain.network == plan.network);
        self.at = place.unwrap();
        self.node().reseed(seed);
        let (id, received) = self.order(&plan).await;
        let order = self.lane.gateway.explain_payout(&id).await.unwrap().order.id;
        self.node().set_unkind(true);
        let mut is_dear = plan.is_dear;
        self.chain().set_dear(is_dear);
        for step in 0..STEPS_MAX {
            self.work(&mut random, order).await;
            self.paid_once(&plan);
            self.upheaval(&mut random, order, is_dear).await;
            self.paid_once(&plan);
            self.watch().await;
            let calms = step > DEAR_STEPS_MAX
                || is_dear && random.random_ratio(1, 8) && self.is_helped(order).await;
            if is_dear && calms {
                is_dear = false;
                self.chain().set_dear(false);
            }
            if self.is_settled(order, seed).await {
                self.node().set_unkind(false);
                self.chain().set_dear(false);
                let story = self.lane.gateway.explain_payout(&id).await.unwrap();
                self.adds_up(&plan, &story, received).await;
                self.tally.told_since(started);
                return;
            }
        }
        let story = self.lane.gateway.explain_payout(&id).await.unwrap();
        let (object, payments, last) = (story.object, story.payments, &self.last);
        panic!("seed {seed}: not settled: {object} {payments:?}, the last look: {last}");
    }

    /// In the end: each paid once, with exact sums on the chain and in the books.
    async fn adds_up(&mut self, plan: &Plan, story: &Story, received: u64) {
        let (seed, network) = (plan.seed, plan.network);
        assert_eq!(story.order.state.as_str(), "completed", "seed {seed}");
        assert_eq!(self.paid_once(plan), plan.recipients.len(), "seed {seed}");
        let paid = plan.total();
        let refund = plan.refund.as_ref().map(|to| script_of(network, to));
        let refunded = refund.map_or(0, |to| self.node().paid(&to).1);
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
        let left = self.node().unspent(&script_of(network, &place.address));
        assert_eq!(paid + refunded + left + fees.unsigned_abs(), received, "seed {seed}");
        for payment in &story.payments {
            self.tally.note("children", u64::from(payment.purpose == Purpose::Bump));
            self.tally.note("replacements", payment.versions.unsigned_abs() - 1);
        }
        let (whose, id) = (format!("seed {seed}"), &story.order.order_id);
        payout_events::are_legal(&mut self.lane.connection, id, &whose).await;
    }
}

async fn tell(seeds: Vec<u64>) -> Tally {
    let mut scene = Scene::open(seeds[0]).await;
    for (turn, seed) in seeds.into_iter().enumerate() {
        if turn % SEEDS_PER_PRICE == 0 {
            scene.lane.refresh_rates().await;
            for network in NETWORKS {
                scene.lane.gateway.note_network_fee(network).await.unwrap();
            }
        }
        scene.one(seed, turn).await;
        if turn % 50 == 49 {
            println!("{} orders in this lane: {:?}", turn + 1, scene.tally);
        }
    }
    let failures = scene.chains.iter().map(|chain| chain.node.failures()).sum();
    scene.tally.note("failures", failures);
    let (lane, merchant) = (&mut scene.lane, scene.orders.merchant_id());
    let entries = books::agree(&lane.gateway, &mut lane.connection, merchant).await;
    assert!(entries > 0, "nothing was booked");
    scene.lane.close().await;
    scene.tally
}

#[test]
fn with_any_behaviour_of_the_node_every_recipient_is_paid_once() {
    let (seeds, started) = (Seeds::given("GATEWAY_TEST_SEEDS", SEEDS), Instant::now());
    let total = Tally::sum(&seeds.in_lanes(tell));
    let count = seeds.count;
    println!("{count} orders in {:?}: {total:?}", started.elapsed());
    let (kills, failures) = (total.of("kills"), total.of("failures"));
    fired_as(&[15], failures);
    fired_as(&[55], total.of("children") + total.of("replacements"));
    assert!(kills > count && failures > count, "hardly anything went wrong");
    // Fewer seeds may miss a network.
    let helped = total.of("children") > 0 && total.of("replacements") > 0;
    assert!(helped || count < SEEDS, "nobody had to be helped");
}
