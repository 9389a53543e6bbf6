//! Parsing of a request into an order to create: JSON, a file as the body, or a file in a form.

use axum::{
    body::Body,
    extract::{FromRequest, Multipart, Request},
    http::{HeaderMap, header},
};
use gateway::{
    app::{invoice::create::Idempotency, payout::NewOrder},
    egress::guard::{self, Policy},
    payout::{
        FeeMode, PayoutFamily, csv,
        recipients::{LABEL_CHARS_MAX, Row, is_label},
    },
};

use super::{kind::Kind, problem::Problem};
use crate::{
    body::{Members, parse_members, read_bytes},
    payment::new_payment::idempotency_key,
    query::Parameters,
    recipients::Entry,
};

const URL_CHARS_MAX: usize = 2_048;
const METADATA_BYTES_MAX: usize = 4_096;
/// Large enough for the largest order in JSON, and for a file in a form with its other fields.
const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;

/// A parsed request, and whether its rows came in a file.
pub struct Parsed {
    pub order: NewOrder,
    pub from_file: bool,
}

/// Fields of an order beside its rows, from the body, the form or the query.
#[derive(Default)]
struct Terms {
    network: Option<String>,
    currency: Option<String>,
    fee_mode: Option<String>,
    refund_address: Option<String>,
    label: Option<String>,
    callback_url: Option<String>,
    metadata: Option<String>,
}

/// Reads a request by its content type.
pub async fn read(
    family: PayoutFamily,
    parameters: &Parameters,
    request: Request,
    policy: &Policy,
) -> Result<Parsed, Problem> {
    let key = idempotency_key(request.headers()).map_err(|_| {
        let message = "Idempotency-Key must be sent once, with 1 to 255 characters";
        Problem::new(Kind::InvalidIdempotencyKey, message)
    })?;
    let (terms, rows, from_file) = match content(request.headers()) {
        Content::Csv => {
            let file = whole(request.into_body(), csv::FILE_BYTES_MAX).await?;
            (Terms::of_query(parameters)?, csv::read(&file, family.rows_max())?, true)
        }
        Content::Form => {
            let (terms, file) = form(request).await?;
            (terms, csv::read(&file, family.rows_max())?, true)
        }
        Content::Json => {
            let bytes = whole(request.into_body(), BODY_BYTES_MAX).await?;
            let members = parse_members(&bytes)?;
            let (rows, from_file) = json_rows(&members, family)?;
            (Terms::of_members(&members)?, rows, from_file)
        }
    };
    let mut order = terms.into_order(family, rows, policy)?;
    order.idempotency = key.map(|key| {
        let request_sha256 = order.fingerprint();
        Idempotency { key, request_sha256 }
    });
    Ok(Parsed { order, from_file })
}

/// Content type of the body.
enum Content {
    Json,
    Csv,
    Form,
}

fn content(headers: &HeaderMap) -> Content {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "text/csv" | "application/csv" => Content::Csv,
        "multipart/form-data" => Content::Form,
        _ => Content::Json,
    }
}

async fn whole(body: Body, bytes_max: usize) -> Result<Vec<u8>, Problem> {
    let read = read_bytes(body, bytes_max).await?;
    read.ok_or_else(|| {
        let message = format!("the body is larger than {bytes_max} bytes");
        Problem::new(Kind::CsvTooLarge, message)
    })
}

/// Reads the whole body first, so that the size and time limits are those of every other body.
async fn form(request: Request) -> Result<(Terms, Vec<u8>), Problem> {
    let unreadable = |_| Problem::invalid("the form cannot be read");
    let (head, body) = request.into_parts();
    let body = Body::from(whole(body, BODY_BYTES_MAX).await?);
    let request = Request::from_parts(head, body);
    let mut parts = Multipart::from_request(request, &())
        .await
        .map_err(|_| Problem::invalid("the form cannot be read"))?;
    let (mut terms, mut file) = (Terms::default(), None);
    while let Some(part) = parts.next_field().await.map_err(unreadable)? {
        let name = part.name().unwrap_or_default().to_owned();
        let bytes = part.bytes().await.map_err(unreadable)?;
        if name == "file" {
            file = Some(bytes.to_vec());
            continue;
        }
        let text = String::from_utf8(bytes.to_vec())
            .map_err(|_| Problem::invalid(format!("{name} is not UTF-8 text")))?;
        if let Some(place) = terms.place(&name) {
            *place = Some(text).filter(|text| !text.is_empty());
        }
    }
    let file = file.ok_or_else(|| Problem::invalid("file is required"))?;
    Ok((terms, file))
}

