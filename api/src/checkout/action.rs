//! Actions of a buyer on an invoice: choose a currency, cancel, and, in the sandbox, pay. Each is a
//! form of the page, answered with the page; choosing and cancelling exist as JSON too.

use axum::{
    Json,
    body::Body,
    extract,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{
    app::{
        invoice::{cancel::CancelError, create::CreateError, select_currency::SelectError},
        merchant::admit::BuyerBudget,
        sandbox::{
            pay::{PaySimulatedError, Share},
            simulate::SimulateError,
        },
    },
    invoice::{PaymentId, lifecycle::Refusal},
};
use serde_json::{Value, json};

use super::route::{Id, Notice, invoice_id, show};
use crate::{
    State,
    body::{read_form, read_members, required},
    checkout::{
        language::Texts,
        shell::{Shell, Visit},
    },
    client_ip::Client,
    error::ApiError,
};

/// `{"token_id": "usdtmatic@polygon"}` turns a draft into a payable invoice.
pub async fn select(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    id: Id,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    admit(&gateway, &client).await?;
    let id = invoice_id(id)?;
    let members = read_members(body).await?;
    let token_id = required("token_id", members.string("token_id", 3..=64)?)?;
    gateway.select_currency(id.as_str(), &token_id).await.map_err(|error| match error {
        SelectError::NotFound => ApiError::PaymentNotFound,
        SelectError::NotOffered => ApiError::CurrencyNotSupported,
        SelectError::Refused(_) | SelectError::ChangedTooOften => {
            ApiError::invalid("a currency can no longer be chosen for this invoice")
        }
        SelectError::Create(error) => error.into(),
    })?;
    Ok(Json(json!({ "status": "pending" })))
}

pub async fn cancel(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    id: Id,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    admit(&gateway, &client).await?;
    let id = invoice_id(id)?;
    gateway.cancel_invoice(id.as_str()).await.map_err(|error| match error {
        CancelError::NotFound => ApiError::PaymentNotFound,
        CancelError::Refused(_) => ApiError::invalid(error.to_string()),
        CancelError::Storage(error) => error.into(),
    })?;
    Ok((StatusCode::OK, Json(json!({ "status": "cancelled" }))))
}

/// The same for the page's own form.
pub async fn select_form(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    visit: Visit,
    id: Id,
    body: Body,
) -> Response {
    let form = Form::of(&gateway, visit);
    let outcome = async {
        form.admit(&client).await?;
        let fields = read_form(body).await.ok();
        let field = |name| fields.as_ref().and_then(|fields| fields.text(name));
        let token_id = field("token_id").ok_or((StatusCode::BAD_REQUEST, form.t.not_chosen))?;
        let id = known(&id, form.t)?;
        let done = match field("instead_of") {
            Some(before) => gateway.change_currency(&id, &before, &token_id).await,
            None => gateway.select_currency(&id, &token_id).await,
        };
        done.map_err(|error| not_selected(&error, form.t))
    };
    let outcome = outcome.await;
    form.answer(id, outcome).await
}

pub async fn cancel_form(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    visit: Visit,
    id: Id,
) -> Response {
    let form = Form::of(&gateway, visit);
    let outcome = async {
        form.admit(&client).await?;
        let id = known(&id, form.t)?;
        gateway.cancel_invoice(&id).await.map_err(|error| match error {
            CancelError::NotFound => (StatusCode::NOT_FOUND, form.t.missing),
            CancelError::Refused(_) => (StatusCode::CONFLICT, form.t.notice_cancel_refused),
            CancelError::Storage(error) => later(&error, form.t),
        })
    };
    let outcome = outcome.await;
    form.answer(id, outcome).await
}

/// The sandbox's pay button. Elsewhere there is no simulated chain, and this path answers 404.
pub async fn simulate_form(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    visit: Visit,
    id: Id,
    body: Body,
) -> Response {
    if !gateway.config.is_sandbox() {
        return ApiError::UnknownPath.into_response();
    }
    let form = Form::of(&gateway, visit);
    let outcome = async {
        form.admit(&client).await?;
        let share = read_form(body).await.ok().and_then(|fields| fields.text("share"));
        let share = match share.as_deref() {
            Some("half") => Share::Half,
            Some("double") => Share::Double,
            _ => Share::Rest,
        };
        let id = known(&id, form.t)?;
        gateway.pay_simulated(&id, share).await.map_err(|error| match error {
            PaySimulatedError::Simulate(SimulateError::Storage(error)) => later(&error, form.t),
            PaySimulatedError::NotFound | PaySimulatedError::Simulate(_) => {
                (StatusCode::CONFLICT, form.t.notice_no_simulation)
            }
        })
    };
    let outcome = outcome.await;
    form.answer(id, outcome).await
}

struct Form<'a> {
    gateway: &'a State,
    visit: Visit,
    t: &'static Texts,
}

