//! SIGTERM under load: requests in progress are completed, and a request without a complete
//! response had no effect.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use support::{
    client::exchange::{Kept, Lost},
    fault::fired::fired,
    server::{
        broker::with_broker, database::TestDatabase, installation::Installation, processes::Signal,
    },
    shop::trade::{Shop, stored_order_ids},
};

const CUSTOMERS: usize = 24;
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// Results of one customer before the API stopped.
#[derive(Default)]
struct Seen {
    acknowledged: Vec<String>,
    /// Over a connection that had carried a response before.
    cut_while_served: Vec<(String, String)>,
    /// Over a connection that had not been served yet.
    cut_before: Vec<(String, String)>,
}

/// Creates orders without pause until no server listens: over one connection, or over a new one
/// each time.
async fn order(installation: Arc<Installation>, shop: Arc<Shop>, keeps: bool) -> Seen {
    let mut seen = Seen::default();
    let mut kept = None;
    loop {
        let served = kept.is_some();
        let connection = match kept.take() {
            Some(connection) => Ok(connection),
            None => Kept::open(installation.api).await,
        };
        let mut connection = match connection {
            Ok(connection) => connection,
            Err(_) => return seen,
        };
        let (exchange, order_id, _) = shop.next();
        match connection.send(&exchange).await {
            Ok(answer) => {
                assert_eq!(answer.status, 201, "{}", answer.body);
                answer.json();
                seen.acknowledged.push(order_id);
                kept = keeps.then_some(connection);
            }
            // A kept connection was closed between two requests: nothing was sent.
            Err(Lost::NotConnected(_)) => {}
            Err(Lost::Cut(reason)) if served => seen.cut_while_served.push((order_id, reason)),
            Err(Lost::Cut(reason)) => seen.cut_before.push((order_id, reason)),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_api_finishes_the_requests_it_has_read_and_accepts_no_others() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Arc::new(Installation::new(&database.url, &(&*broker).into(), &[]));
        let (api, workers) = installation.start().await;
        let shop = Arc::new(Shop::open(&installation, 4_000).await);
        drop(workers);
        let customers = (0..CUSTOMERS)
            .map(|number| tokio::spawn(order(installation.clone(), shop.clone(), number % 2 == 0)));
        let customers: Vec<_> = customers.collect();
        tokio::time::sleep(Duration::from_secs(2)).await;
        let started = Instant::now();
        api.process.signal(Signal::Terminate);
        let stopping = api.process.ended(STOP_LIMIT).await;
        let seen: Vec<Seen> = join_all(customers).await.into_iter().map(Result::unwrap).collect();
        let acknowledged: BTreeSet<_> = seen.iter().flat_map(|s| s.acknowledged.clone()).collect();
        let served: Vec<_> = seen.iter().flat_map(|s| &s.cut_while_served).collect();
        let cut: Vec<_> = seen.iter().flat_map(|s| &s.cut_before).collect();
        assert!(acknowledged.len() > CUSTOMERS, "there was no load");
        println!(
            "{} orders acknowledged, stopped in {stopping:?} ({:?}), {} requests cut off: {cut:?}",
            acknowledged.len(),
            started.elapsed(),
            cut.len()
        );
        let stored = stored_order_ids(&installation).await;
        assert_eq!(stored, acknowledged, "acknowledged and stored are not the same");
        assert!(api.process.output().contains("stopping"), "{}", api.process.said());
        fired(1);
        assert!(!api.process.output().contains("cut off by the stop"), "{}", api.process.said());
        // Kept connections are closed with their last response.
        assert!(served.is_empty(), "{served:?}");
        // The accept queue is emptied before the listener closes. A connection that arrives between
        // the two is reset by the kernel.
        assert!(cut.len() <= 1, "{cut:?}");
        database.remove().await;
    })
    .await;
}
