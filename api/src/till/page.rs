//! The pages of a till at the checkout's origin. A GET of them changes nothing, and they work
//! without scripts; the script adds live refresh, sound and a keypad without round trips.

use askama::Template;
use axum::{
    Json, Router,
    extract::{Path, rejection::PathRejection},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use gateway::{
    app::till::visit::{Desk, NotAtDesk, TillVisit},
    storage::till_charges::{Day, DayCharge, LISTED_MAX},
    till::{DeviceState, keypad::KEYS},
};
use serde_json::json;
use uuid::Uuid;

use super::{
    action, charge,
    frame::{Notice, Request, Till, answer, fence},
};
use crate::{
    State,
    checkout::{
        language::{Language, Texts},
        markup::plain,
        pages::TroublePage,
        shell::Shell,
    },
    error::ApiError,
    subscription::page::missing,
};

/// The folder of the tills' pages. The rest of a path names the till and an action.
pub fn add_to(routes: Router<State>) -> Router<State> {
    routes
        .route("/pos/{id}", get(show))
        .route("/pos/{id}/enrol", post(action::enrol))
        .route("/pos/{id}/enrol/{code}", get(show_code))
        .route("/pos/{id}/unlock", post(action::unlock))
        .route("/pos/{id}/lock", post(action::lock))
        .route("/pos/{id}/keypad", post(action::press))
        .route("/pos/{id}/charge", post(action::charge))
        .route("/pos/{id}/currency", post(action::select))
        .route("/pos/{id}/cancel", post(action::cancel))
        .route("/pos/{id}/next", post(action::next))
        .route("/pos/{id}/day", get(day))
        .route("/pos/{id}/state", get(state))
        .route("/pos/{id}/app.webmanifest", get(manifest))
}

#[derive(Template)]
#[template(path = "till_enrol.html")]
struct EnrolPage {
    shell: Shell,
    till: Till,
    code: String,
    /// The merchant has set the PIN: it is asked for, and none chosen.
    has_pin: bool,
}

#[derive(Template)]
#[template(path = "till_locked.html")]
struct LockedPage {
    shell: Shell,
    till: Till,
    device: String,
    form_token: String,
}

#[derive(Template)]
#[template(path = "till_keypad.html")]
struct KeypadPage {
    shell: Shell,
    till: Till,
    device: String,
    is_closed: bool,
    form_token: String,
    /// Names this rendering of the form: it makes one charge.
    key: String,
    label: String,
    /// In lower case; the form sends it back.
    currency: &'static str,
    amount: String,
    /// With which the script writes the amount.
    decimal_sign: char,
}

#[derive(Template)]
#[template(path = "till_day.html")]
struct DayPage {
    shell: Shell,
    till: Till,
    heading: String,
    takings: Vec<(String, String)>,
    charges: Vec<ChargeRow>,
    is_cut: bool,
}

struct ChargeRow {
    time: String,
    price: String,
    status: &'static str,
    device: String,
    payment_id: String,
}

/// The fields of the forms that a refusal shows again.
#[derive(Default)]
pub struct Typed {
    pub code: String,
    pub amount: String,
    /// The key of the form that was refused: sent again, it still makes one charge.
    pub key: Option<Uuid>,
}

/// `/pos/<link_id>`: enrolment, PIN, keypad or charge, whichever this browser is at.
pub async fn show(request: Request) -> Response {
    shown(&request, Typed::default(), None).await
}

/// The enrolment page with the code of its address filled in. It uses nothing up.
pub async fn show_code(
    request: Request,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Response {
    let code = path.map(|Path((_, code))| code).unwrap_or_default();
    shown(&request, Typed { code, ..Typed::default() }, None).await
}

/// The page as it is for this browser now, with a notice of a failed action.
pub async fn shown(request: &Request, typed: Typed, notice: Option<Notice>) -> Response {
    let shell = request.shell();
    let visit = match request.gateway.visit_till(&request.id, &request.keys).await {
        Ok(Some(visit)) => visit,
        Ok(None) => return unknown(shell),
        Err(error) => return trouble(shell, error),
    };
    let (code, notice) = notice.unzip();
    let code = code.unwrap_or(StatusCode::OK);
    match visit {
        TillVisit::Unknown { link } => {
            let has_pin = link.has_pin;
            let till = till(request, link.terms.title, notice);
            let page = EnrolPage { shell, till, code: typed.code, has_pin };
            answer(code, &page.shell, &page)
        }
        // A new code also helps whoever has forgotten the PIN, or typed too many wrong ones.
        TillVisit::Locked { link, device }
            if !typed.code.is_empty() || device.state != DeviceState::Enrolled =>
        {
            let is_locked_out = device.state != DeviceState::Enrolled;
            let locked_out = is_locked_out.then(|| request.texts().till_locked_out.to_owned());
            let has_pin = link.has_pin;
            let till = till(request, link.terms.title, notice.or(locked_out));
            let page = EnrolPage { shell, till, code: typed.code, has_pin };
            answer(code, &page.shell, &page)
        }
        TillVisit::Locked { link, device } => {
            let page = LockedPage {
                till: till(request, link.terms.title, notice),
                shell,
                device: device.name,
                form_token: request.unlock_token(),
            };
            answer(code, &page.shell, &page)
        }
        TillVisit::Open(desk) => match desk.shown.clone() {
            Some(payment_id) => {
                let till = till(request, desk.link.terms.title, notice);
                charge::shown(request, (shell, till), desk.device.name, &payment_id, code).await
            }
            None => keypad(request, shell, *desk, typed, (code, notice)),
        },
    }
}

fn keypad(
    request: &Request,
    shell: Shell,
    desk: Desk,
    typed: Typed,
    (code, notice): (StatusCode, Option<String>),
) -> Response {
    let terms = desk.link.terms;
    let (currency, locale) = (terms.price_currency, shell.t.locale);
    let page = KeypadPage {
        label: plain(shell.t.link_amount, &[("currency", currency.code_upper())]),
        currency: currency.code(),
        till: till(request, terms.title, notice),
        shell,
        device: desk.device.name,
        is_closed: desk.is_closed,
        form_token: request.form_token(),
        key: typed.key.unwrap_or_else(Uuid::now_v7).to_string(),
        amount: typed.amount,
        decimal_sign: locale.decimal_sign(),
    };
    answer(code, &page.shell, &page)
}

fn till(request: &Request, title: String, notice: Option<String>) -> Till {
    Till { id: request.id.clone(), title, notice }
}

impl EnrolPage {
    /// Keeps a code of the address.
    fn in_language(&self, language: &Language) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_kept = !self.code.is_empty() && self.code.bytes().all(is_plain);
        let code = if is_kept { format!("/enrol/{}", self.code) } else { String::new() };
        self.till.in_language(&self.shell, language, &code)
    }
}

impl LockedPage {
    fn in_language(&self, language: &Language) -> String {
        self.till.in_language(&self.shell, language, "")
    }
}

impl DayPage {
    fn in_language(&self, language: &Language) -> String {
        self.till.in_language(&self.shell, language, "/day")
    }
}

impl KeypadPage {
    fn in_language(&self, language: &Language) -> String {
        self.till.in_language(&self.shell, language, "")
    }

    /// The keys with their labels for those who do not see them.
    fn keys(&self) -> [(&'static str, &'static str, &'static str); 12] {
        let t = self.shell.t;
        let point = if t.locale.decimal_sign() == ',' { "," } else { "." };
        KEYS.map(|key| match key {
            "back" => (key, "⌫", t.till_back),
            // The key sends a point in every language.
            "." => (key, point, t.till_point),
            digit => (digit, digit, digit),
        })
    }
}

/// `/pos/<link_id>/day`: the takings of the till's day.
pub async fn day(request: Request) -> Response {
    let shell = request.shell();
    let (desk, day) = match request.gateway.till_day(&request.id, &request.keys).await {
        Ok(found) => found,
        Err(NotAtDesk::Storage(error)) => return trouble(shell, error),
        // Its own page asks for the code or the PIN.
        Err(NotAtDesk::NoTill | NotAtDesk::Unknown | NotAtDesk::Locked) => {
            return shown(&request, Typed::default(), None).await;
        }
    };
    let page = DayPage::new(shell, till(&request, desk.link.terms.title, None), day);
    answer(StatusCode::OK, &page.shell, &page)
}

impl DayPage {
    fn new(shell: Shell, till: Till, day: Day) -> Self {
        let t = shell.t;
        let sum =
            |count: i64| plain(t.till_payments, &[("count", &t.locale.number(&count.to_string()))]);
        let price = |amount: &str, currency: &str| t.locale.price(amount, currency);
        Self {
            heading: plain(t.till_day_of, &[("date", &t.locale.local(&day.date))]),
            takings: day
                .takings
                .iter()
                .map(|one| (price(&one.amount.to_decimal(), &one.currency), sum(one.payments)))
                .collect(),
            is_cut: i64::try_from(day.charges.len()).unwrap_or(i64::MAX) >= LISTED_MAX,
            charges: day.charges.into_iter().map(|one| ChargeRow::new(one, t)).collect(),
            shell,
            till,
        }
    }
}

impl ChargeRow {
    fn new(one: DayCharge, t: &Texts) -> Self {
        Self {
            price: t.locale.price(&one.price_amount, &one.price_currency),
            status: charge::status_word(one.status, t),
            time: t.locale.local(&one.time),
            device: one.device.unwrap_or_default(),
            payment_id: one.payment_id,
        }
    }
}

/// `/pos/<link_id>/state`: a text that changes with the page, for the script that follows it.
pub async fn state(request: Request) -> Response {
    let key = match request.gateway.visit_till(&request.id, &request.keys).await {
        Ok(Some(TillVisit::Open(desk))) => match &desk.shown {
            Some(payment_id) => charge::state(&request, payment_id).await,
            None => Ok("ready".to_owned()),
        },
        Ok(Some(TillVisit::Locked { .. })) => Ok("locked".to_owned()),
        Ok(Some(TillVisit::Unknown { .. })) => Ok("unknown".to_owned()),
        Ok(None) => return ApiError::UnknownPath.into_response(),
        Err(error) => Err(error),
    };
    match key {
        Ok(key) => {
            let mut response = Json(json!({ "key": key })).into_response();
            fence(&request.shell(), response.headers_mut());
            response
        }
        Err(error) => ApiError::from(error).into_response(),
    }
}

/// `/pos/<link_id>/app.webmanifest`, by which a browser installs the till. It says the title, which
/// whoever has the address may read, and nothing else.
pub async fn manifest(request: Request) -> Response {
    let shell = request.shell();
    let title = match request.gateway.till_title(&request.id).await {
        Ok(Some(title)) => title,
        Ok(None) => return ApiError::UnknownPath.into_response(),
        Err(error) => return ApiError::from(error).into_response(),
    };
    let start = shell.till_page(&request.id, "");
    let scope = start.split('?').next().unwrap_or_default();
    let short: String = title.chars().take(SHORT_NAME_CHARS).collect();
    let body = json!({
        "id": scope,
        "name": title,
        "short_name": short.trim(),
        "start_url": start,
        "scope": scope,
        "display": "standalone",
        "orientation": "portrait",
        "lang": shell.language.code(),
        "dir": shell.language.direction(),
        "background_color": "#f3f5f7",
        "theme_color": "#0b6b63",
        "icons": [{ "src": shell.icon(), "sizes": "any", "type": "image/svg+xml", "purpose": "any" }],
    });
    let mut response = Json(body).into_response();
    fence(&shell, response.headers_mut());
    let kind = HeaderValue::from_static("application/manifest+json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// More is cut by launchers.
const SHORT_NAME_CHARS: usize = 12;

fn unknown(shell: Shell) -> Response {
    let heading = shell.t.till_missing;
    missing(shell, heading)
}

pub fn trouble(shell: Shell, error: impl Into<ApiError>) -> Response {
    let code = error.into().status_and_code().0;
    let page = TroublePage { shell, missing: false };
    answer(code, &page.shell, &page)
}
