//! Reminders of renewals: due rows are claimed, decided and told in one transaction, so that each
//! day is told once whatever dies.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::app::{
    Gateway,
    delivery::emit::{self, delivery_of},
    mail::{self, reminder},
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
        mail::{NewMail, Subscriber, insert as insert_mails, subscribers},
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
    mails: Vec<NewMail>,
}

/// Rows about the subscriptions of one transaction, by the row's id of each.
struct Known {
    latest: HashMap<Uuid, Invoice>,
    /// Subscribers who are reminded by mail too.
    subscribers: HashMap<Uuid, Subscriber>,
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
        let known = self.known(&mut tx, &due).await?;
        let mut written = Written::default();
        for subscription in &mut due {
            self.decide_due(subscription, &known, now, &mut written);
        }
        subscriptions::save(&mut tx, &due.iter().collect::<Vec<_>>()).await?;
        reminders::insert(&mut tx, &written.reminders).await?;
        events::tell(&mut tx, &written.events, Route::Ipn.as_str()).await?;
        if !written.mails.is_empty() {
            insert_mails(&mut tx, &written.mails, mail::QUEUE).await?;
        }
        fail_point("remind.written");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("remind.committed");
        self.relay_wake.notify_one();
        Ok(i64::try_from(due.len()).is_ok_and(|count| count >= BATCH))
    }

    async fn known(
        &self,
        tx: &mut PgConnection,
        due: &[Subscription],
    ) -> Result<Known, StorageError> {
        let ids: Vec<_> = due.iter().map(|subscription| subscription.id).collect();
        let mailed = if self.config.mail.enabled { subscribers(tx, &ids).await? } else { vec![] };
        let subscribers = mailed.into_iter().map(|one| (one.id, one)).collect();
        Ok(Known { latest: latest_invoices(tx, &ids).await?, subscribers })
    }

    /// Steps a subscription up to `now`. Of several days that were missed, the mail is about the
    /// newest alone: a person needs one.
    fn decide_due(
        &self,
        subscription: &mut Subscription,
        known: &Known,
        now: DateTime<Utc>,
        written: &mut Written,
    ) {
        let at = subscription.clock.date_at(now);
        subscription.updated_at = now;
        let mut newest = None;
        while subscription.rules.next_due().is_some_and(|due| due <= at) {
            let step = lifecycle::step(&subscription.rules, Event::TimerFired { at });
            subscription.rules = step.subscription;
            for effect in step.effects {
                match effect {
                    Effect::Remind(day) => {
                        newest = self.remind(subscription, known, day, written);
                    }
                    Effect::Tell(change) => written.events.push(told(subscription, change)),
                }
            }
        }
        written.mails.extend(newest);
    }

    /// The IPN of the latest invoice, with the renewal beside it. Returns the mail of that day.
    fn remind(
        &self,
        subscription: &Subscription,
        known: &Known,
        day: i8,
        written: &mut Written,
    ) -> Option<NewMail> {
        let Some(invoice) = known.latest.get(&subscription.id) else {
            tracing::error!(subscription_id = subscription.subscription_id, "it has no invoice");
            return None;
        };
        let (checkout, event_id) = (&self.config.checkout_url, emit::new_id());
        let (token, cycle) = (Token::generate(), subscription.rules.next_cycle());
        let body = RenewalBody {
            day_offset: day,
            next_renewal_at: iso_8601(subscription.rules.next_renewal()),
            cycle,
            renewal_url: renewal_url(checkout, &token),
        };
        let about = subject(subscription.id, cycle, day);
        let subscriber = known.subscribers.get(&subscription.id);
        let mail = subscriber.map(|subscriber| {
            reminder::reminder(subscription, subscriber, day, (about, &body.renewal_url))
        });
        let payment = Payment::render(&invoice.view, checkout);
        written.events.push(NewEvent {
            kind: EventKind::RenewalReminder,
            merchant_id: invoice.merchant_id,
            payment_id: invoice.view.payment_id.clone(),
            subject: Some(about),
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
        mail
    }
}

/// The latest invoice of each subscription.
async fn latest_invoices(
    tx: &mut PgConnection,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, Invoice>, StorageError> {
    let latest = invoices::latest_of_subscriptions(tx, ids).await?;
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
