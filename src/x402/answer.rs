//! Our answers in the words of the protocol: what a resource costs, whether a payment is valid, and
//! what came of settling it.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Reason, SCHEME, Version, name};
use crate::money::BaseUnits;

/// Header of a 402 in version 2.
pub const REQUIRED_HEADER: &str = "payment-required";

/// Header of the answer to a payment.
pub const fn response_header(version: Version) -> &'static str {
    match version {
        Version::V1 => "x-payment-response",
        Version::V2 => "payment-response",
    }
}

/// One way to pay for a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    pub chain_id: u64,
    /// As explorers write it.
    pub asset: String,
    pub pay_to: String,
    pub amount: BaseUnits,
    pub max_timeout_seconds: u64,
    /// Of the token's signatures, as the token itself says.
    pub domain_name: String,
    pub domain_version: String,
}

/// A resource and the ways to pay for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub url: String,
    pub description: String,
    pub mime_type: String,
    pub ways: Vec<Way>,
}

/// The domain of the token's signatures (EIP-712).
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct X402Extra {
    /// As the token's own `name()` says.
    #[schema(examples("USD Coin"))]
    pub name: String,
    /// As the token's own `version()` says.
    #[schema(examples("2"))]
    pub version: String,
}

/// One way to pay, in version 2.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct X402Requirements {
    /// Always `exact`.
    #[schema(examples("exact"))]
    pub scheme: &'static str,
    /// CAIP-2.
    #[schema(examples("eip155:8453"))]
    pub network: String,
    /// Base units of the token.
    #[schema(examples("10000"))]
    pub amount: String,
    /// The token's contract.
    pub asset: String,
    /// Address of the gateway for this merchant.
    pub pay_to: String,
    /// Seconds that the payer's signature should be valid for.
    pub max_timeout_seconds: u64,
    /// The domain of the token's signatures.
    pub extra: X402Extra,
}

/// One way to pay, in version 1.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct X402RequirementsV1 {
    /// Always `exact`.
    pub scheme: &'static str,
    /// The network's short name.
    #[schema(examples("base"))]
    pub network: &'static str,
    /// Base units of the token.
    pub max_amount_required: String,
    /// The token's contract.
    pub asset: String,
    /// Address of the gateway for this merchant.
    pub pay_to: String,
    /// The address of the resource.
    pub resource: String,
    /// The seller's words.
    pub description: String,
    /// The type of what is sold.
    pub mime_type: String,
    /// Seconds that the payer's signature should be valid for.
    pub max_timeout_seconds: u64,
    /// The domain of the token's signatures.
    pub extra: X402Extra,
}

/// The resource of a 402 in version 2.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct X402Resource {
    pub url: String,
    pub description: String,
    pub mime_type: String,
}

/// The header `PAYMENT-REQUIRED` in base64.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct X402Required {
    pub x402_version: u64,
    pub error: String,
    pub resource: X402Resource,
    pub accepts: Vec<X402Requirements>,
}

/// The body of a 402, which clients of version 1 read.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct X402RequiredV1 {
    /// 1.
    pub x402_version: u64,
    /// Why there is no answer yet.
    pub error: String,
    /// The ways to pay.
    pub accepts: Vec<X402RequirementsV1>,
}

/// The answer of `/verify`.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct X402Verified {
    /// True: it can be settled now.
    pub is_valid: bool,
    /// The protocol's word, if it is not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid_reason: Option<&'static str>,
    /// A sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid_message: Option<String>,
    /// The payer's address, in lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payer: Option<String>,
}

/// The answer of `/settle`, and in base64 the header that ends a payment.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct X402Settled {
    /// True: a block holds the payment.
    pub success: bool,
    /// The protocol's word, if it did not succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_reason: Option<&'static str>,
    /// A sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The payer's address, in lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payer: Option<String>,
    /// Hash of the transaction; empty unless it succeeded.
    pub transaction: String,
    /// By its name in the version of the request.
    pub network: String,
    /// Base units of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
}

impl Offer {
    /// The terms for a client of version 2.
    pub fn required(&self, error: &str) -> X402Required {
        X402Required {
            x402_version: Version::V2.number(),
            error: error.to_owned(),
            resource: X402Resource {
                url: self.url.clone(),
                description: self.description.clone(),
                mime_type: self.mime_type.clone(),
            },
            accepts: self.ways.iter().map(Way::requirements).collect(),
        }
    }

