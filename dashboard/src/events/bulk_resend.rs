//! Sending again all webhooks of a filter: first their number, then the act.

use askama::Template;
use axum::{extract::State, response::Response};
use gateway::{
    app::event::resend_many::{PREVIEW_MAX, ResendManyError, Wanted},
    webhook::{event::EventKind, retry::DeliveryState},
};

use super::kinds;
use crate::{
    overview::needs::counted,
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "events/bulk_resend.html")]
struct Page {
    shell: Shell,
    state: Option<DeliveryState>,
    kind: Option<EventKind>,
    kinds: Vec<EventKind>,
    /// An event behind which an earlier call stopped.
    after: String,
    count: i64,
}

impl Page {
    fn is_state(&self, state: &DeliveryState) -> bool {
        self.state.as_ref() == Some(state)
    }

    fn is_kind(&self, kind: &EventKind) -> bool {
        self.kind.as_ref() == Some(kind)
    }

    fn state_text(&self) -> &'static str {
        self.state.map_or("", DeliveryState::as_str)
    }

    fn kind_text(&self) -> &'static str {
        self.kind.map_or("", EventKind::as_str)
    }

    fn counted(&self) -> String {
        counted(self.count)
    }
}

fn wanted(state: &str, kind: &str, after: &str) -> Wanted {
    let kind: Option<EventKind> = kind.parse().ok();
    Wanted {
        state: state.parse().ok(),
        kind: kind.filter(|kind| kind.has_deliveries()),
        after: (!after.is_empty()).then(|| after.to_owned()),
        ..Wanted::default()
    }
}

fn problem(error: ResendManyError) -> Problem {
    match error {
        ResendManyError::Storage(error) => error.into(),
        ResendManyError::UnknownEvent => Problem::NotFound,
        error @ ResendManyError::NoWebhook(_) => Problem::Conflict(error.to_string()),
    }
}

pub async fn preview(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let asked = |name| visit.asked(name).unwrap_or_default();
    let wanted = wanted(asked("state"), asked("type"), asked("after"));
    page(&gateway, &visit, Shell::of(&visit, "/events"), wanted).await
}

async fn page(
    gateway: &crate::State,
    visit: &Visit,
    shell: Shell,
    wanted: Wanted,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let count = gateway.count_resendable(merchant_id, &wanted).await.map_err(problem)?;
    show(&Page {
        shell,
        state: wanted.state,
        kind: wanted.kind,
        kinds: kinds(),
        after: wanted.after.unwrap_or_default(),
        count: count.min(PREVIEW_MAX),
    })
}

pub async fn submit(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let form = &visit.form;
    let mut wanted = wanted(form.text("state"), form.text("type"), form.text("after"));
    let done = gateway.resend_all_events(merchant_id, &wanted).await.map_err(problem)?;
    let (started, after) = done;
    let rest = if after.is_some() { " There are more: send the rest below." } else { "" };
    let text = format!("{started} webhooks are being sent again, under their own event ids.{rest}");
    wanted.after = after;
    page(&gateway, &visit, Shell::of(&visit, "/events").with_notice(text), wanted).await
}
