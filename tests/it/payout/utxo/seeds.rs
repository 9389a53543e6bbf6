//! Orders on a node that loses, doubles and delays answers, says what is not so, forgets what waits and reorganises blocks,
//! while the payer is given up in the middle. Every chance is drawn from a seed.
//!
//! `GATEWAY_TEST_SEEDS` says how many; `GATEWAY_TEST_SEED` is the first one.

use std::{sync::Arc, time::Duration};

use gateway::{
    app::{
        follow_chain::{Follower, follower_of},
        payouts::{Confirmation, NewOrder, Story, Wallet},
    },
    asset::Network,
    chain::{Agreement, Source},
    merchant::settings::Settings,
    payout::{
        FeeMode, PayoutFamily,
        recipients::{Amount, Row},
    },
    storage::access::Caller,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use sqlx::Connection;
use support::{
    fake_utxo::FakeUtxo,
    stack::{Stack, only, with_configured_stack},
};

use super::chain::{address, script, script_of};

const BITCOIN: Network = Network::Bitcoin;
const CONFIRMATIONS: u64 = 3;
const STEPS_MAX: usize = 600;
/// Prices get old.
const SEEDS_PER_PRICE: u64 = 20;
const SEEDS: u64 = 8;

fn seeds() -> (u64, u64) {
    let read = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let first = read("GATEWAY_TEST_SEED").unwrap_or_else(|| u64::from(rand::random::<u32>()));
    (first, read("GATEWAY_TEST_SEEDS").unwrap_or(SEEDS))
}

struct Fixture {
    stack: Arc<Stack>,
    node: FakeUtxo,
    wallet: Wallet,
    merchant: uuid::Uuid,
    caller: Caller,
    follower: Follower<Agreement<Source>>,
}

/// What one seed is about.
struct Plan {
    recipients: std::ops::Range<u32>,
    refund: Option<String>,
    surplus: u64,
}

impl Plan {
    fn draw(random: &mut StdRng, turn: u64) -> Self {
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

    fn order(&self) -> NewOrder {
        let row = |number| Row {
            number,
            address: address(BITCOIN, &script(BITCOIN, number)),
            amount: Amount::Units(Self::amount(number).to_string()),
            reference: None,
            memo: None,
            network: None,
            currency: None,
        };
        NewOrder {
            family: PayoutFamily::Utxo,
            network: "bitcoin".into(),
            currency: "btc".into(),
            rows: self.recipients.clone().map(row).collect(),
            fee_mode: FeeMode::Sender,
            refund_address: self.refund.clone(),
            label: None,
            metadata: None,
            callback_url: None,
            idempotency: None,
        }
    }
}

impl Fixture {
    /// Confirms an order and funds it.
    async fn order(&mut self, plan: &Plan) -> (String, u64) {
        let gateway = &self.stack.gateway;
        let created = gateway.create_payout(&self.caller, &plan.order()).await.unwrap();
        let object: serde_json::Value = serde_json::from_str(&created.body).unwrap();
        let id = object["id"].as_str().unwrap().to_owned();
        let said = Confirmation::default();
        let confirmed = gateway.confirm_payout(self.merchant, &id, &said).await.unwrap();
        let object: serde_json::Value = serde_json::from_str(&confirmed).unwrap();
        let due: u64 = object["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        let to = script_of(BITCOIN, object["depositAddress"].as_str().unwrap());
        let received = due + plan.surplus;
        self.node.fund(&to, received);
        self.node.mine(CONFIRMATIONS - 1);
        self.watch().await;
        (id, received)
    }

    async fn watch(&mut self) {
        while !self.follower.look(&self.stack.gateway).await.unwrap().complete {}
    }

    async fn run(&self, statement: &'static str, order: uuid::Uuid) {
        let mut connection = self.stack.database.connect().await;
        sqlx::query(statement).bind(order).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    /// One look of a worker, which is given up in the middle now and then.
    async fn work(&self, random: &mut StdRng, order: uuid::Uuid) {
        let work = self.stack.gateway.advance_payout(order, &self.wallet);
        if random.random_bool(0.3) {
            let limit = Duration::from_millis(random.random_range(1..60));
            let _ = tokio::time::timeout(limit, work).await;
            let free = "update payout_order set leased_until = null where id = $1";
            self.run(free, order).await;
        } else {
            // It says that the node failed it, which is the point; the next look goes on.
            let _ = work.await;
        }
    }

    /// What a chain and its time do by themselves.
    async fn upheaval(&self, random: &mut StdRng, order: uuid::Uuid) {
        match random.random_range(0..100) {
            0..50 => self.node.mine(random.random_range(1..3)),
            50..58 => self.node.forget(),
            58..68 => {
                let depth = random.random_range(1..CONFIRMATIONS);
                self.node.reorganise(usize::try_from(depth).unwrap(), random.random_bool(0.4));
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
    async fn is_settled(&self, order: uuid::Uuid, seed: u64) -> bool {
        let mut connection = self.stack.database.connect().await;
        let query = "select hold_reason, \
                            state = 'completed' and reserved = 0 \
                            and (refund_address is null or kept + paid + returned = credited + late) \
                            and not exists (select from payout_payment p \
                                            where p.order_id = o.id and p.state in ('signed', 'sent')) \
                     from payout_order o where id = $1";
        let (held, settled): (Option<String>, bool) =
            sqlx::query_as(query).bind(order).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
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

    async fn one(&mut self, seed: u64, turn: u64) -> usize {
        let mut random = StdRng::seed_from_u64(seed);
        self.node.reseed(seed);
        let plan = Plan::draw(&mut random, turn);
        let (id, received) = self.order(&plan).await;
        let order = self.stack.gateway.explain_payout(&id).await.unwrap().order.id;
        self.node.set_unkind(true);
        for step in 0..STEPS_MAX {
            self.work(&mut random, order).await;
            self.paid_once(&plan, seed);
            self.upheaval(&mut random, order).await;
            self.paid_once(&plan, seed);
            self.watch().await;
            if self.is_settled(order, seed).await {
                self.node.set_unkind(false);
                let story = self.stack.gateway.explain_payout(&id).await.unwrap();
                self.adds_up(&plan, &story, received, seed).await;
                return step;
            }
        }
        let story = self.stack.gateway.explain_payout(&id).await.unwrap();
        panic!("seed {seed}: not settled: {} {:?}", story.object, story.payments);
    }

    /// In the end: paid once each, and to the unit on the chain and in the books.
    async fn adds_up(&self, plan: &Plan, story: &Story, received: u64, seed: u64) {
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
        let mut connection = self.stack.database.connect().await;
        let query = "select coalesce(sum(fee), 0)::bigint from payout_payment where order_id = $1";
        let fees: i64 = sqlx::query_scalar(query)
            .bind(story.order.id)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
        let place = story.order.deposit.as_ref().unwrap();
        let left = self.node.unspent(&script_of(BITCOIN, &place.address));
        assert_eq!(paid + refunded + left + fees.unsigned_abs(), received, "seed {seed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_node_does_everybody_is_paid_once() {
    let (first, count) = seeds();
    println!("GATEWAY_TEST_SEED={first} GATEWAY_TEST_SEEDS={count}");
    let node = FakeUtxo::start(first).await;
    node.mine(20);
    let chain = "chains.bitcoin";
    let toml = only(BITCOIN)
        + &format!(
            "{chain}.source = \"node\"\n{chain}.rpc_url = {:?}\n{chain}.genesis = {:?}\n\
             {chain}.confirmations = {CONFIRMATIONS}\n{chain}.large_confirmations = {CONFIRMATIONS}\n\
             payouts.hour_usd_max = 100000000\npayouts.day_usd_max = 100000000\n",
            node.url(),
            node.genesis()
        );
    with_configured_stack(&toml, |stack| async move {
        let gateway = &stack.gateway;
        let new = gateway.create_merchant("Seeds", Settings::default()).await.unwrap();
        let caller = gateway.admit_merchant(&new.api_key).await.unwrap();
        let wallet = Wallet::open(gateway).unwrap();
        let settings = gateway.config.chain(BITCOIN);
        let follower = follower_of(gateway, settings).unwrap().unwrap();
        let merchant = new.id;
        let mut fixture =
            Fixture { stack: stack.clone(), node, wallet, merchant, caller, follower };
        fixture.watch().await;
        let mut steps = 0;
        for turn in 0..count {
            if turn % SEEDS_PER_PRICE == 0 {
                stack.refresh_rates().await;
                gateway.note_network_fee(BITCOIN).await.unwrap();
            }
            steps += fixture.one(first + turn, turn).await;
            if turn % 100 == 99 {
                println!("{} orders so far", turn + 1);
            }
        }
        let failures = fixture.node.failures();
        assert!(failures > 0, "the node failed nobody");
        println!("{count} orders, {steps} looks, {failures} calls that the node failed");
    })
    .await;
}
