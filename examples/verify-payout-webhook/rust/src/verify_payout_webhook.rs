use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

const MAX_AGE_SECONDS: u64 = 600;

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Accepted(Value),
    /// Processed before, or a test of yours: answer 200 and do nothing.
    Duplicate,
    /// Not authentic: answer 401.
    Forged,
    /// Too old, or too far ahead: answer 401.
    Stale,
}

/// Verifies the very bytes received against the header `X-Gateway-Signature`; parsing and
/// serialising again gives other bytes.
///
/// `remember` stores the id under a unique key and returns true if it was new. Do it in the
/// transaction that books the event: an id that is stored although nothing was booked loses the
/// event.
pub fn verify_payout_webhook(
    raw_body: &[u8],
    signature: &str,
    secret: &str,
    now: u64,
    remember: impl FnOnce(&str) -> bool,
) -> Verdict {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes any key");
    mac.update(raw_body);
    // verify_slice compares in constant time and checks the length itself.
    let is_ours = hex::decode(signature).is_ok_and(|given| mac.verify_slice(&given).is_ok());
    if !is_ours {
        return Verdict::Forged;
    }
    let Ok(event) = serde_json::from_slice::<Value>(raw_body) else { return Verdict::Forged };
    let is_fresh = event["eventAt"].as_u64().is_some_and(|at| now.abs_diff(at) <= MAX_AGE_SECONDS);
    if !is_fresh {
        return Verdict::Stale;
    }
    // Made by POST /v1/webhooks/test or gatewayctl check-receiver: nothing was paid.
    if event["_gateway"]["test"] == true {
        return Verdict::Duplicate;
    }
    // The id of the signed body, not of the header, which anyone could have changed.
    match event["eventId"].as_str() {
        Some(id) if remember(id) => Verdict::Accepted(event),
        _ => Verdict::Duplicate,
    }
}
