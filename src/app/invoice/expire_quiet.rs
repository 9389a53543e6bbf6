//! Deadlines of invoices that nothing is on its way to, decided many at a time: a storm of them
//! must not be a storm of transactions.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{
    carry_out::interpret,
    expire::{NOTHING_UNDER_WAY, look_again_at},
};
use crate::app::{Gateway, delivery::emit, operator::measure::count_transition};
use crate::{
    fail_point::fail_point,
    invoice::{deadline::Watched, lifecycle},
    storage::{
        self, StorageError, cursors,
        deposits::in_sight,
        identity,
        invoices::{self, Invoice},
        timers,
    },
    webhook::event::EventKind,
};

impl Gateway {
    /// Decides those of `ids` that have no deposit under way, nor one that vanished, and whose row
    /// is not locked, in one transaction, exactly as [`expire_invoice`](Self::expire_invoice)
    /// would. Returns them; the others need a decision of their own.
    pub async fn expire_quiet(&self, ids: &[Uuid]) -> Result<HashSet<Uuid>, StorageError> {
        let mut tx = self.db.begin().await?;
        let mut quiet = invoices::lock_free(&mut tx, ids).await?;
        // After the locks: a deposit is recorded under its invoice's.
        let expecting = in_sight::expecting(&mut tx, ids).await?;
        // One that ends paid by its tolerance has receipts and cycles to write.
        quiet.retain(|invoice| {
            !expecting.contains(&invoice.id) && !invoice.for_lifecycle().may_end_paid()
        });
        let through = cursors::watched_through(&mut tx).await?;
        let restored_at = identity::restored_at(&mut tx).await?;
        let now = storage::now(&mut tx).await?;

        let mut owed: Vec<(Uuid, EventKind)> = Vec::new();
        let (mut moved, mut transitions) = (Vec::new(), Vec::new());
        for invoice in &mut quiet {
            let before = invoice.view.status;
            let through = invoice.network().and_then(|network| through.get(&network).copied());
            let watched = Watched { through, restored_at };
            let event = self.deadline_passed(invoice, watched, NOTHING_UNDER_WAY, now);
            let step = lifecycle::step(&invoice.for_lifecycle(), event);
            let outcome = interpret(invoice, &step);
            if outcome.is_changed {
                transitions.push((before, invoice.view.status));
                moved.push((invoice.id, invoice.view.status));
            }
            for ipn in outcome.ipns_without_deposit()? {
                owed.push((invoice.id, EventKind::from(*ipn)));
            }
        }
        let updated_at = invoices::update_statuses(&mut tx, &moved).await?;
        for invoice in &mut quiet {
            if let Some(at) = updated_at.get(&invoice.id) {
                invoice.view.updated_at = *at;
            }
        }
        let by_id: HashMap<_, _> = quiet.iter().map(|invoice| (invoice.id, invoice)).collect();
        let owed: Vec<_> =
            owed.iter().filter_map(|(id, kind)| Some((*by_id.get(id)?, *kind))).collect();
        emit::transitions(&mut tx, &owed, &self.config.checkout_url).await?;
        move_timers(&mut tx, &quiet, now).await?;
        fail_point("expire.written");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("expire.committed");
        for (from, to) in transitions {
            count_transition(Some(from), to);
        }
        self.relay_wake.notify_one();
        Ok(quiet.iter().map(|invoice| invoice.id).collect())
    }
}

/// The decided need no clock any more; the held ring again.
async fn move_timers(
    tx: &mut storage::PgConnection,
    invoices: &[Invoice],
    now: DateTime<Utc>,
) -> Result<(), StorageError> {
    let (ended, open): (Vec<_>, Vec<_>) =
        invoices.iter().partition(|invoice| invoice.view.status.is_terminal());
    let ended: Vec<_> = ended.iter().map(|invoice| invoice.id).collect();
    timers::clear_many(tx, timers::INVOICE_DEADLINE, &ended).await?;
    let again = |invoice: &&Invoice| (invoice.id, look_again_at(invoice.view.deadline, now));
    let held: Vec<_> = open.iter().map(again).collect();
    timers::set_many(tx, timers::INVOICE_DEADLINE, &held).await
}
