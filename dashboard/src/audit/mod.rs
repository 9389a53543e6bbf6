//! The audit log: every change made by hand, here or at the command line.

use askama::Template;
use axum::{extract::State, response::Response};
use gateway::storage::audit::AuditEntry;

use crate::{
    problem::Problem,
    shell::{Shell, page as show, when},
    visit::Visit,
};

const SHOWN: usize = 200;

#[derive(Template)]
#[template(path = "audit/page.html")]
struct Page {
    shell: Shell,
    subject: String,
    entries: Vec<Line>,
    is_cut: bool,
}

/// One change in words.
pub struct Line {
    pub at: String,
    pub by: String,
    pub address: String,
    pub act: String,
    pub subject: String,
    pub change: String,
}

pub fn lines(entries: &[AuditEntry]) -> Vec<Line> {
    let line = |entry: &AuditEntry| Line {
        at: when(&entry.at),
        by: entry.operator.clone(),
        address: entry.address.clone().unwrap_or_default(),
        act: format!("{} {}", entry.act, entry.subject_kind),
        subject: entry.subject.clone(),
        change: change(entry),
    };
    entries.iter().map(line).collect()
}

fn change(entry: &AuditEntry) -> String {
    let columns = entry.change.as_object().into_iter().flatten();
    let texts = columns.map(|(column, value)| match value.as_str() {
        Some(text) => format!("{column}: {text}"),
        None => format!("{column}: {value}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let subject = visit.asked("q").unwrap_or_default().to_owned();
    let found = gateway.audit(Some(subject.as_str()).filter(|q| !q.is_empty()), None).await?;
    let is_cut = found.len() > SHOWN;
    let entries = lines(&found[..found.len().min(SHOWN)]);
    show(&Page { shell: Shell::of(&visit, "/operator/audit"), subject, entries, is_cut })
}
