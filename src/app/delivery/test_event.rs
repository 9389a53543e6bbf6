//! One sample webhook, sent at once to a receiver on trial: signed with the merchant's own secret,
//! through the same guard as every webhook, and not repeated.

use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{Unsignable, record::excerpt};
use crate::app::Gateway;
use crate::{
    account::session::Budget,
    egress::{Call, guard},
    payout,
    storage::{
        StorageError,
        accounts::guesses,
        deliveries::DueDelivery,
        events::test_event::{self, Receiver},
    },
    webhook::{
        Channel,
        event::EventKind,
        retry::{DeliveryState, Progress},
        sample,
    },
};

/// Longest wait for the receiver, as for an IPN.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// What the receiver said.
#[derive(Debug)]
pub struct Trial {
    pub event_id: String,
    pub url: String,
    /// It answered 2xx, which takes an event.
    pub is_taken: bool,
    pub status: Option<u16>,
    pub took: Duration,
    pub error: Option<String>,
    /// The first characters of its answer.
    pub excerpt: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error("type: there is no sample of {}; GET /v1/events tells it", .0.as_str())]
    NoWebhook(EventKind),
    #[error("url is required: no webhook of this channel has been sent yet, and none is set")]
    NoUrl,
    #[error("url {0}")]
    Url(#[from] guard::UrlRefused),
    #[error("the sample cannot be signed: {0}")]
    Unsignable(String),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// Takes one test event from a merchant's budget in the dashboard; `false` if it is used up.
    /// The API counts requests itself, and its role does not read this budget.
    pub async fn admit_test_event(&self, merchant_id: Uuid) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        guesses::take(&mut connection, Budget::TestEvent, &merchant_id.to_string()).await
    }

    /// Sends a sample of `kind` to `url`, or to where such webhooks go.
    pub async fn try_webhook(
        &self,
        merchant_id: Uuid,
        kind: EventKind,
        url: Option<String>,
    ) -> Result<Trial, TrialError> {
        let channel = kind.channel().ok_or(TrialError::NoWebhook(kind))?;
        let mut connection = self.db.connection().await?;
        let receiver = test_event::receiver(&mut connection, merchant_id, channel).await?;
        drop(connection);
        let receiver = receiver.ok_or(TrialError::NoUrl)?;
        let url = url.or_else(|| receiver.url.clone()).ok_or(TrialError::NoUrl)?;
        guard::check_url(&url, self.egress.policy())?;
        let due = self.sample(merchant_id, kind, channel, url, receiver);
        let call = self.trial_call(&due).map_err(|Unsignable(why)| TrialError::Unsignable(why))?;
        Ok(self.send_trial(due, call).await)
    }

    /// A row that is in no table: nothing of a trial is stored.
    fn sample(
        &self,
        merchant_id: Uuid,
        kind: EventKind,
        channel: Channel,
        url: String,
        receiver: Receiver,
    ) -> DueDelivery {
        let now: DateTime<Utc> = receiver.now;
        let (event_id, payload) = match channel {
            Channel::Ipn => {
                let checkout = &self.config.checkout_url;
                (super::emit::new_id(), sample::payment(kind, &url, checkout, now))
            }
            Channel::Payout => (payout::id::event(), sample::order(kind, now)),
        };
        DueDelivery {
            id: Uuid::nil(),
            event_id,
            channel,
            merchant_id,
            url,
            payload,
            webhook_secret_sealed: receiver.webhook_secret_sealed,
            progress: Progress { state: DeliveryState::Pending, cycle: 1, attempts: 0 },
            waits_for_another: false,
            kind: kind.delivery_name().to_owned(),
            merchant_is_slow: false,
            has_deferred: false,
            legacy: None,
            withdrawal: None,
            now,
        }
    }

    fn trial_call(&self, due: &DueDelivery) -> Result<Call, Unsignable> {
        let mut call = match due.channel {
            Channel::Ipn => self.signed_ipn(due)?,
            Channel::Payout => self.signed_payout_trial(due)?,
        };
        // The caller's own request has a limit, and must get its answer within that.
        let request = Duration::from_secs(self.config.api.request_timeout_seconds);
        call.deadline = WAIT_MAX.min(request * 3 / 4);
        Ok(call)
    }

    async fn send_trial(&self, due: DueDelivery, call: Call) -> Trial {
        let started = std::time::Instant::now();
        let answer = self.egress.send(call).await;
        let took = started.elapsed();
        let status = answer.as_ref().ok().map(|answer| answer.status);
        let is_taken = answer.as_ref().is_ok_and(crate::egress::Answer::is_success);
        Trial {
            event_id: due.event_id,
            url: due.url,
            is_taken,
            status,
            took,
            error: match &answer {
                Ok(answer) if answer.is_success() => None,
                Ok(answer) => Some(format!("the receiver answered {}", answer.status)),
                Err(error) => Some(error.to_string()),
            },
            excerpt: answer.ok().and_then(|answer| excerpt(&answer.body)),
        }
    }
}