/// Rows from `items`, or from `csv` with a file's text; exactly one of them must be present.
fn json_rows(members: &Members, family: PayoutFamily) -> Result<(Vec<Row>, bool), Problem> {
    let text = members.string("csv", 0..=csv::FILE_BYTES_MAX)?;
    match (members.json("items"), text) {
        (Some(_), Some(_)) => Err(Problem::invalid("send either items or csv")),
        (None, None) => Err(Problem::invalid("items or csv is required")),
        (None, Some(text)) => Ok((csv::read(text.as_bytes(), family.rows_max())?, true)),
        (Some(items), None) => {
            let items: Vec<Entry> = serde_json::from_str(items)
                .map_err(|error| Problem::invalid(format!("items: {error}")))?;
            if items.is_empty() {
                return Err(Problem::new(Kind::EmptyBatch, "items is empty"));
            }
            if items.len() > family.rows_max() {
                let message = format!("an order has at most {} rows", family.rows_max());
                return Err(Problem::new(Kind::TooManyRows, message));
            }
            let row = |(number, item): (u32, Entry)| {
                let fault = |what| Problem::invalid(format!("items: row {number}: {what}"));
                let memo = item.memo().map_err(fault)?;
                Ok::<_, Problem>(Row { memo, ..item.into_row(number).map_err(fault)? })
            };
            Ok(((1..).zip(items).map(row).collect::<Result<_, _>>()?, false))
        }
    }
}

impl Terms {
    fn place(&mut self, name: &str) -> Option<&mut Option<String>> {
        match name {
            "network" => Some(&mut self.network),
            "currency" => Some(&mut self.currency),
            "feeMode" => Some(&mut self.fee_mode),
            "refundAddress" => Some(&mut self.refund_address),
            "label" => Some(&mut self.label),
            "callbackUrl" => Some(&mut self.callback_url),
            "metadata" => Some(&mut self.metadata),
            _ => None,
        }
    }

    fn of_query(parameters: &Parameters) -> Result<Self, Problem> {
        let text = |name| Ok::<_, Problem>(parameters.text(name)?.map(ToOwned::to_owned));
        Ok(Self {
            network: text("network")?,
            currency: text("currency")?,
            fee_mode: text("feeMode")?,
            refund_address: text("refundAddress")?,
            label: text("label")?,
            callback_url: text("callbackUrl")?,
            metadata: None,
        })
    }

    fn of_members(members: &Members) -> Result<Self, Problem> {
        let text = |name| members.string(name, 0..=URL_CHARS_MAX);
        Ok(Self {
            network: text("network")?,
            currency: text("currency")?,
            fee_mode: text("feeMode")?,
            refund_address: text("refundAddress")?,
            label: text("label")?,
            callback_url: text("callbackUrl")?,
            metadata: members.json("metadata").map(ToOwned::to_owned),
        })
    }

    fn into_order(
        self,
        family: PayoutFamily,
        rows: Vec<Row>,
        policy: &Policy,
    ) -> Result<NewOrder, Problem> {
        let needed = |name: &str, text: Option<String>| {
            text.filter(|text| !text.is_empty())
                .ok_or_else(|| Problem::invalid(format!("{name} is required")))
        };
        let fee_mode = match self.fee_mode.as_deref() {
            None => FeeMode::Sender,
            Some(text) => {
                text.parse().map_err(|_| Problem::invalid("feeMode must be sender or recipient"))?
            }
        };
        if self.label.as_ref().is_some_and(|label| !is_label(label)) {
            let message =
                format!("label must be plain text of at most {LABEL_CHARS_MAX} characters");
            return Err(Problem::invalid(message));
        }
        if let Some(url) = &self.callback_url {
            guard::check_url(url, policy)
                .map_err(|refused| Problem::invalid(format!("callbackUrl {refused}")))?;
        }
        Ok(NewOrder {
            family,
            network: needed("network", self.network)?,
            currency: needed("currency", self.currency)?,
            rows,
            fee_mode,
            refund_address: self.refund_address,
            label: self.label,
            metadata: self.metadata.map(metadata).transpose()?,
            callback_url: self.callback_url,
            idempotency: None,
            withdrawal: None,
        })
    }
}

/// The merchant's own object, kept as its original text.
fn metadata(text: String) -> Result<String, Problem> {
    let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text).is_ok();
    if !object || text.len() > METADATA_BYTES_MAX || text.contains("\\u0000") {
        let message = format!("metadata must be an object of at most {METADATA_BYTES_MAX} bytes");
        return Err(Problem::invalid(message));
    }
    Ok(text)
}
