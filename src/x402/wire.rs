//! Bodies and headers that clients and merchants send, in both versions of the protocol.
//!
//! A body that is not of the protocol at all is [`Malformed`]; everything else is refused with a
//! [`Reason`] in an answer of the protocol, because clients raise on other status codes.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Reason, SCHEME, Version,
    authorization::{Authorization, Texts},
    name,
    wrapped::Signature,
};
use crate::{money::BaseUnits, payout::transfer::address_bytes};

/// Header of a payment in version 2.
pub const SIGNATURE_HEADER: &str = "payment-signature";
/// The same in version 1.
pub const PAYMENT_HEADER: &str = "x-payment";
/// Servers accept headers of 8 KiB or more.
const HEADER_BYTES_MAX: usize = 16 * 1024;

/// A body that cannot be read as a request of a facilitator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body must be a JSON object with x402Version, paymentPayload and paymentRequirements")]
pub struct Malformed;

/// A payment, as a payer hands it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    pub version: Version,
    pub chain_id: u64,
    pub authorization: Authorization,
    pub signature: Signature,
    /// The requirements that the payer says to have accepted; version 2 alone names them.
    pub accepted: Option<Terms>,
}

/// The terms of a payment: one entry of `accepts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    pub chain_id: u64,
    pub asset: [u8; 20],
    pub pay_to: [u8; 20],
    pub amount: BaseUnits,
    pub max_timeout_seconds: u64,
}

/// A request to verify or to settle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub payment: Payment,
    pub terms: Terms,
}

