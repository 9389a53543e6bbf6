//! A block full of transfers to one address: how long it takes to read, and how long others wait
//! for their credit meanwhile.

use std::time::{Duration, Instant};

use gateway::{
    asset::{Network, catalogue::Catalogue},
    storage::simulation,
};
use sqlx::{Connection, PgConnection};
use support::{server::processes::Signal, shop::payable::Payable};
use uuid::Uuid;

use crate::{
    report::{Goal, Report, Rounds, percentile},
    world::{World, with_world},
};

/// Transfers of one contract that nobody knows.
const UNKNOWN: i32 = 100_000;
/// Of a token that the merchant is owed, so each is booked.
const DUST: i32 = 10_000;
const PAYMENTS: usize = 200;
const EVERY: Duration = Duration::from_millis(50);
const LIMIT: Duration = Duration::from_secs(600);
const READ: &str = "flood: a block of 100,000 fake and 10,000 true transfers read";
const CREDIT: &str = "flood: p99 credit of others meanwhile";

/// Its own network is read by a watcher of its own; what others wait for is the database and the
/// queue that all share.
const FLOODED: Network = Network::Bsc;
const QUIET: Network = Network::Polygon;

/// Invoices that were paid and are not credited yet.
const UNPAID: &str = "
    select count(*)
    from invoice i
    join deposit_address a on a.invoice_id = i.id
    join sim_transfer t on t.address = a.match_key and t.network = 'polygon'
    where i.status = 'pending'";

pub async fn run(report: &mut Report) {
    if !report.wants(READ) && !report.wants(CREDIT) {
        return;
    }
    let others = Network::ALL.into_iter().filter(|other| ![FLOODED, QUIET].contains(other));
    let off: Vec<_> = others
        .map(|other| format!("GATEWAY_CHAINS__{}__SOURCE", other.name().to_uppercase()))
        .collect();
    let mut settings: Vec<_> = off.iter().map(|name| (name.as_str(), "off")).collect();
    // An installation of the tests leaves it out.
    settings.push(("GATEWAY_CHAINS__BSC__SOURCE", "simulated"));
    settings.push(("GATEWAY_CHAINS__BSC__CONFIRMATIONS", "1"));
    settings.push(("GATEWAY_CHAINS__POLYGON__CONFIRMATIONS", "1"));
    let (mut read, mut credit) = (Rounds::default(), Rounds::default());
    for _ in 0..report.rounds {
        let (read, credit) = (&mut read, &mut credit);
        with_world(&settings, |world| async move {
            let roles = ["chain-watcher", "deposit-matching"];
            let workers = world.installation.start_workers(&roles).await;
            workers.ready().await;
            let calm = credits(&world).await;
            let (took, beside) = flooded(&world).await;
            read.add_alone(took);
            credit.add(beside, calm);
            workers.process.signal(Signal::Terminate);
            workers.process.ended(LIMIT).await;
        })
        .await;
    }
    report.value(READ, "s", None, Goal::AtMost(10.0), read);
    report.ratio(CREDIT, "ms", "the same with no flood", Goal::AtMost(2.0), credit);
}

/// Seconds until the block was read, and the 99th of a hundred credits of others from then on.
async fn flooded(world: &World) -> (f64, f64) {
    let mut connection = world.connect().await;
    let merchant = world.merchants(1).await.remove(0);
    let victim = Payable::insert(&mut connection, merchant.id, None).await;
    let height = flood(&mut connection, &victim).await;
    let started = Instant::now();
    let is_read = async {
        let query = "select count(*) from chain_cursor where network = 'bsc' and height >= $1";
        let mut connection = world.connect().await;
        loop {
            let query = sqlx::query_scalar::<_, i64>(query).bind(height);
            if query.fetch_one(&mut connection).await.unwrap() == 1 {
                return started.elapsed().as_secs_f64();
            }
            assert!(started.elapsed() < LIMIT, "the block is not read");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (took, beside) = tokio::join!(is_read, credits(world));
    let settled = "select count(*) from deposit where network = 'bsc' and state = 'settled' and token_id is not null";
    world.until(settled, i64::from(DUST), LIMIT).await;
    eprintln!("    the flood was booked after {:.0} s", started.elapsed().as_secs_f64());
    (took, beside)
}

/// Puts the flood into one block; returns its height.
async fn flood(connection: &mut PgConnection, victim: &Payable) -> i64 {
    let known = Catalogue::get().by_token_id("usdtbsc@bsc").unwrap().contract.unwrap();
    let mut tx = connection.begin().await.unwrap();
    simulation::lock_chain(&mut tx, FLOODED).await.unwrap();
    let block = simulation::mine(&mut tx, FLOODED).await.unwrap();
    let height = i64::try_from(block.height).unwrap();
    let fake = format!("0x{}", "fa".repeat(20));
    for (name, contract, count) in [("fake", fake.as_str(), UNKNOWN), ("dust", known, DUST)] {
        let insert = "insert into sim_transfer (network, txid, output, address, contract, amount, height)
             select 'bsc', '0x' || $1 || md5(n::text), 0, $2, $3, 1, $4 from generate_series(1, $5) n";
        let insert = sqlx::query(insert).bind(name).bind(&victim.address).bind(contract);
        insert.bind(height).bind(count).execute(&mut *tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    height
}

/// Pays many invoices, each in a block of its own; the 99th of a hundred times from block to
/// credit, in milliseconds.
async fn credits(world: &World) -> f64 {
    let mut connection = world.connect().await;
    let merchant = world.merchants(1).await.remove(0);
    let mut pace = tokio::time::interval(EVERY);
    for _ in 0..PAYMENTS {
        pace.tick().await;
        let payable = Payable::insert(&mut connection, merchant.id, None).await;
        let token = Catalogue::get().by_token_id("usdtmatic@polygon").unwrap().contract.unwrap();
        let mut tx = connection.begin().await.unwrap();
        simulation::lock_chain(&mut tx, QUIET).await.unwrap();
        let block = simulation::mine(&mut tx, QUIET).await.unwrap();
        let insert =
            "insert into sim_transfer (network, txid, output, address, contract, amount, height)
             values ('polygon', $1, 0, $2, $3, 20000000, $4)";
        let insert = sqlx::query(insert).bind(format!("0x{}", Uuid::now_v7().simple()));
        let insert = insert.bind(&payable.address).bind(token);
        insert.bind(i64::try_from(block.height).unwrap()).execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
    }
    world.until(UNPAID, 0, LIMIT).await;
    let query = "
        select 1000 * extract(epoch from i.updated_at - b.mined_at)::float8
        from invoice i
        join deposit_address a on a.invoice_id = i.id
        join sim_transfer t on t.address = a.match_key and t.network = 'polygon'
        join sim_block b on b.network = t.network and b.height = t.height
        where i.merchant_id = $1";
    let query = sqlx::query_scalar(query).bind(merchant.id);
    let mut took: Vec<f64> = query.fetch_all(&mut connection).await.unwrap();
    assert_eq!(took.len(), PAYMENTS);
    percentile(&mut took, 0.99)
}
