//! One resource: its id and address, the lines that charge for it, its newest settlements, the form
//! that changes its text, and the switch.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{
        account::session::Permission,
        x402::{ResourceError, by_hand::ByHandError},
    },
    asset::Network,
    storage::{
        payment_search::Side,
        x402::{lists::Filter, resources::Resource},
    },
};

use super::{
    new::{self, Typed},
    settlements::Row,
};
use crate::{
    list,
    problem::Problem,
    shell::{Shell, page_with},
    visit::Visit,
};

/// Settlements on the page of a resource.
const NEWEST: i64 = 10;

#[derive(Template)]
#[template(path = "x402/detail.html")]
struct Page {
    shell: Shell,
    resource: Resource,
    /// Its networks on which nobody can pay any more.
    gone: Vec<Network>,
    snippet: String,
    typed: Typed,
    rows: Vec<Row>,
    may_change: bool,
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let shell = Shell::of(&visit, super::HERE);
    let shell = match visit.asked("done") {
        Some("created") => {
            shell.with_notice("It is on sale. Put its id before the handler of the request.")
        }
        Some("saved") => {
            shell.with_notice("Saved. Servers that keep its terms follow in a minute.")
        }
        Some("on") => shell.with_notice("It is on sale again."),
        Some("off") => {
            shell.with_notice("It is sold no more. Payments that are under way still arrive.")
        }
        Some(_) | None => shell,
    };
    shown(&gateway, &visit, super::known(&id)?, (StatusCode::OK, shell, None)).await
}

/// The page, with the typed fields of a form that was refused.
async fn shown(
    gateway: &crate::State,
    visit: &Visit,
    resource_id: &str,
    (status, shell, typed): (StatusCode, Shell, Option<Typed>),
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let found = gateway.known_x402_resource(merchant_id, resource_id).await?;
    let resource = found.ok_or(Problem::NotFound)?;
    let ((at, id), first) = (list::newest(), chrono::DateTime::UNIX_EPOCH);
    let filter = Filter { address_id: Some(resource.address_id), state: None, from: first, to: at };
    let place = (Side::Older, at, id);
    let newest = gateway.x402_settlements_beside(merchant_id, &filter, place, NEWEST).await?;
    let offered = gateway.x402_networks();
    let terms = &resource.terms;
    let base = super::base_url(gateway);
    let page = Page {
        shell,
        gone: terms.networks.iter().copied().filter(|one| !offered.contains(one)).collect(),
        snippet: super::snippet(base, &resource.resource_id, &super::path_of(&terms.url)),
        typed: typed.unwrap_or_else(|| Typed {
            url: terms.url.clone(),
            description: terms.description.clone(),
            mime_type: terms.mime_type.clone(),
            timeout: terms.timeout_seconds.to_string(),
            listed: terms.listed,
        }),
        rows: newest.into_iter().map(|row| Row::of(gateway, row)).collect(),
        may_change: visit.signed()?.may(Action::X402Change) == Permission::Granted,
        resource,
    };
    page_with(status, &page)
}

pub async fn edit(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let resource_id = super::known(&id)?;
    // A form without its number has seen nothing.
    let seen = visit.form.text("seen").parse().unwrap_or(-1);
    let fields = new::fields(&visit.form);
    let by = visit.email()?;
    let done = gateway.edit_x402_by_hand(merchant_id, resource_id, (&fields, seen), by).await;
    let refused = match done {
        Ok(()) => {
            let to = format!("{}/{resource_id}?done=saved", super::HERE);
            return Ok(Redirect::to(&to).into_response());
        }
        Err(ByHandError::Storage(error)) => return Err(error.into()),
        Err(ByHandError::Refused(ResourceError::NotFound)) => return Err(Problem::NotFound),
        Err(refused) => refused,
    };
    // After another's change the form shows that change, and not the refused words.
    let typed = (!matches!(refused, ByHandError::Stale)).then(|| Typed::of(&visit.form));
    let shell = Shell::of(&visit, super::HERE).with_error(refused.to_string());
    let answer = (StatusCode::UNPROCESSABLE_ENTITY, shell, typed);
    shown(&gateway, &visit, resource_id, answer).await
}

pub async fn switch(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let resource_id = super::known(&id)?;
    let active = match visit.form.text("active") {
        "yes" => true,
        "no" => false,
        _ => return Err(Problem::Conflict("The form names no state. Open it again.".to_owned())),
    };
    let by = visit.email()?;
    match gateway.switch_x402_resource(merchant_id, resource_id, active, by).await {
        Ok(()) => {
            let done = if active { "on" } else { "off" };
            let to = format!("{}/{resource_id}?done={done}", super::HERE);
            Ok(Redirect::to(&to).into_response())
        }
        Err(ResourceError::NotFound) => Err(Problem::NotFound),
        Err(ResourceError::Storage(error)) => Err(error.into()),
        Err(refused) => Err(Problem::Conflict(format!("Not changed: {refused}."))),
    }
}
