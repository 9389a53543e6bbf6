//! Announcements: operators write them, everybody sees and dismisses them.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{
        account::session::{Permission, Signed},
        mail::MailedAnnouncement,
        operator::announce::{AnnounceError, BODY_CHARS_MAX, DAYS_MAX, TITLE_CHARS_MAX},
    },
    storage::operator::announcements::{Announcement, Shown},
};
use uuid::Uuid;

use crate::{
    list::{self, ROWS, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page_with},
    visit::Visit,
};

const HERE: &str = "/operator/announcements";

/// Lines above every page: a merchant that is only read, and announcements.
#[derive(Default)]
pub struct Banners {
    pub observed: Option<String>,
    pub announcements: Vec<Shown>,
    /// The screen to come back to.
    pub here: String,
}

impl Banners {
    pub fn of(visit: &Visit, signed: &Signed, here: &str) -> Self {
        let observed = signed.observed.as_ref().map(|observed| observed.name.clone());
        let announcements = visit.announcements.clone();
        Self { observed, announcements, here: here.to_owned() }
    }
}

#[derive(Template)]
#[template(path = "announcements/page.html")]
struct Page {
    shell: Shell,
    rows: Vec<Announcement>,
    older: Option<String>,
    may_publish: bool,
    /// Mails are sent here.
    is_mailing: bool,
    may_mail: bool,
    /// The id of the announcement that the form would make: sent twice, it makes one.
    new_id: Uuid,
    title: String,
    body: String,
    days: String,
    title_max: usize,
    body_max: usize,
    days_max: i32,
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let mut shell = Shell::of(&visit, HERE);
    match visit.asked("done") {
        Some("published") => shell = shell.with_notice("Everybody who signs in sees it now."),
        Some("withdrawn") => shell = shell.with_notice("Nobody sees it any more."),
        Some("mailed") => {
            let count = visit.asked("count").and_then(|text| text.parse::<u32>().ok());
            let owners = count.unwrap_or_default();
            shell =
                shell.with_notice(format!("Mails to {owners} owners are written, and sent now."));
        }
        Some(_) | None => {}
    }
    listed(&gateway, &visit, StatusCode::OK, shell).await
}

async fn listed(
    gateway: &crate::State,
    visit: &Visit,
    status: StatusCode,
    shell: Shell,
) -> Result<Response, Problem> {
    let before = visit.asked("older").and_then(list::place).unwrap_or_else(list::newest);
    let mut rows = gateway.announcements_before(before, ROWS_AND_NEXT).await?;
    let is_more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let last = rows.last().filter(|_| is_more);
    let older = last.map(|row| format!("{HERE}?older={}", list::cursor(row.created_at, row.id)));
    let signed = visit.signed()?;
    let may = |action| signed.may(action) == Permission::Granted;
    let is_mailing = gateway.config.mail.enabled;
    let typed = |name| visit.form.text(name).to_owned();
    let page = Page {
        shell,
        rows,
        older,
        may_publish: may(Action::AnnouncementPublish),
        is_mailing,
        may_mail: is_mailing && may(Action::AnnouncementMail),
        new_id: Uuid::now_v7(),
        title: typed("title"),
        body: typed("body"),
        days: typed("days"),
        title_max: TITLE_CHARS_MAX,
        body_max: BODY_CHARS_MAX,
        days_max: DAYS_MAX,
    };
    page_with(status, &page)
}

pub async fn publish(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let form = &visit.form;
    let id = Uuid::try_parse(form.text("id")).map_err(|_| Problem::NotFound)?;
    let days = match form.filled("days") {
        Some(text) => text.parse().map(Some).map_err(|_| AnnounceError::Days),
        None => Ok(None),
    };
    let clean = |name| form.text(name).replace('\0', "");
    let (title, body) = (clean("title"), clean("body"));
    let done = match days {
        Ok(days) => gateway.announce(id, (&title, &body), days, visit.email()?).await,
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => Ok(Redirect::to(&format!("{HERE}?done=published")).into_response()),
        Err(AnnounceError::Storage(error)) => Err(error.into()),
        Err(error) => {
            let shell = Shell::of(&visit, HERE).with_error(format!("Not announced: {error}."));
            listed(&gateway, &visit, StatusCode::UNPROCESSABLE_ENTITY, shell).await
        }
    }
}

/// Mails one to the owners of all merchants, once.
pub async fn mail(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::NotFound)?;
    match gateway.mail_announcement(id, visit.email()?).await? {
        MailedAnnouncement::Written(count) => {
            Ok(Redirect::to(&format!("{HERE}?done=mailed&count={count}")).into_response())
        }
        MailedAnnouncement::NotNow => Err(Problem::Conflict(
            "Not mailed: it was mailed before, or nobody sees it any more.".to_owned(),
        )),
        MailedAnnouncement::MailsAreOff => Err(Problem::Conflict(
            "Not mailed: the section mail of the settings is off.".to_owned(),
        )),
    }
}

pub async fn withdraw(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::NotFound)?;
    if gateway.withdraw_announcement(id).await? {
        Ok(Redirect::to(&format!("{HERE}?done=withdrawn")).into_response())
    } else {
        Err(Problem::NotFound)
    }
}

pub async fn dismiss(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::NotFound)?;
    if !gateway.dismiss_announcement(id, visit.signed()?.row.account_id).await? {
        return Err(Problem::NotFound);
    }
    Ok(Redirect::to(crate::shell::screen(visit.form.text("here"))).into_response())
}
