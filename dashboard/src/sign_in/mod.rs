//! Signing in, by password and code, or in the sandbox by a link; signing out.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::{bearer::Bearer, password::Password},
    app::account::SignInError,
};

use crate::{
    cookie::{self, Kind},
    problem::Problem,
    shell::{Shell, page as show, page_with},
    visit::{Visit, with_session},
};

#[derive(Template)]
#[template(path = "sign_in/page.html")]
struct SignIn {
    shell: Shell,
    /// As it was typed, so that it need not be typed again.
    email: String,
}

#[derive(Template)]
#[template(path = "sign_in/code.html")]
struct Code {
    shell: Shell,
}

#[derive(Template)]
#[template(path = "sign_in/link.html")]
struct Link {
    shell: Shell,
}

pub async fn page(visit: Visit) -> Result<Response, Problem> {
    show(&SignIn { shell: Shell::bare(&visit), email: String::new() })
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
            Ok(with_session(&gateway, &opened.id, to))
        }
        Err(error) => {
            let shell = Shell::bare(&visit).with_error(refusal(error)?);
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &SignIn { shell, email })
        }
    }
}

/// The sentence of a refusal; an error that is none of the caller's passes on.
pub fn refusal(error: SignInError) -> Result<String, Problem> {
    let problem = Problem::from(error);
    if let Problem::Conflict(text) = problem { Ok(text) } else { Err(problem) }
}

pub async fn code_page(visit: Visit) -> Result<Response, Problem> {
    if visit.signed()?.row.complete {
        return Ok(Redirect::to("/").into_response());
    }
    show(&Code { shell: Shell::bare(&visit) })
}

pub async fn submit_code(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let signed = visit.signed()?;
    if signed.row.complete {
        return Ok(Redirect::to("/").into_response());
    }
    match gateway.enter_code(signed, visit.form.text("code")).await {
        Ok(id) => Ok(with_session(&gateway, &id, "/")),
        Err(error) => {
            let shell = Shell::bare(&visit).with_error(refusal(error)?);
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &Code { shell })
        }
    }
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
    Ok(with_session(&gateway, &opened.id, "/"))
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
