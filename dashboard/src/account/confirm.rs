//! A fresh proof, before an action that a stolen session must not reach.

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use gateway::{
    account::{Action, bearer::Bearer, passkey::Purpose, password::Password},
    app::account::SignInError,
};

use crate::{
    next_page::NextPage,
    passkey::{self, Blank, PasskeyForm},
    problem::Problem,
    shell::{Shell, page as show, page_with},
    sign_in::refusal,
    visit::{Visit, with_session},
};

#[derive(Template)]
#[template(path = "account/confirm.html")]
struct Page {
    shell: Shell,
    next: NextPage,
    has_codes: bool,
    has_factor: bool,
    passkey: Option<PasskeyForm>,
}

async fn confirm(
    gateway: &crate::State,
    visit: &Visit,
    shell: Shell,
    next: NextPage,
) -> Result<Page, Problem> {
    let blank = Blank {
        path: "/account/confirm/passkey",
        action: Action::AccountConfirm,
        label: "Confirm with a passkey",
        purpose: Purpose::Confirm,
        next: Some(next.clone()),
    };
    let signed = visit.signed()?;
    let (has_codes, has_factor) = (signed.row.has_codes, signed.has_factor());
    let passkey = passkey::form(gateway, visit, blank).await;
    Ok(Page { shell, next, has_codes, has_factor, passkey })
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let shell = Shell::of(&visit, "/account");
    show(&confirm(&gateway, &visit, shell, NextPage::read(&visit.query)).await?)
}

pub async fn submit(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let password = Password::new(visit.form.text("password").to_owned());
    let code = visit.form.text("code");
    let done = gateway.confirm_session(visit.signed()?, password, code).await;
    answered(&gateway, &visit, done).await
}

pub async fn submit_passkey(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let answer = passkey::answer(&visit.form);
    let done = gateway.confirm_by_passkey(visit.signed()?, visit.holder(), &answer).await;
    answered(&gateway, &visit, done).await
}

async fn answered(
    gateway: &crate::State,
    visit: &Visit,
    done: Result<Bearer, SignInError>,
) -> Result<Response, Problem> {
    let next = NextPage::read(&visit.form);
    match done {
        Ok(id) => Ok(with_session(gateway, &id, &next.path())),
        Err(error) => {
            let shell = Shell::of(visit, "/account").with_error(refusal(error)?);
            let page = confirm(gateway, visit, shell, next).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
    }
}
