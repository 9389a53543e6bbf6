//! Messages that come several times, in any order, too early, and long after their work is done
//! (F26).

use std::time::Duration;

use gateway::broker::{
    envelope::{DeliveryRef, DepositRef, InvoiceRef, Turn, encode},
    route::WorkQueue,
};
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use sqlx::{Connection, PgConnection};
use support::{
    fault::fired::fired,
    seed::seed,
    server::{
        broker::{TestBroker, with_broker},
        database::TestDatabase,
        installation::Installation,
        processes::within,
    },
    shop::trade::Shop,
};
use uuid::Uuid;

const ORDERS: usize = 20;
const COPIES: usize = 3;
const LIMIT: Duration = Duration::from_secs(60);
/// The first is due; of the others one is never reached and one is of a cycle that was never
/// requested.
const TURNS: [Turn; 3] =
    [Turn { cycle: 1, attempt: 1 }, Turn { cycle: 1, attempt: 2 }, Turn { cycle: 2, attempt: 1 }];

/// A trade whose every message is repeated.
struct Scene<'a> {
    broker: &'a TestBroker,
    installation: &'a Installation,
    random: StdRng,
}

impl Scene<'_> {
    /// Publishes copies of a message about every existing row, due or not, in any order.
    async fn repeat(&mut self) {
        let mut copies = vec![self.messages().await; COPIES].concat();
        copies.shuffle(&mut self.random);
        for (queue, body) in &copies {
            let queue = self.broker.topology.work_queue(*queue);
            self.broker.publish_by_hand(&queue, body).await;
        }
        fired(copies.len());
    }

    async fn messages(&self) -> Vec<(WorkQueue, String)> {
        let mut connection = PgConnection::connect(&self.installation.database_url).await.unwrap();
        let mut of = async |query: &'static str| -> Vec<Uuid> {
            sqlx::query_scalar(query).fetch_all(&mut connection).await.unwrap()
        };
        let (invoices, deposits, deliveries) = (
            of("select id from invoice").await,
            of("select id from deposit").await,
            of("select id from delivery").await,
        );
        let deadlines = invoices.iter().map(|id| encode(&InvoiceRef { invoice_id: *id }));
        let credits = deposits.iter().map(|id| encode(&DepositRef { deposit_id: *id }));
        let attempts = deliveries.iter().flat_map(|id| {
            TURNS.map(|turn| {
                encode(&DeliveryRef { delivery_id: Some(*id), event_id: None, turn: Some(turn) })
            })
        });
        deadlines
            .map(|body| (WorkQueue::Expiry, body))
            .chain(credits.map(|body| (WorkQueue::Deposit, body)))
            .chain(attempts.map(|body| (WorkQueue::Ipn, body)))
            .collect()
    }

    async fn until(&self, what: &str, count: &'static str) {
        within(LIMIT, what, async || {
            let connecting = PgConnection::connect(&self.installation.database_url);
            let mut connection = connecting.await.map_err(|error| error.to_string())?;
            let counted = sqlx::query_scalar(count).fetch_one(&mut connection).await;
            let counted: i64 = counted.map_err(|error| error.to_string())?;
            if counted == ORDERS as i64 { Ok(()) } else { Err(counted.to_string()) }
        })
        .await;
    }

    /// Waits until all copies are processed.
    async fn until_taken(&self) {
        within(LIMIT, "every copy is taken", async || {
            let counts = self.broker.management.queue_counts(&self.broker.topology).await;
            let counts = counts.map_err(|error| error.to_string())?;
            let left = WorkQueue::ALL.map(|queue| self.broker.topology.work_queue(queue));
            let left: Vec<_> = left
                .iter()
                .filter(|queue| counts.get(*queue).is_none_or(|c| c.total > 0))
                .collect();
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_repeated_in_any_order_do_nothing_twice_and_nothing_early() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let random = StdRng::seed_from_u64(seed());
        let mut scene = Scene { broker: &broker, installation: &installation, random };
        let api = installation.start_api().await;
        let _others =
            installation.start_workers(&["chain-watcher", "expiry-timer", "rate-refresher"]).await;
        api.ready().await;
        let shop = Shop::open(&installation, ORDERS).await;
        let orders = shop.create(&installation, ORDERS).await;
        scene.repeat().await;
        shop.pay(&installation, &orders).await;
        scene
            .until("the deposits are final", "select count(*) from deposit where state = 'final'")
            .await;
        scene.repeat().await;
        let _matchers = [
            installation.start_workers(&["deposit-matching"]).await,
            installation.start_workers(&["deposit-matching"]).await,
        ];
        scene.until("all is credited", "select count(*) from delivery").await;
        scene.repeat().await;
        let _deliverer = installation.start_workers(&["ipn-delivery"]).await;
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        // One process made them; within it no two copies are in progress at once.
        assert_eq!(outcome.posts, ORDERS);

        scene.repeat().await;
        scene.until_taken().await;
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        assert_eq!(outcome.posts, ORDERS, "something was told again");
        database.remove().await;
    })
    .await;
}
