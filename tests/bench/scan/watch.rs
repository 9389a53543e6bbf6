//! Cost of a hundred thousand watched addresses beside none.

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::{
    app::deposit::follow_chain::Follower,
    asset::Network,
    config::{ChainSettings, ChainSourceKind},
};
use support::node::scripted_chain::ScriptedChain;

use super::{milliseconds, payments};
use crate::{
    report::{Goal, Report, Rounds},
    world::{World, with_world},
};

const WATCH: &str = "watch: 100,000 addresses against none, per block";
const MEMORY: &str = "memory: 100,000 watched addresses";
const ADDRESSES: i32 = 100_000;
const FIRST_HEIGHT: u64 = 1_000;
/// Fewer blocks than one look reads.
const BLOCKS: u64 = 150;
const TRANSFERS: u64 = 200;
/// Rounds per round of other measures.
const WATCH_ROUNDS: usize = 8;
const SETTLE: Duration = Duration::from_secs(2);

/// Blocks full of payments to others, read with and without many addresses of ours. Most of the
/// time is one commit per block, whose speed on the disk varies, so the rounds are short and many.
pub async fn run(report: &mut Report) {
    if !report.wants(WATCH) && !report.wants(MEMORY) {
        return;
    }
    let count = report.rounds * WATCH_ROUNDS;
    with_world(&[], |crowd| async move {
        with_world(&[], |nobody| async move {
            let before = resident();
            fill(&crowd).await;
            let mut crowd = Watcher::new(crowd).await;
            tokio::time::sleep(SETTLE).await;
            let mut memory = Rounds::default();
            memory.add_alone(resident() - before);
            let mut nobody = Watcher::new(nobody).await;
            let mut rounds = Rounds::default();
            for round in 0..=count {
                // Each goes first equally often: the second one finds everything warm.
                let early =
                    if round.is_multiple_of(2) { None } else { Some(nobody.per_block().await) };
                let with = crowd.per_block().await;
                let without = match early {
                    Some(took) => took,
                    None => nobody.per_block().await,
                };
                if round > 0 {
                    rounds.add(with, without);
                }
            }
            let limit = "the same blocks, watching nobody";
            report.ratio(WATCH, "ms", limit, Goal::AtMost(1.1), rounds);
            report.value(MEMORY, "MB", None, Goal::AtMost(50.0), memory);
        })
        .await;
    })
    .await;
}

/// Inserts addresses given out over the last months.
async fn fill(world: &World) {
    let query = "insert into deposit_address (id, family, address, match_key, derivation_index, network, created_at)
         select gen_random_uuid(), 'evm', address, address, nextval('address_index_evm'), 'polygon',
                now() - n * interval '1 minute'
         from (select n, '0x' || md5(n::text) || substr(md5('b' || n), 1, 8) as address from generate_series(1, $1) as n) as made";
    sqlx::query(query).bind(ADDRESSES).execute(&mut world.connect().await).await.unwrap();
    world.run("vacuum analyze deposit_address").await;
}

struct Watcher {
    world: Arc<World>,
    chain: ScriptedChain,
    follower: Follower<ScriptedChain>,
    paid: u64,
}

impl Watcher {
    /// A watcher that has its addresses already.
    async fn new(world: Arc<World>) -> Self {
        let settings = ChainSettings {
            source: ChainSourceKind::Node,
            ..world.gateway.config.chain(Network::Polygon)
        };
        let chain = ScriptedChain::new(Network::Polygon, FIRST_HEIGHT);
        let follower = Follower::new(chain.clone(), settings);
        let mut watcher = Self { world, chain, follower, paid: 0 };
        // The first look begins at the chain tip and reads no block.
        watcher.follower.look(&watcher.world.gateway).await.unwrap();
        watcher.per_block().await;
        watcher
    }

    /// Milliseconds.
    async fn per_block(&mut self) -> f64 {
        for _ in 0..BLOCKS {
            self.chain.script().mine(0, payments(self.paid, TRANSFERS));
            self.paid += 1;
        }
        let started = Instant::now();
        let look = self.follower.look(&self.world.gateway).await.unwrap();
        let took = milliseconds(started);
        assert!(look.complete && u64::from(look.blocks) >= BLOCKS - 1, "{look:?}");
        took / BLOCKS as f64
    }
}

/// Megabytes of this process that are in RAM.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes as f64 / 1024.0
}
