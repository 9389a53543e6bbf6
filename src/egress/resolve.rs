//! Host names resolved by the operating system, with a short cache.

use std::{
    collections::HashMap,
    io,
    net::IpAddr,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::io::Errno;
use tokio::{sync::Semaphore, time::timeout};

/// Concurrent lookups. Each holds a thread until the system's resolver gives up, even after the
/// caller has.
const LOOKUPS_MAX: usize = 256;
/// Shorter than the limit of a lookup, so that waiting for a permit is reported as that.
const PERMIT_WAIT: Duration = Duration::from_secs(2);
/// Lifetime of a cached result. Names whose servers hang hold permits for many seconds; a name
/// resolved a moment ago needs none. Short enough for a host that moves.
const KNOWN_FOR: Duration = Duration::from_secs(30);
const KNOWN_MAX: usize = 10_000;

pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Resolves host names to addresses. The results are not trusted.
pub trait Resolve: Send + Sync + 'static {
    fn resolve(&self, host: &str) -> Resolving;
}

/// The resolver of the operating system, with a limit of concurrent lookups.
pub struct SystemResolver {
    permits: Arc<Semaphore>,
    known: Arc<Mutex<Known>>,
}

impl SystemResolver {
    pub fn new() -> Self {
        Self { permits: Arc::new(Semaphore::new(LOOKUPS_MAX)), known: Arc::default() }
    }
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new()
    }
}

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> Resolving {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(addresses) = known.at(host, Instant::now()) {
            return Box::pin(async move { Ok(addresses) });
        }
        drop(known);
        let (permits, known, host) = (self.permits.clone(), self.known.clone(), host.to_owned());
        Box::pin(async move {
            // All permits are held, by names that hang or by a local resolver that does: this name
            // is not at fault.
            let permit = timeout(PERMIT_WAIT, permits.acquire_owned()).await;
            let permit = permit.map_err(|_| Errno::AGAIN)?.map_err(io::Error::other)?;
            // A separate task holds the permit for as long as the thread is busy.
            let lookup = tokio::spawn(async move {
                let found = tokio::net::lookup_host((host.as_str(), 0)).await;
                drop(permit);
                let found: Vec<_> = found?.map(|address| address.ip()).collect();
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.learn(host, found.clone(), Instant::now());
                Ok(found)
            });
            // `lookup_host` panics if the system has no thread for it.
            lookup.await.map_err(|_| Errno::AGAIN)?
        })
    }
}

/// Cache of recent results. Failures are not cached.
#[derive(Default)]
struct Known(HashMap<String, (Instant, Vec<IpAddr>)>);

impl Known {
    fn at(&self, host: &str, now: Instant) -> Option<Vec<IpAddr>> {
        let (found_at, addresses) = self.0.get(host)?;
        (now - *found_at < KNOWN_FOR).then(|| addresses.clone())
    }

    fn learn(&mut self, host: String, addresses: Vec<IpAddr>, now: Instant) {
        if self.0.len() >= KNOWN_MAX {
            self.0.retain(|_, (found_at, _)| now - *found_at < KNOWN_FOR);
        }
        if self.0.len() < KNOWN_MAX {
            self.0.insert(host, (now, addresses));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::EgressError;

    const HERE: [IpAddr; 1] = [IpAddr::V4(std::net::Ipv4Addr::LOCALHOST)];

    #[test]
    fn resolved_names_are_cached_briefly_and_the_cache_is_bounded() {
        let (mut known, start) = (Known::default(), Instant::now());
        known.learn("shop.example".into(), HERE.into(), start);
        let almost = start + KNOWN_FOR - Duration::from_millis(1);
        assert_eq!(known.at("shop.example", almost).as_deref(), Some(&HERE[..]));
        assert_eq!(known.at("other.example", start), None);
        assert_eq!(known.at("shop.example", start + KNOWN_FOR), None);
        for number in 0..2 * KNOWN_MAX {
            known.learn(format!("{number}.example"), HERE.into(), start);
        }
        assert_eq!(known.0.len(), KNOWN_MAX);
        known.learn("late.example".into(), HERE.into(), start + KNOWN_FOR);
        assert_eq!(known.0.len(), 1);
    }

    #[tokio::test]
    async fn a_lookup_refused_by_the_limit_is_not_reported_as_an_unknown_host() {
        let resolver = SystemResolver::new();
        let all = u32::try_from(LOOKUPS_MAX).unwrap();
        let hanging = resolver.permits.clone().acquire_many_owned(all).await.unwrap();
        let fault = resolver.resolve("localhost").await.unwrap_err();
        assert_eq!(EgressError::from_lookup(&fault, &Ok(())).kind(), "ours");
        drop(hanging);
        assert!(resolver.resolve("localhost").await.is_ok());
    }

    #[tokio::test]
    async fn the_system_s_own_name_is_found_twice() {
        let resolver = SystemResolver::new();
        for _ in 0..2 {
            assert!(resolver.resolve("localhost").await.unwrap().iter().all(IpAddr::is_loopback));
        }
        assert_eq!(resolver.known.lock().unwrap().0.len(), 1);
        assert_eq!(resolver.permits.available_permits(), LOOKUPS_MAX);
    }
}
