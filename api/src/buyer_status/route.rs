//! The buyer's view of an invoice. The id is the only credential, so the response is a fixed list
//! of fields.

use std::time::Duration;

use axum::{
    Json,
    extract::{self, Path, RawQuery, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{
    app::{
        invoice::follow::{WAIT_MAX, spread},
        merchant::admit::BuyerBudget,
    },
    invoice::PaymentId,
};
use url::form_urlencoded;

use crate::{
    State,
    buyer_status::wire::{BuyerStatus, SluggedError},
    client_ip::Client,
    error::ApiError,
};

/// Sixteen hexadecimal digits.
const MARK_LENGTH_MAX: usize = 16;

/// Read an invoice as its buyer sees it
///
/// The id is the only credential: anyone who knows it may ask, 60 times per minute and client
/// address. Pages of any origin may read it (CORS).
#[utoipa::path(
    get, path = "/v1/invoices/{id}/status", operation_id = "readBuyerStatus", tag = "Buyers",
    params(("id" = String, Path, description = "The invoice's `payment_id`.", example = "pzi_7n4c2v9k1x8m3q6w5e0r2t4y6a")),
    responses((status = 200, description = "The invoice.", body = BuyerStatus)),
)]
pub async fn status(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    id: Result<Path<String>, PathRejection>,
) -> Response {
    finished(match answer(&gateway, &client, id).await {
        Ok(status) => Json(status).into_response(),
        Err(error) => SluggedError::respond(error),
    })
}

fn finished(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Readable from any page: the response needs no credentials and reveals only the public fields
    // to the holder of the id.
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

/// The same at the checkout's origin, where a page may wait: `since` is the `ETag` that it has
/// seen, and `wait` the seconds after which it wants an answer without a change. With
/// `If-None-Match` that answer is a bare 304. The merchant API has no such wait: its clients keep a
/// connection each, and learn of changes by webhooks.
pub async fn follow(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
) -> Response {
    let wait = query.as_deref().and_then(|query| Wait::of(query, &headers));
    drop((query, headers));
    let (mark, mut response) = match changed(&gateway, &client, wait, id).await {
        Ok((mark, Some(status))) => (mark, Json(status).into_response()),
        Ok((mark, None)) => (mark, StatusCode::NOT_MODIFIED.into_response()),
        Err(error) => (None, SluggedError::respond(error)),
    };
    let mark = mark.and_then(|mark| HeaderValue::try_from(format!("\"{mark}\"")).ok());
    if let Some(mark) = mark {
        response.headers_mut().insert(header::ETAG, mark);
    }
    finished(response)
}

async fn answer(
    gateway: &State,
    client: &str,
    id: Result<Path<String>, PathRejection>,
) -> Result<BuyerStatus, ApiError> {
    let id = admitted(gateway, client, id).await?;
    let status = gateway.buyer_status(id.as_str()).await?.ok_or(ApiError::PaymentNotFound)?;
    Ok(BuyerStatus::render(&status))
}

/// The mark of an invoice, and its view; no view if the page needs none.
type Marked = (Option<String>, Option<BuyerStatus>);

async fn changed(
    gateway: &State,
    client: &str,
    wait: Option<Wait>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Marked, ApiError> {
    // Boxed, like the view: thousands of pages wait, and none holds the memory of the queries.
    let id = Box::pin(admitted(gateway, client, id)).await?;
    if let Some(wait) = &wait {
        gateway.await_change(id.as_str(), client, &wait.since, wait.time()).await;
    }
    Box::pin(marked(gateway, &id, wait)).await
}

async fn marked(gateway: &State, id: &PaymentId, wait: Option<Wait>) -> Result<Marked, ApiError> {
    // Before the view: of a change between the two the page is told once too often, not too late.
    let mark = gateway.buyer_mark(id.as_str()).await?;
    if wait.is_some_and(|wait| wait.is_conditional && mark.as_ref() == Some(&wait.since)) {
        return Ok((mark, None));
    }
    let status = gateway.buyer_status(id.as_str()).await?.ok_or(ApiError::PaymentNotFound)?;
    Ok((mark, Some(BuyerStatus::render(&status))))
}

async fn admitted(
    gateway: &State,
    client: &str,
    id: Result<Path<String>, PathRejection>,
) -> Result<PaymentId, ApiError> {
    gateway.admit_buyer(BuyerBudget::Status, client).await.map_err(ApiError::of_buyer)?;
    let id = id.ok().and_then(|Path(text)| text.parse::<PaymentId>().ok());
    id.ok_or_else(|| ApiError::invalid("this is not an invoice id"))
}

/// A page's request to wait.
struct Wait {
    /// The mark that it has seen.
    since: String,
    most: Duration,
    /// Without a change it needs no view.
    is_conditional: bool,
}

impl Wait {
    fn of(query: &str, headers: &HeaderMap) -> Option<Self> {
        let (mut since, mut most) = (None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "since" => since = Some(value.into_owned()),
                "wait" => most = value.parse().ok().map(Duration::from_secs),
                _ => {}
            }
        }
        let since = since.filter(|mark| !mark.is_empty() && mark.len() <= MARK_LENGTH_MAX)?;
        let seen = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
        let is_conditional = seen.is_some_and(|seen| seen.trim_matches('"') == since);
        Some(Self { since, most: most?, is_conditional })
    }

    fn time(&self) -> Duration {
        let most = self.most.min(WAIT_MAX);
        if self.is_conditional { spread(most) } else { most }
    }
}
