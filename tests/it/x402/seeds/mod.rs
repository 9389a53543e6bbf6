//! Payments of programs on a node that loses, doubles and delays requests and responses, answers
//! from an old state, drops its mempool and reorganises blocks, final ones too, while the role and
//! the requests are killed at any point: from seeds, over a fake node.
//!
//! `GATEWAY_TEST_SEEDS` sets the number; `GATEWAY_TEST_SEED` is the first one.

mod payment;

use std::time::Instant;

use futures_util::future::join_all;
use gateway::{
    app::{
        Gateway,
        deposit::follow_chain::{FollowError, Follower, follower_of},
        x402::{GasWallet, Settled},
    },
    asset::Network,
    chain::{Agreement, Source},
    money::Price,
    x402::resource::Terms,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use support::{
    fault::fired::fired_as,
    lanes::{Lane, Seeds, Tally, killed_after, moment},
    node::fake_evm::{Cast, FakeEvm, State},
    server::stack::only,
    shop::payouts::told,
};
use uuid::Uuid;

use self::payment::{PAYMENTS_MAX, Payment};
use super::scene::{CENT, CHAIN_ID, Payer, USDC};

const NETWORK: Network = Network::Polygon;
const REQUIRED: usize = 3;
/// Number in `make test`.
const SEEDS: u64 = 6;
/// Steps of the role while the node lies.
const LYING_STEPS: u32 = 40;
/// Rounds without lies, of some steps each, by which everything must have ended.
const ROUNDS: u32 = 40;
const STEPS_OF_ROUND: u32 = 10;
/// Blocks that one reorg replaces at most, counted from the newest final settlement downward.
const DEPTH_MAX: usize = 8;
/// Seeds after which prices must be refreshed.
const SEEDS_PER_PRICE: usize = 20;
const COINS: u128 = 1_000_000 * 10_u128.pow(18);

/// A gateway that settles on its own fake node. The chain goes on from seed to seed.
struct Scene {
    lane: Lane,
    hands: Hands,
}

/// All that works on one gateway.
struct Hands {
    connection: PgConnection,
    fake: FakeEvm,
    follower: Follower<Agreement<Source>>,
    wallet: GasWallet,
    merchant_id: Uuid,
    /// What a resource asks for.
    accepts: Value,
    /// By all seeds so far, in base units of the token.
    paid: u128,
    tally: Tally,
}

fn settings(url: &str) -> String {
    let chain = "chains.polygon";
    only(NETWORK)
        + &format!(
            "x402.enabled = true\nx402.settle_wait_seconds = 1\nx402.minimum_usd_default = \"0.001\"\n\
             x402.gas_transaction_usd_max = 1000\nx402.gas_hour_usd_max = 100000000\nx402.gas_day_usd_max = 100000000\n\
             {chain}.source = \"node\"\n{chain}.rpc_url = {url:?}\n{chain}.chain_id = {CHAIN_ID}\n\
             {chain}.confirmations = {REQUIRED}\n{chain}.large_confirmations = {REQUIRED}\n{chain}.poll_ms = 10\n\
             {chain}.head_age_max_seconds = 0\n"
        )
}

/// What a resource for a cent asks for.
async fn resource(gateway: &Gateway, merchant_id: Uuid) -> Value {
    let terms = Terms {
        url: "https://api.example/weather".to_owned(),
        description: String::new(),
        mime_type: "application/json".to_owned(),
        price: Price::parse("0.01").unwrap(),
        networks: vec![NETWORK],
        timeout_seconds: 60,
        listed: false,
    };
    let (_, offer) = gateway.create_x402_resource(merchant_id, &terms).await.unwrap();
    let way = &offer.ways[0];
    json!({
        "scheme": "exact", "network": format!("eip155:{CHAIN_ID}"), "amount": way.amount.get().to_string(),
        "asset": way.asset, "payTo": way.pay_to, "maxTimeoutSeconds": way.max_timeout_seconds,
        "extra": { "name": way.domain_name, "version": way.domain_version },
    })
}

impl Scene {
    async fn open() -> Self {
        let fake = FakeEvm::start().await.unwrap();
        let lane = Lane::open(&settings(fake.url())).await;
        let gateway = &lane.gateway;
        let wallet = GasWallet::open(gateway).unwrap();
        let url = gateway.config.database_url.expose_secret();
        let mut connection = PgConnection::connect(url).await.unwrap();
        let now = sqlx::query_scalar::<_, i64>("select extract(epoch from now())::bigint");
        let now = now.fetch_one(&mut connection).await.unwrap();
        let cast = Cast {
            chain_id: CHAIN_ID,
            required: REQUIRED,
            token: USDC.to_owned(),
            gas_wallet: wallet.address().to_owned(),
            // Nobody is asked to accept a transfer of before its address was given out.
            began_at: Some(now.try_into().unwrap()),
            ..Cast::default()
        };
        fake.begin(0, cast, [(wallet.address().to_owned(), COINS)].into());
        fake.with(|chain| {
            chain.be_honest();
            (1..=PAYMENTS_MAX).for_each(|n| chain.grant(&Payer::new(n).address, CENT));
        });
        let merchant_id = gateway.create_merchant("Seller", told()).await.unwrap().id;
        let accepts = resource(gateway, merchant_id).await;
        let follower = follower_of(gateway, gateway.config.chain(NETWORK)).unwrap().unwrap();
        let (paid, tally) = (0, Tally::default());
        let mut hands =
            Hands { connection, fake, follower, wallet, merchant_id, accepts, paid, tally };
        hands.watch(gateway).await;
        Self { lane, hands }
    }
}

impl Hands {
    async fn number(&mut self, query: &str) -> u128 {
        let query = sqlx::AssertSqlSafe(format!("select coalesce(({query}), 0)::text"));
        let query = sqlx::query_scalar::<_, String>(query).persistent(false);
        query.fetch_one(&mut self.connection).await.unwrap().parse().unwrap()
    }

    /// The watcher and the matcher of deposits, to which this node tells the truth: other tests lie
    /// to them.
    async fn watch(&mut self, gateway: &Gateway) {
        let was_honest = self.fake.with(|chain| chain.set_honest(true));
        loop {
            match self.follower.look(gateway).await {
                Ok(look) if look.complete => break,
                Ok(_) | Err(FollowError::Chain(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        self.fake.with(|chain| chain.set_honest(was_honest));
        let query = sqlx::query_scalar("select id from deposit where state = 'final'");
        let waiting: Vec<Uuid> = query.fetch_all(&mut self.connection).await.unwrap();
        for deposit in waiting {
            gateway.match_deposits(deposit).await.unwrap();
        }
    }

    /// An operator accepts what had been taken back and is on the chain again. Nothing is to be
    /// accepted of a transaction that is not.
    async fn accept_what_came_back(&mut self, gateway: &Gateway) {
        let query =
            sqlx::query_scalar("select distinct tx_hash from deposit where state = 'reversed'");
        let hashes: Vec<String> = query.fetch_all(&mut self.connection).await.unwrap();
        for hash in hashes {
            let sure = Some(("operator", "it came back"));
            let done = gateway.accept_deposit(NETWORK, &hash, None, sure).await.unwrap();
            self.tally.note("accepted", u64::from(done.accepted));
        }
        self.watch(gateway).await;
    }

    /// One step of the role, which is cut off after so many polls, and some time.
    async fn work(&mut self, gateway: &Gateway, polls: u32, payments: &[Payment]) {
        // It may report a failure of the node, which is intended; the next step continues.
        let step = killed_after(polls, gateway.step_x402(NETWORK, &self.wallet)).await;
        self.tally.note("kills", u64::from(step.is_none()));
        self.tally.note("steps", 1);
        self.fake.with(|chain| {
            chain.pass();
            payments.iter().for_each(|payment| payment.is_paid_at_most_once(chain));
        });
        let aged = "update x402_settlement set sent_at = sent_at - interval '12 seconds' where state = 'submitted'";
        sqlx::query(aged).execute(&mut self.connection).await.unwrap();
        self.watch(gateway).await;
    }

    /// The balance of an account in the books.
    async fn balance(&mut self, account: &str, asset: &str, side: &str) -> u128 {
        let query = format!(
            "select sum(case when {side} = '{account}' then amount else -amount end) from ledger_entry \
             where '{account}' in (credit, debit) and asset = '{asset}'"
        );
        self.number(&query).await
    }

    /// The merchant's part of the books, in base units of the token.
    async fn booked(&mut self) -> u128 {
        let account = format!("merchant:{}", self.merchant_id);
        self.balance(&account, "usdcmatic@polygon", "credit").await
    }

    /// Returns true once all payments of all seeds are final and booked.
    async fn has_ended(&mut self) -> bool {
        let open = "select count(*) from x402_settlement where state in ('verified', 'submitted') or reorged_at is not null";
        let settled = "select count(*) from x402_settlement where state = 'settled'";
        self.number(open).await == 0
            && self.number(settled).await * CENT == self.paid
            && self.booked().await == self.paid
    }

    /// Requests of every payment at once, some of which are killed, beside a role that is killed
    /// too, on a node that lies. Returns the answers to each payment.
    async fn ask_at_once(
        &mut self,
        gateway: &Gateway,
        random: &mut StdRng,
        payments: &[Payment],
    ) -> Vec<Vec<Settled>> {
        let mut polls = |share| if random.random_bool(share) { moment(random) } else { u32::MAX };
        let of_steps: Vec<_> = (0..LYING_STEPS).map(|_| polls(0.5)).collect();
        let mut asked = Vec::new();
        for payment in payments {
            let count = [1, 3, 50][random.random_range(0..3)];
            let mut polls = || if random.random_ratio(1, 3) { moment(random) } else { u32::MAX };
            let requests: Vec<_> = (0..count).map(|_| payment.ask(gateway, polls())).collect();
            asked.push(async move { join_all(requests).await });
        }
        let working = async {
            for polls in of_steps {
                self.work(gateway, polls, payments).await;
            }
        };
        let (answers, ()) = tokio::join!(join_all(asked), working);
        let count = answers.iter().flatten().filter(|answer| answer.is_none()).count();
        self.tally.note("requests killed", count as u64);
        answers.into_iter().map(|of_one| of_one.into_iter().flatten().collect()).collect()
    }

    /// Asks for every payment until everything is final and booked.
    async fn end(
        &mut self,
        gateway: &Gateway,
        seed: u64,
        (payments, answers): (&[Payment], &mut [Vec<Settled>]),
    ) {
        for _ in 0..ROUNDS {
            let asked = join_all(payments.iter().map(|one| one.ask(gateway, u32::MAX)));
            let working = async {
                for _ in 0..STEPS_OF_ROUND {
                    self.work(gateway, u32::MAX, payments).await;
                }
            };
            let (told, ()) = tokio::join!(asked, working);
            answers.iter_mut().zip(told).for_each(|(all, one)| all.extend(one));
            self.accept_what_came_back(gateway).await;
            if self.has_ended().await {
                return;
            }
        }
        let query = "select id, state, reason, message, tx_nonce, height, reorged_at::text from x402_settlement order by created_at desc limit 4";
        let rows: Vec<Row> = sqlx::query_as(query).fetch_all(&mut self.connection).await.unwrap();
        panic!(
            "seed {seed} does not end: {rows:?}, booked {} of {}",
            self.booked().await,
            self.paid
        );
    }

    /// Each paid once, with exact sums on the chain and in the books.
    async fn adds_up(&mut self, seed: u64, payments: &[Payment], answers: &[Vec<Settled>]) {
        let pay_to = self.accepts["payTo"].as_str().unwrap().to_lowercase();
        let (held, coins) = self.fake.with(|chain| {
            for (payment, answers) in payments.iter().zip(answers) {
                payment.is_paid_once(chain, answers);
            }
            (chain.tokens(&pay_to), chain.coins(self.wallet.address()))
        });
        assert_eq!((held, self.booked().await), (self.paid, self.paid), "seed {seed}");
        let custody = self.balance("custody:polygon", "usdcmatic@polygon", "debit").await;
        assert_eq!(custody, self.paid, "seed {seed}");
        let gas = self.balance("x402_gas:polygon", "pol@polygon", "credit").await;
        assert_eq!(COINS - coins, gas, "seed {seed}");
        let told = self.number("select count(*) from event where type = 'x402.paid'").await;
        assert_eq!(told * CENT, self.paid, "seed {seed}");
    }

    async fn play(&mut self, gateway: &Gateway, seed: u64) {
        let (started, mut random) = (Instant::now(), StdRng::seed_from_u64(seed));
        let now = self.number("select extract(epoch from now())::bigint").await;
        let whose = (self.merchant_id, u64::try_from(now).unwrap());
        let count = random.random_range(1..=PAYMENTS_MAX);
        let sign = |number| Payment::sign(seed, number, &self.accepts, whose);
        let payments: Vec<_> = (1..=count).map(sign).collect();
        self.fake.with(|chain| {
            chain.reseed(seed);
            payments.iter().for_each(|payment| chain.grant(&payment.payer, CENT));
        });
        self.paid += u128::from(count) * CENT;
        let mut answers = self.ask_at_once(gateway, &mut random, &payments).await;
        self.fake.with(State::be_honest);
        self.end(gateway, seed, (&payments, &mut answers)).await;
        self.adds_up(seed, &payments, &answers).await;
        if random.random_ratio(1, 3) {
            let newest = "select max(height) from x402_settlement where state = 'settled'";
            let newest = usize::try_from(self.number(newest).await).unwrap();
            let above = self.fake.with(|chain| chain.height()) - newest;
            let (depth, keeps) =
                (random.random_range(1..=above + DEPTH_MAX), random.random_bool(0.5));
            self.fake.with(|chain| chain.replace(depth, keeps));
            self.watch(gateway).await;
            let reorged = "select count(*) from x402_settlement where reorged_at is not null";
            let reorged = u64::try_from(self.number(reorged).await).unwrap();
            self.tally.note("taken back", reorged);
            self.end(gateway, seed, (&payments, &mut answers)).await;
            self.adds_up(seed, &payments, &answers).await;
        }
        self.tally.told_since(started);
    }
}

type Row = (Uuid, String, Option<String>, Option<String>, Option<i64>, Option<i64>, Option<String>);

async fn tell(seeds: Vec<u64>) -> Tally {
    let mut scene = Scene::open().await;
    for (turn, seed) in seeds.into_iter().enumerate() {
        if turn % SEEDS_PER_PRICE == 0 {
            scene.lane.refresh_rates().await;
        }
        scene.hands.play(&scene.lane.gateway, seed).await;
        if turn % 50 == 49 {
            println!("{} seeds in this lane: {:?}", turn + 1, scene.hands.tally);
        }
    }
    let Scene { lane, mut hands } = scene;
    hands.tally.note("lies", hands.fake.with(|chain| chain.lies));
    hands.connection.close().await.unwrap();
    lane.close().await;
    hands.tally
}

#[test]
fn with_any_node_answer_and_a_crash_at_any_step_every_payment_is_settled_and_booked_once() {
    let (seeds, started) = (Seeds::given("GATEWAY_TEST_SEEDS", SEEDS), Instant::now());
    let total = Tally::sum(&seeds.in_lanes(tell));
    let count = seeds.count;
    println!("{count} seeds in {:?}: {total:?}", started.elapsed());
    let (kills, lies, taken_back) =
        (total.of("kills") + total.of("requests killed"), total.of("lies"), total.of("taken back"));
    fired_as(&[15], lies);
    fired_as(&[66], taken_back);
    fired_as(&[68], total.of("kills"));
    let accepted = total.of("accepted");
    assert!(kills > count && lies > count * 10, "hardly anything went wrong");
    // Fewer seeds may miss a final block.
    assert!(taken_back > 0 || count < 50, "no final settlement was taken back");
    assert!(accepted > 0 || count < 50, "nothing that came back was accepted");
}
