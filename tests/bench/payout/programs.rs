//! The real programs on one network, whose node is private, and orders that they pay.

use std::{sync::Arc, time::Duration};

use gateway::{
    app::{Gateway, payout::NewOrder},
    asset::Network,
    config::Config,
};
use serde_json::Value;
use support::{
    server::{
        installation::{MASTER_KEY, Program},
        processes::Signal,
        stack::only,
    },
    shop::payouts::Orders,
};
use tokio::task::JoinHandle;

use crate::world::{World, with_world};

const ROLES: [&str; 4] = ["payout-batch", "deposit-matching", "expiry-timer", "chain-watcher"];
const LIMIT: Duration = Duration::from_secs(1_500);

/// Programs that are configured for one network.
pub struct Programs {
    pub world: Arc<World>,
    /// Gateway with the programs' network settings, used to place orders.
    hand: Gateway,
    orders: Orders,
    worker: Program,
    paid: i64,
}

/// Runs a measure over programs that follow only `network`, with these settings of its section in
/// TOML syntax.
pub async fn with_programs<F: Future<Output = ()>>(
    network: Network,
    section: &[(&str, String)],
    measure: impl FnOnce(Programs) -> F,
) {
    let name = |network: &str, key: &str| {
        format!("GATEWAY_CHAINS__{}__{}", network.to_uppercase(), key.to_uppercase())
    };
    let given = section.iter().map(|(key, value)| (name(network.name(), key), value.clone()));
    // The two networks that test programs follow by default.
    let others = ["polygon", "litecoin"].into_iter().filter(|other| *other != network.name());
    let others = others.map(|other| (name(other, "source"), "off".to_owned()));
    let settings: Vec<_> = others.chain(given).collect();
    let settings: Vec<_> = settings.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    with_world(&settings, |world| async move {
        let programs = Programs::start(world, network, section).await;
        measure(programs).await;
    })
    .await;
}

impl Programs {
    async fn start(world: Arc<World>, network: Network, section: &[(&str, String)]) -> Self {
        let mut toml = format!(
            "database_url = {:?}\namqp_url = \"amqp://nobody.invalid\"\nmaster_key = {MASTER_KEY:?}\n",
            world.database_url()
        ) + &only(network);
        for (key, value) in section {
            // A quoted number is not a number in TOML.
            let value =
                if value.parse::<u64>().is_ok() { value.clone() } else { format!("{value:?}") };
            toml.push_str(&format!("chains.{network}.{key} = {value}\n"));
        }
        let hand = Gateway::new(Config::from_toml(&toml).unwrap()).unwrap();
        hand.note_network_fee(network).await.unwrap();
        let orders = Orders::open(&hand).await;
        let worker = world.installation.start_workers(&ROLES).await;
        worker.ready().await;
        let watched = "select count(*) from chain_cursor where watched_through is not null";
        world.until(watched, 1, LIMIT).await;
        Self { world, hand, orders, worker, paid: 0 }
    }

    /// Places an order and returns it as it waits for its deposit.
    pub async fn order(&self, wanted: &NewOrder) -> Value {
        self.world.refresh_rates().await;
        self.orders.confirmed(&self.hand, wanted).await
    }

    /// Seconds from the deposit's booking to the last payment's, by the database's clock.
    pub async fn until_paid(&mut self) -> f64 {
        self.paid += 1;
        let completed = "select count(*) from payout_order where state = 'completed'";
        self.world.until(completed, self.paid, LIMIT).await;
        let query = "select extract(epoch from finished_at - funded_at)::float8 \
                     from payout_order order by created_at desc limit 1";
        sqlx::query_scalar(query).fetch_one(&mut self.world.connect().await).await.unwrap()
    }

    pub async fn stop(self) {
        self.worker.process.signal(Signal::Terminate);
        self.worker.process.ended(LIMIT).await;
        self.hand.db.close().await;
    }
}

/// Calls a function that mines, repeatedly, until dropped.
pub struct Mining(JoinHandle<()>);

impl Mining {
    pub fn every<F: Future<Output = ()> + Send + 'static>(
        pause: Duration,
        mine: impl Fn() -> F + Send + 'static,
    ) -> Self {
        Self(tokio::spawn(async move {
            loop {
                mine().await;
                tokio::time::sleep(pause).await;
            }
        }))
    }
}

impl Drop for Mining {
    fn drop(&mut self) {
        self.0.abort();
    }
}