impl<'a> Form<'a> {
    fn of(gateway: &'a State, visit: Visit) -> Self {
        Self { gateway, t: visit.language.texts(), visit }
    }

    async fn admit(&self, client: &str) -> Result<(), Notice> {
        admit(self.gateway, client).await.map_err(|error| {
            let (code, _) = error.status_and_code();
            let too_many = matches!(error, ApiError::PolledTooOften);
            (code, if too_many { self.t.notice_too_many } else { self.t.notice_later })
        })
    }

    /// Success: redirects to the page, a GET that may be repeated safely. Failure: shows the page
    /// with the reason.
    async fn answer(self, id: Id, outcome: Result<(), Notice>) -> Response {
        let Self { gateway, visit, .. } = self;
        if let Err(notice) = outcome {
            return show(gateway, visit, id, Some(notice)).await;
        }
        let id = id.map(|extract::Path(id)| id).unwrap_or_default();
        let location = Shell::new(gateway, visit).link(&id, "");
        let mut response = StatusCode::SEE_OTHER.into_response();
        if let Ok(location) = HeaderValue::from_str(&location) {
            response.headers_mut().insert(header::LOCATION, location);
        }
        let no_store = HeaderValue::from_static("no-store");
        response.headers_mut().insert(header::CACHE_CONTROL, no_store);
        response
    }
}

async fn admit(gateway: &State, client: &str) -> Result<(), ApiError> {
    gateway.admit_buyer(BuyerBudget::Action, client).await.map_err(ApiError::of_buyer)
}

fn known(id: &Id, t: &Texts) -> Result<String, Notice> {
    let text = id.as_ref().ok().map(|extract::Path(text)| text.clone());
    let known = text.filter(|text| text.parse::<PaymentId>().is_ok());
    known.ok_or((StatusCode::NOT_FOUND, t.missing))
}

fn not_selected(error: &SelectError, t: &'static Texts) -> Notice {
    match error {
        SelectError::NotFound => (StatusCode::NOT_FOUND, t.missing),
        SelectError::NotOffered => (StatusCode::CONFLICT, t.notice_not_offered),
        SelectError::Refused(Refusal::NotADraft) => (StatusCode::CONFLICT, t.notice_already),
        SelectError::Refused(Refusal::DepositSeen) => {
            (StatusCode::CONFLICT, t.notice_change_refused)
        }
        SelectError::ChangedTooOften => (StatusCode::CONFLICT, t.notice_changed_often),
        SelectError::Refused(_) => (StatusCode::CONFLICT, t.closing_draft),
        SelectError::Create(CreateError::NoFreshRate(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, t.notice_no_rate)
        }
        SelectError::Create(CreateError::BelowMinimum { .. }) => {
            (StatusCode::CONFLICT, t.notice_too_small)
        }
        SelectError::Create(error) => later(error, t),
    }
}

fn later(error: &dyn std::error::Error, t: &'static Texts) -> Notice {
    tracing::error!(%error, "a buyer's request failed");
    (StatusCode::INTERNAL_SERVER_ERROR, t.notice_later)
}
