//! The form of a link's page, and the notices that answer it.

use axum::http::StatusCode;
use gateway::{
    app::{
        invoice::create::CreateError,
        link::order::{OrderError, OrderForm},
    },
    asset::fiat::Fiat,
    link::{
        terms::AmountRefusal,
        words::{MESSAGE_CHARS_MAX, NAME_CHARS_MAX, WordsError},
    },
    mail::Language,
    money::Price,
};

use crate::{
    body::Fields,
    checkout::{choices::usd, language::Texts, markup::plain},
};

/// A message shown with the page, and the HTTP status that expresses it to machines.
pub type Notice = (StatusCode, String);

/// Characters of a field that are read, and shown again after a refusal. Browsers send each line
/// end of a message as two; no field takes as many as this.
const SHOWN_CHARS_MAX: usize = 2_000;

/// The visitor's fields, on a page of this language. Names are frozen; a field that is not sent is
/// empty.
pub fn read(fields: &Fields, language: Language) -> OrderForm {
    let text = |name: &str| -> String {
        let text = fields.text(name).unwrap_or_default();
        text.chars().filter(|letter| *letter != '\0').take(SHOWN_CHARS_MAX).collect()
    };
    OrderForm {
        amount: text("amount"),
        donor_name: text("donor_name"),
        donor_email: text("donor_email"),
        message: text("message"),
        email: text("email"),
        once: text("once"),
        language,
        anonymous: !matches!(text("anonymous").as_str(), "" | "0" | "false" | "off"),
    }
}

/// True if a program filled in the field that people do not see.
pub fn is_trapped(fields: &Fields) -> bool {
    fields.text("website").is_some_and(|text| !text.is_empty())
}

/// The words for a refusal. `None` where a page of its own says it.
pub fn notice(error: &OrderError, fiat: Fiat, t: &Texts) -> Option<Notice> {
    let said = |code, text: &str| Some((code, text.to_owned()));
    match error {
        OrderError::NotFound | OrderError::Unusable(_) => None,
        OrderError::AllPaid => said(StatusCode::CONFLICT, t.notice_all_paid),
        OrderError::TooManyTries => said(StatusCode::TOO_MANY_REQUESTS, t.notice_too_many),
        OrderError::Full => said(StatusCode::TOO_MANY_REQUESTS, t.notice_link_full),
        OrderError::Amount(refusal) => Some((StatusCode::BAD_REQUEST, amount(*refusal, fiat, t))),
        OrderError::Words(refusal) => Some((StatusCode::BAD_REQUEST, words(*refusal, t))),
        OrderError::TooSmall { min_usd: Some(min) } => {
            let text = plain(t.notice_amount_minimum, &[("min", &usd(*min, t))]);
            Some((StatusCode::CONFLICT, text))
        }
        OrderError::TooSmall { min_usd: None } => said(StatusCode::CONFLICT, t.notice_no_currency),
        OrderError::Create(CreateError::NoFreshRate(_) | CreateError::NoAddress(_)) => {
            said(StatusCode::SERVICE_UNAVAILABLE, t.notice_no_currency)
        }
        OrderError::Create(CreateError::Quote(_)) => said(StatusCode::BAD_REQUEST, t.notice_amount),
        OrderError::Create(_) | OrderError::Storage(_) => {
            tracing::error!(%error, "a visitor's order failed");
            said(StatusCode::INTERNAL_SERVER_ERROR, t.notice_later)
        }
    }
}

fn amount(refusal: AmountRefusal, fiat: Fiat, t: &Texts) -> String {
    let limit = |text: &str, name: &str, limit: Price| {
        plain(text, &[(name, &t.locale.price(&limit.to_decimal(), fiat.code()))])
    };
    match refusal {
        AmountRefusal::Typed(_) => t.notice_amount.to_owned(),
        AmountRefusal::Below { min } => limit(t.notice_amount_below, "min", min),
        AmountRefusal::Above { max } => limit(t.notice_amount_above, "max", max),
    }
}

fn words(refusal: WordsError, t: &Texts) -> String {
    match refusal {
        WordsError::LongName => plain(t.notice_name_long, &[("max", &NAME_CHARS_MAX.to_string())]),
        WordsError::LongMessage => {
            plain(t.notice_message_long, &[("max", &MESSAGE_CHARS_MAX.to_string())])
        }
        WordsError::Email(_) => t.notice_email.to_owned(),
    }
}
