//! Create, read, list and match with a million invoices in the tables against ten thousand.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::app::merchant::manage::NewMerchant;
use serde_json::json;
use support::{client::Client, server::processes::Signal, shop::payable::Payable};
use uuid::Uuid;

use crate::{
    latency::final_deposit,
    report::{Goal, Report, Rounds, median},
    world::{World, with_world},
};

const SMALL: i32 = 10_000;
pub const LARGE: i32 = 1_000_000;
const MERCHANTS: usize = 100;
const SAMPLES: usize = 50;
const LIMIT: Duration = Duration::from_secs(30);
const NAME: &str = "growth: 1,000,000 invoices against 10,000";
const DEEP: &str = "growth: the last page of a merchant's 10,000 invoices";

/// Invoices `$2` to `$3` of the merchants `$1`, all but one in a hundred ended, each with its
/// address and deposit.
const FILL: &str = "
    with made as (
        insert into invoice (id, payment_id, merchant_id, status, price_amount, price_currency, pricing_mode, token_id,
            network, decimals, pay_address, pay_amount, overpay_bps, order_id, payment_window_seconds, window_seconds,
            deadline_at, created_at, updated_at)
        select gen_random_uuid(), 'pzi_' || lpad(n::text, 26, '0'), $1[1 + n % array_length($1, 1)],
               case when (n / 100) % 100 = 0 then 'pending' else 'paid' end, 20, 'usd', 'fiat', 'usdtmatic@polygon', 'polygon', 6,
               'a' || n, 20000000, 500, 'order-' || n, 1800, 1800, now() + interval '1 day',
               now() - n * interval '1 second', now() - n * interval '1 second'
        from generate_series($2::int, $3::int) as n
        returning id, pay_address, status
    ),
    given as (
        insert into deposit_address (id, family, address, match_key, derivation_index, network, invoice_id)
        select gen_random_uuid(), 'evm', pay_address, pay_address, nextval('address_index_evm'), 'polygon', id from made
        returning id, invoice_id, address
    )
    insert into deposit (id, network, deposit_key, tx_hash, address_id, invoice_id, token_id, amount, amount_text,
        height, block_hash, mined_at, first_seen_at, state, booked_as, settled_at)
    select gen_random_uuid(), 'polygon', given.address, given.address, given.id, given.invoice_id, 'usdtmatic@polygon',
           20000000, '20000000', 1, 'b', now(), now(), 'settled', 'credit', now()
    from given join made on made.id = given.invoice_id where made.status = 'paid'";

const KINDS: [&str; 4] = ["create", "read", "list", "match"];
/// Whose calls are counted by the rate limit.
const CALLED_KINDS: usize = 4;
const PER_PAGE: usize = 50;

/// Gateways over tables of one size, and the merchants whose invoices fill them.
pub struct Filled {
    pub world: Arc<World>,
    merchants: Vec<NewMerchant>,
    count: usize,
}

pub async fn run(report: &mut Report) {
    if ![NAME, DEEP].into_iter().any(|name| report.wants(name)) {
        return;
    }
    let mut rounds = KINDS.map(|_| Rounds::default());
    let mut deep = Rounds::default();
    let count = report.rounds;
    with_world(&[], |large| async move {
        with_world(&[], |small| async move {
            let (large, small) = (Filled::of(large, LARGE).await, Filled::of(small, SMALL).await);
            let programs = [
                large.world.installation.start_api().await,
                small.world.installation.start_api().await,
            ];
            for round in 0..=count {
                let last = large.measure_the_last_page(round).await;
                let (large, small) = (large.measure(round).await, small.measure(round).await);
                if round > 0 {
                    for (kind, rounds) in rounds.iter_mut().enumerate() {
                        rounds.add(large[kind], small[kind]);
                    }
                    let [_, _, first, _] = large;
                    deep.add(last, first);
                }
            }
            for program in programs {
                program.process.signal(Signal::Terminate);
                program.process.ended(LIMIT).await;
            }
            for (kind, rounds) in KINDS.iter().zip(rounds) {
                let limit = "the same with 10,000 invoices";
                report.ratio(&format!("{NAME}, {kind}"), "ms", limit, Goal::AtMost(1.25), rounds);
            }
            report.value(DEEP, "ms", Some("the first page"), Goal::AtMost(150.0), deep);
        })
        .await;
    })
    .await;
}

