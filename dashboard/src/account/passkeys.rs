//! Passkeys of an account: added, listed and removed.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use gateway::account::{Action, passkey::Purpose};
use uuid::Uuid;

use super::{codes, show as show_account};
use crate::{
    passkey::{self, Blank, PasskeyForm},
    problem::Problem,
    shell::{Shell, page_with},
    sign_in::refusal,
    visit::{Visit, with_session, with_session_in},
};

#[derive(Template)]
#[template(path = "account/passkey.html")]
struct Add {
    shell: Shell,
    passkey: Option<PasskeyForm>,
}

async fn add_page(
    gateway: &crate::State,
    visit: &Visit,
    status: StatusCode,
    shell: Shell,
) -> Result<Response, Problem> {
    let blank = Blank {
        path: "/account/passkeys/add",
        action: Action::PasskeyAdd,
        label: "Make the passkey",
        purpose: Purpose::Register,
        next: None,
    };
    page_with(status, &Add { shell, passkey: passkey::form(gateway, visit, blank).await })
}

pub async fn begin(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    add_page(&gateway, &visit, StatusCode::OK, Shell::of(&visit, "/account")).await
}

pub async fn add(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let (answer, name) = (passkey::answer(&visit.form), visit.form.text("name"));
    match gateway.add_passkey(visit.signed()?, visit.holder(), &answer, name).await {
        Ok(added) if added.recovery.is_empty() => {
            Ok(with_session(&gateway, &added.session, "/account?done=passkey"))
        }
        Ok(added) => {
            let page = codes::recovery_page(&visit, &added.session, added.recovery)?;
            Ok(with_session_in(&gateway, &added.session, page))
        }
        Err(error) => {
            let shell = Shell::of(&visit, "/account").with_error(refusal(error)?);
            add_page(&gateway, &visit, StatusCode::UNPROCESSABLE_ENTITY, shell).await
        }
    }
}

pub async fn remove(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::NotFound)?;
    match gateway.remove_passkey(visit.signed()?, id).await {
        Ok(Some(session)) => Ok(with_session(&gateway, &session, "/account?done=factor")),
        Ok(None) => Err(Problem::NotFound),
        Err(error) => {
            let shell = Shell::of(&visit, "/account").with_error(refusal(error)?);
            show_account(&gateway, &visit, StatusCode::CONFLICT, shell).await
        }
    }
}
