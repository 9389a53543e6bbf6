//! All networks followed by one process: how long a look at a new block takes, in calm and while
//! one of them catches up a day.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::{
    app::deposit::follow_chain::Follower,
    asset::Network,
    config::{ChainSettings, ChainSourceKind},
};
use support::node::scripted_chain::ScriptedChain;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{milliseconds, payments};
use crate::{
    report::{Goal, Report, Rounds, percentile},
    world::{World, with_world},
};

const LOOK: &str = "networks: p99 of a look at 14 networks, one catches up a day";
const DAY: &str = "networks: until Polygon has caught up a day, 14 others beside";
const LATE: Network = Network::Polygon;
/// Of Polygon, at two seconds each.
const BLOCKS_OF_A_DAY: u64 = 43_200;
const FIRST_HEIGHT: u64 = 1_000;
const TRANSFERS: u64 = 5;
/// A pace that no network exceeds but Solana.
const EVERY: Duration = Duration::from_secs(1);
const CALM: Duration = Duration::from_secs(20);

pub async fn run(report: &mut Report) {
    if !report.wants(LOOK) && !report.wants(DAY) {
        return;
    }
    let (mut look, mut day) = (Rounds::default(), Rounds::default());
    let (of_look, of_day, count) = (&mut look, &mut day, report.rounds);
    with_world(&[], |world| async move {
        let mut late = Watcher::new(&world, LATE).await;
        let mut others = Vec::new();
        for network in Network::ALL.into_iter().filter(|network| *network != LATE) {
            others.push(Watcher::new(&world, network).await);
        }
        // The first looks open connections and prepare statements.
        beside(&mut others, tokio::time::sleep(CALM)).await;
        for _ in 0..count {
            let ((), mut calm) = beside(&mut others, tokio::time::sleep(CALM)).await;
            let catching_up = async {
                for _ in 0..BLOCKS_OF_A_DAY {
                    late.mine();
                }
                late.catch_up().await
            };
            let (seconds, mut busy) = beside(&mut others, catching_up).await;
            of_look.add(percentile(&mut busy, 0.99), percentile(&mut calm, 0.99));
            of_day.add_alone(seconds);
        }
    })
    .await;
    report.ratio(LOOK, "ms", "the same while none is late", Goal::AtMost(2.0), look);
    report.figure(DAY, "s", day);
}

/// The result of `meanwhile`, and the milliseconds that each look of the others took during it.
async fn beside<T>(others: &mut Vec<Watcher>, meanwhile: impl Future<Output = T>) -> (T, Vec<f64>) {
    let stop = CancellationToken::new();
    let mut watching = JoinSet::new();
    for mut watcher in others.drain(..) {
        let stop = stop.clone();
        watching.spawn(async move {
            let (mut took, mut pace) = (Vec::new(), tokio::time::interval(EVERY));
            while !stop.is_cancelled() {
                pace.tick().await;
                watcher.mine();
                let started = Instant::now();
                watcher.catch_up().await;
                took.push(milliseconds(started));
            }
            (watcher, took)
        });
    }
    let result = meanwhile.await;
    stop.cancel();
    let mut all = Vec::new();
    for (watcher, took) in watching.join_all().await {
        others.push(watcher);
        all.extend(took);
    }
    (result, all)
}

struct Watcher {
    world: Arc<World>,
    chain: ScriptedChain,
    follower: Follower<ScriptedChain>,
    mined: u64,
}

impl Watcher {
    async fn new(world: &Arc<World>, network: Network) -> Self {
        let settings =
            ChainSettings { source: ChainSourceKind::Node, ..world.gateway.config.chain(network) };
        let chain = ScriptedChain::new(network, FIRST_HEIGHT);
        let follower = Follower::new(chain.clone(), settings);
        let mut watcher = Self { world: world.clone(), chain, follower, mined: 0 };
        // The first look begins at the tip and reads no block.
        watcher.follower.look(&world.gateway).await.unwrap();
        watcher
    }

    /// A block of payments to others.
    fn mine(&mut self) {
        self.chain.script().mine(0, payments(self.mined, TRANSFERS));
        self.mined += 1;
    }

    /// Seconds until all blocks were read.
    async fn catch_up(&mut self) -> f64 {
        let started = Instant::now();
        while !self.follower.look(&self.world.gateway).await.unwrap().complete {}
        started.elapsed().as_secs_f64()
    }
}
