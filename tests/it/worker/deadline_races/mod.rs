//! A payment and its deadline at the same instant (F10): one outcome, and it follows from the rows.
//!
//! In a third of the races the watcher has recorded the deposit, and its matcher meets the expiry.
//! In another third the watcher is still reading the payments while expiries run, and matcher and
//! expiry meet afterwards. In the last third its node is a minute behind: expiries run while it
//! shows none of the payments, and while they are read.

mod late;
mod outcome;
mod payments;

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream};
use gateway::{app::Gateway, asset::Network};
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use support::{
    fault::fired::fired,
    seed::seed,
    shop::{Shop, with_shop},
};
use uuid::Uuid;

use late::LateNode;
use payments::{Dating, Payment};

const ROUNDS: usize = 24;
/// Each side of a race needs a connection, and the gateway has eight.
const TOGETHER: usize = 4;
/// Races per batch, whose payments the same blocks confirm. Rates are valid for five minutes, and a
/// batch takes some seconds.
const BATCH: usize = 100;
/// The watcher records each block in a transaction of its own.
const PAYMENTS_PER_BLOCK: usize = 4;
/// One that reads the payments, and one that begins after all deadlines of the first.
const LOOKS: usize = 2;
const EXPIRIES: usize = 2;
const APART_MAX: Duration = Duration::from_millis(3);
/// An expiry takes about as long here.
const LOST_AFTER_MAX: Duration = Duration::from_millis(20);

/// Number of rounds; from the environment for `make test-faults`.
fn rounds() -> usize {
    std::env::var("GATEWAY_TEST_ROUNDS").map_or(ROUNDS, |text| text.parse().unwrap())
}

fn up_to(random: &mut StdRng, limit: Duration) -> Duration {
    limit.mul_f64(random.random())
}

/// Conditions under which an expiry runs.
#[derive(Debug, Clone, Copy)]
struct Expiry {
    /// It processes many invoices at once before this one, as its role does.
    in_bulk: bool,
    /// It is dropped at this moment, and its message is redelivered.
    lost_after: Option<Duration>,
}

impl Expiry {
    fn random(random: &mut StdRng) -> Self {
        let is_lost = random.random_ratio(1, 4);
        let lost_after = is_lost.then(|| up_to(random, LOST_AFTER_MAX));
        Self { in_bulk: random.random(), lost_after }
    }

    async fn decide(self, gateway: &Gateway, row: Uuid) {
        if let Some(moment) = self.lost_after {
            // Dropped after its end, it is a duplicate message.
            let _ = tokio::time::timeout(moment, self.decide_once(gateway, row)).await;
        }
        self.decide_once(gateway, row).await;
    }

    async fn decide_once(self, gateway: &Gateway, row: Uuid) {
        let decided = self.in_bulk && gateway.expire_quiet(&[row]).await.unwrap().contains(&row);
        if !decided {
            gateway.expire_invoice(row).await.unwrap();
        }
    }
}

/// A matcher and an expiry, one this long before the other.
#[derive(Debug, Clone, Copy)]
struct Race {
    deposit_first: bool,
    apart: Duration,
    expiry: Expiry,
}

impl Race {
    fn random(random: &mut StdRng) -> Self {
        Self {
            deposit_first: random.random(),
            apart: up_to(random, APART_MAX),
            expiry: Expiry::random(random),
        }
    }

    /// Returns true if they ran at the same time.
    async fn run(self, gateway: Arc<Gateway>, payment: Payment) -> bool {
        let wait = |is_first: bool| if is_first { Duration::ZERO } else { self.apart };
        let matcher = gateway.clone();
        let matching = tokio::spawn(timed(wait(self.deposit_first), async move {
            matcher.match_deposits(payment.deposit).await.unwrap();
        }));
        let expiring = tokio::spawn(timed(wait(!self.deposit_first), async move {
            self.expiry.decide(&gateway, payment.row).await;
        }));
        let (matching, expiring) = (matching.await.unwrap(), expiring.await.unwrap());
        matching.0 < expiring.1 && expiring.0 < matching.1
    }
}

/// Start and end of `work`, which begins after `wait`.
async fn timed(wait: Duration, work: impl Future<Output = ()>) -> (Instant, Instant) {
    tokio::time::sleep(wait).await;
    let began = Instant::now();
    work.await;
    (began, Instant::now())
}

/// Runs races about `payments`; returns the number that met.
async fn race(shop: &Shop, random: &mut StdRng, payments: &[Payment]) -> usize {
    let races: Vec<_> = payments.iter().map(|payment| (Race::random(random), *payment)).collect();
    let run = |(race, payment): (Race, Payment)| race.run(shop.stack.gateway.clone(), payment);
    let met = stream::iter(races).map(run).buffer_unordered(TOGETHER);
    met.filter(|met| std::future::ready(*met)).count().await
}

/// The deposits are recorded and final, but not matched.
async fn recorded(shop: &Shop, random: &mut StdRng, count: usize) -> usize {
    let invoices = payments::invoices(shop, count).await;
    payments::send(shop, &invoices).await;
    payments::mine(shop, payments::confirmations(shop)).await;
    shop.look(Network::Polygon).await;
    let rows: Vec<_> = invoices.iter().map(|(_, row)| *row).collect();
    // At the very deadline, or one microsecond after it.
    let early_us: Vec<i64> = rows.iter().map(|_| -i64::from(random.random::<bool>())).collect();
    payments::move_deadlines(shop, &rows, &early_us).await;
    // The watcher has looked beyond the deadlines, so expiry may decide.
    shop.look(Network::Polygon).await;
    let payments = payments::recorded(shop, &rows).await;
    let met = race(shop, random, &payments).await;
    let paid = outcome::check(shop, &rows, outcome::Rule::TheRow).await;
    println!("{met} of {count} met a matcher, {paid} paid");
    met
}

