//! Keyed limiter: a limited number of permits per key, such as a called host or a calling client.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinError,
};

/// The semaphore of each key. A key without holders and waiters is removed.
pub(super) struct KeyedLimiter<K>(Arc<Mutex<HashMap<K, Arc<Semaphore>>>>);

/// One of the permits of `key`, released on drop.
pub(super) struct KeyedPermit<K: Eq + Hash> {
    of: KeyedLimiter<K>,
    key: K,
    semaphore: Option<Arc<Semaphore>>,
    permit: Option<OwnedSemaphorePermit>,
}

impl<K: Clone + Eq + Hash> KeyedLimiter<K> {
    /// Waits for one of the `max` permits of `key`, in the order of the calls.
    pub(super) async fn take(&self, key: K, max: usize) -> KeyedPermit<K> {
        let new = || Arc::new(Semaphore::new(max));
        let semaphore = self.locked().entry(key.clone()).or_insert_with(new).clone();
        // Created before the wait, so that a cancelled waiter is removed as well.
        let mut taken =
            KeyedPermit { of: self.clone(), key, semaphore: Some(semaphore.clone()), permit: None };
        taken.permit = semaphore.acquire_owned().await.ok();
        taken
    }
}

impl<K> KeyedLimiter<K> {
    fn locked(&self) -> MutexGuard<'_, HashMap<K, Arc<Semaphore>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.locked().is_empty()
    }
}

impl<K> Clone for KeyedLimiter<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for KeyedLimiter<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash + Send + 'static> KeyedPermit<K> {
    /// Holds the permit until `work` has ended, even if the caller has gone away: a query continues
    /// in the database after its client has disconnected. Fails only if `work` panics or the
    /// program ends.
    pub(super) async fn during<T: Send + 'static>(
        self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, JoinError> {
        let working = async move {
            let _permit = self;
            work.await
        };
        tokio::spawn(working).await
    }
}

impl<K: Eq + Hash> KeyedPermit<K> {
    /// Permits of the key that nobody has; none while others wait.
    pub(super) fn left(&self) -> usize {
        self.semaphore.as_ref().map_or(0, |semaphore| semaphore.available_permits())
    }
}

impl<K: Eq + Hash> Drop for KeyedPermit<K> {
    fn drop(&mut self) {
        self.permit = None;
        self.semaphore = None;
        let mut all = self.of.locked();
        if all.get(&self.key).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            all.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{sync::oneshot, time::timeout};

    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn a_key_that_uses_all_its_permits_delays_no_other_key() {
        let limiter = KeyedLimiter::default();
        let (first, _second) = (limiter.take("a", 2).await, limiter.take("a", 2).await);
        assert!(timeout(SOON, limiter.take("b", 2)).await.is_ok());
        assert!(timeout(SOON, limiter.take("a", 2)).await.is_err());
        drop(first);
        assert!(timeout(SOON, limiter.take("a", 2)).await.is_ok());
    }

    #[tokio::test]
    async fn a_keyed_limiter_keeps_no_entry_without_holders_or_waiters() {
        let limiter = KeyedLimiter::default();
        let taken = limiter.take("a", 1).await;
        assert!(timeout(SOON, limiter.take("a", 1)).await.is_err());
        assert!(!limiter.is_empty());
        drop(taken);
        assert!(limiter.is_empty());
    }

    #[tokio::test]
    async fn a_permit_is_held_until_the_work_ends_even_if_the_caller_is_gone() {
        let limiter = KeyedLimiter::default();
        let (end, ended) = oneshot::channel::<()>();
        let work = limiter.take("a", 1).await.during(ended);
        assert!(timeout(SOON, work).await.is_err(), "the work has not ended");
        assert!(timeout(SOON, limiter.take("a", 1)).await.is_err());
        end.send(()).unwrap();
        assert!(timeout(SOON, limiter.take("a", 1)).await.is_ok());
    }
}
