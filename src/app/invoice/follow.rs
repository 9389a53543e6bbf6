//! Buyers' pages that wait for a change of their invoice.
//!
//! One task per process compares the marks of all invoices that somebody waits for with those that
//! the pages saw, so a commit is known in a fraction of a second whoever made it. Hints by the
//! broker were rejected: each writer would have to send them, and a lost one would cost the buyer
//! the whole wait. NOTIFY takes a lock of the whole database at commit.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::{Notify, oneshot};

use crate::{
    app::{Gateway, within},
    storage::{
        StorageError,
        following::{self, Seen},
    },
};

/// Longest wait for a change. Proxies in front give up after fifty seconds or later.
pub const WAIT_MAX: Duration = Duration::from_secs(40);
/// The smallest part of a wait that [`spread`] leaves, in percent.
const SPREAD: u32 = 75;
/// Pages of one invoice that wait at a time: the buyer's own, in a few windows.
const OF_AN_INVOICE: usize = 8;
/// Waiting pages of one client address, behind which there may be a whole shop.
const OF_A_CLIENT: usize = 64;
/// Most waiting pages of a process, each of which takes some twenty-five kilobytes.
const OF_A_PROCESS: usize = 8_192;
/// The part of a listener's connections that may wait, so that others can always ask.
const SHARE: usize = 2;
/// Waiting pages per statement, so few that it leaves in one write: sqlx keeps Nagle's algorithm,
/// and the rest of a larger one waits up to 40 ms for the server's delayed acknowledgement.
const ROWS_MAX: usize = 200;
const READ_LIMIT: Duration = Duration::from_secs(5);

/// The pages that wait in this process.
pub(crate) struct Following {
    waiting: Mutex<Waiting>,
    /// Somebody waits.
    pub(super) arrived: Notify,
    is_watched: AtomicBool,
    room: usize,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    count: usize,
    invoices: HashMap<String, Vec<Waiter>>,
    clients: HashMap<String, usize>,
}

struct Waiter {
    number: u64,
    since: String,
    wake: oneshot::Sender<()>,
}

/// The place of one waiting page, free again on drop: whatever ends the wait, also a buyer who
/// goes away.
struct Place<'a> {
    of: &'a Following,
    payment_id: String,
    client: String,
    number: u64,
    woken: oneshot::Receiver<()>,
}

impl Following {
    pub(crate) fn new(connections_max: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            arrived: Notify::new(),
            is_watched: AtomicBool::new(false),
            room: (connections_max / SHARE).min(OF_A_PROCESS),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a page that has seen the mark `since`; `None` if too many wait, or nobody
    /// watches.
    fn take(&self, payment_id: &str, client: &str, since: &str) -> Option<Place<'_>> {
        let mut waiting = self.locked();
        // Under the lock, so that none begins to wait after the last one was woken.
        let of_invoice = waiting.invoices.get(payment_id).map_or(0, Vec::len);
        let of_client = waiting.clients.get(client).copied().unwrap_or(0);
        let has_room = waiting.count < self.room
            && of_invoice < OF_AN_INVOICE
            && of_client < OF_A_CLIENT
            && self.is_watched.load(Ordering::Relaxed);
        if !has_room {
            return None;
        }
        let (wake, woken) = oneshot::channel();
        let number = waiting.next;
        waiting.next += 1;
        waiting.count += 1;
        *waiting.clients.entry(client.to_owned()).or_default() += 1;
        let waiter = Waiter { number, since: since.to_owned(), wake };
        waiting.invoices.entry(payment_id.to_owned()).or_default().push(waiter);
        drop(waiting);
        self.arrived.notify_one();
        let (payment_id, client) = (payment_id.to_owned(), client.to_owned());
        Some(Place { of: self, payment_id, client, number, woken })
    }

    fn seen(&self) -> Vec<Seen> {
        let waiting = self.locked();
        let all = waiting.invoices.iter().flat_map(|(payment_id, waiters)| {
            let seen = |waiter: &Waiter| (payment_id.clone(), waiter.since.clone());
            waiters.iter().map(seen)
        });
        all.collect()
    }

    /// Wakes those who saw what is no longer so.
    fn wake<'a>(&self, outdated: impl IntoIterator<Item = &'a Seen>) {
        let mut waiting = self.locked();
        for (payment_id, since) in outdated {
            let Some(waiters) = waiting.invoices.get_mut(payment_id) else { continue };
            for waiter in waiters.extract_if(.., |waiter| waiter.since == *since) {
                // Its page may have gone; the place is freed there.
                let _ = waiter.wake.send(());
            }
        }
    }

    fn open(&self) {
        let _order = self.locked();
        self.is_watched.store(true, Ordering::Relaxed);
    }

    /// Wakes all, and lets nobody wait any more.
    fn close(&self) {
        let mut waiting = self.locked();
        self.is_watched.store(false, Ordering::Relaxed);
        for waiters in waiting.invoices.values_mut() {
            for waiter in waiters.drain(..) {
                let _ = waiter.wake.send(());
            }
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut waiting = self.of.locked();
        waiting.count = waiting.count.saturating_sub(1);
        if let Some(waiters) = waiting.invoices.get_mut(&self.payment_id) {
            waiters.retain(|waiter| waiter.number != self.number);
            if waiters.is_empty() {
                waiting.invoices.remove(&self.payment_id);
            }
        }
        if let Some(count) = waiting.clients.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                waiting.clients.remove(&self.client);
            }
        }
    }
}

