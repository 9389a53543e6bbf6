//! From a request's body to what is asked for. The shapes describe what is read member by member; nothing is read into them.

use axum::{body::Body, http::HeaderMap};
use gateway::{
    app::{create_invoice::Idempotency, nc_payouts::NewNcPayout},
    nc_payout::{FeeLevel, build::OUTPUTS_MAX},
    payout::recipients::Row,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{code::Code, problem::Problem};
use crate::{
    body::{Members, parse_members, read_bytes},
    recipients::{Entry, Fingerprint},
    wire::new_payment::idempotency_key,
};

/// The largest payout with all its fields.
const BODY_BYTES_MAX: usize = 256 * 1024;
const TEXT_CHARS_MAX: usize = 128;

/// A payout to be built. Members that are not listed are ignored; null is the same as absent.
#[derive(ToSchema)]
#[schema(as = NewNcPayout)]
pub struct NewPayout {
    /// One of the EVM networks.
    #[schema(examples("polygon"))]
    pub network: String,
    /// A currency's code, or its symbol on that network.
    #[schema(examples("usdtmatic"))]
    pub currency: String,
    /// Who pays: an address whose key is the merchant's.
    #[serde(rename = "fromAddress")]
    pub from_address: String,
    /// Who is paid.
    #[schema(min_items = 1, max_items = 100)]
    pub outputs: Vec<NewOutput>,
    /// `slow`, `normal` (the default) or `fast`.
    #[serde(rename = "feeLevel")]
    #[schema(nullable = false)]
    pub fee_level: Option<String>,
}

/// One recipient. Either `amount` or `amountRaw`.
#[derive(ToSchema)]
#[schema(as = NewNcOutput)]
pub struct NewOutput {
    /// An address of the network.
    pub address: String,
    /// Whole coins, as text or as a number.
    #[schema(examples("1.25"), nullable = false)]
    pub amount: Option<String>,
    /// Base units.
    #[serde(rename = "amountRaw")]
    #[schema(examples("1250000"), nullable = false)]
    pub amount_raw: Option<String>,
    /// The merchant's own, once in a payout.
    #[schema(max_length = 255, nullable = false)]
    pub reference: Option<String>,
}

/// How to build it anew.
#[derive(ToSchema)]
#[schema(as = NcRefresh)]
pub struct Refresh {
    /// `slow`, `normal` or `fast`; as before if it is not named.
    #[serde(rename = "feeLevel")]
    #[schema(nullable = false)]
    pub fee_level: Option<String>,
}

/// What was signed.
#[derive(ToSchema)]
#[schema(as = NcSubmission)]
pub struct Submission {
    /// Each signed transaction in hex with `0x`, in any order; a single one may stand without the list.
    pub signed: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
}

/// A payout to be built.
pub async fn new_payout(headers: &HeaderMap, body: Body) -> Result<NewNcPayout, Problem> {
    let key = idempotency_key(headers)?;
    let members = members(body).await?;
    let text = |name: &str| members.string(name, 1..=TEXT_CHARS_MAX)?.ok_or_else(|| missing(name));
    let mut asked = NewNcPayout {
        network: text("network")?,
        currency: text("currency")?,
        from_address: text("fromAddress")?,
        fee_level: fee_level(&members)?.unwrap_or(FeeLevel::Normal),
        rows: rows(&members)?,
        idempotency: None,
    };
    asked.idempotency = key.map(|key| {
        let request_sha256 = fingerprint(&asked);
        Idempotency { key, request_sha256 }
    });
    Ok(asked)
}

/// The level of fees for a payout that is built anew, if one is named.
pub async fn refresh(body: Body) -> Result<Option<FeeLevel>, Problem> {
    let bytes = whole(body).await?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    fee_level(&parse_members(&bytes)?)
}

/// Signed transactions.
pub async fn signed(body: Body) -> Result<Vec<Vec<u8>>, Problem> {
    let members = members(body).await?;
    let text = members.json("signed").ok_or_else(|| missing("signed"))?;
    let shape = "signed must be a list of signed transactions in hex, or one of them";
    let texts = match serde_json::from_str(text).map_err(|_| Problem::invalid(shape))? {
        Texts::One(text) => vec![text],
        Texts::Many(texts) => texts,
    };
    if texts.len() > OUTPUTS_MAX {
        return Err(too_many());
    }
    let bytes = |(position, text): (usize, &String)| {
        let digits = text.strip_prefix("0x");
        let bytes = digits.and_then(|digits| hex::decode(digits).ok());
        bytes.ok_or_else(|| Problem::invalid(format!("signed[{position}] is not hex with 0x")))
    };
    texts.iter().enumerate().map(bytes).collect()
}

async fn whole(body: Body) -> Result<Vec<u8>, Problem> {
    let read = read_bytes(body, BODY_BYTES_MAX).await?;
    let message = || format!("the body is larger than {BODY_BYTES_MAX} bytes");
    read.ok_or_else(|| Problem::invalid(message()))
}

async fn members(body: Body) -> Result<Members, Problem> {
    Ok(parse_members(&whole(body).await?)?)
}

fn missing(name: &str) -> Problem {
    Problem::invalid(format!("{name} is required"))
}

fn too_many() -> Problem {
    Problem::new(Code::TooManyItems, format!("a payout has at most {OUTPUTS_MAX} outputs"))
}

fn fee_level(members: &Members) -> Result<Option<FeeLevel>, Problem> {
    let text = members.string("feeLevel", 0..=TEXT_CHARS_MAX)?;
    let level = text.map(|text| {
        text.parse().map_err(|_| Problem::invalid("feeLevel must be slow, normal or fast"))
    });
    level.transpose()
}

fn rows(members: &Members) -> Result<Vec<Row>, Problem> {
    let text = members.json("outputs").ok_or_else(|| missing("outputs"))?;
    let items: Vec<Entry> = serde_json::from_str(text)
        .map_err(|error| Problem::invalid(format!("outputs: {error}")))?;
    if items.is_empty() {
        return Err(Problem::invalid("outputs is empty"));
    }
    if items.len() > OUTPUTS_MAX {
        return Err(too_many());
    }
    let row = |(number, item): (u32, Entry)| {
        let fault = |what| Problem::invalid(format!("output {number}: {what}"));
        item.into_row(number).map_err(fault)
    };
    (1..).zip(items).map(row).collect()
}

fn fingerprint(asked: &NewNcPayout) -> [u8; 32] {
    let mut fingerprint = Fingerprint::default();
    for text in [&asked.network, &asked.currency, &asked.from_address] {
        fingerprint.add(Some(&text.to_ascii_lowercase()));
    }
    fingerprint.add(Some(asked.fee_level.as_str()));
    for row in &asked.rows {
        fingerprint.add_payment(row);
        fingerprint.add(row.reference.as_deref());
    }
    fingerprint.finish()
}
