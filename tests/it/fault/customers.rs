//! Customers who order without pause while servers stop and come back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use support::{
    server::installation::Installation,
    shop::trade::{Order, Shop},
};
use tokio::task::JoinHandle;

const PAUSE: Duration = Duration::from_millis(100);

pub struct Customers {
    stop: Arc<AtomicBool>,
    ordering: JoinHandle<Seen>,
}

/// Results of their requests.
#[derive(Default)]
pub struct Seen {
    pub acknowledged: Vec<Order>,
    pub failed: usize,
    pub slowest: Duration,
}

impl Customers {
    pub fn come(installation: &Arc<Installation>, shop: &Arc<Shop>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (installation, shop, stopped) = (installation.clone(), shop.clone(), stop.clone());
        let ordering =
            tokio::spawn(async move { order_until(&installation, &shop, &stopped).await });
        Self { stop, ordering }
    }

    pub async fn leave(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.ordering.await.unwrap()
    }
}

async fn order_until(installation: &Installation, shop: &Shop, stop: &AtomicBool) -> Seen {
    let mut seen = Seen::default();
    while !stop.load(Ordering::Relaxed) {
        let started = Instant::now();
        match shop.try_create(installation).await {
            Ok((order, _)) => seen.acknowledged.push(order),
            Err(reason) => {
                assert!(reason.contains("INTERNAL_ERROR"), "{reason}");
                seen.failed += 1;
            }
        }
        seen.slowest = seen.slowest.max(started.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    seen
}
