//! The audit log: every change made by hand, here or at the command line.

use askama::Template;
use axum::{extract::State, response::Response};
use chrono::{DateTime, Days, NaiveDate, Utc};
use gateway::storage::{audit::AuditEntry, operator::audit_search::AuditFilter};
use url::form_urlencoded;

use crate::{
    list::{ROWS, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page as show, when},
    visit::Visit,
};

const HERE: &str = "/operator/audit";
/// Kinds of rows and things that people look for; the log may hold others.
const KINDS: [&str; 17] = [
    "account",
    "address_pool",
    "announcement",
    "currency_setting",
    "dead-letter",
    "deposit",
    "device",
    "invoice",
    "membership",
    "merchant",
    "merchant_front",
    "outbox",
    "payout_order",
    "payout_release",
    "payout_stop",
    "session",
    "subscription",
];

#[derive(Template)]
#[template(path = "audit/page.html")]
struct Page {
    shell: Shell,
    subject: String,
    by: String,
    kind: String,
    since: String,
    until: String,
    kinds: Vec<(&'static str, bool)>,
    entries: Vec<Line>,
    older: Option<String>,
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
    let text = |name| visit.asked(name).unwrap_or_default().replace('\0', "");
    let (subject, by, kind) = (text("q"), text("by"), text("kind"));
    let (since, until) = (text("since"), text("until"));
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let filter = AuditFilter {
        subject: some(&subject),
        by: some(&by),
        kind: some(&kind),
        act: None,
        since: day(&since),
        // The day itself belongs to it.
        until: day(&until).and_then(|day| day.checked_add_days(Days::new(1))),
    };
    let before = visit.asked("older").and_then(|text| text.parse().ok());
    let mut found = gateway.audit_page(&filter, before, ROWS_AND_NEXT).await?;
    let is_more = found.len() > ROWS;
    found.truncate(ROWS);
    let older = found.last().filter(|_| is_more).map(|last| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in
            [("q", &subject), ("by", &by), ("kind", &kind), ("since", &since), ("until", &until)]
        {
            query.append_pair(name, value);
        }
        format!("{HERE}?{}", query.append_pair("older", &last.id.to_string()).finish())
    });
    let entries: Vec<_> = found.into_iter().map(|placed| placed.entry).collect();
    show(&Page {
        shell: Shell::of(&visit, HERE),
        kinds: KINDS.iter().map(|each| (*each, *each == kind)).collect(),
        subject,
        by,
        kind,
        since,
        until,
        entries: lines(&entries),
        older,
    })
}

/// The midnight, in UTC, with which a day begins.
fn day(text: &str) -> Option<DateTime<Utc>> {
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    Some(day.and_hms_opt(0, 0, 0)?.and_utc())
}