    /// The terms for a client of version 1: networks that it has no name for are left out.
    pub fn required_v1(&self, error: &str) -> X402RequiredV1 {
        let accepts = self.ways.iter().filter_map(|way| way.requirements_v1(self));
        X402RequiredV1 {
            x402_version: Version::V1.number(),
            error: error.to_owned(),
            accepts: accepts.collect(),
        }
    }
}

impl Way {
    pub fn requirements(&self) -> X402Requirements {
        X402Requirements {
            scheme: SCHEME,
            network: name::caip2(self.chain_id),
            amount: self.amount.get().to_string(),
            asset: self.asset.clone(),
            pay_to: self.pay_to.clone(),
            max_timeout_seconds: self.max_timeout_seconds,
            extra: self.extra(),
        }
    }

    pub fn requirements_v1(&self, offer: &Offer) -> Option<X402RequirementsV1> {
        Some(X402RequirementsV1 {
            scheme: SCHEME,
            network: name::short(self.chain_id)?,
            max_amount_required: self.amount.get().to_string(),
            asset: self.asset.clone(),
            pay_to: self.pay_to.clone(),
            resource: offer.url.clone(),
            description: offer.description.clone(),
            mime_type: offer.mime_type.clone(),
            max_timeout_seconds: self.max_timeout_seconds,
            extra: self.extra(),
        })
    }

    fn extra(&self) -> X402Extra {
        X402Extra { name: self.domain_name.clone(), version: self.domain_version.clone() }
    }
}

impl X402Verified {
    pub fn valid(payer: String) -> Self {
        Self { is_valid: true, invalid_reason: None, invalid_message: None, payer: Some(payer) }
    }

    pub fn refused(version: Version, reason: Reason, why: &str, payer: Option<String>) -> Self {
        Self {
            is_valid: false,
            invalid_reason: Some(reason.in_version(version)),
            invalid_message: (!why.is_empty()).then(|| why.to_owned()),
            payer,
        }
    }
}

/// The value of a header that carries an answer.
pub fn header_value<T: Serialize>(answer: &T) -> String {
    // An answer of texts and numbers always has a JSON.
    BASE64_STANDARD.encode(serde_json::to_vec(answer).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn offer() -> Offer {
        let way = |chain_id| Way {
            chain_id,
            asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913".into(),
            pay_to: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C".into(),
            amount: BaseUnits::new(10_000),
            max_timeout_seconds: 60,
            domain_name: "USD Coin".into(),
            domain_version: "2".into(),
        };
        Offer {
            url: "https://api.example/weather".into(),
            description: "Weather".into(),
            mime_type: "application/json".into(),
            ways: vec![way(8_453), way(42_161)],
        }
    }

    #[test]
    fn a_402_has_the_fields_that_clients_of_both_versions_read() {
        let json = serde_json::to_string(&offer().required("Payment required")).unwrap();
        expect![[r#"{"x402Version":2,"error":"Payment required","resource":{"url":"https://api.example/weather","description":"Weather","mimeType":"application/json"},"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"10000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}},{"scheme":"exact","network":"eip155:42161","amount":"10000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}]}"#]]
            .assert_eq(&json);
        let json = serde_json::to_string(&offer().required_v1("Payment required")).unwrap();
        expect![[r#"{"x402Version":1,"error":"Payment required","accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"10000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","resource":"https://api.example/weather","description":"Weather","mimeType":"application/json","maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}]}"#]]
            .assert_eq(&json);
    }

    /// Clients of version 1 check answers by a schema in which an absent field is not null.
    #[test]
    fn absent_fields_are_left_out() {
        let refused = X402Verified::refused(Version::V1, Reason::Value, "", None);
        expect![[
            r#"{"isValid":false,"invalidReason":"invalid_exact_evm_payload_authorization_value"}"#
        ]]
        .assert_eq(&serde_json::to_string(&refused).unwrap());
        let valid = serde_json::to_string(&X402Verified::valid("0x1".into())).unwrap();
        assert_eq!(valid, r#"{"isValid":true,"payer":"0x1"}"#);
        let decoded = BASE64_STANDARD.decode(header_value(&refused)).unwrap();
        assert!(decoded.starts_with(b"{\"isValid\""));
    }
}
