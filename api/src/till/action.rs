//! The forms of a till's pages. Each answers with a redirect to the till's page, or with the page
//! and the reason.

use axum::{
    body::Body,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use gateway::{
    app::{
        invoice::{cancel::CancelError, create::CreateError, select_currency::SelectError},
        merchant::admit::BuyerBudget,
        till::{
            Keys,
            charge::{ChargeError, ChargeForm},
            enrol::{EnrolError, EnrolForm},
            unlock::UnlockError,
            visit::TillVisit,
        },
    },
    asset::fiat::Fiat,
    till::keypad,
};
use uuid::Uuid;

use super::{
    frame::{Notice, Request},
    page::{Typed, shown},
};
use crate::{
    body::{Fields, read_form},
    checkout::language::Texts,
    error::ApiError,
    link::form,
};

/// Characters of a field that are read.
const FIELD_CHARS_MAX: usize = 64;

fn field(fields: &Fields, name: &str) -> String {
    let text = fields.text(name).unwrap_or_default();
    text.chars().filter(|letter| *letter != '\0').take(FIELD_CHARS_MAX).collect()
}

async fn read(body: Body) -> Fields {
    // A body that cannot be read is a form without fields, which every action refuses.
    read_form(body).await.unwrap_or_default()
}

/// Enrols this browser with the code of the form.
pub async fn enrol(request: Request, body: Body) -> Response {
    let (t, fields) = (request.texts(), read(body).await);
    let code = field(&fields, "code");
    let typed = Typed { code: code.clone(), ..Typed::default() };
    let form =
        EnrolForm { code, pin: field(&fields, "pin"), pin_again: field(&fields, "pin_again") };
    if let Err(error) = request.gateway.admit_buyer(BuyerBudget::Action, &request.client).await {
        let error = ApiError::of_buyer(error);
        let too_many = matches!(error, ApiError::PolledTooOften);
        let text = if too_many { t.notice_too_many } else { t.notice_later };
        let notice = (error.status_and_code().0, text.to_owned());
        return shown(&request, typed, Some(notice)).await;
    }
    let refused = match request
        .gateway
        .enrol_device(&request.id, &request.keys, &request.client, &form)
        .await
    {
        Ok(enrolled) => {
            let keys = Keys { token: Some(enrolled.token), session: Some(enrolled.session) };
            return request.to_till(&keys);
        }
        Err(error) => error,
    };
    let (code, text) = match refused {
        EnrolError::NoTill => (StatusCode::NOT_FOUND, t.till_missing),
        EnrolError::TooManyTries => (StatusCode::TOO_MANY_REQUESTS, t.notice_too_many),
        EnrolError::Code => (StatusCode::FORBIDDEN, t.notice_till_code),
        EnrolError::Pin(_) => (StatusCode::BAD_REQUEST, t.notice_till_pin_new),
        EnrolError::PinTwice => (StatusCode::BAD_REQUEST, t.notice_till_pin_twice),
        EnrolError::WrongPin => (StatusCode::FORBIDDEN, t.notice_till_pin),
        EnrolError::Wait => (StatusCode::TOO_MANY_REQUESTS, t.notice_till_wait),
        EnrolError::Busy => (StatusCode::SERVICE_UNAVAILABLE, t.notice_later),
        EnrolError::Storage(error) => later(&error, t),
    };
    shown(&request, typed, Some((code, text.to_owned()))).await
}

/// Unlocks the device of this browser.
pub async fn unlock(request: Request, body: Body) -> Response {
    let (t, fields) = (request.texts(), read(body).await);
    if !request.is_unlock_token(&field(&fields, "token")) {
        return shown(&request, Typed::default(), stale(t)).await;
    }
    let pin = field(&fields, "pin");
    let refused = match request.gateway.unlock_device(&request.id, &request.keys, &pin).await {
        Ok(session) => {
            // The token again, so that it lasts another 400 days.
            let keys = Keys { token: request.keys.token.clone(), session: Some(session) };
            return request.to_till(&keys);
        }
        Err(error) => error,
    };
    let notice = match refused {
        UnlockError::Unknown | UnlockError::LockedOut => None,
        UnlockError::Wrong => Some((StatusCode::FORBIDDEN, t.notice_till_pin)),
        UnlockError::Wait => Some((StatusCode::TOO_MANY_REQUESTS, t.notice_till_wait)),
        UnlockError::Busy => Some((StatusCode::SERVICE_UNAVAILABLE, t.notice_later)),
        UnlockError::Storage(error) => Some(later(&error, t)),
    };
    let notice = notice.map(|(code, text)| (code, text.to_owned()));
    shown(&request, Typed::default(), notice).await
}

/// Locks it again.
pub async fn lock(request: Request, body: Body) -> Response {
    let (t, fields) = (request.texts(), read(body).await);
    if !request.is_form_token(&field(&fields, "token")) {
        return shown(&request, Typed::default(), stale(t)).await;
    }
    match request.gateway.lock_device(&request.id, &request.keys).await {
        Ok(()) => request.to_till(&Keys::default()),
        Err(error) => {
            let (code, text) = later(&error, t);
            shown(&request, Typed::default(), Some((code, text.to_owned()))).await
        }
    }
}

/// One key of the keypad, for browsers without scripts: the page with the amount after it. It
/// changes nothing.
pub async fn press(request: Request, body: Body) -> Response {
    let fields = read(body).await;
    let amount = keypad::press(&field(&fields, "amount"), &field(&fields, "press"));
    let amount = request.texts().locale.typed(&amount);
    let key = Uuid::try_parse(&field(&fields, "key")).ok();
    shown(&request, Typed { amount, key, ..Typed::default() }, None).await
}

/// Makes the charge of the keypad's form.
pub async fn charge(request: Request, body: Body) -> Response {
    let (t, fields) = (request.texts(), read(body).await);
    let (amount, currency) = (field(&fields, "amount"), field(&fields, "currency"));
    let key = Uuid::try_parse(&field(&fields, "key")).ok();
    let mut typed = Typed { amount: amount.clone(), key, ..Typed::default() };
    let Some(key) = key.filter(|_| request.is_form_token(&field(&fields, "token"))) else {
        return shown(&request, typed, stale(t)).await;
    };
    let form = ChargeForm { key, amount, currency };
    let outcome = request.gateway.charge_at_till(&request.id, &request.keys, form).await;
    if matches!(outcome, Err(ChargeError::Used)) {
        typed.key = None;
    }
    finish(&request, typed, outcome).await
}

/// Chooses the currency of the charge that is shown.
pub async fn select(request: Request, body: Body) -> Response {
    let (t, fields) = (request.texts(), read(body).await);
    if !request.is_form_token(&field(&fields, "token")) {
        return shown(&request, Typed::default(), stale(t)).await;
    }
    let (payment_id, token_id) = (field(&fields, "payment_id"), field(&fields, "token_id"));
    let choice = (payment_id.as_str(), token_id.as_str());
    let outcome = request.gateway.select_at_till(&request.id, &request.keys, choice).await;
    finish(&request, Typed::default(), outcome).await
}

/// Cancels the charge that the form names, if it is shown.
pub async fn cancel(request: Request, body: Body) -> Response {
    let (t, fields) = (request.texts(), read(body).await);
    if !request.is_form_token(&field(&fields, "token")) {
        return shown(&request, Typed::default(), stale(t)).await;
    }
    let payment_id = field(&fields, "payment_id");
    let outcome = request.gateway.cancel_at_till(&request.id, &request.keys, &payment_id).await;
    finish(&request, Typed::default(), outcome).await
}

/// Turns from the charge that the form names to the next customer.
pub async fn next(request: Request, body: Body) -> Response {
    let (t, fields) = (request.texts(), read(body).await);
    if !request.is_form_token(&field(&fields, "token")) {
        return shown(&request, Typed::default(), stale(t)).await;
    }
    let payment_id = field(&fields, "payment_id");
    let outcome = request.gateway.next_at_till(&request.id, &request.keys, &payment_id).await;
    finish(&request, Typed::default(), outcome).await
}

async fn finish(request: &Request, typed: Typed, outcome: Result<(), ChargeError>) -> Response {
    match outcome {
        Ok(()) => request.to_till(&Keys::default()).into_response(),
        Err(error) => {
            let notice = notice(request, error).await;
            shown(request, typed, notice).await
        }
    }
}

/// The words for a refusal. `None` where the page itself says it.
async fn notice(request: &Request, error: ChargeError) -> Option<Notice> {
    let t = request.texts();
    let (code, text) = match error {
        ChargeError::NotAtDesk(_) | ChargeError::Closed => return None,
        ChargeError::Order(error) => {
            let fiat = fiat_of(request).await;
            return form::notice(&error, fiat, t);
        }
        ChargeError::Shown => (StatusCode::CONFLICT, t.notice_till_shown),
        ChargeError::Used => (StatusCode::CONFLICT, t.notice_till_used),
        ChargeError::OtherCurrency => (StatusCode::CONFLICT, t.notice_till_currency),
        ChargeError::StillOpen => (StatusCode::CONFLICT, t.notice_till_open),
        ChargeError::TooMany => (StatusCode::TOO_MANY_REQUESTS, t.notice_too_many),
        ChargeError::Select(error) => not_selected(&error, t),
        ChargeError::Cancel(CancelError::NotFound | CancelError::Refused(_)) => {
            (StatusCode::CONFLICT, t.notice_cancel_refused)
        }
        ChargeError::Cancel(CancelError::Storage(error)) | ChargeError::Storage(error) => {
            later(&error, t)
        }
    };
    Some((code, text.to_owned()))
}

fn not_selected(error: &SelectError, t: &'static Texts) -> (StatusCode, &'static str) {
    match error {
        SelectError::NotFound | SelectError::NotOffered => {
            (StatusCode::CONFLICT, t.notice_not_offered)
        }
        SelectError::Refused(_) | SelectError::ChangedTooOften => {
            (StatusCode::CONFLICT, t.notice_already)
        }
        SelectError::Create(CreateError::NoFreshRate(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, t.notice_no_rate)
        }
        SelectError::Create(CreateError::BelowMinimum { .. }) => {
            (StatusCode::CONFLICT, t.notice_too_small)
        }
        SelectError::Create(error) => later(error, t),
    }
}

/// The currency that a notice names.
async fn fiat_of(request: &Request) -> Fiat {
    match request.gateway.visit_till(&request.id, &request.keys).await {
        Ok(Some(TillVisit::Open(desk))) => desk.link.terms.price_currency,
        Ok(Some(TillVisit::Unknown { .. } | TillVisit::Locked { .. }) | None) | Err(_) => Fiat::Usd,
    }
}

fn stale(t: &Texts) -> Option<Notice> {
    Some((StatusCode::FORBIDDEN, t.notice_till_stale.to_owned()))
}

fn later(error: &dyn std::error::Error, t: &'static Texts) -> (StatusCode, &'static str) {
    tracing::error!(%error, "a request of a till failed");
    (StatusCode::INTERNAL_SERVER_ERROR, t.notice_later)
}
