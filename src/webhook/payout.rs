//! The mass-payout webhook: its body, its headers, its signature (spec, "Mass-payout webhooks").
//!
//! It shares only the merchant's secret with the payment IPN: the hash and the header differ, and
//! keys stay in the order in which they were written. No routine here is used for the other
//! channel.

use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::Sha256;
use utoipa::ToSchema;

use crate::{
    merchant::WebhookSecret,
    payout::{order::Order, schema},
};

pub const SIGNATURE_HEADER: &str = "x-gateway-signature";
pub const EVENT_ID_HEADER: &str = "x-gateway-event-id";
pub const USER_AGENT: &str = "gateway-payout/0.1.0";
pub const CONTENT_TYPE: &str = "application/json";

/// One event of one order. The fields are always in this order.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PayoutWebhook)]
pub struct Envelope<'a> {
    #[schema(value_type = schema::EventName)]
    event_type: &'a str,
    /// `pzwe_…`, the same for all attempts: process each id only once.
    #[schema(value_type = String)]
    event_id: &'a str,
    /// Seconds since 1970, renewed at each attempt. Refuse events older than ten minutes.
    event_at: i64,
    /// The order as it was when the event happened.
    #[schema(value_type = Order<'static>)]
    order: &'a RawValue,
    /// Only in a test that the merchant asked for (`POST /v1/webhooks/test`).
    #[serde(rename = "_gateway", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    gateway: Option<TestMark>,
}

/// Says that nothing happened: the body was made for a test.
#[derive(Serialize, ToSchema)]
pub struct TestMark {
    /// Always true.
    test: bool,
}

/// A stored snapshot that is not JSON. Only a damaged row can contain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stored order is not JSON")]
pub struct DamagedOrder;

/// Bytes of one attempt; `order` is the snapshot exactly as stored, `event_at` epoch seconds.
pub fn body(
    event_type: &str,
    event_id: &str,
    event_at: i64,
    order: &str,
) -> Result<String, DamagedOrder> {
    write(event_type, event_id, event_at, order, None)
}

/// The same for a test that a merchant asked for.
pub fn test_body(
    event_type: &str,
    event_id: &str,
    event_at: i64,
    order: &str,
) -> Result<String, DamagedOrder> {
    write(event_type, event_id, event_at, order, Some(TestMark { test: true }))
}

fn write(
    event_type: &str,
    event_id: &str,
    event_at: i64,
    order: &str,
    gateway: Option<TestMark>,
) -> Result<String, DamagedOrder> {
    let order: &RawValue = serde_json::from_str(order).map_err(|_| DamagedOrder)?;
    serde_json::to_string(&Envelope { event_type, event_id, event_at, order, gateway })
        .map_err(|_| DamagedOrder)
}

/// HMAC-SHA-256 over exactly `body`, as 64 lowercase hex characters.
pub fn sign(secret: &WebhookSecret, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes())
        .expect("HMAC takes a key of any length");
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_hmac_sha_256_with_the_secret_s_own_text_as_key() {
        // RFC 4231, test case 2: key "Jefe".
        let secret = WebhookSecret::from("Jefe".to_owned());
        let signature = sign(&secret, b"what do ya want for nothing?");
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signature, expected);
    }

    #[test]
    fn the_envelope_has_four_fields_and_no_key_is_sorted() {
        let order = r#"{"z":1.10,"a":{"y":[],"b":"é"}}"#;
        let text = body("mass_payout.created", "pzwe_1", 1_767_225_600, order).unwrap();
        let expected = r#"{"eventType":"mass_payout.created","eventId":"pzwe_1","eventAt":1767225600,"order":{"z":1.10,"a":{"y":[],"b":"é"}}}"#;
        assert_eq!(text, expected);
        assert_eq!(body("t", "e", 1, "{"), Err(DamagedOrder));
        let test = test_body("mass_payout.created", "pzwe_1", 1_767_225_600, order).unwrap();
        let marked = expected.replace("é\"}}}", "é\"}},\"_gateway\":{\"test\":true}}");
        assert_eq!(test, marked);
    }
}
