use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha512;

const MAX_AGE_SECONDS: u64 = 600;

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The payment reached this `payment_status`: the one event to act on.
    Payment(Value),
    /// Money came beside or after the payment, described in `_gateway.notice`. It is for a person
    /// and changes nothing: its `payment_status` only repeats the state of the invoice.
    Notice(Value),
    /// A subscription is due, as `_gateway.renewal` says. Mail its `renewal_url` to the subscriber
    /// unless the gateway does, and ship nothing: its `payment_status`, mostly `finished`, only
    /// repeats the state of the latest invoice.
    Renewal(Value),
    /// Handled before, or a test of yours: answer 200 and do nothing.
    Duplicate,
    /// Not authentic: answer 401.
    Forged,
    /// Too old, or too far ahead: answer 401.
    Stale,
}

/// Verifies the very bytes received against the header `x-gateway-sig`; parsing and serialising
/// again gives other bytes.
///
/// `remember` stores the key in a unique column and returns true if it was new. Do it in the
/// transaction that fulfils the order: a key that is stored although the order was not fulfilled
/// loses the payment.
pub fn verify_ipn(
    raw_body: &[u8],
    signature: &str,
    secret: &str,
    now: u64,
    remember: impl FnOnce(&str) -> bool,
) -> Verdict {
    let mut mac = Hmac::<Sha512>::new_from_slice(secret.as_bytes()).expect("HMAC takes any key");
    mac.update(raw_body);
    // verify_slice compares in constant time and checks the length itself.
    let is_ours = hex::decode(signature).is_ok_and(|given| mac.verify_slice(&given).is_ok());
    if !is_ours {
        return Verdict::Forged;
    }
    let Ok(event) = serde_json::from_slice::<Value>(raw_body) else { return Verdict::Forged };
    let is_fresh = event["event_at"].as_u64().is_some_and(|at| now.abs_diff(at) <= MAX_AGE_SECONDS);
    if !is_fresh {
        return Verdict::Stale;
    }
    // Made by POST /v1/webhooks/test or gatewayctl check-receiver: nothing was paid.
    if event["_gateway"]["test"] == true {
        return Verdict::Duplicate;
    }
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    // Each notice has an event id of its own and repeats the status: any buyer can cause many after
    // one payment. So has each reminder of a renewal: seven days, seven events of one payment. All
    // fields are those of the signed body, never of a header.
    let is_notice = !event["_gateway"]["notice"].is_null();
    let is_renewal = !event["_gateway"]["renewal"].is_null();
    let key = if is_notice || is_renewal {
        text("event_id").to_owned()
    } else {
        format!("{} {}", text("payment_id"), text("payment_status"))
    };
    match remember(&key) {
        false => Verdict::Duplicate,
        true if is_notice => Verdict::Notice(event),
        true if is_renewal => Verdict::Renewal(event),
        true => Verdict::Payment(event),
    }
}
