//! Answers of the family `/v1/x402`.

use gateway::{
    app::x402::{Discovery, Kind, Settled, Verdict},
    invoice::{
        payment::{iso_8601, json_number},
        schema,
    },
    storage::x402::resources::Resource,
    x402::{
        Reason, SCHEME, Version,
        answer::{Offer, X402Requirements, X402RequirementsV1, X402Settled, X402Verified},
    },
};
use serde::Serialize;
use serde_json::Number;
use utoipa::ToSchema;

/// A version of the protocol on a network, by the scheme `exact`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct X402Kind {
    /// 1 or 2.
    pub x402_version: u64,
    /// Always `exact`.
    pub scheme: &'static str,
    /// CAIP-2 in version 2, the short name in version 1.
    #[schema(examples("eip155:8453"))]
    pub network: String,
}

/// Addresses that pay the gas, by family of networks.
#[derive(Debug, Serialize, ToSchema)]
pub struct X402Signers {
    /// Of all EVM networks.
    #[serde(rename = "eip155:*")]
    pub evm: Vec<String>,
}

/// Kinds of payments that the facilitator can settle.
#[derive(Debug, Serialize, ToSchema)]
pub struct X402Supported {
    /// Each version on each network that has a name in it.
    pub kinds: Vec<X402Kind>,
    /// Extensions of the protocol.
    pub extensions: Vec<&'static str>,
    /// Addresses that pay the gas.
    pub signers: X402Signers,
}

/// A resource of the public catalogue.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct X402Item {
    /// The address of the resource.
    pub resource: String,
    /// Always `http`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// 2: the version of `accepts`.
    pub x402_version: u64,
    /// The ways to pay.
    pub accepts: Vec<X402Requirements>,
    /// The seller's words.
    pub description: String,
    /// The type of what is sold.
    pub mime_type: String,
    /// ISO 8601.
    pub last_updated: String,
}

/// A place in the catalogue.
#[derive(Debug, Serialize, ToSchema)]
pub struct X402Pagination {
    /// Items of the page, at most.
    pub limit: i64,
    /// Items before the page.
    pub offset: i64,
    /// Items in all.
    pub total: i64,
}

/// A page of the catalogue.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct X402Items {
    /// 2.
    pub x402_version: u64,
    /// The newest first.
    pub items: Vec<X402Item>,
    /// The place of the page.
    pub pagination: X402Pagination,
}

/// Results of a search.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct X402Found {
    /// 2.
    pub x402_version: u64,
    /// The newest first.
    pub resources: Vec<X402Item>,
    /// The place of the page.
    pub pagination: X402Pagination,
}

/// Addresses of the facilitator's endpoints.
#[derive(Debug, Serialize, ToSchema)]
pub struct X402Facilitator {
    /// `POST`, with the merchant's key.
    pub verify: String,
    /// `POST`, with the merchant's key.
    pub settle: String,
    /// `GET`, for anyone.
    pub supported: String,
}

/// Everything that a program needs to find its way.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct X402Discovery {
    /// 2.
    pub x402_version: u64,
    /// Where to verify and settle.
    pub facilitator: X402Facilitator,
    /// Each version on each network that has a name in it.
    pub kinds: Vec<X402Kind>,
    /// Extensions of the protocol.
    pub extensions: Vec<&'static str>,
    /// Addresses that pay the gas.
    pub signers: X402Signers,
    /// The public catalogue, the newest first.
    pub items: Vec<X402Item>,
    /// The place of this page of it.
    pub pagination: X402Pagination,
}

/// A resource that the merchant sells to programs. Fields are only ever added.
#[derive(Debug, Serialize, ToSchema)]
pub struct PaidResource {
    /// `pzx_` and 26 characters; never changes.
    #[schema(pattern = "^pzx_[0-9a-hjkmnp-tv-z]{26}$", examples("pzx_7n4c2v9k1x8m3q6w5e0r2t4y6a"))]
    pub resource_id: String,
    /// The address that programs call.
    pub url: String,
    /// For programs and the people behind them.
    pub description: String,
    /// The type of what is sold.
    pub mime_type: String,
    /// The price of one call.
    #[schema(value_type = schema::Amount)]
    pub price_amount: Number,
    /// Always `usd`; one USDC counts as one.
    pub price_currency: &'static str,
    /// Networks on which it can be paid.
    pub networks: Vec<&'static str>,
    /// Seconds that a payer's signature is valid for.
    pub timeout_seconds: u32,
    /// True: the public catalogue shows it.
    pub listed: bool,
    /// Where payments arrive: an address of its own, the same on all its networks.
    pub pay_to: String,
    /// The ways to pay, for a 402 in version 2.
    pub accepts: Vec<X402Requirements>,
    /// The same for a 402 in version 1, without networks that it has no name for.
    pub accepts_v1: Vec<X402RequirementsV1>,
    /// ISO 8601.
    pub created_at: String,
}

