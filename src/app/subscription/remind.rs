//! Reminders of renewals: due rows are claimed, decided and told in one transaction, so that each
//! day is told once whatever dies.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::{
    Gateway,
    delivery::emit::delivery_of,
    subscription::{reminder_id, told},
};
use crate::{
    broker::route::Route,
    fail_point::fail_point,
    invoice::payment::{Payment, iso_8601},
    storage::{
        self, StorageError,
        events::{self, NewEvent},
        invoices::{self, Invoice},
        subscriptions::{self, Subscription},
    },
    subscription::lifecycle::{self, Effect, Event},
    webhook::{event::EventKind, ipn, subscription::RenewalBody},
};

/// Subscriptions decided in one transaction.
const BATCH: i64 = 500;

impl Gateway {
    /// Decides due subscriptions, up to a bound. `true` if there may be more.
    ///
    /// Days that were missed are told one by one, in order, each as its own. A payment that holds
    /// the row is waited for by the next call: then nothing is due any more.
    pub async fn remind_subscribers(&self) -> Result<bool, StorageError> {
        let mut tx = self.db.begin().await?;
        let mut due = subscriptions::lock_due(&mut tx, BATCH).await?;
        if due.is_empty() {
            return Ok(false);
        }
        let now = storage::now(&mut tx).await?;
        let ids: Vec<_> = due.iter().map(|subscription| subscription.id).collect();
        let latest = invoices::latest_of_subscriptions(&mut tx, &ids).await?;
        let latest: HashMap<Uuid, Invoice> = latest
            .into_iter()
            .filter_map(|invoice| Some((invoice.subscription_id?, invoice)))
            .collect();
        let mut told = Vec::new();
        for subscription in &mut due {
            told.extend(self.decide_due(subscription, latest.get(&subscription.id), now));
        }
        subscriptions::save(&mut tx, &due.iter().collect::<Vec<_>>()).await?;
        events::tell(&mut tx, &told, Route::Ipn.as_str()).await?;
        fail_point("remind.written");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("remind.committed");
        self.relay_wake.notify_one();
        Ok(i64::try_from(due.len()).is_ok_and(|count| count >= BATCH))
    }

    /// Steps a subscription up to `now`; returns its events in order.
    fn decide_due(
        &self,
        subscription: &mut Subscription,
        latest: Option<&Invoice>,
        now: DateTime<Utc>,
    ) -> Vec<NewEvent> {
        let at = subscription.clock.date_at(now);
        let mut events = Vec::new();
        while subscription.rules.next_due().is_some_and(|due| due <= at) {
            let step = lifecycle::step(&subscription.rules, Event::TimerFired { at });
            subscription.rules = step.subscription;
            for effect in step.effects {
                match effect {
                    Effect::Remind(day) => {
                        events.extend(
                            latest.map(|invoice| self.reminder(subscription, invoice, day)),
                        );
                    }
                    Effect::Tell(change) => events.push(told(subscription, change)),
                }
            }
        }
        events
    }

    /// The IPN of the latest invoice, with the renewal beside it.
    fn reminder(&self, subscription: &Subscription, invoice: &Invoice, day: i8) -> NewEvent {
        let renewal = subscription.rules.next_renewal();
        let subject = reminder_id(subscription.id, renewal, day);
        let event_id = format!("evt_{}", subject.simple());
        let body = RenewalBody {
            day_offset: day,
            next_renewal_at: iso_8601(renewal),
            cycle: subscription.rules.next_cycle(),
            renewal_url: renewal_url(&self.config.checkout_url, &subscription.token),
        };
        let payment = Payment::render(&invoice.view, &self.config.checkout_url);
        NewEvent {
            kind: EventKind::RenewalReminder,
            merchant_id: invoice.merchant_id,
            payment_id: invoice.view.payment_id.clone(),
            subject: Some(subject),
            payload: ipn::snapshot(&payment, None, None, Some(&body)),
            delivery: delivery_of(invoice, &event_id),
            event_id,
        }
    }
}

/// `{checkout_url}/renew/<token>`.
pub(crate) fn renewal_url(checkout_url: &str, token: &str) -> String {
    format!("{}/renew/{token}", checkout_url.trim_end_matches('/'))
}
