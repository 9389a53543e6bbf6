//! The operations, the same in both families.

use axum::{
    Json,
    body::Body,
    extract::Request,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{
    app::payout::Confirmation,
    invoice::schema as values,
    money::BaseUnits,
    payout::{csv, order::Batch, schema},
};

use super::{
    asked::{Asked, AskedOf},
    problem::Problem,
    request, shape,
    wire::{self, BatchList, Item, ItemPage, List, OrderAnswer, OrderPage, Page},
};
use crate::{
    body::{parse_members, read_bytes},
    query::Parameters,
};

const REPLAY_HEADER: HeaderName = HeaderName::from_static("x-gateway-idempotent-replay");
const PAGE_MAX: i64 = i64::MAX / 1_000_000;
const SMALL_BODY_BYTES_MAX: usize = 16 * 1024;

/// Create an order
///
/// Creates a draft with its quote. Send the recipients as JSON, as a CSV file, or as a CSV file in
/// a form. All rows are checked, and one bad row is enough to refuse the order. A file is UTF-8 and
/// starts with a header row: `address` and `amount`, optionally `reference`, `memo`, `network` and
/// `currency`, separated by `,` or `;`. Nothing is sent and no webhook is posted before the draft
/// is confirmed.
#[utoipa::path(
    post, path = "/", operation_id = "createPayout",
    params(
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, description =
            "A repeated request gets the first response, without a time limit and also if requests are concurrent. A \
             different request under the same key is refused."),
        ("network" = Option<String>, Query, description = "Required with `text/csv`, and read only there."),
        ("currency" = Option<String>, Query, description = "Required with `text/csv`, and read only there."),
        ("feeMode" = Option<String>, Query, description = "`sender` or `recipient`, with `text/csv` only."),
        ("refundAddress" = Option<String>, Query, description = "With `text/csv` only."),
        ("label" = Option<String>, Query, description = "With `text/csv` only."),
        ("callbackUrl" = Option<String>, Query, description = "With `text/csv` only."),
    ),
    // Each family puts an example of its own into the place of this one.
    request_body(content(
        (shape::New = "application/json", example = json!({})),
        (String = "text/csv"),
        (shape::Form = "multipart/form-data"),
    )),
    responses((status = 201, description = "The new draft, or the one that the same key created before.", body = OrderAnswer,
        headers(("X-Gateway-Idempotent-Replay" = String, description = "`true` in the response to a repeated request; otherwise absent.")))),
)]
pub async fn create(
    asked: Asked,
    parameters: Parameters,
    request: Request,
) -> Result<Response, Problem> {
    let Asked { gateway, family, caller } = asked;
    let parsed = request::read(family, &parameters, request, gateway.egress.policy()).await?;
    let created = gateway.create_payout(caller.merchant_id, &parsed.order).await;
    let created = created.map_err(|error| Problem::from_payout(error, parsed.from_file))?;
    let mut response = json(StatusCode::CREATED, wire::data(&created.body));
    if created.replayed {
        response.headers_mut().insert(REPLAY_HEADER, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Read an order
#[utoipa::path(
    get, path = "/{id}", operation_id = "readPayout",
    params(("id" = String, Path, description = "The order's id.")),
    responses((status = 200, description = "The order.", body = OrderAnswer)),
)]
pub async fn read(asked: AskedOf) -> Result<Response, Problem> {
    let body = asked.gateway.read_payout(asked.merchant_id, &asked.order_id).await?;
    Ok(json(StatusCode::OK, wire::data(&body)))
}

/// List orders
///
/// Newest first.
#[utoipa::path(
    get, path = "/", operation_id = "listPayouts",
    params(
        ("limit" = Option<values::WholeNumber>, Query, description = "Orders per page: 10 if absent; values outside 1 to 100 are clamped."),
        ("page" = Option<values::WholeNumber>, Query, description = "0-based; 0 if absent or negative."),
        ("state" = Option<schema::OrderStateAsked>, Query, description = "Only orders in this state."),
    ),
    responses((status = 200, description = "One page.", body = OrderPage)),
)]
pub async fn list(asked: Asked, parameters: Parameters) -> Result<Response, Problem> {
    let Asked { gateway, family, caller } = asked;
    let (limit, page) = paging(&parameters, 10, 100)?;
    let state = word(&parameters, "state")?;
    let merchant_id = caller.merchant_id;
    let (orders, total) =
        gateway.list_payouts(merchant_id, family, state, limit, page * limit).await?;
    let found = Page::new(wire::rendered(orders), total, limit, page);
    Ok(Json(found).into_response())
}

/// List the recipients of an order
///
/// In the order of the request.
#[utoipa::path(
    get, path = "/{id}/items", operation_id = "listPayoutItems",
    params(
        ("id" = String, Path, description = "The order's id."),
        ("limit" = Option<values::WholeNumber>, Query, description = "Rows per page: 100 if absent; values outside 1 to 1000 are clamped."),
        ("page" = Option<values::WholeNumber>, Query, description = "0-based; 0 if absent or negative."),
        ("state" = Option<schema::ItemStateAsked>, Query, description = "Only rows in this state."),
    ),
    responses((status = 200, description = "One page.", body = ItemPage)),
)]
pub async fn items(asked: AskedOf, parameters: Parameters) -> Result<Response, Problem> {
    let AskedOf { gateway, merchant_id, order_id } = asked;
    let (limit, page) = paging(&parameters, 100, 1_000)?;
    let state = word(&parameters, "state")?;
    let (order, rows, total) =
        gateway.payout_items(merchant_id, &order_id, state, limit, page * limit).await?;
    let rows = rows.into_iter().map(|row| Item::render(row, order.currency)).collect();
    Ok(Json(Page::new(rows, total, limit, page)).into_response())
}

