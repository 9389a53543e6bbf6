//! Merchants, for operators: created, suspended, resumed.

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
        merchant::{manage::NewMerchant, oversee::REASON_CHARS_MAX},
    },
    merchant::settings::Settings,
    storage::merchants::MerchantRow,
};
use uuid::Uuid;

use crate::{
    audit::{Line, lines},
    developers::problem,
    list::{self, ROWS, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page as show, page_with},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "merchants/page.html")]
struct Page {
    shell: Shell,
    words: String,
    rows: Vec<MerchantRow>,
    older: Option<String>,
    may_create: bool,
    /// The id of the merchant that the form would create: sent twice, it creates one.
    new_id: Uuid,
}

#[derive(Template)]
#[template(path = "merchants/detail.html")]
struct Detail {
    shell: Shell,
    row: MerchantRow,
    may_suspend: bool,
    entries: Option<Vec<Line>>,
    reason_max: usize,
}

#[derive(Template)]
#[template(path = "merchants/once.html")]
struct Once {
    shell: Shell,
    new: NewMerchant,
}

const HERE: &str = "/operator/merchants";

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    listed(&gateway, &visit, StatusCode::OK, Shell::of(&visit, HERE)).await
}

async fn listed(
    gateway: &crate::State,
    visit: &Visit,
    status: StatusCode,
    shell: Shell,
) -> Result<Response, Problem> {
    let words: String = visit.asked("q").unwrap_or_default().replace('\0', "");
    let before = visit.asked("older").and_then(list::place).unwrap_or_else(list::newest);
    let mut rows = gateway.merchants_before(&words, before, ROWS_AND_NEXT).await?;
    let is_more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let last = rows.last().filter(|_| is_more);
    let older = last.map(|row| {
        let words: String = url::form_urlencoded::byte_serialize(words.as_bytes()).collect();
        format!("{HERE}?older={}&q={words}", list::cursor(row.created_at, row.id))
    });
    let may_create = visit.signed()?.may(Action::MerchantCreate) == Permission::Granted;
    page_with(status, &Page { shell, words, rows, older, may_create, new_id: Uuid::now_v7() })
}

pub async fn create(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(visit.form.text("id")).map_err(|_| Problem::NotFound)?;
    let name = visit.form.text("name");
    let done = gateway.create_merchant_as(id, name, Settings::default()).await;
    match done.map_err(problem) {
        Ok(new) => show(&Once { shell: Shell::of(&visit, HERE), new }),
        Err(Problem::Conflict(text)) => {
            let shell = Shell::of(&visit, HERE).with_error(text);
            listed(&gateway, &visit, StatusCode::UNPROCESSABLE_ENTITY, shell).await
        }
        Err(other) => Err(other),
    }
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::NotFound)?;
    let row = gateway.merchant(id).await.map_err(problem)?;
    let signed = visit.signed()?;
    let may = |action| signed.may(action) == Permission::Granted;
    let entries = if may(Action::AuditView) {
        let found = gateway.audit(Some(&id.to_string()), None).await?;
        Some(lines(&found[..found.len().min(ROWS)]))
    } else {
        None
    };
    show(&Detail {
        shell: Shell::of(&visit, HERE),
        row,
        may_suspend: may(Action::MerchantSuspend),
        entries,
        reason_max: REASON_CHARS_MAX,
    })
}

pub async fn suspend(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    set_suspended(&gateway, &id, &visit, true).await
}

pub async fn resume(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    set_suspended(&gateway, &id, &visit, false).await
}

async fn set_suspended(
    gateway: &crate::State,
    id: &str,
    visit: &Visit,
    suspended: bool,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(id).map_err(|_| Problem::NotFound)?;
    let reason = visit.form.filled("reason").unwrap_or_default().replace('\0', "");
    if reason.is_empty() {
        return Err(Problem::Conflict(
            "Give a reason, for whoever reads the audit log.".to_owned(),
        ));
    }
    let done = gateway.set_suspended_because(id, suspended, &reason, visit.email()?).await;
    done.map_err(problem)?;
    Ok(Redirect::to(&format!("{HERE}/{id}")).into_response())
}
