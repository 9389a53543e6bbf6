//! The payer is killed at any moment while its node lies in every possible way: from seeds, over a
//! fake node.
//!
//! `GATEWAY_TEST_SEEDS` sets the number; `GATEWAY_TEST_SEED` is the first one.

mod act;

use std::time::Instant;

use gateway::{app::payout::Wallet, asset::Network};
use rand::{SeedableRng, rngs::StdRng};
use support::{
    fault::fired::fired,
    lanes::{Lane, Seeds, Tally, killed_after, moment},
    node::fake_evm::{FakeEvm, State},
    server::stack::only,
    shop::payouts::Orders,
};
use uuid::Uuid;

use self::act::Act;

const CHAIN_ID: u64 = 313_373;
const REQUIRED: usize = 3;
/// Number in `make test`.
const SEEDS: u64 = 12;
/// Looks at an order by which it must have ended. The last of them are without lies.
const ROUNDS: u32 = 400;
const LYING_ROUNDS: u32 = 60;
/// Seeds after which prices must be refreshed.
const SEEDS_PER_PRICE: usize = 20;

/// A gateway that pays on its own fake node.
struct Scene {
    lane: Lane,
    fake: FakeEvm,
    wallet: Wallet,
    gas_wallet: String,
    orders: Orders,
}

impl Scene {
    async fn open() -> Self {
        let (fake, chain) = (FakeEvm::start().await.unwrap(), "chains.polygon");
        let toml = only(Network::Polygon)
            + &format!(
                "{chain}.source = \"node\"\n{chain}.rpc_url = {:?}\n{chain}.chain_id = {CHAIN_ID}\n\
                 {chain}.confirmations = {REQUIRED}\n",
                fake.url()
            );
        let lane = Lane::open(&toml).await;
        let wallet = Wallet::open(&lane.gateway).unwrap();
        let gas_wallet = lane.gateway.gas_address().unwrap().to_lowercase();
        let orders = Orders::open(&lane.gateway).await;
        Self { lane, fake, wallet, gas_wallet, orders }
    }

    async fn run(&mut self, statement: &str) {
        let statement = sqlx::AssertSqlSafe(statement.to_owned());
        sqlx::raw_sql(statement).execute(&mut self.lane.connection).await.unwrap();
    }

    async fn number(&mut self, query: &str) -> u128 {
        let query = sqlx::AssertSqlSafe(format!("select coalesce(({query}), 0)::text"));
        let query = sqlx::query_scalar::<_, String>(query).persistent(false);
        query.fetch_one(&mut self.lane.connection).await.unwrap().parse().unwrap()
    }

    /// Releases the order's lease, and ages everything that waits.
    async fn age(&mut self, order: Uuid) {
        for statement in [
            "update payout_order set leased_until = null where id = $1",
            "update payout_payment set sent_at = sent_at - interval '12 seconds' where order_id = $1 and state = 'sent'",
        ] {
            let query = sqlx::query(statement).bind(order);
            query.execute(&mut self.lane.connection).await.unwrap();
        }
    }

    /// Hold reason of the order, and if it has ended with nothing left and nothing on its way.
    async fn standing(&mut self, order: Uuid) -> (Option<String>, bool) {
        let query = "select hold_reason, \
                            state in ('completed', 'partial_failed') and reserved = 0 and not gas_open \
                            and kept + paid + returned = credited + late \
                            and not exists (select from payout_payment p \
                                            where p.order_id = o.id and p.state in ('signed', 'sent')) \
                     from payout_order o where id = $1";
        sqlx::query_as(query).bind(order).fetch_one(&mut self.lane.connection).await.unwrap()
    }
}

async fn play(seed: u64, scene: &mut Scene) -> Tally {
    let mut random = StdRng::seed_from_u64(seed);
    let (started, mut tally) = (Instant::now(), Tally::default());
    let act = Act::begin(seed, scene, &mut random).await;
    for round in 0..ROUNDS {
        if round == LYING_ROUNDS {
            scene.fake.with(State::be_honest);
        }
        let polls = if round < LYING_ROUNDS { moment(&mut random) } else { u32::MAX };
        let work = scene.lane.gateway.advance_payout(act.row, &scene.wallet);
        tally.note("kills", u64::from(killed_after(polls, work).await.is_none()));
        tally.note("looks", 1);
        scene.fake.with(|chain| {
            chain.pass();
            act.nobody_is_paid_twice(chain);
        });
        scene.age(act.row).await;
        let (held, settled) = scene.standing(act.row).await;
        assert_eq!(held, None, "seed {seed}");
        if settled {
            act.adds_up(scene).await;
            tally.note("lies", scene.fake.with(|chain| chain.lies));
            tally.told_since(started);
            return tally;
        }
    }
    let story = scene.lane.gateway.explain_payout(&act.id).await.unwrap();
    panic!("seed {seed} does not end: {} {:?}", story.object, story.payments);
}

async fn tell(seeds: Vec<u64>) -> Tally {
    let mut scene = Scene::open().await;
    let mut total = Tally::default();
    for (turn, seed) in seeds.into_iter().enumerate() {
        if turn % SEEDS_PER_PRICE == 0 {
            scene.lane.refresh_rates().await;
        }
        total.add(&play(seed, &mut scene).await);
        if turn % 50 == 49 {
            println!("{} orders in this lane: {total:?}", turn + 1);
        }
    }
    scene.lane.close().await;
    total
}

#[test]
fn with_any_node_answer_and_a_crash_at_any_step_every_recipient_is_paid_once() {
    let (seeds, started) = (Seeds::given("GATEWAY_TEST_SEEDS", SEEDS), Instant::now());
    let total = Tally::sum(&seeds.in_lanes(tell));
    let count = seeds.count;
    println!("{count} orders in {:?}: {total:?}", started.elapsed());
    let (kills, lies) = (total.of("kills"), total.of("lies"));
    fired(lies);
    assert!(kills > count && lies > count * 10, "hardly anything went wrong");
}
