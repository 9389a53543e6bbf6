//! Signing in, by password and code, or in the sandbox by a link; signing out.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::{Action, bearer::Bearer, passkey::Purpose, password::Password},
    app::account::SignInError,
    storage::accounts::sessions::Factor,
};

use crate::{
    cookie::{self, Kind},
    passkey::{self, Blank, PasskeyForm},
    problem::Problem,
    shell::{Shell, page as show, page_with},
    visit::{Visit, entered, with_opened},
};

#[derive(Template)]
#[template(path = "sign_in/page.html")]
struct SignIn {
    shell: Shell,
    /// As it was typed, so that it need not be typed again.
    email: String,
    passkey: Option<PasskeyForm>,
}

#[derive(Template)]
#[template(path = "sign_in/code.html")]
struct Code {
    shell: Shell,
    has_codes: bool,
    passkey: Option<PasskeyForm>,
}

#[derive(Template)]
#[template(path = "sign_in/link.html")]
struct Link {
    shell: Shell,
}

async fn sign_in(gateway: &crate::State, visit: &Visit, shell: Shell, email: String) -> SignIn {
    let blank = Blank {
        path: "/sign-in/passkey",
        action: Action::SessionOpen,
        label: "Sign in with a passkey",
        purpose: Purpose::SignIn,
        next: None,
    };
    SignIn { shell, email, passkey: passkey::form(gateway, visit, blank).await }
}

async fn code(gateway: &crate::State, visit: &Visit, shell: Shell) -> Result<Code, Problem> {
    let blank = Blank {
        path: "/sign-in/code/passkey",
        action: Action::CodeEnter,
        label: "Use a passkey",
        purpose: Purpose::SecondFactor,
        next: None,
    };
    let has_codes = visit.signed()?.row.has_codes;
    Ok(Code { shell, has_codes, passkey: passkey::form(gateway, visit, blank).await })
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    show(&sign_in(&gateway, &visit, Shell::bare(&visit), String::new()).await)
}

pub async fn submit(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let email = visit.form.text("email").to_owned();
    let password = Password::new(visit.form.text("password").to_owned());
    match gateway.sign_in(&email, password, &visit.visitor).await {
        Ok(opened) => {
            let to = if opened.complete { "/" } else { "/sign-in/code" };
            entered(&gateway, &visit, &opened, to).await
        }
        Err(error) => {
            let shell = Shell::bare(&visit).with_error(refusal(error)?);
            let page = sign_in(&gateway, &visit, shell, email).await;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
    }
}

pub async fn submit_passkey(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let answer = passkey::answer(&visit.form);
    match gateway.sign_in_by_passkey(visit.holder(), &answer, &visit.visitor).await {
        Ok(opened) => entered(&gateway, &visit, &opened, "/").await,
        Err(error) => {
            let shell = Shell::bare(&visit).with_error(refusal(error)?);
            let page = sign_in(&gateway, &visit, shell, String::new()).await;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
    }
}

/// The sentence of a refusal; an error that is none of the caller's passes on.
pub fn refusal(error: SignInError) -> Result<String, Problem> {
    let problem = Problem::from(error);
    if let Problem::Conflict(text) = problem { Ok(text) } else { Err(problem) }
}

pub async fn code_page(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    if visit.signed()?.row.complete {
        return Ok(Redirect::to("/").into_response());
    }
    show(&code(&gateway, &visit, Shell::bare(&visit)).await?)
}

pub async fn submit_code(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let signed = visit.signed()?;
    if signed.row.complete {
        return Ok(Redirect::to("/").into_response());
    }
    match gateway.enter_code(signed, visit.form.text("code"), &visit.visitor).await {
        // The device may be lost: its place is set up anew before anything else.
        Ok((opened, Factor::Recovery)) => Ok(with_opened(&gateway, &opened, "/account")),
        Ok((opened, Factor::Code | Factor::Passkey)) => Ok(with_opened(&gateway, &opened, "/")),
        Err(error) => again(&gateway, &visit, error).await,
    }
}

pub async fn submit_second_passkey(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let signed = visit.signed()?;
    if signed.row.complete {
        return Ok(Redirect::to("/").into_response());
    }
    let answer = passkey::answer(&visit.form);
    match gateway.enter_passkey(signed, visit.holder(), &answer, &visit.visitor).await {
        Ok(opened) => Ok(with_opened(&gateway, &opened, "/")),
        Err(error) => again(&gateway, &visit, error).await,
    }
}

async fn again(
    gateway: &crate::State,
    visit: &Visit,
    error: SignInError,
) -> Result<Response, Problem> {
    let shell = Shell::bare(visit).with_error(refusal(error)?);
    page_with(StatusCode::UNPROCESSABLE_ENTITY, &code(gateway, visit, shell).await?)
}

/// Shows one button and uses nothing up: mail scanners open links.
pub async fn link_page(
    State(gateway): State<crate::State>,
    Path(token): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let token = Bearer::parse(&token).ok_or(Problem::LinkUsed)?;
    if !gateway.is_sign_in_link(&token).await? {
        return Err(Problem::LinkUsed);
    }
    show(&Link { shell: Shell::bare(&visit) })
}

pub async fn submit_link(
    State(gateway): State<crate::State>,
    Path(token): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let token = Bearer::parse(&token).ok_or(Problem::LinkUsed)?;
    let opened = gateway.sign_in_by_link(&token, &visit.visitor).await?;
    entered(&gateway, &visit, &opened, "/").await
}

pub async fn close(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let signed = visit.signed()?;
    gateway.end_session(signed, signed.row.handle).await?;
    let mut response = Redirect::to("/sign-in").into_response();
    if let Some(line) = cookie::clear(Kind::Session, &gateway.config.dashboard_url) {
        response.headers_mut().append(header::SET_COOKIE, line);
    }
    Ok(response)
}
