//! Payment IPNs (spec, "Payment IPN").

use super::{Channel, Names, Unsignable, legacy_ipn, request};
use crate::{
    app::Gateway,
    broker::route::Route,
    egress::Call,
    storage::deliveries::DueDelivery,
    webhook::{self, event::EventKind, ipn, retry},
};

/// Payment IPNs.
pub const IPN: Channel = Channel {
    row: webhook::Channel::Ipn,
    policy: retry::IPN,
    outcome: retry::ipn_outcome,
    call: Gateway::signed_ipn,
    fast: Route::Ipn,
    slow: Route::IpnSlow,
    wait: Route::IpnWait,
    dead: Route::IpnDead,
    following: None,
    names: Names {
        channel: "ipn",
        span: "POST payment IPN",
        attempts: "ipn_attempts_total",
        seconds: "ipn_attempt_seconds",
        stale: "ipn_stale_copies_total",
        moves: "ipn_lane_moves_total",
        deferred: "ipn_deferred_total",
    },
};

impl Gateway {
    /// The request of one attempt: `event_at` and the signature are made anew, `event_id` is the
    /// row's.
    pub(super) fn signed_ipn(&self, due: &DueDelivery) -> Result<Call, Unsignable> {
        let secret = self
            .master_keys
            .open(due.merchant_id, &due.webhook_secret_sealed)
            .map_err(Unsignable::because)?;
        if let Some(order) = &due.legacy {
            return self.signed_legacy_ipn(due, order, &secret);
        }
        if due.kind == EventKind::DepositCredited.delivery_name() {
            return legacy_ipn::signed_deposit(due, &secret);
        }
        let event_at = due.now.timestamp();
        let body = ipn::body(&due.payload, &due.event_id, event_at).map_err(Unsignable::because)?;
        let signature = ipn::sign(&secret, body.as_bytes());
        let headers = [
            ("content-type", ipn::CONTENT_TYPE),
            ("user-agent", ipn::USER_AGENT),
            (ipn::SIGNATURE_HEADER, signature.as_str()),
            (ipn::EVENT_ID_HEADER, due.event_id.as_str()),
        ];
        request(due, body, retry::IPN.timeout, headers)
    }
}
