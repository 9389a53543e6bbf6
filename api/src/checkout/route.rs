//! The checkout pages: the buyer's view of an invoice, keyed by its id. They work without scripts.

use askama::Template;
use axum::{
    extract::{self, Path, rejection::PathRejection},
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use gateway::{
    app::invoice::{buyer_status::BuyerStatus, currency_choices::Choice},
    invoice::{PaymentId, buyer_phase::Phase},
};

use crate::{
    State,
    checkout::{
        asset::{ASSETS, JAVASCRIPT, WIDGET},
        pages::{PaymentPage, TroublePage},
        shell::{Shell, Visit},
    },
    error::ApiError,
};

/// A message shown with the page, and the HTTP status that expresses it to machines.
pub type Notice = (StatusCode, &'static str);
pub type Id = Result<Path<String>, PathRejection>;

/// `/pay/<id>` in its own window, and `/embed/<id>` in a frame of the one page that `?origin=`
/// names.
pub async fn page(
    extract::State(gateway): extract::State<State>,
    visit: Visit,
    id: Id,
) -> Response {
    show(&gateway, visit, id, None).await
}

/// The page of an invoice in its present state, with a notice of a failed action.
pub async fn show(gateway: &State, visit: Visit, id: Id, notice: Option<Notice>) -> Response {
    let choosing = visit.choosing && notice.is_none();
    let shell = Shell::new(gateway, visit);
    let (status, choices) = match found(gateway, id, choosing).await {
        Ok(found) => found,
        Err(error) => return trouble(shell, &error),
    };
    let (code, text) = notice.unzip();
    let front = gateway.front_of_payment(&status.payment_id).await;
    let shell = match front {
        Ok(front) => shell.of(front, &status.payment_id),
        Err(error) => return trouble(shell, &error.into()),
    };
    let page = PaymentPage::new(shell, &status, &choices, text);
    answer(code.unwrap_or(StatusCode::OK), &page.shell, &page)
}

/// With the currencies to choose from, if any can be chosen and the buyer has none or wants another
/// one.
async fn found(
    gateway: &State,
    id: Id,
    choosing: bool,
) -> Result<(BuyerStatus, Vec<Choice>), ApiError> {
    let id = invoice_id(id)?;
    let status = gateway.buyer_status(id.as_str()).await?.ok_or(ApiError::PaymentNotFound)?;
    let choices = if status.phase == Phase::Choosing || choosing && status.changeable {
        gateway.currency_choices(id.as_str()).await?
    } else {
        Vec::new()
    };
    Ok((status, choices))
}

pub(crate) fn trouble(shell: Shell, error: &ApiError) -> Response {
    let (code, _) = error.status_and_code();
    let missing = matches!(error, ApiError::PaymentNotFound);
    let page = TroublePage { shell, missing };
    answer(code, &page.shell, &page)
}

pub(crate) fn answer(code: StatusCode, shell: &Shell, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => {
            let mut response = (code, Html(html)).into_response();
            shell.headers(response.headers_mut());
            response
        }
        Err(error) => {
            tracing::error!(%error, "a page of the checkout could not be rendered");
            ApiError::Internal.into_response()
        }
    }
}

pub fn invoice_id(id: Id) -> Result<PaymentId, ApiError> {
    let id = id.ok().and_then(|Path(text)| text.parse().ok());
    id.ok_or(ApiError::PaymentNotFound)
}

/// Scripts and the icon. Their names change with their content.
pub async fn asset(name: Id) -> Response {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let Some(asset) = ASSETS.find(&name) else { return ApiError::UnknownPath.into_response() };
    file(asset.content_type.clone(), "public, max-age=31536000, immutable", asset.body)
}

/// `/widget/v1.js`: the script for shops' pages, under a permanent name.
pub async fn widget() -> Response {
    let mut response = file(JAVASCRIPT, "public, max-age=3600", WIDGET);
    let anywhere = HeaderValue::from_static("cross-origin");
    response.headers_mut().insert("cross-origin-resource-policy", anywhere);
    response
}

/// A merchant's logo, under a name that changes with it.
pub async fn logo(extract::State(gateway): extract::State<State>, name: Id) -> Response {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let stem = name.strip_suffix(".png").unwrap_or_default();
    match gateway.logo(stem).await {
        Ok(Some(png)) => {
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static("image/png")),
                (
                    header::CACHE_CONTROL,
                    HeaderValue::from_static("public, max-age=31536000, immutable"),
                ),
                (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
                (
                    header::CONTENT_SECURITY_POLICY,
                    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
                ),
            ];
            (headers, png).into_response()
        }
        Ok(None) => ApiError::UnknownPath.into_response(),
        Err(error) => ApiError::from(error).into_response(),
    }
}

fn file(content_type: HeaderValue, caching: &'static str, body: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, HeaderValue::from_static(caching)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, body).into_response()
}
