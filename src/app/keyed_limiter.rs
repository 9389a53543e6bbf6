//! Keyed limiter: a limited number of places per key, such as a called host or a calling client.

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
pub(super) struct Places<K>(Arc<Mutex<HashMap<K, Arc<Semaphore>>>>);

/// One of the places of `key`, released on drop.
pub(super) struct Place<K: Eq + Hash> {
    of: Places<K>,
    key: K,
    semaphore: Option<Arc<Semaphore>>,
    permit: Option<OwnedSemaphorePermit>,
}

impl<K: Clone + Eq + Hash> Places<K> {
    /// Waits for one of the `max` places of `key`, in the order of the calls.
    pub(super) async fn take(&self, key: K, max: usize) -> Place<K> {
        let new = || Arc::new(Semaphore::new(max));
        let semaphore = self.locked().entry(key.clone()).or_insert_with(new).clone();
        // Created before the wait, so that a cancelled waiter is removed as well.
        let mut place =
            Place { of: self.clone(), key, semaphore: Some(semaphore.clone()), permit: None };
        place.permit = semaphore.acquire_owned().await.ok();
        place
    }
}

impl<K> Places<K> {
    fn locked(&self) -> MutexGuard<'_, HashMap<K, Arc<Semaphore>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.locked().is_empty()
    }
}

impl<K> Clone for Places<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for Places<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash + Send + 'static> Place<K> {
    /// Holds the place until `work` has ended, even if the caller has gone away: a query continues
    /// in the database after its client has disconnected. Fails only if `work` panics or the
    /// program ends.
    pub(super) async fn during<T: Send + 'static>(
        self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, JoinError> {
        let working = async move {
            let _place = self;
            work.await
        };
        tokio::spawn(working).await
    }
}

impl<K: Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        self.permit = None;
        self.semaphore = None;
        let mut all = self.of.locked();
        if all.get(&self.key).is_some_and(|places| Arc::strong_count(places) == 1) {
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
    async fn whoever_has_taken_all_his_places_keeps_nobody_else_waiting() {
        let places = Places::default();
        let (first, _second) = (places.take("a", 2).await, places.take("a", 2).await);
        assert!(timeout(SOON, places.take("b", 2)).await.is_ok());
        assert!(timeout(SOON, places.take("a", 2)).await.is_err());
        drop(first);
        assert!(timeout(SOON, places.take("a", 2)).await.is_ok());
    }

    #[tokio::test]
    async fn nothing_is_kept_of_those_who_left_or_gave_up_waiting() {
        let places = Places::default();
        let taken = places.take("a", 1).await;
        assert!(timeout(SOON, places.take("a", 1)).await.is_err());
        assert!(!places.is_empty());
        drop(taken);
        assert!(places.is_empty());
    }

    #[tokio::test]
    async fn a_place_is_kept_until_its_work_has_ended_whoever_waits_for_it() {
        let places = Places::default();
        let (end, ended) = oneshot::channel::<()>();
        let work = places.take("a", 1).await.during(ended);
        assert!(timeout(SOON, work).await.is_err(), "the work has not ended");
        assert!(timeout(SOON, places.take("a", 1)).await.is_err());
        end.send(()).unwrap();
        assert!(timeout(SOON, places.take("a", 1)).await.is_ok());
    }
}
