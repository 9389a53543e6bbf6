//! The first page of an operator.

use askama::Template;
use axum::{extract::State, response::Response};
use gateway::{
    account::Action,
    app::account::session::Permission,
    storage::{audit::AuditEntry, delivery_lists::DeadGroup},
};

use crate::{
    audit::{Line, lines},
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

const SHOWN: usize = 8;

#[derive(Template)]
#[template(path = "operator/page.html")]
struct Page {
    shell: Shell,
    dead: i64,
    groups: Vec<DeadGroup>,
    /// `None` where the role does not read the audit log.
    entries: Option<Vec<Line>>,
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let mut groups = gateway.dead_letter_groups().await?;
    let dead = groups.iter().map(|group| group.count).sum();
    groups.truncate(SHOWN);
    let reads = visit.signed()?.may(Action::AuditView) == Permission::Granted;
    let entries = if reads {
        let mut entries: Vec<AuditEntry> = gateway.audit(None, None).await?;
        entries.truncate(SHOWN);
        Some(lines(&entries))
    } else {
        None
    };
    show(&Page { shell: Shell::of(&visit, "/operator"), dead, groups, entries })
}