impl Filled {
    pub async fn of(world: Arc<World>, count: i32) -> Self {
        let merchants = world.merchants(MERCHANTS).await;
        let ids: Vec<_> = merchants.iter().map(|new| new.id).collect();
        let mut connection = world.connect().await;
        for from in (1..=count).step_by(50_000) {
            let to = count.min(from + 49_999);
            let query = sqlx::query(FILL).bind(&ids).bind(from).bind(to);
            query.execute(&mut connection).await.unwrap();
        }
        world.run("vacuum analyze").await;
        Self { world, merchants, count: usize::try_from(count).unwrap() }
    }

    /// The median milliseconds of each kind. Every kind and round calls as another merchant,
    /// because one may call 60 times a minute.
    async fn measure(&self, round: usize) -> [f64; 4] {
        self.world.refresh_rates().await;
        let mut samples: [Vec<f64>; 4] = Default::default();
        let client = |kind| self.client(caller(round, kind));
        let body =
            json!({ "price_amount": 20, "price_currency": "usd", "pay_currency": "usdtmatic" });
        for sample in 0..SAMPLES {
            let started = Instant::now();
            assert_eq!(client(0).post("/v1/payment", &body).await.status, 201);
            samples[0].push(milliseconds(started));
            let path = format!("/v1/payment/{}", self.invoice(caller(round, 1), sample * 7));
            let started = Instant::now();
            assert_eq!(client(1).get(&path).await.status, 200);
            samples[1].push(milliseconds(started));
            let started = Instant::now();
            assert_eq!(client(2).get(&list(0)).await.status, 200);
            samples[2].push(milliseconds(started));
            let deposit = self.deposit(&self.merchants[sample % MERCHANTS]).await;
            let started = Instant::now();
            let settled = self.world.gateway.match_deposits(deposit).await.unwrap();
            samples[3].push(milliseconds(started));
            assert_eq!(settled.deposits, 1);
        }
        samples.map(median)
    }

    /// The median milliseconds.
    async fn measure_the_last_page(&self, round: usize) -> f64 {
        let (client, path) =
            (self.client(caller(round, 3)), list(self.count / MERCHANTS / PER_PAGE - 1));
        let mut samples = Vec::new();
        for _ in 0..SAMPLES {
            let started = Instant::now();
            let answer = client.get(&path).await;
            samples.push(milliseconds(started));
            assert_eq!(answer.status, 200);
            assert_eq!(answer.json()["data"].as_array().unwrap().len(), PER_PAGE);
        }
        median(samples)
    }

    /// The payment id of one of a merchant's invoices: invoice n belongs to merchant n mod 100.
    pub fn invoice(&self, merchant: usize, at: usize) -> String {
        let number = merchant + MERCHANTS * (1 + at % (self.count / MERCHANTS - 1));
        format!("pzi_{number:026}")
    }

    pub fn client(&self, merchant: usize) -> Client {
        let key = self.merchants[merchant].api_key.reveal();
        Client::new(self.world.installation.api).with_key(key)
    }

    /// A final deposit that pays an open invoice.
    async fn deposit(&self, merchant: &NewMerchant) -> Uuid {
        let mut connection = self.world.connect().await;
        let url = Some("https://shop.example/ipn");
        let payable = Payable::insert(&mut connection, merchant.id, url).await;
        final_deposit(&mut connection, &payable).await
    }
}

/// The number of the merchant that calls.
fn caller(round: usize, kind: usize) -> usize {
    (round * CALLED_KINDS + kind) % MERCHANTS
}

fn list(page: usize) -> String {
    format!("/v1/payment?limit={PER_PAGE}&page={page}")
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
