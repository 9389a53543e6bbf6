//! Dead letters of all merchants, grouped by what they have in common, and sent again by group.

use askama::Template;
use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::account::session::Permission,
    storage::delivery_lists::{DeadGroup, DeadGroupKey},
};
use uuid::Uuid;

use crate::{
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "dead_letters/page.html")]
struct Page {
    shell: Shell,
    groups: Vec<DeadGroup>,
    may_requeue: bool,
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let groups = gateway.dead_letter_groups().await?;
    let mut shell = Shell::of(&visit, "/operator/dead-letters");
    if let Some(count) = visit.asked("requeued").and_then(|text| text.parse::<u64>().ok()) {
        shell = shell.with_notice(format!(
            "{count} webhooks begin a fresh cycle of attempts, with the same event ids. \
             Those that fail again come back here; reload to see how many are left."
        ));
    }
    let may_requeue = visit.signed()?.may(Action::DeadLetterRequeue) == Permission::Granted;
    show(&Page { shell, groups, may_requeue })
}

pub async fn requeue(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let form = &visit.form;
    let group = DeadGroupKey {
        merchant_id: Uuid::try_parse(form.text("merchant")).map_err(|_| Problem::NotFound)?,
        channel: form.text("channel").parse().map_err(|_| Problem::NotFound)?,
        host: clean(form.text("host"))?,
        cause: clean(form.text("cause"))?,
    };
    let count = gateway.requeue_group(&group, visit.email()?).await?;
    Ok(Redirect::to(&format!("/operator/dead-letters?requeued={count}")).into_response())
}

/// PostgreSQL has no zero in its texts.
fn clean(text: &str) -> Result<String, Problem> {
    if text.contains('\0') { Err(Problem::NotFound) } else { Ok(text.to_owned()) }
}
