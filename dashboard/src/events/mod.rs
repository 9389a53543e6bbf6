//! Webhooks of a merchant: listed, read with each attempt, sent again.

use askama::Template;
use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{
        account::session::Permission,
        event::resend::{EventDetail, ResendError},
    },
    storage::deliveries::DeliveryRow,
    webhook::retry::DeliveryState,
};

use crate::{
    list::{self, ROWS, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "events/page.html")]
struct Page {
    shell: Shell,
    state: Option<DeliveryState>,
    rows: Vec<DeliveryRow>,
    older: Option<String>,
}

#[derive(Template)]
#[template(path = "events/detail.html")]
struct Detail {
    shell: Shell,
    found: EventDetail,
    may_resend: bool,
}

impl Page {
    fn is_state(&self, state: &DeliveryState) -> bool {
        self.state.as_ref() == Some(state)
    }
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let state: Option<DeliveryState> = visit.asked("state").and_then(|text| text.parse().ok());
    let before = visit.asked("older").and_then(list::place).unwrap_or_else(list::newest);
    let mut rows = gateway.deliveries_before(merchant_id, state, before, ROWS_AND_NEXT).await?;
    let is_more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let last = rows.last().filter(|_| is_more).map(|row| list::cursor(row.created_at, row.id));
    let older = last.map(|cursor| {
        let state = state.map(|state| format!("&state={state}")).unwrap_or_default();
        format!("/events?older={cursor}{state}")
    });
    show(&Page { shell: Shell::of(&visit, "/events"), state, rows, older })
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let found = gateway.find_event(merchant_id, &id).await?.ok_or(Problem::NotFound)?;
    let may = visit.signed()?.may(Action::EventResend) == Permission::Granted;
    let may_resend = may && found.event.delivery.is_some();
    let mut shell = Shell::of(&visit, "/events");
    if visit.asked("done") == Some("resent") {
        shell = shell.with_notice("It is sent again now, as often as a new event would be.");
    }
    show(&Detail { shell, found, may_resend })
}

pub async fn resend(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    match gateway.resend_event(merchant_id, &id).await {
        Ok(found) => {
            let to = format!("/events/{}?done=resent", found.event.event_id);
            Ok(Redirect::to(&to).into_response())
        }
        Err(ResendError::NotFound) => Err(Problem::NotFound),
        Err(ResendError::Storage(error)) => Err(error.into()),
        Err(error @ ResendError::NoWebhook) => Err(Problem::Conflict(error.to_string())),
    }
}
