//! Accepting an invitation.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use gateway::{
    account::{
        bearer::Bearer,
        password::{LENGTH_MAX, LENGTH_MIN, Password},
    },
    app::account::sign_in::Invited,
};

use crate::{
    problem::Problem,
    shell::{Shell, page as show, page_with},
    sign_in::refusal,
    visit::{Visit, entered},
};

#[derive(Template)]
#[template(path = "invitation/page.html")]
struct Page {
    shell: Shell,
    invited: Invited,
    length_min: usize,
    length_max: usize,
}

impl Page {
    const fn new(shell: Shell, invited: Invited) -> Self {
        Self { shell, invited, length_min: LENGTH_MIN, length_max: LENGTH_MAX }
    }
}

async fn invited(gateway: &crate::State, token: &str) -> Result<(Bearer, Invited), Problem> {
    let token = Bearer::parse(token).ok_or(Problem::LinkUsed)?;
    let invited = gateway.invited(&token).await?.ok_or(Problem::LinkUsed)?;
    Ok((token, invited))
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(token): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let (_, invited) = invited(&gateway, &token).await?;
    show(&Page::new(Shell::bare(&visit), invited))
}

pub async fn accept(
    State(gateway): State<crate::State>,
    Path(token): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let (token, invited) = invited(&gateway, &token).await?;
    let password = Password::new(visit.form.text("password").to_owned());
    match gateway.accept_invitation(&token, password, &visit.visitor).await {
        Ok(opened) => {
            let to = if opened.complete { "/account" } else { "/sign-in/code" };
            entered(&gateway, &visit, &opened, to).await
        }
        Err(error) => {
            let shell = Shell::bare(&visit).with_error(refusal(error)?);
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &Page::new(shell, invited))
        }
    }
}