/// List the batches of an order
#[utoipa::path(
    get, path = "/{id}/batches", operation_id = "listPayoutBatches",
    params(("id" = String, Path, description = "The order's id.")),
    responses((status = 200, description = "All of them.", body = BatchList)),
)]
pub async fn batches(asked: AskedOf) -> Result<Response, Problem> {
    let views = asked.gateway.payout_batches(asked.merchant_id, &asked.order_id).await?;
    let batches: Vec<_> = views.iter().map(Batch::render).collect();
    Ok(Json(List::of(batches)).into_response())
}

/// Download the recipients of an order
#[utoipa::path(
    get, path = "/{id}/report.csv", operation_id = "reportPayout",
    params(("id" = String, Path, description = "The order's id.")),
    responses((status = 200, content_type = "text/csv", body = String, description =
        "One line per row: `row,address,amount,netAmountRaw,reference,memo,state,txHash,error`.",
        headers(("Content-Disposition" = String, description = "Always `attachment`.")))),
)]
pub async fn report(asked: AskedOf) -> Result<Response, Problem> {
    let report = asked.gateway.payout_report(asked.merchant_id, &asked.order_id).await?;
    Ok(spreadsheet(report.csv()))
}

/// Download an empty CSV file to fill in
#[utoipa::path(
    get, path = "/template.csv", operation_id = "templatePayout",
    responses((status = 200, content_type = "text/csv", body = String, description = "The header row only.",
        headers(("Content-Disposition" = String, description = "Always `attachment`.")))),
)]
pub async fn template(_: Asked) -> Response {
    spreadsheet(csv::TEMPLATE.to_owned())
}

/// Confirm an order
///
/// The order gets its `depositAddress` and waits for `totalToSendRaw` there until `expiresAt`.
/// Confirming it again changes nothing.
#[utoipa::path(
    post, path = "/{id}/confirm", operation_id = "confirmPayout",
    params(("id" = String, Path, description = "The order's id.")),
    request_body = Option<shape::Confirm>,
    responses((status = 200, description = "The order in `pending_deposit`.", body = OrderAnswer)),
)]
pub async fn confirm(asked: AskedOf, body: Body) -> Result<Response, Problem> {
    let said = confirmation(body).await?;
    let body = asked.gateway.confirm_payout(asked.merchant_id, &asked.order_id, &said).await?;
    Ok(json(StatusCode::OK, wire::data(&body)))
}

/// Refresh the quote of an order
///
/// Possible until a deposit for the order is detected. A confirmed order gets a new `expiresAt`
/// with its new total.
///
/// Also possible in `processing`, while the network's fee exceeds the quoted one and no payment is
/// signed: the order returns to `pending_deposit` and waits for `missingRaw`, or continues at once
/// if nothing is missing.
#[utoipa::path(
    post, path = "/{id}/refresh-quote", operation_id = "refreshPayout",
    params(("id" = String, Path, description = "The order's id.")),
    responses((status = 200, description = "The order with its new quote.", body = OrderAnswer)),
)]
pub async fn refresh(asked: AskedOf) -> Result<Response, Problem> {
    let body = asked.gateway.refresh_payout(asked.merchant_id, &asked.order_id).await?;
    Ok(json(StatusCode::OK, wire::data(&body)))
}

/// Cancel an order
///
/// Possible in `draft`, `pending_deposit` and `funded`, and in `processing` while no payment is
/// signed. Money that was received is refunded to `refundAddress`.
#[utoipa::path(
    post, path = "/{id}/cancel", operation_id = "cancelPayout",
    params(("id" = String, Path, description = "The order's id.")),
    responses((status = 200, description = "The cancelled order.", body = OrderAnswer)),
)]
pub async fn cancel(asked: AskedOf) -> Result<Response, Problem> {
    let body = asked.gateway.cancel_payout(asked.merchant_id, &asked.order_id).await?;
    Ok(json(StatusCode::OK, wire::data(&body)))
}

/// The merchant's confirmation. No body, or null, confirms the order as it is.
async fn confirmation(body: Body) -> Result<Confirmation, Problem> {
    let bytes = read_bytes(body, SMALL_BODY_BYTES_MAX).await?;
    let bytes = bytes.ok_or_else(|| Problem::invalid("the body is too large"))?;
    if matches!(bytes.trim_ascii(), b"" | b"null") {
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

fn paging(parameters: &Parameters, default: i64, most: i64) -> Result<(i64, i64), Problem> {
    let limit = parameters.clamped("limit", default, 1..=most)?;
    let page = parameters.clamped("page", 0, 0..=PAGE_MAX)?;
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
