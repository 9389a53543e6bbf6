//! A test event: one sample, signed with the merchant's own secret, to a receiver on trial.

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use gateway::{
    account::session::BUDGET_SECONDS,
    app::delivery::test_event::{Trial, TrialError},
    webhook::event::EventKind,
};

use crate::{
    problem::Problem,
    shell::{Shell, page as show, page_with},
    visit::Visit,
};

const URL_CHARS_MAX: usize = 2_048;

#[derive(Template)]
#[template(path = "events/test_event.html")]
struct Page {
    shell: Shell,
    kinds: Vec<EventKind>,
    kind: EventKind,
    url: String,
    result: Option<Trial>,
}

impl Page {
    fn is_kind(&self, kind: &EventKind) -> bool {
        self.kind == *kind
    }
}

/// The types of events of which there is a sample.
fn samples() -> Vec<EventKind> {
    EventKind::ALL.into_iter().filter(|kind| kind.channel().is_some()).collect()
}

pub async fn form(visit: Visit) -> Result<Response, Problem> {
    visit.merchant()?;
    show(&Page {
        shell: Shell::of(&visit, "/events"),
        kinds: samples(),
        kind: EventKind::InvoicePaid,
        url: String::new(),
        result: None,
    })
}

pub async fn submit(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let kind = visit.form.text("type").parse().unwrap_or(EventKind::InvoicePaid);
    let url: String = visit.form.text("url").trim().chars().take(URL_CHARS_MAX).collect();
    let target = (!url.is_empty()).then(|| url.clone());
    let shell = Shell::of(&visit, "/events");
    let page = |shell, result| Page { shell, kinds: samples(), kind, url, result };
    if !gateway.admit_test_event(merchant_id).await? {
        let minutes = BUDGET_SECONDS / 60;
        let text = format!("Not sent: too many test events; wait {minutes} minutes.");
        return page_with(StatusCode::TOO_MANY_REQUESTS, &page(shell.with_error(text), None));
    }
    match gateway.try_webhook(merchant_id, kind, target).await {
        Ok(result) => show(&page(shell, Some(result))),
        Err(TrialError::Storage(error)) => Err(error.into()),
        Err(TrialError::Unsignable(reason)) => {
            tracing::error!(reason, "a webhook on trial was not sent");
            Err(Problem::Broken)
        }
        Err(refused) => {
            let shell = shell.with_error(format!("Not sent: {refused}."));
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &page(shell, None))
        }
    }
}
