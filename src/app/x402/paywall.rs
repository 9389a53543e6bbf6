//! The paywall of an invoice: a program pays an ordinary invoice, without an account and without a
//! browser.

use super::{X402Error, settle::Settled, verify::For};
use crate::{
    app::Gateway,
    invoice::{PaymentId, Status},
    storage::{
        StorageError, invoices,
        x402::{self as rows},
    },
    x402::{
        Version,
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
        "this invoice cannot be paid by x402: it must have a currency, be open, and be priced in the USDC of a network that \
         GET /v1/x402/supported names"
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
            Err(X402Error::Chain(_)) => return Err(PaywallError::Unavailable),
            Err(_) => return Err(PaywallError::Unsupported),
        };
        let key = crate::asset::address::match_key(asset.network.family(), &asset.pay_address);
        let mut connection = self.db.connection().await?;
        let (_, recipient) = rows::recipient(&mut connection, &key, None).await?;
        drop(connection);
        let asked = recipient.and_then(|recipient| recipient.invoice);
        let asked = asked.ok_or(PaywallError::Unsupported)?;
        if asked.token_id.as_deref() != Some(token.currency.token_id().as_str()) {
            return Err(PaywallError::Unsupported);
        }
        if asked.remaining.is_zero() && payment.is_none() {
            return Ok(Paywall::Paid);
        }
        let left = u64::try_from(asked.seconds_left).unwrap_or(0);
        let way = Way {
            chain_id: token.domain.chain_id,
            asset: token.currency.contract.unwrap_or_default().to_owned(),
            pay_to: asset.pay_address.clone(),
            amount: asked.remaining,
            max_timeout_seconds: left.min(TIMEOUT_SECONDS_DEFAULT.into()),
            domain_name: token.domain.name.clone(),
            domain_version: token.domain.version.clone(),
        };
        let base = self.config.base_url.trim_end_matches('/');
        let offer = Offer {
            url: format!("{base}/v1/x402/pay/{id}"),
            description: invoice.view.order_description.clone().unwrap_or_default(),
            mime_type: MIME_TYPE_DEFAULT.to_owned(),
            ways: vec![way],
        };
        let Some(payment) = payment else {
            let is_open = matches!(asked.status, Status::Pending | Status::Partial) && left > 0;
            return if is_open { Ok(Paywall::Asks(offer)) } else { Err(PaywallError::Unsupported) };
        };
        // What is asked for is ours to say. A repeat after the invoice has its money is asked
        // about the amount that it was settled with.
        let signed = payment.authorization;
        let amount = if asked.remaining.is_zero() {
            signed.value.to_u128().map_or(asked.remaining, crate::money::BaseUnits::new)
        } else {
            asked.remaining
        };
        let terms = Terms {
            chain_id: token.domain.chain_id,
            asset: token.domain.token,
            pay_to: crate::payout::transfer::address_bytes(&key)
                .ok_or(PaywallError::Unsupported)?,
            amount,
            max_timeout_seconds: left,
        };
        let version = payment.version;
        let network = name::of(version, token.domain.chain_id).unwrap_or_default();
        let request = Request { payment, terms };
        // An invoice is paid once, however often its payment is shown.
        let settled = self.settle_for(For::Invoice(asked.id), &request, None).await?.settled;
        Ok(Paywall::Answered { version, network, settled, offer })
    }
}
