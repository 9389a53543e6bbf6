//! Whoever pays is killed at any moment while his node lies in every way it can: from seeds, over a fake node.

use std::{
    collections::{HashMap, HashSet},
    task::Poll,
};

use gateway::{
    app::payouts::{Story, Wallet},
    asset::Network,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use sqlx::Connection;
use support::{
    fake_evm::{Cast, FakeEvm, State},
    payouts::{Payer, evm_address},
    stack::{Stack, with_configured_stack},
};

use super::{
    EVM,
    node::{COIN, USDT, due},
};

const CHAIN_ID: u64 = 313_373;
const REQUIRED: usize = 3;
/// In `make test`; GATEWAY_TEST_SEEDS says otherwise.
const SEEDS: u64 = 12;
const RECIPIENTS: u32 = 6;
/// Looks at an order until it must have ended. The last of them without a lie.
const ROUNDS: u32 = 400;
const LYING_ROUNDS: u32 = 60;

/// Polls `work` so often, then drops it where it stands: a transaction that is open is rolled back, a commit or a request
/// that is on its way may arrive or not.
async fn killed_after<F: Future>(polls: u32, work: F) -> Option<F::Output> {
    let mut work = std::pin::pin!(work);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        work.as_mut().poll(context).map(Some)
    })
    .await
}

fn settings(url: &str) -> String {
    let mut toml = format!(
        "[chains.polygon]\nsource = \"node\"\nrpc_url = {url:?}\nchain_id = {CHAIN_ID}\nconfirmations = {REQUIRED}\n"
    );
    for network in Network::ALL.map(Network::name).into_iter().filter(|name| *name != "polygon") {
        toml.push_str(&format!("[chains.{network}]\nsource = \"off\"\n"));
    }
    toml
}

