//! Merchant's receiver of mass-payout webhooks, built from the documentation: another algorithm,
//! another header and other names than those of payment IPNs. It shares no code with the gateway's
//! signer, nor with the check of the other channel.

use anyhow::{Context, ensure};
use hmac::{Hmac, KeyInit, Mac};
use http::HeaderMap;
use serde_json::Value;
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::proof::{AGE_SECONDS_MAX, Proof, epoch_seconds};

pub(crate) fn verify(secret: &str, headers: &HeaderMap, body: &[u8]) -> anyhow::Result<Proof> {
    let header = |name: &str| {
        let value = headers.get(name).with_context(|| format!("no header {name}"))?;
        value.to_str().with_context(|| format!("header {name} is not text"))
    };
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())?;
    mac.update(body);
    let expected = hex::encode(mac.finalize().into_bytes());
    let signature = header("x-gateway-signature")?;
    ensure!(
        bool::from(expected.as_bytes().ct_eq(signature.as_bytes())),
        "x-gateway-signature is not the HMAC-SHA-256 of the received bytes"
    );
    // The body may be parsed only after this check.
    let parsed: Value = serde_json::from_slice(body)?;
    let event_id = parsed["eventId"].as_str().context("no eventId in the body")?.to_owned();
    ensure!(header("x-gateway-event-id")? == event_id, "x-gateway-event-id is not the body's");
    let event_at = parsed["eventAt"].as_u64().context("no eventAt in the body")?;
    ensure!(epoch_seconds()?.abs_diff(event_at) <= AGE_SECONDS_MAX, "eventAt is too long ago");
    Ok(Proof { event_id, bytes: body.len(), body: parsed })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_0011223344556677";

    fn signed(body: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        hex::encode(mac.finalize().into_bytes())
    }

    fn refusal(body: &str, signature: &str, event_id: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert("x-gateway-signature", signature.parse().unwrap());
        headers.insert("x-gateway-event-id", event_id.parse().unwrap());
        verify(SECRET, &headers, body.as_bytes()).map_or_else(|e| e.to_string(), |p| p.event_id)
    }

    #[test]
    fn only_the_very_bytes_under_the_merchants_secret_verify() {
        let now = epoch_seconds().unwrap();
        let body = format!(r#"{{"eventType":"t","eventId":"pzwe_1","eventAt":{now}}}"#);
        let old = format!(r#"{{"eventId":"pzwe_1","eventAt":{}}}"#, now - AGE_SECONDS_MAX - 60);
        let signature = signed(&body);
        let mut other = Hmac::<sha2::Sha512>::new_from_slice(SECRET.as_bytes()).unwrap();
        other.update(body.as_bytes());
        let other_channels = hex::encode(other.finalize().into_bytes());
        let not_the_mac = "x-gateway-signature is not the HMAC-SHA-256 of the received bytes";
        for (body, signature, event_id, said) in [
            (body.as_str(), signature.as_str(), "pzwe_1", "pzwe_1"),
            (&format!("{body} "), &signature, "pzwe_1", not_the_mac),
            (&body, &signature.to_uppercase(), "pzwe_1", not_the_mac),
            (&body, &signature[..63], "pzwe_1", not_the_mac),
            (&body, &other_channels, "pzwe_1", not_the_mac),
            (&body, "", "pzwe_1", not_the_mac),
            (&body, &signature, "pzwe_2", "x-gateway-event-id is not the body's"),
            (&old, &signed(&old), "pzwe_1", "eventAt is too long ago"),
            ("{}", &signed("{}"), "pzwe_1", "no eventId in the body"),
        ] {
            assert_eq!(refusal(body, signature, event_id), said, "{body} {event_id}");
        }
    }
}
