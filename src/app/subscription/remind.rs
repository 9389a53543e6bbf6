//! Reminders of renewals: due rows are claimed, decided and told in one transaction, so that each
//! day is told once whatever dies.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::app::{
    Gateway,
    delivery::emit::{self, delivery_of},
    subscription::told,
};
use crate::{
    broker::route::Route,
    fail_point::fail_point,
    invoice::payment::{Payment, iso_8601},
    storage::{
        self, PgConnection, StorageError,
        events::{self, NewEvent},
        invoices::{self, Invoice},
        subscription_reminders::{self as reminders, NewReminder},
        subscriptions::{self, Subscription},
    },
    subscription::{
        Token,
        lifecycle::{self, Effect, Event},
    },
    webhook::{event::EventKind, ipn, subscription::RenewalBody},
};

/// Subscriptions decided in one transaction.
const BATCH: i64 = 500;

/// Rows that a decision leaves to be written, in order.
#[derive(Default)]
struct Written {
    events: Vec<NewEvent>,
    reminders: Vec<NewReminder>,
}

impl Gateway {
    /// Decides due subscriptions, up to a bound. `true` if there may be more.
    ///
    /// Days that were missed are told one by one, in order, each as its own. A row that a payment
    /// holds is left to the next call: then nothing is due any more.
    pub async fn remind_subscribers(&self) -> Result<bool, StorageError> {
        let mut tx = self.db.begin().await?;
        let mut due = subscriptions::lock_due(&mut tx, BATCH).await?;
        if due.is_empty() {
            return Ok(false);
        }
        let now = storage::now(&mut tx).await?;
        let latest = latest_invoices(&mut tx, &due).await?;
        let mut written = Written::default();
        for subscription in &mut due {
            self.decide_due(subscription, latest.get(&subscription.id), now, &mut written);
        }
        subscriptions::save(&mut tx, &due.iter().collect::<Vec<_>>()).await?;
        reminders::insert(&mut tx, &written.reminders).await?;
        events::tell(&mut tx, &written.events, Route::Ipn.as_str()).await?;
        fail_point("remind.written");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("remind.committed");
        self.relay_wake.notify_one();
        Ok(i64::try_from(due.len()).is_ok_and(|count| count >= BATCH))
    }

    /// Steps a subscription up to `now`.
    fn decide_due(
        &self,
        subscription: &mut Subscription,
        latest: Option<&Invoice>,
        now: DateTime<Utc>,
        written: &mut Written,
    ) {
        let at = subscription.clock.date_at(now);
        subscription.updated_at = now;
        while subscription.rules.next_due().is_some_and(|due| due <= at) {
            let step = lifecycle::step(&subscription.rules, Event::TimerFired { at });
            subscription.rules = step.subscription;
            for effect in step.effects {
                match effect {
                    Effect::Remind(day) => self.remind(subscription, latest, day, written),
                    Effect::Tell(change) => written.events.push(told(subscription, change)),
                }
            }
        }
    }

    /// The IPN of the latest invoice, with the renewal beside it.
    fn remind(
        &self,
        subscription: &Subscription,
        latest: Option<&Invoice>,
        day: i8,
        written: &mut Written,
    ) {
        let Some(invoice) = latest else {
            tracing::error!(subscription_id = subscription.subscription_id, "it has no invoice");
            return;
        };
        let (checkout, event_id) = (&self.config.checkout_url, emit::new_id());
        let (token, cycle) = (Token::generate(), subscription.rules.next_cycle());
        let body = RenewalBody {
            day_offset: day,
            next_renewal_at: iso_8601(subscription.rules.next_renewal()),
            cycle,
            renewal_url: renewal_url(checkout, &token),
        };
        let payment = Payment::render(&invoice.view, checkout);
        written.events.push(NewEvent {
            kind: EventKind::RenewalReminder,
            merchant_id: invoice.merchant_id,
            payment_id: invoice.view.payment_id.clone(),
            subject: Some(subject(subscription.id, cycle, day)),
            payload: ipn::snapshot(&payment, None, None, Some(&body)),
            delivery: delivery_of(invoice, &event_id),
            event_id: event_id.clone(),
        });
        written.reminders.push(NewReminder {
            subscription: subscription.id,
            cycle,
            day_offset: day,
            token_hash: token.sha256(),
            event_id,
        });
    }
}

/// The latest invoice of each subscription.
async fn latest_invoices(
    tx: &mut PgConnection,
    due: &[Subscription],
) -> Result<HashMap<Uuid, Invoice>, StorageError> {
    let ids: Vec<_> = due.iter().map(|subscription| subscription.id).collect();
    let latest = invoices::latest_of_subscriptions(tx, &ids).await?;
    let keyed = latest.into_iter().filter_map(|invoice| Some((invoice.subscription_id?, invoice)));
    Ok(keyed.collect())
}

/// `{checkout_url}/renew/<token>`.
fn renewal_url(checkout_url: &str, token: &Token) -> String {
    format!("{}/renew/{}", checkout_url.trim_end_matches('/'), token.reveal())
}

/// The subject of a reminder's event. Several are about one invoice, whose events are told apart by
/// it.
fn subject(subscription: Uuid, cycle: u32, day: i8) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(subscription.as_bytes());
    hash.update(cycle.to_be_bytes());
    hash.update(day.to_be_bytes());
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
