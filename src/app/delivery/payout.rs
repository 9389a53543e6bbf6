//! Mass-payout webhooks (spec, "Mass-payout webhooks").
//!
//! Events of one order go out one after the other: the next one is queued when the one before has
//! ended.

use super::{Channel, Names, Unsignable, legacy_ipn, request};
use crate::{
    app::Gateway,
    broker::route::Route,
    egress::Call,
    merchant::WebhookSecret,
    storage::deliveries::DueDelivery,
    webhook::{self, payout, retry},
};

/// Mass-payout webhooks.
pub const PAYOUT: Channel = Channel {
    row: webhook::Channel::Payout,
    policy: retry::PAYOUT,
    outcome: retry::payout_outcome,
    call: Gateway::signed_payout_webhook,
    fast: Route::PayoutWebhook,
    slow: Route::PayoutWebhookSlow,
    wait: Route::PayoutWebhookWait,
    dead: Route::PayoutWebhookDead,
    following: Some(Route::PayoutWebhook),
    names: Names {
        channel: "payout webhook",
        span: "POST payout webhook",
        attempts: "payout_webhook_attempts_total",
        seconds: "payout_webhook_attempt_seconds",
        stale: "payout_webhook_stale_copies_total",
        moves: "payout_webhook_lane_moves_total",
        deferred: "payout_webhook_deferred_total",
    },
};

impl Gateway {
    /// The request of one attempt: `eventAt` and the signature are made anew, `eventId` is the
    /// row's.
    fn signed_payout_webhook(&self, due: &DueDelivery) -> Result<Call, Unsignable> {
        if let Some(withdrawal) = &due.withdrawal {
            let secret = self.payout_secret(due)?;
            return legacy_ipn::signed_withdrawal(due, withdrawal, &secret);
        }
        let body = payout::body(&due.kind, &due.event_id, due.now.timestamp(), &due.payload);
        self.signed_payout(due, body)
    }

    /// The same with a body that says it is a test.
    pub(super) fn signed_payout_trial(&self, due: &DueDelivery) -> Result<Call, Unsignable> {
        let body = payout::test_body(&due.kind, &due.event_id, due.now.timestamp(), &due.payload);
        self.signed_payout(due, body)
    }

    fn signed_payout(
        &self,
        due: &DueDelivery,
        body: Result<String, payout::DamagedOrder>,
    ) -> Result<Call, Unsignable> {
        let secret = self.payout_secret(due)?;
        let body = body.map_err(Unsignable::because)?;
        let signature = payout::sign(&secret, body.as_bytes());
        let headers = [
            ("content-type", payout::CONTENT_TYPE),
            ("user-agent", payout::USER_AGENT),
            (payout::SIGNATURE_HEADER, signature.as_str()),
            (payout::EVENT_ID_HEADER, due.event_id.as_str()),
        ];
        request(due, body, retry::PAYOUT.timeout, headers)
    }

    fn payout_secret(&self, due: &DueDelivery) -> Result<WebhookSecret, Unsignable> {
        let opened = self.master_keys.open(due.merchant_id, &due.webhook_secret_sealed);
        opened.map_err(Unsignable::because)
    }
}
