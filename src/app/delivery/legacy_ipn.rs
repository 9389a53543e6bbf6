//! Payment IPNs in the dialect of `/legacy`: the same deliveries, attempts and dead letters,
//! another body, another signature.

use super::{Unsignable, request};
use crate::{
    app::Gateway,
    egress::Call,
    legacy::{
        ipn::{self, Context, Event},
        sign,
    },
    merchant::WebhookSecret,
    storage::{deliveries::DueDelivery, legacy_payments::StoredOrder},
    webhook::{
        ipn::{EVENT_ID_HEADER, USER_AGENT},
        retry,
    },
};

impl Gateway {
    /// The request of one attempt. All attempts have the same bytes.
    pub(super) fn signed_legacy_ipn(
        &self,
        due: &DueDelivery,
        order: &StoredOrder,
        secret: &WebhookSecret,
    ) -> Result<Call, Unsignable> {
        let order = order.read().map_err(Unsignable::because)?;
        let event = Event::read(&due.payload).map_err(Unsignable::because)?;
        let required_confirmations =
            event.network().map_or(0, |network| self.config.chain(network).confirmations);
        let context = Context {
            event_id: &due.event_id,
            merchant_id: due.merchant_id,
            order: &order,
            required_confirmations,
        };
        let body = event.body(&context).map_err(Unsignable::because)?;
        let signature = sign::sign(secret.reveal().as_bytes(), body.as_bytes());
        let headers = [
            ("content-type", ipn::CONTENT_TYPE),
            ("user-agent", USER_AGENT),
            (sign::HEADER, signature.as_str()),
            (EVENT_ID_HEADER, due.event_id.as_str()),
        ];
        request(due, body, retry::IPN.timeout, headers)
    }
}
