//! One attempt to deliver a mass-payout webhook (spec, "Mass-payout webhooks").
//!
//! Events of one order go out one after the other: the next one is queued when the one before has ended.

use super::{
    Gateway,
    deliver_ipn::{Channel, DeliverError, Handled, InFlight, Lane, Names},
};
use crate::{
    broker::{envelope::DeliveryRef, route::Route},
    egress::Call,
    storage::deliveries::DueDelivery,
    webhook::{payout, retry},
};

const ANSWER_BYTES_MAX: usize = 4 * 1024;

const PAYOUT: Channel = Channel {
    policy: retry::PAYOUT,
    outcome: retry::payout_outcome,
    call: Gateway::signed_payout_webhook,
    slow: Route::PayoutWebhookSlow,
    wait: Route::PayoutWebhookWait,
    dead: Route::PayoutWebhookDead,
    following: Some(Route::PayoutWebhook),
    names: Names {
        channel: "payout webhook",
        attempts: "payout_webhook_attempts_total",
        seconds: "payout_webhook_attempt_seconds",
        stale: "payout_webhook_stale_copies_total",
        moves: "payout_webhook_lane_moves_total",
    },
};

impl Gateway {
    /// Handles one message from `lane`.
    pub async fn deliver_payout_webhook(
        &self,
        message: &DeliveryRef,
        lane: Lane,
        in_flight: &InFlight,
    ) -> Result<Handled, DeliverError> {
        self.deliver(&PAYOUT, self, message, lane, in_flight).await
    }

    /// The request of one attempt: `eventAt` and the signature are made anew, `eventId` is the row's.
    fn signed_payout_webhook(&self, due: &DueDelivery) -> Result<Call, DeliverError> {
        let unsignable = |reason: &dyn ToString| DeliverError::Unsignable(reason.to_string());
        let secret = self
            .master_key
            .open(due.merchant_id, &due.webhook_secret_sealed)
            .map_err(|error| unsignable(&error))?;
        let body = payout::body(&due.kind, &due.event_id, due.now.timestamp(), &due.payload)
            .map_err(|error| unsignable(&error))?;
        let signature = payout::sign(&secret, body.as_bytes());
        let url = due.url.parse().map_err(|_| unsignable(&"its url cannot be read"))?;
        let mut call = Call::post(url, body, retry::PAYOUT.timeout);
        call.body_bytes_max = ANSWER_BYTES_MAX;
        let headers = [
            ("content-type", payout::CONTENT_TYPE),
            ("user-agent", payout::USER_AGENT),
            (payout::SIGNATURE_HEADER, signature.as_str()),
            (payout::EVENT_ID_HEADER, due.event_id.as_str()),
        ];
        for (name, value) in headers {
            let value = value.parse().map_err(|_| unsignable(&"a header is not printable"))?;
            call.headers.insert(http::HeaderName::from_static(name), value);
        }
        Ok(call)
    }
}
