//! A fresh proof, before an action that a stolen session must not reach.

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use gateway::account::{Action, password::Password};

use crate::{
    problem::Problem,
    shell::{Shell, page as show, page_with},
    sign_in::refusal,
    visit::{Visit, with_session},
};

#[derive(Template)]
#[template(path = "account/confirm.html")]
struct Page {
    shell: Shell,
    action: Action,
    has_codes: bool,
}

/// The action to go on with: a name of the table, never an address.
fn wanted(name: Option<&str>) -> Action {
    name.and_then(|name| name.parse().ok()).unwrap_or(Action::AccountView)
}

pub async fn page(visit: Visit) -> Result<Response, Problem> {
    let has_codes = visit.signed()?.row.has_codes;
    let action = wanted(visit.asked("for"));
    show(&Page { shell: Shell::of(&visit, "/account"), action, has_codes })
}

pub async fn submit(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let signed = visit.signed()?;
    let action = wanted(visit.form.filled("for"));
    let password = Password::new(visit.form.text("password").to_owned());
    match gateway.confirm_session(signed, password, visit.form.text("code")).await {
        Ok(id) => Ok(with_session(&gateway, &id, action.screen())),
        Err(error) => {
            let shell = Shell::of(&visit, "/account").with_error(refusal(error)?);
            let page = Page { shell, action, has_codes: signed.row.has_codes };
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
    }
}