/// On a connection of its own: one of the gateway's may still be in the transaction of whoever was dropped.
async fn run(stack: &Stack, statement: &str) {
    let mut connection = stack.database.connect().await;
    let statement = sqlx::AssertSqlSafe(statement.to_owned());
    sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn number(stack: &Stack, query: &str) -> u128 {
    let mut connection = stack.database.connect().await;
    let query = sqlx::AssertSqlSafe(format!("select coalesce(({query}), 0)::text"));
    let text: String = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    text.parse().unwrap()
}

/// One order, its chain, and what its recipients are like.
struct Act {
    seed: u64,
    is_token: bool,
    id: String,
    due: u128,
    address: String,
    gas_wallet: String,
    refusing: HashSet<String>,
    turning: HashSet<String>,
}

impl Act {
    /// A funded order on a fresh chain. Funding is not what is doubted here: its deposit is final from the start.
    async fn begin(seed: u64, payer: &Payer, fake: &FakeEvm, random: &mut StdRng) -> Self {
        let stack = &payer.stack;
        let fresh = "insert into network_fee (network, fee_rate) values ('polygon', 6000000000) \
                     on conflict (network) do update set observed_at = now()";
        run(stack, fresh).await;
        stack.refresh_rates().await;
        let is_token = random.random_range(0..2) == 0;
        let items: Vec<Value> = (1..=RECIPIENTS)
            .map(|n| json!({ "address": evm_address(n), "amount": format!("1.{n:02}") }))
            .collect();
        let fields = json!({
            "network": "polygon", "currency": if is_token { "usdtmatic" } else { "pol" },
            "refundAddress": evm_address(900), "items": items,
        });
        let id = payer.draft(EVM, fields).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        let address = order["depositAddress"].as_str().unwrap().to_lowercase();
        let gas_wallet = stack.gateway.gas_address().unwrap().to_lowercase();
        let mut some = |from: u32| -> HashSet<String> {
            (from..from + 2).filter(|_| random.random_range(0..3) == 0).map(evm_address).collect()
        };
        let (refusing, turning) = (some(1), some(3));
        let act =
            Self { seed, is_token, id, due: due(&order), address, gas_wallet, refusing, turning };
        let own = if act.is_token { 0 } else { act.due };
        let balances = HashMap::from([(act.address.clone(), own), (act.gas_wallet.clone(), COIN)]);
        let nonces = "select max(nonce) + 1 from payout_payment where purpose = 'gas'";
        let cast = Cast {
            chain_id: CHAIN_ID,
            required: REQUIRED,
            token: USDT.to_owned(),
            order: act.address.clone(),
            gas_wallet: act.gas_wallet.clone(),
            gas_nonce: u64::try_from(number(stack, nonces).await).unwrap(),
            refusing: act.refusing.clone(),
            turning: act.turning.clone(),
        };
        fake.begin(seed, cast, balances);
        act.fund(stack).await;
        act
    }

    async fn fund(&self, stack: &Stack) {
        let token = if self.is_token { format!("'{USDT}'") } else { "null".to_owned() };
        let asset = if self.is_token { "usdtmatic@polygon" } else { "pol@polygon" };
        let (key, due) = (&self.id, self.due);
        run(stack, &format!(
            "insert into deposit (id, network, deposit_key, tx_hash, address_id, payout_order_id, token_id, contract, \
                 amount, amount_text, height, block_hash, mined_at, first_seen_at, state, min_confirmations) \
             select gen_random_uuid(), 'polygon', '{key}', '{key}', a.id, o.id, '{asset}', {token}, {due}, '{due}', 1, \
                 'x', now(), now(), 'final', 1 \
             from payout_order o join deposit_address a on a.payout_order_id = o.id where o.order_id = '{key}'"
        ))
        .await;
    }

    /// Nobody was paid twice so far, and nothing exists that could still do it.
    fn nobody_is_paid_twice(&self, chain: &State) {
        for (to, (times, _)) in chain.paid() {
            let may_repeat = to == evm_address(900) || to == self.gas_wallet;
            assert!(times <= 1 || may_repeat, "seed {}: {to} was paid {times} times", self.seed);
        }
        for (to, nonces) in chain.nonces() {
            let may_repeat = to == evm_address(900) || to == self.gas_wallet;
            assert!(nonces.len() <= 1 || may_repeat, "seed {}: {to} has {nonces:?}", self.seed);
        }
    }

    /// Everybody was paid once or failed with a proof, and every unit is somewhere.
    async fn adds_up(&self, story: &Story, stack: &Stack, fake: &FakeEvm) {
        let seed = self.seed;
        let failing = self.refusing.len() + self.turning.len();
        let expected = if failing == 0 { "completed" } else { "partial_failed" };
        assert_eq!(story.order.state.as_str(), expected, "seed {seed}: {}", story.object);
        let paid = fake.with(|chain| chain.paid());
        for n in 1..=RECIPIENTS {
            let to = evm_address(n);
            let fails = self.refusing.contains(&to) || self.turning.contains(&to);
            let unit = if self.is_token { 10_000 } else { COIN / 100 };
            let got = (1, (100 + u128::from(n)) * unit);
            assert_eq!(paid.get(&to), (!fails).then_some(&got), "seed {seed}: {to}");
        }
        let books = story.order.books;
        let given = books.paid.get() + books.returned.get();
        assert_eq!(given + books.kept.get(), self.due, "seed {seed}");
        let refund = paid.get(&evm_address(900)).map_or(0, |(_, sum)| *sum);
        assert_eq!(refund, books.returned.get(), "seed {seed}");
        let of = |what: &str| {
            format!(
                "select sum({what}) from payout_payment p join payout_order o on o.id = p.order_id \
                 where o.order_id = '{}'",
                self.id
            )
        };
        let fees = number(stack, &(of("fee") + " and purpose <> 'gas'")).await;
        let fronted =
            number(stack, &(of("amount") + " and purpose = 'gas' and p.state = 'confirmed'")).await;
        let back = number(
            stack,
            &(of("amount") + " and purpose = 'gas_return' and p.state = 'confirmed'"),
        )
        .await;
        let own = if self.is_token { 0 } else { self.due - given };
        let coins = fake.with(|chain| chain.coins(&self.address));
        assert_eq!(coins, own + fronted - fees - back, "seed {seed}");
        let wallet_fees = number(stack, &(of("fee") + " and purpose = 'gas'")).await;
        let wallet = fake.with(|chain| chain.coins(&self.gas_wallet));
        assert_eq!(wallet, COIN - fronted - wallet_fees + back, "seed {seed}");
    }
}

/// Returns kills and lies of one seed.
async fn play(seed: u64, payer: &Payer, fake: &FakeEvm, wallet: &Wallet) -> (u32, u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let stack = &payer.stack;
    let act = Act::begin(seed, payer, fake, &mut random).await;
    let row = payer.story(&act.id).await.order.id;
    let aged = format!(
        "update payout_order set leased_until = null where id = '{row}';
         update payout_payment set sent_at = sent_at - interval '12 seconds' where order_id = '{row}' and state = 'sent'"
    );
    let mut kills = 0;
    for round in 0..ROUNDS {
        if round == LYING_ROUNDS {
            fake.with(State::be_honest);
        }
        let patience = if round < LYING_ROUNDS { random.random_range(1..120) } else { u32::MAX };
        let work = stack.gateway.advance_payout(row, wallet);
        kills += u32::from(killed_after(patience, work).await.is_none());
        fake.with(|chain| {
            chain.pass();
            act.nobody_is_paid_twice(chain);
        });
        run(stack, &aged).await;
        let story = payer.story(&act.id).await;
        assert_eq!(story.order.held, None, "seed {seed}");
        if super::node::is_settled(&story) {
            act.adds_up(&story, stack, fake).await;
            return (kills, fake.with(|chain| chain.lies));
        }
    }
    let story = payer.story(&act.id).await;
    panic!("seed {seed} does not end: {} {:?}", story.object, story.payments);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_node_says_and_whenever_we_die_everybody_is_paid_once() {
    let first = std::env::var("GATEWAY_TEST_SEED")
        .ok()
        .map_or_else(rand::random::<u32>, |text| text.parse().unwrap());
    let seeds = std::env::var("GATEWAY_TEST_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    println!("GATEWAY_TEST_SEED={first}");
    let first: u64 = u64::from(first);
    let fake = FakeEvm::start().await.unwrap();
    with_configured_stack(&settings(fake.url()), |stack| async move {
        let payer = Payer::open(&stack).await;
        let wallet = Wallet::open(&stack.gateway).unwrap();
        let (mut kills, mut lies) = (0, 0);
        for seed in first..first + seeds {
            // Requests per minute are the merchant's, not the machine's.
            run(&stack, "delete from request_window").await;
            let (killed, lied) = play(seed, &payer, &fake, &wallet).await;
            kills += killed;
            lies += lied;
        }
        println!("{seeds} seeds from {first}: {kills} kills, {lies} faults of the node");
        assert!(u64::from(kills) > seeds && lies > seeds * 10, "hardly anything went wrong");
    })
    .await;
}
