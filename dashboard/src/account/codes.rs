//! Setting up the second factor: a secret for the app, its first code, the recovery codes.

use askama::{Template, filters::Safe};
use axum::{extract::State, http::StatusCode, response::Response};
use gateway::{
    account::{
        bearer::{Bearer, RecoveryCode},
        totp::TotpSecret,
    },
    app::account::SignInError,
};

use super::show as show_account;
use crate::{
    problem::Problem,
    qr,
    shell::{Shell, page as show, page_with},
    sign_in::refusal,
    visit::{Visit, form_token, with_session, with_session_in},
};

#[derive(Template)]
#[template(path = "account/codes.html")]
struct SetUp {
    shell: Shell,
    secret: String,
    qr: Safe<String>,
}

#[derive(Template)]
#[template(path = "account/recovery.html")]
struct Recovery {
    shell: Shell,
    codes: Vec<RecoveryCode>,
}

impl SetUp {
    fn new(shell: Shell, secret: &TotpSecret, email: &str) -> Self {
        let qr = qr::svg(&secret.uri("Gateway", email), "Code for your authenticator app");
        Self { shell, secret: grouped(&secret.base32()), qr }
    }
}

/// In groups of four, as people type it.
fn grouped(text: &str) -> String {
    let groups: Vec<_> = (0..text.len()).step_by(4).map(|at| &text[at..at + 4]).collect();
    groups.join(" ")
}

pub async fn begin(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let secret = gateway.begin_codes(visit.signed()?).await?;
    show(&SetUp::new(Shell::of(&visit, "/account"), &secret, visit.email()?))
}

pub async fn confirm(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let signed = visit.signed()?;
    match gateway.confirm_codes(signed, visit.form.text("code")).await {
        Ok(done) => {
            let page = recovery_page(&visit, &done.session, done.recovery)?;
            Ok(with_session_in(&gateway, &done.session, page))
        }
        Err(error) => {
            let pending = gateway.pending_codes(signed).await?;
            let Some(secret) = pending else { return refused(&gateway, &visit, error).await };
            let shell = Shell::of(&visit, "/account").with_error(refusal(error)?);
            let page = SetUp::new(shell, &secret, visit.email()?);
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
    }
}

/// The one page with the recovery codes.
pub fn recovery_page(
    visit: &Visit,
    session: &Bearer,
    codes: Vec<RecoveryCode>,
) -> Result<Response, Problem> {
    // The token of the page belongs to the session's new id.
    let token = form_token(session, visit.anyone());
    let shell = Shell { token, ..Shell::of(visit, "/account") };
    show(&Recovery { shell, codes })
}

pub async fn remove(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    match gateway.remove_codes(visit.signed()?).await {
        Ok(session) => Ok(with_session(&gateway, &session, "/account?done=factor")),
        Err(error) => refused(&gateway, &visit, error).await,
    }
}

pub async fn replace_recovery(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    match gateway.replace_recovery_codes(visit.signed()?).await {
        Ok(done) => {
            let page = recovery_page(&visit, &done.session, done.recovery)?;
            Ok(with_session_in(&gateway, &done.session, page))
        }
        Err(error) => refused(&gateway, &visit, error).await,
    }
}

async fn refused(
    gateway: &crate::State,
    visit: &Visit,
    error: SignInError,
) -> Result<Response, Problem> {
    let shell = Shell::of(visit, "/account").with_error(refusal(error)?);
    show_account(gateway, visit, StatusCode::CONFLICT, shell).await
}
