//! Hosted forms: a shop's page leads its visitor here, and the visitor goes on to the checkout.

use axum::{
    extract::{Request, State as Shared},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use gateway::{
    app::legacy::LegacyError,
    invoice::payment::invoice_url,
    legacy::{Refusal, button::FormKind},
    link::button::escaped,
};

use super::{form, params::Params};
use crate::{
    State,
    body::{BODY_BYTES_MAX, read_bytes},
    client_ip::Client,
};

/// Nothing on these pages loads or runs.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; base-uri 'none'; frame-ancestors 'none'");

/// `GET /legacy/index.php`.
pub async fn of_query(
    Shared(gateway): Shared<State>,
    Client(client): Client,
    request: Request,
) -> Response {
    let params = Params::parse(request.uri().query().unwrap_or_default().as_bytes());
    if !is_opened(request.headers()) {
        return html(StatusCode::OK, &again(&params, ""));
    }
    page(&gateway, &client, &params).await
}

/// Returns false if a browser says that nobody opened the page: an image of a foreign page, or a
/// link that is loaded in advance, would order with each visitor of that page.
fn is_opened(headers: &HeaderMap) -> bool {
    let says = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    let is_early = ["purpose", "sec-purpose"].iter().any(|name| says(name).contains("prefetch"));
    !is_early && matches!(says("sec-fetch-dest"), "" | "document")
}

/// `POST /legacy/index.php`: fields of the query count where the body has none of that name.
pub async fn of_body(
    Shared(gateway): Shared<State>,
    Client(client): Client,
    request: Request,
) -> Response {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let body = read_bytes(request.into_body(), BODY_BYTES_MAX).await.ok().flatten();
    let Some(body) = body else { return refused(&Refusal::Unreadable) };
    let both = [query.as_bytes(), b"&", body.as_slice()].concat();
    page(&gateway, &client, &Params::parse(&both)).await
}

async fn page(gateway: &State, client: &str, params: &Params) -> Response {
    let shown = match params.raw("cmd").trim() {
        "status" => status(gateway, params).await,
        cmd => match FormKind::named(cmd) {
            Some(kind) => order(gateway, client, kind, params).await,
            None => Err(Refusal::Command.into()),
        },
    };
    match shown {
        Ok(response) => response,
        Err(LegacyError::Refused(refusal)) => refused(&refusal),
        Err(LegacyError::Storage(error)) => {
            tracing::error!(%error, "a legacy form failed");
            refused(&Refusal::Internal)
        }
    }
}

/// The checkout's page of a transaction shows its status.
async fn status(gateway: &State, params: &Params) -> Result<Response, LegacyError> {
    let (id, key) = (params.raw("id").trim(), params.raw("key").trim());
    let payment_id = gateway.legacy_transaction_of_buyer(id, key).await?;
    Ok(to_checkout(gateway, &payment_id.ok_or(Refusal::NotFound)?))
}

async fn order(
    gateway: &State,
    client: &str,
    kind: FormKind,
    params: &Params,
) -> Result<Response, LegacyError> {
    match form::read(kind, params, gateway.egress.policy())? {
        None => Ok(ask_amount(params)),
        Some(order) => {
            let payment_id = gateway.order_by_legacy_form(client, order).await?;
            Ok(to_checkout(gateway, &payment_id))
        }
    }
}

fn to_checkout(gateway: &State, payment_id: &str) -> Response {
    let url = invoice_url(&gateway.config.checkout_url, payment_id);
    let headers = [(header::LOCATION, url), (header::CACHE_CONTROL, "no-store".to_owned())];
    (StatusCode::FOUND, headers).into_response()
}

/// A page that asks for the amount.
fn ask_amount(params: &Params) -> Response {
    let currency = escaped(params.raw("currency"));
    let amount = format!(
        "<p><label>Amount in {currency} \
         <input name=\"amountf\" inputmode=\"decimal\" required autofocus></label></p>"
    );
    html(StatusCode::OK, &again(params, &amount))
}

/// A form with the same fields, and with `input` instead of an amount.
fn again(params: &Params, input: &str) -> String {
    let is_kept = |name: &str| input.is_empty() || name != "amountf";
    let kept = params.all().filter(|(name, _)| is_kept(name)).map(|(name, value)| {
        let (name, value) = (escaped(name), escaped(value));
        format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">")
    });
    let (kept, title) = (kept.collect::<String>(), escaped(params.raw("item_name")));
    format!(
        "<form method=\"post\">{kept}<p>{title}</p>{input}<p><button>Continue</button></p></form>"
    )
}

fn refused(refusal: &Refusal) -> Response {
    let code = if matches!(refusal, Refusal::TooManyRequests | Refusal::Quota) {
        StatusCode::TOO_MANY_REQUESTS
    } else if matches!(refusal, Refusal::NotFound | Refusal::Merchant) {
        StatusCode::NOT_FOUND
    } else if matches!(refusal, Refusal::NoRate | Refusal::NoAddress) {
        StatusCode::SERVICE_UNAVAILABLE
    } else if *refusal == Refusal::Internal {
        StatusCode::INTERNAL_SERVER_ERROR
    } else {
        StatusCode::BAD_REQUEST
    };
    html(code, &format!("<p>{}</p>", escaped(&refusal.to_string())))
}

fn html(code: StatusCode, body: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Payment</title><main>{body}</main></html>"
    );
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (code, headers, Html(page)).into_response()
}
