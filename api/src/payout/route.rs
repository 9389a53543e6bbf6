//! The operations, the same in both families.

use axum::{
    Extension, Json,
    body::Body,
    extract::{self, Path, Request, rejection::PathRejection},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{
    app::{Gateway, payouts::Confirmation},
    money::BaseUnits,
    payout::{PayoutFamily, csv},
};

use super::{
    PayoutMerchant,
    problem::Problem,
    request,
    wire::{self, Batches, Item, Page},
};
use crate::{
    State,
    body::{parse_members, read_bytes},
    query::Parameters,
};

const REPLAY_HEADER: HeaderName = HeaderName::from_static("x-gateway-idempotent-replay");
const PAGE_MAX: i64 = i64::MAX / 1_000;
const SMALL_BODY_BYTES_MAX: usize = 16 * 1024;
const REPORT_HEADING: [&str; 9] =
    ["row", "address", "amount", "netAmountRaw", "reference", "memo", "state", "txHash", "error"];

type Reference = Result<Path<String>, PathRejection>;

pub async fn create(
    extract::State(gateway): extract::State<State>,
    Extension(family): Extension<PayoutFamily>,
    PayoutMerchant(caller): PayoutMerchant,
    parameters: Parameters,
    request: Request,
) -> Result<Response, Problem> {
    let parsed = request::read(family, &parameters, request, gateway.egress.policy()).await?;
    let created = gateway.create_payout(&caller, &parsed.order).await;
    let created = created.map_err(|error| Problem::from_payout(error, parsed.from_file))?;
    let mut response = json(StatusCode::CREATED, wire::data(&created.body));
    if created.replayed {
        response.headers_mut().insert(REPLAY_HEADER, HeaderValue::from_static("true"));
    }
    Ok(response)
}

pub async fn read(
    extract::State(gateway): extract::State<State>,
    Extension(family): Extension<PayoutFamily>,
    PayoutMerchant(caller): PayoutMerchant,
    reference: Reference,
) -> Result<Response, Problem> {
    let id = order_id(family, reference)?;
    let body = gateway.read_payout(caller.merchant_id, &id).await?;
    Ok(json(StatusCode::OK, wire::data(&body)))
}

pub async fn list(
    extract::State(gateway): extract::State<State>,
    Extension(family): Extension<PayoutFamily>,
    PayoutMerchant(caller): PayoutMerchant,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let (limit, page) = paging(&parameters, 10, 100)?;
    let state = word(&parameters, "state")?;
    let merchant_id = caller.merchant_id;
    let (orders, total) =
        gateway.list_payouts(merchant_id, family, state, limit, page * limit).await?;
    let found = Page::new(wire::rendered(orders), total, limit, page);
    Ok(Json(found).into_response())
}

pub async fn items(
    extract::State(gateway): extract::State<State>,
    Extension(family): Extension<PayoutFamily>,
    PayoutMerchant(caller): PayoutMerchant,
    reference: Reference,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let id = order_id(family, reference)?;
    let (limit, page) = paging(&parameters, 100, 1_000)?;
    let state = word(&parameters, "state")?;
    let merchant_id = caller.merchant_id;
    let (order, rows, total) =
        gateway.payout_items(merchant_id, &id, state, limit, page * limit).await?;
    let rows = rows.into_iter().map(|row| Item::render(row, order.currency)).collect();
    Ok(Json(Page::new(rows, total, limit, page)).into_response())
}

pub async fn batches(
    extract::State(gateway): extract::State<State>,
    Extension(family): Extension<PayoutFamily>,
    PayoutMerchant(caller): PayoutMerchant,
    reference: Reference,
) -> Result<Response, Problem> {
    let id = order_id(family, reference)?;
    let views = gateway.payout_batches(caller.merchant_id, &id).await?;
    Ok(Json(Batches::render(&views)).into_response())
}

pub async fn report(
    extract::State(gateway): extract::State<State>,
    Extension(family): Extension<PayoutFamily>,
    PayoutMerchant(caller): PayoutMerchant,
    reference: Reference,
) -> Result<Response, Problem> {
    let id = order_id(family, reference)?;
    let report = gateway.payout_report(caller.merchant_id, &id).await?;
    let decimals = u32::from(report.order.currency.decimals);
    let rows = report.items.into_iter().map(|item| {
        [
            item.row_number.to_string(),
            item.address,
            item.amount.to_decimal(decimals),
            item.net_amount.get().to_string(),
            item.reference.unwrap_or_default(),
            item.memo.unwrap_or_default(),
            item.state.as_str().to_owned(),
            item.tx_hash.unwrap_or_default(),
            item.error.unwrap_or_default(),
        ]
    });
    Ok(spreadsheet(csv::write(REPORT_HEADING, rows)))
}

pub async fn template(_: PayoutMerchant) -> Response {
    spreadsheet(csv::TEMPLATE.to_owned())
}

pub async fn confirm(
    extract::State(gateway): extract::State<State>,
    Extension(family): Extension<PayoutFamily>,
    PayoutMerchant(caller): PayoutMerchant,
    reference: Reference,
    body: Body,
) -> Result<Response, Problem> {
    let id = order_id(family, reference)?;
    let said = confirmation(body).await?;
    let body = gateway.confirm_payout(caller.merchant_id, &id, &said).await?;
    Ok(json(StatusCode::OK, wire::data(&body)))
}

pub async fn refresh(
    extract::State(gateway): extract::State<State>,
    Extension(family): Extension<PayoutFamily>,
    PayoutMerchant(caller): PayoutMerchant,
    reference: Reference,
) -> Result<Response, Problem> {
    let id = order_id(family, reference)?;
    let body = gateway.refresh_payout(caller.merchant_id, &id).await?;
    Ok(json(StatusCode::OK, wire::data(&body)))
}

pub async fn cancel(
    extract::State(gateway): extract::State<State>,
    Extension(family): Extension<PayoutFamily>,
    PayoutMerchant(caller): PayoutMerchant,
    reference: Reference,
) -> Result<Response, Problem> {
    let id = order_id(family, reference)?;
    let body = gateway.cancel_payout(caller.merchant_id, &id).await?;
    Ok(json(StatusCode::OK, wire::data(&body)))
}

/// What a merchant confirms. No body confirms the order as it is.
async fn confirmation(body: Body) -> Result<Confirmation, Problem> {
    let bytes = read_bytes(body, SMALL_BODY_BYTES_MAX).await?;
    let bytes = bytes.ok_or_else(|| Problem::invalid("the body is too large"))?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Confirmation::default());
    }
    let members = parse_members(&bytes)?;
    let accept_total = match members.string("acceptTotalRaw", 1..=39)? {
        None => None,
        Some(text) => Some(
            BaseUnits::parse(&text, 0)
                .map_err(|error| Problem::invalid(format!("acceptTotalRaw {error}")))?,
        ),
    };
    Ok(Confirmation { quote_id: members.string("quoteId", 1..=64)?, accept_total })
}

/// What cannot be an id of this family names no order.
fn order_id(family: PayoutFamily, reference: Reference) -> Result<String, Problem> {
    let unknown = || Problem::new(StatusCode::NOT_FOUND, "order_not_found", "no order has this id");
    let Path(id) = reference.map_err(|_| unknown())?;
    if Gateway::names_payout(family, &id) { Ok(id) } else { Err(unknown()) }
}

fn paging(parameters: &Parameters, default: i64, most: i64) -> Result<(i64, i64), Problem> {
    let limit = parameters.clamped("limit", default, 1..=most)?;
    let page = parameters.clamped("page", 0, 0..=PAGE_MAX / 1_000)?;
    Ok((limit, page))
}

fn word<T: std::str::FromStr>(parameters: &Parameters, name: &str) -> Result<Option<T>, Problem> {
    let text = parameters.text(name)?;
    let word =
        text.map(|text| text.parse().map_err(|_| Problem::invalid(format!("{name} is unknown"))));
    word.transpose()
}

fn json(status: StatusCode, body: String) -> Response {
    let mut response = (status, body).into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn spreadsheet(text: String) -> Response {
    let mut response = text.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    response
}