/// A request whose payment or whose terms are refused before anything is compared. The version is
/// known, so that the answer has its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    pub version: Version,
    pub reason: Reason,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRequest {
    x402_version: Option<Value>,
    payment_payload: Value,
    payment_requirements: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPayment {
    x402_version: Value,
    /// Version 1.
    scheme: Option<String>,
    network: Option<String>,
    /// Version 2.
    accepted: Option<Value>,
    payload: Value,
}

#[derive(Deserialize)]
struct RawExact {
    signature: String,
    authorization: RawAuthorization,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawAuthorization {
    from: String,
    to: String,
    value: String,
    valid_after: String,
    valid_before: String,
    nonce: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawTerms {
    scheme: String,
    network: String,
    /// Version 2.
    amount: Option<String>,
    /// Version 1.
    max_amount_required: Option<String>,
    asset: String,
    pay_to: String,
    max_timeout_seconds: u64,
    extra: Option<Value>,
}

/// Reads the body of `/verify` and `/settle`.
///
/// # Errors
///
/// [`Malformed`] for a body that is no request of the protocol; the inner error for one that is and
/// is refused.
pub fn request(body: &[u8]) -> Result<Result<Request, Refused>, Malformed> {
    let raw: RawRequest = serde_json::from_slice(body).map_err(|_| Malformed)?;
    if !raw.payment_payload.is_object() || !raw.payment_requirements.is_object() {
        return Err(Malformed);
    }
    let version = match raw.x402_version.as_ref() {
        Some(number) => number.as_u64().and_then(Version::from_number),
        // Clients of version 1 name it in the payload alone.
        None => raw.payment_payload["x402Version"].as_u64().and_then(Version::from_number),
    };
    let Some(version) = version else {
        return Ok(Err(Refused { version: Version::V2, reason: Reason::Version }));
    };
    let read = || {
        let payment = payment(raw.payment_payload)?;
        if payment.version != version {
            return Err(Reason::Version);
        }
        Ok(Request { payment, terms: terms(version, raw.payment_requirements)? })
    };
    Ok(read().map_err(|reason| Refused { version, reason }))
}

/// Reads the value of a payment's header: base64 of its JSON.
pub fn of_header(version: Version, value: &[u8]) -> Result<Payment, Reason> {
    if value.len() > HEADER_BYTES_MAX {
        return Err(Reason::Payload);
    }
    let json = BASE64_STANDARD.decode(value).map_err(|_| Reason::Payload)?;
    let payment = payment(serde_json::from_slice(&json).map_err(|_| Reason::Payload)?)?;
    if payment.version == version { Ok(payment) } else { Err(Reason::Version) }
}

fn payment(value: Value) -> Result<Payment, Reason> {
    let raw: RawPayment = serde_json::from_value(value).map_err(|_| Reason::Payload)?;
    let version = raw.x402_version.as_u64().and_then(Version::from_number);
    let version = version.ok_or(Reason::Version)?;
    let accepted = match version {
        Version::V1 => None,
        Version::V2 => Some(terms(version, raw.accepted.ok_or(Reason::Payload)?)?),
    };
    let chain_id = match &accepted {
        Some(accepted) => accepted.chain_id,
        None => {
            if raw.scheme.as_deref() != Some(SCHEME) {
                return Err(Reason::Scheme);
            }
            raw.network.as_deref().and_then(name::chain_id).ok_or(Reason::Network)?
        }
    };
    let exact: RawExact = serde_json::from_value(raw.payload).map_err(|_| Reason::Payload)?;
    let raw = &exact.authorization;
    let texts = Texts {
        from: &raw.from,
        to: &raw.to,
        value: &raw.value,
        valid_after: &raw.valid_after,
        valid_before: &raw.valid_before,
        nonce: &raw.nonce,
    };
    let authorization = Authorization::read(&texts).ok_or(Reason::Payload)?;
    let signature = Signature::read(&exact.signature).ok_or(Reason::Signature)?;
    Ok(Payment { version, chain_id, authorization, signature, accepted })
}

fn terms(version: Version, value: Value) -> Result<Terms, Reason> {
    let raw: RawTerms = serde_json::from_value(value).map_err(|_| Reason::Requirements)?;
    if raw.scheme != SCHEME {
        return Err(Reason::Scheme);
    }
    let method = raw.extra.as_ref().and_then(|extra| extra.get("assetTransferMethod"));
    if method.is_some_and(|method| method != "eip3009") {
        return Err(Reason::Scheme);
    }
    let amount = match version {
        Version::V1 => raw.max_amount_required,
        Version::V2 => raw.amount,
    };
    // Base units: digits alone, no point and no exponent.
    let amount = amount.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let amount = amount.and_then(|digits| digits.parse().ok()).map(BaseUnits::new);
    let address = |text: &str| address_bytes(text).ok_or(Reason::Requirements);
    Ok(Terms {
        chain_id: name::chain_id(&raw.network).ok_or(Reason::Network)?,
        asset: address(&raw.asset)?,
        pay_to: address(&raw.pay_to)?,
        amount: amount.ok_or(Reason::Requirements)?,
        max_timeout_seconds: raw.max_timeout_seconds,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::{
        super::{
            authorization::tests::{FROM, NONCE, TO, example},
            eip712::tests::SIGNED,
        },
        *,
    };

    const USDC: &str = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";

    fn exact() -> Value {
        json!({
            "signature": format!("0x{SIGNED}"),
            "authorization": {
                "from": FROM, "to": TO, "value": "10000", "validAfter": "1740672089",
                "validBefore": "1740672154", "nonce": NONCE,
            },
        })
    }

    fn asked(version: Version) -> Value {
        let extra = json!({ "name": "USD Coin", "version": "2" });
        match version {
            Version::V1 => json!({
                "scheme": "exact", "network": "base", "maxAmountRequired": "10000", "asset": USDC, "payTo": TO,
                "resource": "https://api.example/weather", "description": "", "mimeType": "application/json",
                "maxTimeoutSeconds": 60, "extra": extra,
            }),
            Version::V2 => json!({
                "scheme": "exact", "network": "eip155:8453", "amount": "10000", "asset": USDC, "payTo": TO,
                "maxTimeoutSeconds": 60, "extra": extra,
            }),
        }
    }

    pub fn body(version: Version) -> Value {
        let payload = match version {
            Version::V1 => json!({
                "x402Version": 1, "scheme": "exact", "network": "base", "payload": exact(),
            }),
            Version::V2 => json!({
                "x402Version": 2, "accepted": asked(Version::V2), "payload": exact(),
            }),
        };
        json!({
            "x402Version": version.number(), "paymentPayload": payload,
            "paymentRequirements": asked(version),
        })
    }

    pub fn read(body: &Value) -> Result<Request, Refused> {
        request(body.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn both_versions_mean_the_same_payment() {
        let [one, two] = Version::ALL.map(|version| read(&body(version)).unwrap());
        assert_eq!(one.terms, two.terms);
        assert_eq!(one.payment.authorization, example());
        assert_eq!(two.payment.accepted, Some(two.terms));
        let same = Payment { version: Version::V1, accepted: None, ..two.payment };
        assert_eq!(one.payment, same);
    }

    #[test]
    fn a_header_is_base64_of_the_payload() {
        for version in Version::ALL {
            let payload = body(version)["paymentPayload"].to_string();
            let header = BASE64_STANDARD.encode(payload);
            let read_body = read(&body(version)).unwrap();
            assert_eq!(of_header(version, header.as_bytes()), Ok(read_body.payment));
            let other = Version::ALL.into_iter().find(|other| *other != version).unwrap();
            assert_eq!(of_header(other, header.as_bytes()), Err(Reason::Version));
        }
        for value in ["", "%%%", "e30=", &"A".repeat(HEADER_BYTES_MAX + 4)] {
            assert_eq!(of_header(Version::V2, value.as_bytes()), Err(Reason::Payload));
        }
    }

    #[test]
    fn a_body_that_is_no_request_is_malformed() {
        for text in [
            "",
            "[]",
            "7",
            "{}",
            "{\"paymentPayload\":{}}",
            "{\"paymentPayload\":1,\"paymentRequirements\":{}}",
        ] {
            assert_eq!(request(text.as_bytes()), Err(Malformed), "{text}");
        }
    }

    #[test]
    fn each_unreadable_part_has_its_reason() {
        let refused = |version, pointer: &str, value: Value, reason| {
            let mut body = body(version);
            *body.pointer_mut(pointer).unwrap() = value.clone();
            let told = read(&body).unwrap_err().reason;
            assert_eq!(told, reason, "{pointer} {value}");
        };
        for version in Version::ALL {
            refused(version, "/x402Version", json!(3), Reason::Version);
            refused(version, "/paymentPayload/x402Version", json!("1"), Reason::Version);
            refused(version, "/paymentPayload/payload", json!({}), Reason::Payload);
            let at = "/paymentPayload/payload/signature";
            refused(version, at, json!("0xzz"), Reason::Signature);
            let at = "/paymentPayload/payload/authorization/value";
            refused(version, at, json!(10_000), Reason::Payload);
            refused(version, at, json!("1e4"), Reason::Payload);
            refused(version, "/paymentRequirements/scheme", json!("upto"), Reason::Scheme);
            refused(version, "/paymentRequirements/network", json!("moon"), Reason::Network);
            refused(version, "/paymentRequirements/payTo", json!("0x1"), Reason::Requirements);
            let permit2 = json!({ "assetTransferMethod": "permit2" });
            refused(version, "/paymentRequirements/extra", permit2, Reason::Scheme);
        }
        let at = "/paymentRequirements/amount";
        for amount in ["", "+1", "1.0", "340282366920938463463374607431768211456"] {
            refused(Version::V2, at, json!(amount), Reason::Requirements);
        }
        refused(Version::V1, "/paymentPayload/network", json!("moon"), Reason::Network);
        refused(Version::V1, "/paymentPayload/scheme", json!("upto"), Reason::Scheme);
    }
}