/// A wait of up to a quarter less: pages that came at once, as after a restart, do not come back at
/// once.
pub fn spread(most: Duration) -> Duration {
    most * rand::random_range(SPREAD..=100) / 100
}

impl Gateway {
    /// A text that changes whenever the buyer's view of an invoice does, but for the time and the
    /// confirmations; `None` if there is no such invoice.
    pub async fn buyer_mark(&self, payment_id: &str) -> Result<Option<String>, StorageError> {
        let mut connection = self.db.connection().await?;
        // No invoice has the empty mark.
        let asked = [(payment_id.to_owned(), String::new())];
        let outdated = following::outdated(&mut connection, &asked).await?.pop();
        Ok(outdated.and_then(|outdated| outdated.mark))
    }

    /// Waits until the mark of an invoice is not `since`, at most for `wait`. Returns at once if
    /// too many wait already, and when this process is to stop.
    pub async fn await_change(&self, payment_id: &str, client: &str, since: &str, wait: Duration) {
        let Some(mut place) = self.following.take(payment_id, client, since) else { return };
        let _elapsed = tokio::time::timeout(wait.min(WAIT_MAX), &mut place.woken).await;
    }

    /// Waits until a page waits.
    pub async fn somebody_follows(&self) {
        while self.followers() == 0 {
            self.following.arrived.notified().await;
        }
    }

    /// The pages that wait now.
    pub fn followers(&self) -> usize {
        self.following.locked().count
    }

    /// Lets pages wait from now on: [`wake_followers`](Self::wake_followers) is being called.
    pub fn open_following(&self) {
        self.following.open();
    }

    /// Answers all waiting pages, and lets none wait any more.
    pub fn close_following(&self) {
        self.following.close();
    }

    /// Answers the pages whose invoice has changed.
    pub async fn wake_followers(&self) -> Result<(), StorageError> {
        for seen in self.following.seen().chunks(ROWS_MAX) {
            let outdated = within(READ_LIMIT, async {
                let mut connection = self.db.connection().await?;
                following::outdated(&mut connection, seen).await
            });
            self.following.wake(outdated.await?.iter().map(|outdated| &outdated.seen));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 200;

    fn open() -> Following {
        let following = Following::new(ROOM * SHARE);
        following.open();
        following
    }

    #[test]
    fn waiting_pages_are_few_of_an_invoice_of_a_client_and_of_a_process() {
        let following = open();
        let ids: Vec<_> = (0..ROOM).map(|number| format!("invoice-{number}")).collect();
        let one: Vec<_> = (0..OF_AN_INVOICE)
            .map(|number| following.take("one", &format!("client-{number}"), "a").unwrap())
            .collect();
        assert!(following.take("one", "another", "a").is_none(), "pages of one invoice");
        drop(one);
        let client: Vec<_> = ids
            .iter()
            .take(OF_A_CLIENT)
            .map(|id| following.take(id, "shop", "a").unwrap())
            .collect();
        assert!(following.take("one", "shop", "a").is_none(), "pages of one client");
        drop(client);
        let all: Vec<_> = ids.iter().map(|id| following.take(id, id, "a").unwrap()).collect();
        assert!(following.take("one", "another", "a").is_none(), "pages of the process");
        drop(all);
        let waiting = following.locked();
        assert_eq!((waiting.count, waiting.invoices.len(), waiting.clients.len()), (0, 0, 0));
    }

    #[test]
    fn a_page_is_woken_when_what_it_saw_is_outdated_and_by_a_stop() {
        let following = open();
        let seen = |id: &str, since: &str| (id.to_owned(), since.to_owned());
        let mut old = following.take("one", "client", "a").unwrap();
        let mut new = following.take("one", "client", "b").unwrap();
        let mut other = following.take("other", "client", "a").unwrap();
        let mut all = following.seen();
        all.sort_unstable();
        assert_eq!(all, [seen("one", "a"), seen("one", "b"), seen("other", "a")]);
        following.wake(&[seen("one", "a"), seen("gone", "a")]);
        assert!(old.woken.try_recv().is_ok());
        assert!(new.woken.try_recv().is_err() && other.woken.try_recv().is_err());
        following.close();
        assert!(new.woken.try_recv().is_ok() && other.woken.try_recv().is_ok());
        assert!(following.take("one", "client", "a").is_none(), "nobody would be woken");
        drop((old, new, other));
        assert_eq!(following.locked().count, 0);
    }
}
