//! Parsing of request bodies. The schema types only document the members that are read; nothing is
//! deserialized into them.

use axum::{body::Body, http::HeaderMap};
use gateway::{
    app::{invoice::create::Idempotency, nc_payout::NewNcPayout},
    nc_payout::{
        FeeLevel, build::OUTPUTS_MAX, outpoint, psbt::INPUTS_MAX, schema as words, signed::decoded,
    },
    payout::{recipients::Row, schema as amounts},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{code::Code, problem::Problem};
use crate::{
    body::{Members, parse_members, read_bytes},
    payment::new_payment::idempotency_key,
    recipients::Entry,
};

/// Large enough for the largest payout with all its fields.
const BODY_BYTES_MAX: usize = 256 * 1024;
/// Large enough for the largest PSBT with its signatures, in hex.
const SIGNED_BYTES_MAX: usize = 2 * 1024 * 1024;
const TEXT_CHARS_MAX: usize = 128;

/// A payout to be built. Members that are not listed are ignored; null is the same as absent.
#[derive(ToSchema)]
#[schema(as = NewNcPayout)]
pub struct NewPayout {
    /// One of the EVM networks, bitcoin, litecoin or dogecoin.
    #[schema(examples("polygon"))]
    pub network: String,
    /// A currency's code, or its symbol on that network.
    #[schema(examples("usdtmatic"))]
    pub currency: String,
    /// The sender: an address whose key is the merchant's. On bitcoin, litecoin and dogecoin it
    /// must belong to a single key (P2WPKH or P2PKH), all inputs must be at it, and the change
    /// returns to it.
    #[serde(rename = "fromAddress")]
    pub from_address: String,
    /// The recipients.
    #[schema(min_items = 1, max_items = 100)]
    pub outputs: Vec<NewOutput>,
    /// The outputs to spend on bitcoin, litecoin and dogecoin, where the list is required: all of
    /// them are spent, and the rest is returned as change. Ignored on EVM networks.
    #[schema(max_items = 100)]
    pub inputs: Option<Vec<NewInput>>,
    /// `normal` if absent.
    #[serde(rename = "feeLevel")]
    #[schema(value_type = Option<words::NcFeeLevel>)]
    pub fee_level: Option<String>,
}

/// An unspent output of an earlier transaction that is in a block. Its amount is read from the
/// chain.
#[derive(ToSchema, Deserialize)]
#[schema(as = NewNcInput)]
pub struct NewInput {
    /// The transaction that created it, in hex.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    pub txid: String,
    /// Its index among that transaction's outputs, from 0.
    #[schema(value_type = u64, maximum = 4294967295_u32)]
    pub vout: u32,
}

/// One recipient. Either `amount` or `amountRaw`.
#[derive(ToSchema)]
#[schema(as = NewNcOutput)]
pub struct NewOutput {
    /// An address of the network.
    #[schema(examples("0x8617E340B3D01FA5F11F306F4090FD50E238070D"))]
    pub address: String,
    /// Whole coins, as text or as a number. Either this or `amountRaw`.
    #[schema(value_type = Option<amounts::WholeCoins>)]
    pub amount: Option<String>,
    /// Base units. Either this or `amount`.
    #[serde(rename = "amountRaw")]
    pub amount_raw: Option<String>,
    /// The merchant's own reference, unique within the payout.
    #[schema(max_length = 255)]
    pub reference: Option<String>,
}

/// Options for rebuilding a payout.
#[derive(ToSchema)]
#[schema(as = NcRefresh)]
pub struct Refresh {
    /// Unchanged if absent.
    #[serde(rename = "feeLevel")]
    #[schema(value_type = Option<words::NcFeeLevel>)]
    pub fee_level: Option<String>,
}

/// The signed transactions.
#[derive(ToSchema)]
#[schema(as = NcSubmission)]
pub struct Submission {
    /// Each signed transaction in hex, with or without `0x`, or in base64, in any order; a single
    /// transaction may be sent without the list. On bitcoin, litecoin and dogecoin send the signed
    /// PSBT, or the final transaction.
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
        inputs: inputs(&members)?,
        idempotency: None,
    };
    asked.idempotency = key.map(|key| {
        let request_sha256 = asked.fingerprint();
        Idempotency { key, request_sha256 }
    });
    Ok(asked)
}

