//! Connections that are open before a request needs them.

use std::time::Duration;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::Db;

/// A request that finds none opens one first, which takes 0.1 s over TLS.
const KEPT: u32 = 4;
/// Often enough that the pool never takes them for idle.
const EVERY: Duration = Duration::from_secs(60);

impl Db {
    /// Keeps a few connections open until `stop`. One that cannot be opened is left to the next
    /// request, which learns why.
    pub async fn keep_connections(self, stop: CancellationToken) {
        let count = KEPT.min(self.pool.options().get_max_connections());
        let mut pace = tokio::time::interval(EVERY);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = pace.tick() => {}
            }
            // Together, so that each is another one.
            join_all((0..count).map(|_| self.pool.acquire())).await;
        }
    }
}
