//! The page that stops a subscriber's reminders, at the checkout's origin. A GET shows one button
//! and changes nothing, because mail programs open links by themselves. A POST acts, without a
//! cookie, a body or a redirect: mail programs send it for their users (RFC 8058).

use askama::Template;
use axum::{extract, http::StatusCode, response::Response};

use super::page::{missing, trouble};
use crate::{
    State,
    checkout::{
        language::Language,
        route::{Id, answer},
        shell::{Shell, Visit},
    },
};

#[derive(Template)]
#[template(path = "unsubscribe.html")]
struct UnsubscribePage {
    shell: Shell,
    token: String,
    title: String,
    is_done: bool,
}

/// `/unsubscribe/<token>`.
pub async fn show(
    extract::State(gateway): extract::State<State>,
    visit: Visit,
    token: Id,
) -> Response {
    let token = token.map(|extract::Path(token)| token).unwrap_or_default();
    shown(&gateway, visit, token).await
}

/// The page's button, and a mail program's.
pub async fn stop(
    extract::State(gateway): extract::State<State>,
    visit: Visit,
    token: Id,
) -> Response {
    let token = token.map(|extract::Path(token)| token).unwrap_or_default();
    match gateway.unsubscribe(&token).await {
        Ok(_) => shown(&gateway, visit, token).await,
        Err(error) => trouble(Shell::new(&gateway, visit), &error.into()),
    }
}

async fn shown(gateway: &State, visit: Visit, token: String) -> Response {
    let shell = Shell::new(gateway, visit);
    match gateway.visit_unsubscription(&token).await {
        Ok(Some(found)) => {
            let front = gateway.front_of(found.merchant_id).await.ok().flatten();
            let shell = shell.of(front, &found.title);
            let (title, is_done) = (found.title, found.is_unsubscribed);
            let page = UnsubscribePage { shell, token, title, is_done };
            answer(StatusCode::OK, &page.shell, &page)
        }
        Ok(None) => {
            let heading = shell.t.unsubscribe_missing;
            missing(shell, heading)
        }
        Err(error) => trouble(shell, &error.into()),
    }
}

impl UnsubscribePage {
    fn action(&self) -> String {
        self.shell.unsubscribe_page(&self.token)
    }

    fn in_language(&self, language: &Language) -> String {
        self.shell.unsubscribe_page_to(language, &self.token)
    }
}