/// Fee level of a rebuild, if the request names one.
pub async fn refresh(body: Body) -> Result<Option<FeeLevel>, Problem> {
    let bytes = whole(body, BODY_BYTES_MAX).await?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    fee_level(&parse_members(&bytes)?)
}

/// Signed transactions.
pub async fn signed(body: Body) -> Result<Vec<Vec<u8>>, Problem> {
    let members = parse_members(&whole(body, SIGNED_BYTES_MAX).await?)?;
    let text = members.json("signed").ok_or_else(|| missing("signed"))?;
    let shape = "signed must be a list of signed transactions in hex or base64, or one of them";
    let texts = match serde_json::from_str(text).map_err(|_| Problem::invalid(shape))? {
        Texts::One(text) => vec![text],
        Texts::Many(texts) => texts,
    };
    if texts.len() > OUTPUTS_MAX {
        return Err(too_many());
    }
    let bytes = |(position, text): (usize, &String)| {
        let unreadable = || format!("signed[{position}] is neither hex nor base64");
        decoded(text).ok_or_else(|| Problem::invalid(unreadable()))
    };
    texts.iter().enumerate().map(bytes).collect()
}

async fn whole(body: Body, bytes_max: usize) -> Result<Vec<u8>, Problem> {
    let read = read_bytes(body, bytes_max).await?;
    let message = || format!("the body is larger than {bytes_max} bytes");
    read.ok_or_else(|| Problem::invalid(message()))
}

async fn members(body: Body) -> Result<Members, Problem> {
    Ok(parse_members(&whole(body, BODY_BYTES_MAX).await?)?)
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

/// Outpoints to spend, without duplicates.
fn inputs(members: &Members) -> Result<Vec<String>, Problem> {
    let Some(text) = members.json("inputs") else { return Ok(vec![]) };
    let inputs: Vec<NewInput> =
        serde_json::from_str(text).map_err(|error| Problem::invalid(format!("inputs: {error}")))?;
    if inputs.len() > INPUTS_MAX {
        let message = format!("a payout has at most {INPUTS_MAX} inputs");
        return Err(Problem::new(Code::TooManyItems, message));
    }
    let mut outpoints = Vec::with_capacity(inputs.len());
    for (number, NewInput { txid, vout }) in inputs.into_iter().enumerate() {
        let fault = |what: &str| Problem::invalid(format!("inputs[{number}]: {what}"));
        let outpoint = outpoint(&txid, vout).ok_or_else(|| fault("txid must be 64 hex digits"))?;
        if outpoints.contains(&outpoint) {
            return Err(fault("is there twice"));
        }
        outpoints.push(outpoint);
    }
    Ok(outpoints)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_named_once_and_by_a_whole_hash() {
        let read = |json: &str| {
            let text = format!(r#"{{ "inputs": {json} }}"#);
            inputs(&parse_members(text.as_bytes()).unwrap())
        };
        let txid = "AB".repeat(32);
        let one = format!(r#"{{ "txid": "{txid}", "vout": 7 }}"#);
        assert_eq!(read(&format!("[{one}]")).unwrap(), [format!("{}:7", txid.to_lowercase())]);
        assert_eq!(read("null").unwrap(), [""; 0]);
        for wrong in [
            format!("[{one}, {one}]"),
            one.replace("AB", "A"),
            r#"[{ "txid": "ab", "vout": 0 }]"#.to_owned(),
            format!(r#"[{{ "txid": "{txid}", "vout": -1 }}]"#),
            format!("[{}]", vec![one.as_str(); 101].join(",")),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }
}
