//! The account of whoever is signed in: roles, password, second factors, sessions, news.

pub mod codes;
pub mod confirm;
pub mod passkeys;
mod security_events;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::{
        Action, Role,
        factor::Factors,
        password::{LENGTH_MAX, LENGTH_MIN, Password},
    },
    storage::accounts::{MembershipRow, passkeys::ListedPasskey, sessions::ListedSession},
};
use uuid::Uuid;

use crate::{
    problem::Problem,
    shell::{Shell, page_with},
    sign_in::refusal,
    visit::{Visit, with_session},
};

#[derive(Template)]
#[template(path = "account/page.html")]
struct Page {
    shell: Shell,
    factors: Factors,
    passkeys: Vec<ListedPasskey>,
    must_set_up_factor: bool,
    came_by_recovery: bool,
    memberships: Vec<MembershipRow>,
    chosen: Option<Uuid>,
    sessions: Vec<ListedSession>,
    this: Uuid,
    news: Vec<security_events::Line>,
    length_min: usize,
    length_max: usize,
}

impl Page {
    fn is_chosen(&self, merchant_id: &Uuid) -> bool {
        self.chosen.as_ref() == Some(merchant_id)
    }

    /// The actions that a role includes, for people who wonder.
    fn actions(&self, role: &Role) -> String {
        let of_role = Action::ALL.iter().filter(|action| action.is_for(*role));
        of_role.map(|action| action.as_str()).collect::<Vec<_>>().join(", ")
    }
}

async fn show(
    gateway: &crate::State,
    visit: &Visit,
    status: StatusCode,
    shell: Shell,
) -> Result<Response, Problem> {
    let signed = visit.signed()?;
    let page = Page {
        shell,
        factors: gateway.factors(signed).await?,
        passkeys: gateway.passkeys_of(signed).await?,
        must_set_up_factor: signed.operator_role().is_some() && !signed.has_factor(),
        came_by_recovery: signed.row.by_recovery,
        memberships: signed.memberships.clone(),
        chosen: signed.row.merchant_id,
        sessions: gateway.sessions_of(signed).await?,
        this: signed.row.handle,
        news: security_events::lines(&gateway.security_news(signed).await?, &signed.row.email),
        length_min: LENGTH_MIN,
        length_max: LENGTH_MAX,
    };
    page_with(status, &page)
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let mut shell = Shell::of(&visit, "/account");
    let done = match visit.asked("done") {
        Some("password") => Some("The password was changed, and your other sessions have ended."),
        Some("passkey") => Some("The passkey was added, and your other sessions have ended."),
        Some("factor") => Some("It was removed, and your other sessions have ended."),
        Some(_) | None => None,
    };
    if let Some(text) = done {
        shell = shell.with_notice(text);
    }
    show(&gateway, &visit, StatusCode::OK, shell).await
}

pub async fn change_password(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let password = Password::new(visit.form.text("password").to_owned());
    match gateway.change_password(visit.signed()?, password).await {
        Ok(id) => Ok(with_session(&gateway, &id, "/account?done=password")),
        Err(error) => {
            let shell = Shell::of(&visit, "/account").with_error(refusal(error)?);
            show(&gateway, &visit, StatusCode::UNPROCESSABLE_ENTITY, shell).await
        }
    }
}

pub async fn end_session(
    State(gateway): State<crate::State>,
    Path(handle): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let handle = Uuid::try_parse(&handle).map_err(|_| Problem::NotFound)?;
    if gateway.end_session(visit.signed()?, handle).await? {
        Ok(Redirect::to("/account").into_response())
    } else {
        Err(Problem::NotFound)
    }
}

pub async fn choose_merchant(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(visit.form.text("merchant")).map_err(|_| Problem::NotFound)?;
    if gateway.choose_merchant(visit.signed()?, id).await? {
        Ok(Redirect::to("/").into_response())
    } else {
        Err(Problem::NotFound)
    }
}
