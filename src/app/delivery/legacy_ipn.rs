//! IPNs in the dialect of `/legacy`: the same deliveries, attempts and dead letters,
//! another body, another signature.

use std::time::Duration;

use super::{Unsignable, request};
use crate::{
    app::Gateway,
    egress::Call,
    legacy::{
        address::CreditedDeposit,
        ipn::{self, Context, Envelope, Event},
        sign,
        withdrawal::OrderEvent,
    },
    merchant::WebhookSecret,
    storage::{
        deliveries::DueDelivery, legacy_payments::StoredOrder, legacy_withdrawals::StoredWithdrawal,
    },
    webhook::{
        ipn::{EVENT_ID_HEADER, USER_AGENT},
        retry,
    },
};

impl Gateway {
    /// The request of one attempt about an invoice. All attempts have the same bytes.
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
        let context = Context { envelope: envelope(due), order: &order, required_confirmations };
        let body = event.body(&context).map_err(Unsignable::because)?;
        signed(due, body, secret, retry::IPN.timeout)
    }
}

/// The same about a deposit that belongs to no invoice.
pub(super) fn signed_deposit(
    due: &DueDelivery,
    secret: &WebhookSecret,
) -> Result<Call, Unsignable> {
    let deposit = CreditedDeposit::read(&due.payload).map_err(Unsignable::because)?;
    let body = deposit.body(&envelope(due)).map_err(Unsignable::because)?;
    signed(due, body, secret, retry::IPN.timeout)
}

/// The same about a withdrawal.
pub(super) fn signed_withdrawal(
    due: &DueDelivery,
    withdrawal: &StoredWithdrawal,
    secret: &WebhookSecret,
) -> Result<Call, Unsignable> {
    let event = OrderEvent::read(&due.payload).map_err(Unsignable::because)?;
    let (id, address) = (withdrawal.withdrawal_id.as_str(), withdrawal.address.as_str());
    let body = event.body(&envelope(due), (id, address)).map_err(Unsignable::because)?;
    signed(due, body, secret, retry::PAYOUT.timeout)
}

fn envelope(due: &DueDelivery) -> Envelope<'_> {
    Envelope { event_id: &due.event_id, merchant_id: due.merchant_id }
}

fn signed(
    due: &DueDelivery,
    body: String,
    secret: &WebhookSecret,
    timeout: Duration,
) -> Result<Call, Unsignable> {
    let signature = sign::sign(secret.reveal().as_bytes(), body.as_bytes());
    let headers = [
        ("content-type", ipn::CONTENT_TYPE),
        ("user-agent", USER_AGENT),
        (sign::HEADER, signature.as_str()),
        (EVENT_ID_HEADER, due.event_id.as_str()),
    ];
    request(due, body, timeout, headers)
}
