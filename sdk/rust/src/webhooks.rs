//! Verification. The two channels differ in header, hash and body: each has its own function.

use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Sha256, Sha512};

use crate::contract::{Notice, Payment, PayoutWebhook, Renewal};

pub const PAYMENT_SIGNATURE_HEADER: &str = "x-gateway-sig";
pub const PAYOUT_SIGNATURE_HEADER: &str = "x-gateway-signature";

/// The greatest distance of a delivery's time from your clock.
const MAX_AGE_SECONDS: u64 = 600;

/// A delivery that is not to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the signature is not the gateway's")]
    Forged,
    #[error("the delivery is too old, or too far ahead")]
    Stale,
}

/// A payment IPN that verified.
#[derive(Debug, Clone, Serialize)]
pub struct PaymentEvent {
    pub payment: Payment,
    /// Money came beside or after the payment. That is for a person: it changes nothing, and
    /// `payment_status` only repeats the state of the invoice. Never ship on it. Without a notice,
    /// a renewal and a test the payment reached its `payment_status`: the one kind of event to act
    /// on.
    pub notice: Option<Notice>,
    /// A subscription is due. Mail `renewal_url` to the subscriber unless the gateway does, and
    /// ship nothing: `payment` is the latest invoice as it stands, mostly `finished`.
    pub renewal: Option<Renewal>,
    /// The same over all attempts of this event.
    pub event_id: String,
    /// Act once per key.
    pub key: String,
    /// You, or your operator, tried the receiver. Nothing was paid: answer 200 and do nothing else.
    pub is_test: bool,
}

#[derive(Deserialize)]
struct Beside {
    event_id: String,
    event_at: u64,
    #[serde(rename = "_gateway")]
    gateway: Option<Part>,
}

#[derive(Default, Deserialize)]
struct Part {
    notice: Option<Notice>,
    renewal: Option<Renewal>,
    #[serde(default)]
    test: bool,
}

/// Verifies a payment IPN: header `x-gateway-sig`, HMAC-SHA-512. `raw_body` is what was received,
/// byte for byte. There are two secrets while one is being replaced.
pub fn verify_payment_ipn(
    raw_body: &[u8],
    signature: &str,
    secrets: &[&str],
    now: SystemTime,
) -> Result<PaymentEvent, Refused> {
    authentic::<Hmac<Sha512>>(raw_body, signature, secrets)?;
    let beside: Beside = serde_json::from_slice(raw_body).map_err(|_| Refused::Forged)?;
    let payment: Payment = serde_json::from_slice(raw_body).map_err(|_| Refused::Forged)?;
    fresh(beside.event_at, now)?;
    let Part { notice, renewal, test: is_test } = beside.gateway.unwrap_or_default();
    let key = if notice.is_none() && renewal.is_none() && !is_test {
        format!("{} {}", payment.payment_id, payment.payment_status)
    } else {
        beside.event_id.clone()
    };
    Ok(PaymentEvent { payment, notice, renewal, event_id: beside.event_id, key, is_test })
}

/// True of a webhook that was made for a test. Nothing was paid: answer 200 and do nothing else.
pub fn is_test(event: &PayoutWebhook) -> bool {
    event.gateway.as_ref().is_some_and(|mark| mark.test)
}

/// Verifies a webhook of mass payouts: header `X-Gateway-Signature`, HMAC-SHA-256. Act once per
/// `event_id`.
pub fn verify_payout_webhook(
    raw_body: &[u8],
    signature: &str,
    secrets: &[&str],
    now: SystemTime,
) -> Result<PayoutWebhook, Refused> {
    authentic::<Hmac<Sha256>>(raw_body, signature, secrets)?;
    let event: PayoutWebhook = serde_json::from_slice(raw_body).map_err(|_| Refused::Forged)?;
    fresh(event.event_at.try_into().map_err(|_| Refused::Stale)?, now)?;
    Ok(event)
}

/// No secret, or an empty one, verifies nothing.
fn authentic<M: Mac + KeyInit>(raw_body: &[u8], signature: &str, secrets: &[&str]) -> Result<(), Refused> {
    let given = hex::decode(signature).map_err(|_| Refused::Forged)?;
    let is_ours = secrets.iter().filter(|secret| !secret.is_empty()).any(|secret| {
        let mac = <M as KeyInit>::new_from_slice(secret.as_bytes());
        // verify_slice compares in constant time and checks the length itself.
        mac.is_ok_and(|mac| mac.chain_update(raw_body).verify_slice(&given).is_ok())
    });
    if is_ours { Ok(()) } else { Err(Refused::Forged) }
}

fn fresh(at: u64, now: SystemTime) -> Result<(), Refused> {
    let now = now.duration_since(UNIX_EPOCH).map_err(|_| Refused::Stale)?.as_secs();
    if now.abs_diff(at) <= MAX_AGE_SECONDS { Ok(()) } else { Err(Refused::Stale) }
}
