//! `gatewayctl dead-letters … --queue mail-delivery`. Neither an address nor a word of a mail is
//! shown.

use chrono::{DateTime, Utc};
use gateway::{app::Gateway, invoice::payment::iso_8601, storage::mail::DeadMail};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::render::{self, Answer, Cell};

pub const QUEUE: &str = "mail-delivery";

pub async fn list(gateway: &Gateway, merchant: Option<Uuid>) -> anyhow::Result<Answer> {
    let rows = gateway.dead_mails(merchant).await?;
    let json: Value = rows.iter().map(to_json).collect();
    if rows.is_empty() {
        return Ok(Answer::new(json, "There are no dead mails."));
    }
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            vec![
                Cell::from(&row.id.to_string()),
                row.kind.as_str().into(),
                row.attempts.to_string().into(),
                render::or_dash(row.dead_since.map(iso_8601)),
                render::or_dash(row.last_error.as_ref()),
            ]
        })
        .collect();
    let heading = ["mail", "kind", "attempts", "dead since", "last error"];
    let text = format!(
        "{}\nAll of them again: gatewayctl dead-letters requeue --queue {QUEUE}",
        render::table(&heading, &lines)
    );
    Ok(Answer::new(json, text))
}

fn to_json(row: &DeadMail) -> Value {
    json!({
        "mail_id": row.id,
        "queue": QUEUE,
        "kind": row.kind,
        "merchant_id": row.merchant_id,
        "cycle": row.cycle,
        "attempts": row.attempts,
        "last_code": row.last_code,
        "last_error": row.last_error,
        "dead_since": row.dead_since.map(iso_8601),
        "created_at": iso_8601(row.created_at),
    })
}

pub async fn requeue(
    gateway: &Gateway,
    merchant: Option<Uuid>,
    since: Option<DateTime<Utc>>,
) -> anyhow::Result<Answer> {
    let ids = gateway.requeue_dead_mails(merchant, since).await?;
    let json = json!({ "requeued": ids, "count": ids.len() });
    if ids.is_empty() {
        return Ok(Answer::new(json, "No dead mail matches."));
    }
    let text = format!(
        "{} mails start a fresh cycle of attempts; reminders whose day is over are dropped.",
        ids.len()
    );
    Ok(Answer::new(json, text))
}
