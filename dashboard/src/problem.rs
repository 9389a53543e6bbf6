//! Answers that are no page: each says what is wrong and what to do.

use askama::Template;
use axum::{
    http::StatusCode,
    response::{Html, IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{account::SignInError, operator::master_key::MasterKeyError},
    storage::StorageError,
};

use crate::asset::{ICON_PATH, STYLE_PATH};

#[derive(Debug)]
pub enum Problem {
    NotFound,
    SignedOut,
    ForeignOrigin,
    WrongToken,
    TooLarge,
    /// A body that is no form.
    Unreadable,
    Refused(Action),
    Suspended,
    LinkUsed,
    /// Something in the way of an action, in a sentence of its own.
    Conflict(String),
    Busy,
    Broken,
}

#[derive(Template)]
#[template(path = "problem.html")]
struct Page<'a> {
    style: &'a str,
    icon: &'a str,
    title: &'a str,
    text: &'a str,
}

impl From<StorageError> for Problem {
    fn from(error: StorageError) -> Self {
        tracing::error!(error = error_chain(&error), "the database did not do its part");
        Self::Busy
    }
}

impl From<SignInError> for Problem {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Storage(error) => error.into(),
            SignInError::MasterKey(MasterKeyError::Storage(error)) => error.into(),
            SignInError::LinkUsed => Self::LinkUsed,
            SignInError::Ended => Self::SignedOut,
            SignInError::MasterKey(_) => Self::Broken,
            error @ (SignInError::Refused
            | SignInError::WrongCode
            | SignInError::TooManyTries
            | SignInError::NoPassword
            | SignInError::WrongPassword
            | SignInError::WrongPasskey
            | SignInError::TooManyPasskeys
            | SignInError::LastFactor(_)
            | SignInError::NothingPending
            | SignInError::NoFactor
            | SignInError::ResetFirst
            | SignInError::Busy
            | SignInError::Policy(_)) => Self::Conflict(error.to_string()),
        }
    }
}

fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

impl Problem {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::SignedOut => StatusCode::SEE_OTHER,
            Self::ForeignOrigin | Self::WrongToken | Self::Refused(_) | Self::Suspended => {
                StatusCode::FORBIDDEN
            }
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unreadable => StatusCode::BAD_REQUEST,
            Self::LinkUsed => StatusCode::GONE,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Broken => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn words(&self) -> (&'static str, String) {
        let (title, text) = match self {
            Self::NotFound => ("Not found", "There is nothing here that you may see."),
            Self::SignedOut => ("Signed out", "Sign in again."),
            Self::ForeignOrigin => (
                "Refused",
                "This request came from another site. Open the dashboard itself and try again there.",
            ),
            Self::WrongToken => (
                "The form is too old",
                "It was opened before you signed in, in another session, or for another merchant. Go back, reload the page and try again.",
            ),
            Self::TooLarge => ("Too large", "The form is too large. Shorten or split it."),
            Self::Unreadable => {
                ("Unreadable", "The form could not be read. Go back and send it again.")
            }
            Self::Refused(action) => {
                let text = format!(
                    "Your role does not include {action}. Ask an owner of the account, or an administrator."
                );
                return ("Not allowed", text);
            }
            Self::Suspended => (
                "Suspended",
                "An operator has suspended this merchant: its pages can be read, and nothing can be changed. Ask an operator.",
            ),
            Self::LinkUsed => (
                "This link is no longer valid",
                "It was used or has expired. Ask its sender for a new one.",
            ),
            Self::Conflict(text) => return ("Not done", text.clone()),
            Self::Busy => (
                "No answer in time",
                "The gateway could not answer in time. What you asked for may have been done, wholly or in part: look before you repeat it.",
            ),
            Self::Broken => (
                "Internal error",
                "The request failed. Try again later. If it fails again, tell the operators: the logs name the cause.",
            ),
        };
        (title, text.to_owned())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        if matches!(self, Self::SignedOut) {
            return Redirect::to("/sign-in").into_response();
        }
        let (title, text) = self.words();
        let page =
            Page { style: STYLE_PATH.as_str(), icon: ICON_PATH.as_str(), title, text: &text };
        let html = page.render().unwrap_or_else(|_| title.to_owned());
        (self.status(), Html(html)).into_response()
    }
}
