//! Merchants, for operators: created, changed, suspended, resumed, and read as they see themselves.

pub mod owner;

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
        merchant::{
            admin::REASON_CHARS_MAX,
            change::{Changes, version},
            manage::{MerchantError, NewMerchant},
        },
        payout::OperateError,
    },
    merchant::settings::Settings,
    money::Bps,
    storage::merchants::{MerchantRow, PayoutLimits},
};
use uuid::Uuid;

use crate::{
    audit::{Line, lines},
    developers::problem,
    list::{self, ROWS, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page as show, page_with},
    team::MAILED,
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
    version: String,
    may_suspend: bool,
    may_change: bool,
    may_limit: bool,
    /// Nobody owns it yet, and the caller may invite somebody.
    may_invite: bool,
    may_mail: bool,
    /// Payout limits of its own, in whole USD.
    limits: PayoutLimits,
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
/// Entries of the audit log on a merchant's page.
const ENTRIES: i64 = 25;

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
    let mut shell = Shell::of(&visit, HERE);
    match visit.asked("done") {
        Some("mailed") => shell = shell.with_notice(MAILED),
        Some(_) => {
            shell = shell.with_notice("Saved. Open payments keep what they were created with.");
        }
        None => {}
    }
    shown(&gateway, id, &visit, (StatusCode::OK, shell)).await
}

async fn shown(
    gateway: &crate::State,
    id: Uuid,
    visit: &Visit,
    (status, shell): (StatusCode, Shell),
) -> Result<Response, Problem> {
    let row = gateway.merchant(id).await.map_err(problem)?;
    let signed = visit.signed()?;
    let may = |action| signed.may(action) == Permission::Granted;
    let entries = if may(Action::AuditView) {
        Some(lines(&gateway.audit_of(&id.to_string(), ENTRIES).await?))
    } else {
        None
    };
    let page = Detail {
        shell,
        version: version(&row),
        row,
        may_suspend: may(Action::MerchantSuspend),
        may_change: may(Action::MerchantChange),
        may_limit: may(Action::PayoutLimit),
        may_invite: may(Action::MerchantInvite) && !gateway.has_owner(id).await?,
        may_mail: gateway.config.mail.enabled,
        limits: gateway.own_payout_limits(id).await?,
        entries,
        reason_max: REASON_CHARS_MAX,
    };
    page_with(status, &page)
}

/// Quotas and windows of a merchant, as they were seen in the form.
pub async fn change(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::NotFound)?;
    let form = &visit.form;
    let number = |name: &str| form.text(name).trim().parse::<u32>().ok();
    let (open, bps) = (number("open_invoices_max"), number("overpay_bps"));
    let (payment, selection) = (number("payment_window"), number("selection_window"));
    if [open, bps, payment, selection].contains(&None) {
        let shell = Shell::of(&visit, HERE).with_error("Each of these is a whole number.");
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return shown(&gateway, id, &visit, (status, shell)).await;
    }
    let changes = Changes {
        open_invoices_max: open,
        overpay_tolerance: bps.map(Bps::new),
        payment_window_seconds: payment,
        selection_window_seconds: selection,
        ..Changes::default()
    };
    let done = gateway.change_merchant_seen(id, Some(form.text("version")), changes).await;
    saved(&gateway, id, &visit, done.map(drop)).await
}

async fn saved(
    gateway: &crate::State,
    id: Uuid,
    visit: &Visit,
    done: Result<(), MerchantError>,
) -> Result<Response, Problem> {
    match done.map_err(problem) {
        Ok(()) => Ok(Redirect::to(&format!("{HERE}/{id}?done=saved")).into_response()),
        Err(Problem::Conflict(text)) => {
            let shell = Shell::of(visit, HERE).with_error(text);
            shown(gateway, id, visit, (StatusCode::UNPROCESSABLE_ENTITY, shell)).await
        }
        Err(other) => Err(other),
    }
}

/// A merchant's own payout limits; an empty field leaves one as it is.
pub async fn limit(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::NotFound)?;
    let number = |name: &str| match visit.form.filled(name) {
        None => Ok(None),
        Some(text) => text.parse::<u64>().ok().filter(|usd| *usd > 0).map(Some).ok_or(()),
    };
    let (Ok(hour), Ok(day)) = (number("hour_usd"), number("day_usd")) else {
        let shell = Shell::of(&visit, HERE).with_error("A limit is a whole number of USD above 0.");
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return shown(&gateway, id, &visit, (status, shell)).await;
    };
    match gateway.set_payout_limits(id, (hour, day)).await {
        Ok(_) => Ok(Redirect::to(&format!("{HERE}/{id}?done=saved")).into_response()),
        Err(OperateError::UnknownMerchant(_)) => Err(Problem::NotFound),
        Err(OperateError::Storage(error)) => Err(error.into()),
        Err(error) => Err(Problem::Conflict(error.to_string())),
    }
}

/// Shows the merchant's own pages, to be read alone.
pub async fn observe(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::NotFound)?;
    if gateway.observe_merchant(visit.signed()?, id).await? {
        Ok(Redirect::to("/").into_response())
    } else {
        Err(Problem::NotFound)
    }
}

pub async fn end_observation(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let ended = gateway.end_observation(visit.signed()?).await?;
    let to = ended.map_or_else(|| HERE.to_owned(), |id| format!("{HERE}/{id}"));
    Ok(Redirect::to(&to).into_response())
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
