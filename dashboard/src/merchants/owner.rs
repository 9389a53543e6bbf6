//! The first owner of a merchant, invited by an operator: later owners invite one another.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use gateway::app::account::create::CreateError;
use uuid::Uuid;

use super::{HERE, shown};
use crate::{
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

/// The one page with the invitation's address.
#[derive(Template)]
#[template(path = "merchants/invited.html")]
struct Invited {
    shell: Shell,
    merchant_id: Uuid,
    email: String,
    url: String,
}

pub async fn invite(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::NotFound)?;
    let email = visit.form.text("email");
    let by_mail = visit.form.text("way") == "mail";
    match gateway.invite_first_owner(id, email, visit.email()?, by_mail).await {
        Ok(_) if by_mail => Ok(Redirect::to(&format!("{HERE}/{id}?done=mailed")).into_response()),
        Ok(invitation) => show(&Invited {
            shell: Shell::of(&visit, HERE),
            merchant_id: id,
            email: email.trim().to_ascii_lowercase(),
            url: invitation.url,
        }),
        Err(CreateError::UnknownMerchant(_)) => Err(Problem::NotFound),
        Err(CreateError::Storage(error)) => Err(error.into()),
        Err(refused) => {
            let shell = Shell::of(&visit, HERE).with_error(format!("Not invited: {refused}."));
            shown(&gateway, id, &visit, (StatusCode::UNPROCESSABLE_ENTITY, shell)).await
        }
    }
}
