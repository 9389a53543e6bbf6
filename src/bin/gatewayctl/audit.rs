//! `gatewayctl audit`

use chrono::{DateTime, Utc};
use clap::Args;
use gateway::{app::Gateway, invoice::payment::iso_8601, storage::audit::AuditEntry};
use serde_json::{Value, json};

use crate::{
    instant::instant,
    render::{self, Answer, Cell},
};

#[derive(Args)]
pub struct Audit {
    /// Only changes of this: the id of a payment, an order, a merchant or an event, or a currency
    #[arg(value_name = "SUBJECT")]
    subject: Option<String>,
    /// Only those made then or later, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "T", value_parser = instant)]
    since: Option<DateTime<Utc>>,
}

impl Audit {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let entries = gateway.audit(self.subject.as_deref(), self.since).await?;
        if entries.is_empty() {
            return Ok(Answer::new(json!([]), "No manual changes are recorded.\n"));
        }
        let lines: Vec<_> = entries.iter().map(line).collect();
        let heading = ["when", "who", "what", "of", "change"];
        let all = entries.iter().map(to_json).collect();
        Ok(Answer::new(Value::Array(all), render::table(&heading, &lines)))
    }
}

fn line(entry: &AuditEntry) -> Vec<Cell> {
    let change = entry.change.as_object().into_iter().flatten();
    let change: Vec<_> = change
        .map(|(column, value)| match value {
            Value::String(text) => format!("{column}={text}"),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_)) => format!("{column}={other}"),
        })
        .collect();
    vec![
        iso_8601(entry.at).into(),
        Cell::from(&entry.operator),
        format!("{} {}", entry.act, entry.subject_kind).into(),
        Cell::from(&entry.subject),
        change.join(" ").into(),
    ]
}

fn to_json(entry: &AuditEntry) -> Value {
    json!({
        "at": iso_8601(entry.at),
        "operator": entry.operator,
        "act": entry.act,
        "subject_kind": entry.subject_kind,
        "subject": entry.subject,
        "change": entry.change,
    })
}