/// A page of the merchant's resources.
#[derive(Debug, Serialize, ToSchema)]
pub struct PaidResourceList {
    /// The newest first.
    pub data: Vec<PaidResource>,
    /// Resources per page.
    pub limit: i64,
    /// 0-based.
    pub page: i64,
    /// Resources in all.
    pub total: i64,
}

impl From<Kind> for X402Kind {
    fn from(kind: Kind) -> Self {
        Self { x402_version: kind.version.number(), scheme: SCHEME, network: kind.network }
    }
}

pub fn signers(address: Option<String>) -> X402Signers {
    X402Signers { evm: address.into_iter().collect() }
}

impl X402Item {
    pub fn render((resource, offer): &(Resource, Offer)) -> Self {
        Self {
            resource: offer.url.clone(),
            kind: "http",
            x402_version: Version::V2.number(),
            accepts: offer.ways.iter().map(gateway::x402::answer::Way::requirements).collect(),
            description: offer.description.clone(),
            mime_type: offer.mime_type.clone(),
            last_updated: iso_8601(resource.created_at),
        }
    }
}

impl X402Discovery {
    pub fn render(found: Discovery, base: &str, (limit, offset): (i64, i64)) -> Self {
        let at = |path: &str| format!("{}/v1/x402/{path}", base.trim_end_matches('/'));
        Self {
            x402_version: Version::V2.number(),
            facilitator: X402Facilitator {
                verify: at("verify"),
                settle: at("settle"),
                supported: at("supported"),
            },
            kinds: found.kinds.into_iter().map(Into::into).collect(),
            extensions: vec![],
            signers: signers(found.signer),
            items: found.page.resources.iter().map(X402Item::render).collect(),
            pagination: X402Pagination { limit, offset, total: found.page.total },
        }
    }
}

impl PaidResource {
    pub fn render((resource, offer): &(Resource, Offer)) -> Self {
        let terms = &resource.terms;
        Self {
            resource_id: resource.resource_id.clone(),
            url: terms.url.clone(),
            description: terms.description.clone(),
            mime_type: terms.mime_type.clone(),
            price_amount: json_number(&terms.price.to_decimal()),
            price_currency: "usd",
            networks: terms.networks.iter().map(|network| network.name()).collect(),
            timeout_seconds: terms.timeout_seconds,
            listed: terms.listed,
            pay_to: resource.address.clone(),
            accepts: offer.ways.iter().map(gateway::x402::answer::Way::requirements).collect(),
            accepts_v1: offer.ways.iter().filter_map(|way| way.requirements_v1(offer)).collect(),
            created_at: iso_8601(resource.created_at),
        }
    }
}

/// The answer of `/verify` in the words of the request's version.
pub fn verified(version: Version, verdict: Verdict) -> X402Verified {
    match verdict {
        Verdict::Valid { payer } => X402Verified::valid(payer),
        Verdict::Refused { reason, why, payer } => {
            X402Verified::refused(version, reason, &why, payer)
        }
    }
}

/// The answer of `/settle` in the words of the request's version.
pub fn settled(version: Version, network: String, settled: Settled) -> X402Settled {
    match settled {
        Settled::Done { payer, transaction, amount } => X402Settled {
            success: true,
            error_reason: None,
            error_message: None,
            payer: Some(payer),
            transaction,
            network,
            amount: Some(amount.to_string()),
        },
        Settled::Refused { reason, why, payer } => {
            unsettled(version, network, (reason, why), payer)
        }
    }
}

pub fn unsettled(
    version: Version,
    network: String,
    (reason, why): (Reason, String),
    payer: Option<String>,
) -> X402Settled {
    X402Settled {
        success: false,
        error_reason: Some(reason.in_version(version)),
        error_message: Some(why).filter(|why| !why.is_empty()),
        payer,
        transaction: String::new(),
        network,
        amount: None,
    }
}