/// The payments are in blocks that the watcher has not read. It reads them while expiries run.
async fn unseen(shop: &Shop, random: &mut StdRng, count: usize) -> usize {
    let invoices = payments::invoices(shop, count).await;
    shop.look(Network::Polygon).await;
    let mut blocks = Vec::new();
    for invoices in invoices.chunks(PAYMENTS_PER_BLOCK) {
        payments::send(shop, invoices).await;
        let height = payments::mine(shop, 1).await;
        let rows: Vec<_> = invoices.iter().map(|(_, row)| *row).collect();
        blocks.push((Dating::random(random), height, rows));
    }
    payments::mine(shop, payments::confirmations(shop) - 1).await;
    for (dating, height, rows) in &blocks {
        dating.apply(shop, *height, rows).await;
    }

    let rows: Vec<_> = invoices.iter().map(|(_, row)| *row).collect();
    let looking = Arc::new(AtomicBool::new(true));
    let expiries: Vec<_> = (0..EXPIRIES)
        .map(|_| {
            let random = StdRng::seed_from_u64(random.random());
            let (gateway, looking) = (shop.stack.gateway.clone(), looking.clone());
            tokio::spawn(go_round(gateway, looking, rows.clone(), random))
        })
        .collect();
    for _ in 0..LOOKS {
        shop.look(Network::Polygon).await;
    }
    looking.store(false, Ordering::Relaxed);
    let mut met = HashSet::new();
    for expiry in expiries {
        met.extend(expiry.await.unwrap());
    }
    payments::look_beyond(shop, &rows).await;
    race(shop, random, &payments::recorded(shop, &rows).await).await;
    for dating in Dating::ALL {
        let of = blocks.iter().filter(|block| block.0 == dating);
        let rows: Vec<_> = of.flat_map(|(_, _, rows)| rows.clone()).collect();
        let paid = outcome::check(shop, &rows, dating.rule()).await;
        println!("{dating:?}: {paid} of {} paid", rows.len());
    }
    println!("{} of {count} were decided upon during the look", met.len());
    met.len()
}

/// The payments are in blocks that the watcher's node does not show yet, though the deadlines have
/// passed.
async fn late(shop: &Shop, random: &mut StdRng, count: usize) -> usize {
    let invoices = payments::invoices(shop, count).await;
    shop.look(Network::Polygon).await;
    let shown = payments::show_a_minute_ago(shop).await;
    let shown = Arc::new(AtomicU64::new(shown));
    for invoices in invoices.chunks(PAYMENTS_PER_BLOCK) {
        payments::send(shop, invoices).await;
        let height = payments::mine(shop, 1).await;
        let rows: Vec<_> = invoices.iter().map(|(_, row)| *row).collect();
        payments::date_back(shop, height, &rows, random.random()).await;
    }
    payments::mine(shop, payments::confirmations(shop) - 1).await;

    let gateway = &shop.stack.gateway;
    let rows: Vec<_> = invoices.iter().map(|(_, row)| *row).collect();
    let mut follower = LateNode::follower(gateway, &shown);
    while !follower.look(gateway).await.unwrap().complete {}
    for row in &rows {
        Expiry::random(random).decide(gateway, *row).await;
    }
    let looking = Arc::new(AtomicBool::new(true));
    let expiry = StdRng::seed_from_u64(random.random());
    let expiry = tokio::spawn(go_round(gateway.clone(), looking.clone(), rows.clone(), expiry));
    shown.store(u64::MAX, Ordering::Relaxed);
    while !follower.look(gateway).await.unwrap().complete {}
    looking.store(false, Ordering::Relaxed);
    expiry.await.unwrap();
    payments::look_beyond(shop, &rows).await;
    race(shop, random, &payments::recorded(shop, &rows).await).await;
    let paid = outcome::check(shop, &rows, outcome::Rule::TheRow).await;
    println!("{count} were decided upon before their blocks were shown, {paid} paid");
    count
}

/// Decides repeatedly while the watcher looks; returns the invoices.
async fn go_round(
    gateway: Arc<Gateway>,
    looking: Arc<AtomicBool>,
    mut rows: Vec<Uuid>,
    mut random: StdRng,
) -> HashSet<Uuid> {
    let mut met = HashSet::new();
    while looking.load(Ordering::Relaxed) {
        rows.shuffle(&mut random);
        for row in &rows {
            if !looking.load(Ordering::Relaxed) {
                break;
            }
            Expiry::random(&mut random).decide(&gateway, *row).await;
            met.insert(*row);
        }
    }
    met
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_and_the_deadline_at_the_same_instant_have_one_outcome() {
    println!("{} rounds", rounds());
    let mut random = StdRng::seed_from_u64(seed());
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let batch = BATCH.min(rounds().div_ceil(3));
        let (mut left, mut kind) = (rounds(), 0);
        while left > 0 {
            shop.stack.refresh_rates().await;
            let count = left.min(batch);
            fired(match kind % 3 {
                0 => recorded(&shop, &mut random, count).await,
                1 => unseen(&shop, &mut random, count).await,
                _ => late(&shop, &mut random, count).await,
            });
            left -= count;
            kind += 1;
        }
    })
    .await;
}
