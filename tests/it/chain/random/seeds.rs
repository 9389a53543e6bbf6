//! Many seeds, each a scenario of its own. `GATEWAY_TEST_SEED` is the first, `GATEWAY_TEST_CHAINS`
//! the number; `make test-faults` takes a thousand.

use std::time::{Duration, Instant};

use gateway::merchant::settings::Settings;
use support::{
    books,
    fault::fired::fired,
    lanes::{Lane, Seeds},
};

use super::{
    oracle,
    story::{Story, Tally},
};

const CHAINS: u64 = 20;

/// Returns the counts of the scenarios and the duration of the slowest.
async fn tell(seeds: Vec<u64>) -> (Tally, Duration) {
    let mut lane = Lane::open("").await;
    let merchant = lane.gateway.create_merchant("Random", Settings::default()).await.unwrap();
    let (mut total, mut slowest) = (Tally::default(), Duration::ZERO);
    for seed in seeds {
        let started = Instant::now();
        let mut story = Story::begin(seed, &lane.gateway, merchant.id).await;
        story.play().await;
        oracle::judge(&mut story).await;
        total.add(story.tally);
        slowest = slowest.max(started.elapsed());
    }
    let entries = books::agree(&lane.gateway, &mut lane.connection, merchant.id).await;
    assert!(entries > 0, "nothing was booked");
    lane.close().await;
    (total, slowest)
}

#[test]
fn with_any_behaviour_of_chain_and_node_the_books_end_equal_to_the_chain() {
    let seeds = Seeds::given("GATEWAY_TEST_CHAINS", CHAINS);
    let started = Instant::now();
    let (mut total, mut slowest) = (Tally::default(), Duration::ZERO);
    for (tally, slow) in seeds.in_lanes(tell) {
        total.add(tally);
        slowest = slowest.max(slow);
    }
    let count = seeds.count;
    fired(total.reorganisations + total.faults + total.kills);
    println!("{count} chains in {:?}, the slowest in {slowest:?}: {total:?}", started.elapsed());
    if count >= CHAINS {
        let Tally { credited, hidden, reorganisations, changed, rewinds, faults, .. } = total;
        let Tally { kills, expired, held, .. } = total;
        let made =
            [credited, hidden, reorganisations, changed, rewinds, faults, kills, expired, held];
        assert!(made.iter().all(|count| *count > 0), "something never happened: {total:?}");
    }
}
