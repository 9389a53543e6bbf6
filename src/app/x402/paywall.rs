//! The paywall of an invoice: a program pays an ordinary invoice, without an account and without a
//! browser.

use super::{X402Error, settle::Settled, token::Token, verify::For};
use crate::{
    app::Gateway,
    asset::address::match_key,
    invoice::{PaymentId, Status, payment::PaymentView},
    money::BaseUnits,
    payout::transfer::address_bytes,
    storage::{
        StorageError, invoices,
        x402::{self as rows, InvoiceAsked},
    },
    x402::{
        Reason, Version,
        answer::{Offer, Way},
        name,
        resource::{MIME_TYPE_DEFAULT, TIMEOUT_SECONDS_DEFAULT},
        wire::{Payment, Request, Terms},
    },
};

/// The state of an invoice for a program.
#[derive(Debug)]
pub enum Paywall {
    /// It asks for this.
    Asks(Offer),
    /// A payment was handed over; what came of it.
    Answered { version: Version, network: String, settled: Settled, offer: Offer },
    /// It is paid already.
    Paid,
}

#[derive(Debug, thiserror::Error)]
pub enum PaywallError {
    #[error("there is no such invoice")]
    NotFound,
    #[error(
        "this invoice cannot be paid by x402: it must have a currency, be open, ask for more than settling costs, and be \
         priced in the USDC of a network that GET /v1/x402/supported names"
    )]
    Unsupported,
    #[error("the network cannot be asked at the moment; try again")]
    Unavailable,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// Terms of an invoice for a program, or the outcome of the payment that it hands over.
    pub async fn x402_paywall(
        &self,
        id: &PaymentId,
        payment: Option<Payment>,
    ) -> Result<Paywall, PaywallError> {
        let mut connection = self.db.connection().await?;
        let invoice = invoices::by_payment_id(&mut connection, id.as_str()).await?;
        // The token may be asked of a node, for which nobody else waits with a connection.
        drop(connection);
        let invoice = invoice.ok_or(PaywallError::NotFound)?;
        if matches!(invoice.view.status, Status::Paid | Status::Overpaid) && payment.is_none() {
            return Ok(Paywall::Paid);
        }
        let asset = invoice.view.asset.as_ref().ok_or(PaywallError::Unsupported)?;
        let token = match self.x402_token(asset.network).await {
            Ok(token) => token,
            Err(X402Error::Storage(error)) => return Err(error.into()),
            Err(X402Error::Chain(_) | X402Error::Unread) => return Err(PaywallError::Unavailable),
            Err(_) => return Err(PaywallError::Unsupported),
        };
        let key = match_key(asset.network.family(), &asset.pay_address);
        let minimum = self.x402_minimum(&token).await?;
        let mut connection = self.db.connection().await?;
        let found = rows::recipient(&mut connection, &key, None).await?;
        drop(connection);
        let recipient = found.recipient.ok_or(PaywallError::Unsupported)?;
        let asked = recipient.invoice.ok_or(PaywallError::Unsupported)?;
        if asked.token_id.as_deref() != Some(token.currency.token_id().as_str()) {
            return Err(PaywallError::Unsupported);
        }
        if asked.remaining.is_zero() && payment.is_none() {
            return Ok(Paywall::Paid);
        }
        let offer = self.x402_offer_of(&invoice.view, &asset.pay_address, &token, &asked);
        // What settling refuses whatever is signed is not asked for.
        let is_below = !asked.remaining.is_zero() && asked.remaining < minimum;
        let is_closed = recipient.is_suspended || is_below;
        let Some(payment) = payment else {
            let is_open = matches!(asked.status, Status::Pending | Status::Partial)
                && asked.seconds_left > 0
                && !is_closed;
            return if is_open { Ok(Paywall::Asks(offer)) } else { Err(PaywallError::Unsupported) };
        };
        let terms = terms(&key, &token, &asked, &payment).ok_or(PaywallError::Unsupported)?;
        let version = payment.version;
        let network = name::of(version, token.domain.chain_id).unwrap_or_default();
        let request = Request { payment, terms };
        // An invoice is paid once, however often its payment is shown.
        let settled = self.settle_for(For::Invoice(asked.id), &request, None).await?.settled;
        let is_refused = matches!(&settled, Settled::Refused { reason: Reason::Requirements, .. });
        if is_closed && is_refused {
            return Err(PaywallError::Unsupported);
        }
        Ok(Paywall::Answered { version, network, settled, offer })
    }

    fn x402_offer_of(
        &self,
        view: &PaymentView,
        pay_address: &str,
        token: &Token,
        asked: &InvoiceAsked,
    ) -> Offer {
        let way = Way {
            chain_id: token.domain.chain_id,
            asset: token.currency.contract.unwrap_or_default().to_owned(),
            pay_to: pay_address.to_owned(),
            amount: asked.remaining,
            max_timeout_seconds: seconds_left(asked).min(TIMEOUT_SECONDS_DEFAULT.into()),
            domain_name: token.domain.name.clone(),
            domain_version: token.domain.version.clone(),
        };
        let base = self.config.base_url.trim_end_matches('/');
        Offer {
            url: format!("{base}/v1/x402/pay/{}", view.payment_id),
            description: view.order_description.clone().unwrap_or_default(),
            mime_type: MIME_TYPE_DEFAULT.to_owned(),
            ways: vec![way],
        }
    }
}

fn seconds_left(asked: &InvoiceAsked) -> u64 {
    u64::try_from(asked.seconds_left).unwrap_or(0)
}

/// What is asked for is ours to say. A repeat after the invoice has its money is asked about the
/// amount that it was settled with.
fn terms(key: &str, token: &Token, asked: &InvoiceAsked, payment: &Payment) -> Option<Terms> {
    let amount = if asked.remaining.is_zero() {
        payment.authorization.value.to_u128().map_or(asked.remaining, BaseUnits::new)
    } else {
        asked.remaining
    };
    Some(Terms {
        chain_id: token.domain.chain_id,
        asset: token.domain.token,
        pay_to: address_bytes(key)?,
        amount,
        max_timeout_seconds: seconds_left(asked),
    })
}
